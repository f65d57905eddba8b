"""The client of the reservation service: commands and libraries."""

from importlib.metadata import version

__version__ = version("python-blazarclient")
