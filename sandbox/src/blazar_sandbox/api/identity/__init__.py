"""Keystone's HTTP routes."""
