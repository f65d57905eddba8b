"""Nova's HTTP routes."""
