"""The library for version 1 of the API, whose calls return plain dictionaries."""
