"""A filter and a weigher for nova-scheduler: they keep reserved hosts for their reservations."""
