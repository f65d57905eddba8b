"""The library for version 1 of the API. Its calls return dictionaries."""
