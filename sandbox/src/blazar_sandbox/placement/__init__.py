"""Placement's state and rules."""
