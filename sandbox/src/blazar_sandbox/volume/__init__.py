"""Cinder's state and rules."""
