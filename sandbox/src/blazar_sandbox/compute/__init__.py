"""Nova's state and rules."""
