"""Entry points for WSGI servers."""
