"""Imports libraries whose own warnings would be errors here, before any test imports the service; lets random
examples take as long as they need, for a machine may be busy; and has Python look for garbage less often."""

from __future__ import annotations

import gc
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

# With a test for each of thousands of rows there are millions of objects. To look at all of them for garbage
# takes a second, and a quarter of the whole run.
gc.set_threshold(20_000, 20, 20)


def pytest_collection_finish() -> None:
    """Leave the collected tests, which stay until the end, out of all such looks."""
    gc.collect()
    gc.freeze()
