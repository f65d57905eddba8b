"""Glance's state and rules."""
