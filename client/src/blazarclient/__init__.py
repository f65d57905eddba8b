"""What does a program need to use the reservation service?"""

from importlib.metadata import version

__version__ = version("python-blazarclient")
