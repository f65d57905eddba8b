"""Many managers, many clients, and everything that can go wrong: run with ``make test-ha``."""
