"""Imports the service where warnings are errors: those of libraries that it imports are theirs."""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'cgi' is deprecated", DeprecationWarning)
    warnings.filterwarnings("ignore", "eventletutils module is deprecated", DeprecationWarning)
    from .threads import service_modules

    service_modules()
