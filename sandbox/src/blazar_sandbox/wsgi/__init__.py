"""Requests, responses and routing."""
