"""Neutron's HTTP routes."""
