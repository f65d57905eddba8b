"""Imports libraries whose own warnings would be errors here, before any test imports the service."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # Not ours to mend: WebOb imports the old cgi module, oslo.messaging a deprecated module of oslo.utils.
    warnings.filterwarnings("ignore", "'cgi' is deprecated", DeprecationWarning)
    warnings.filterwarnings("ignore", "eventletutils module is deprecated", DeprecationWarning)
    import oslo_middleware  # noqa: F401

    import blazar.rpc.messaging  # noqa: F401
