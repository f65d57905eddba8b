"""Keystone's state and rules."""
