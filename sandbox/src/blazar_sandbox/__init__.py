"""A small OpenStack in memory, over HTTP."""
