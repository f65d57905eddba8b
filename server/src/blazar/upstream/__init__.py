"""The import of a database of upstream Blazar."""
