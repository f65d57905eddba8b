"""Imports libraries whose own warnings would be errors here, before any test imports the service; and lets
random examples take as long as they need, for a machine may be busy."""

from __future__ import annotations

import warnings

from hypothesis import settings

with warnings.catch_warnings():
    # Not ours to mend: WebOb imports the old cgi module, oslo.messaging a deprecated module of oslo.utils.
    warnings.filterwarnings("ignore", "'cgi' is deprecated", DeprecationWarning)
    warnings.filterwarnings("ignore", "eventletutils module is deprecated", DeprecationWarning)
    import oslo_middleware  # noqa: F401

    import blazar.rpc.messaging  # noqa: F401

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
