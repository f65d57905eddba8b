"""Filters for nova-scheduler."""
