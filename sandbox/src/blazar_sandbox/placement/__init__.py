"""Who provides how much of what, and who has taken it? Placement's part of the sandbox."""
