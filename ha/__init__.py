"""The reliability suite: several managers, many clients, and faults of all kinds; see ``make test-ha``."""
