"""A filter for nova-scheduler that keeps reserved hosts for their reservations."""
