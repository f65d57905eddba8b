"""Weighers for nova-scheduler."""
