"""Leases: their parts and statuses, what may change, and what events do to them."""
