"""Heat: stacks, which hold nothing."""
