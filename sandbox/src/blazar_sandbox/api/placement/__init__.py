"""Placement's HTTP routes."""
