"""Neutron's state and rules."""
