"""How many requests may wait for one service of the cloud at once, so that a service that hangs does not hold
every thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from blazar.domain.errors import CloudUnavailable

CALLS_AT_ONCE = 8
WAIT_SECONDS = 0.5
"""How long a call waits for its turn. A service that answers gives many turns in this time; one that hangs
gives none, and meanwhile each call that waits holds a thread."""


class Bulkhead:
    """The calls of all requests to one service: ``calls`` at once, at the most."""

    def __init__(self, service: str, calls: int = CALLS_AT_ONCE) -> None:
        self._service = service
        self._calls = calls
        self._free = threading.BoundedSemaphore(calls)

    @contextmanager
    def entered(self, seconds_left: float) -> Iterator[None]:
        """Wait for a turn, and have it inside the block. Raises CloudUnavailable where none comes in time."""
        if not self._free.acquire(timeout=max(min(WAIT_SECONDS, seconds_left), 0)):
            reason = f"{self._calls} calls wait for its answer already"
            raise CloudUnavailable(service=self._service, reason=reason)
        try:
            yield
        finally:
            self._free.release()
