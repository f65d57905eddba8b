"""One suite for each port, over every implementation of it."""
