"""The calendar: which resources are occupied when, as columns of arrays."""
