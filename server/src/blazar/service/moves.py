"""Servers that move to another host while they run, where a lease needs theirs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from blazar.domain.errors import CloudRefused
from blazar.service.ports import Compute, Server

LOG = logging.getLogger(__name__)
MIGRATING = "MIGRATING"
TO_MOVE = frozenset({"ACTIVE", "PAUSED"})
ONE_TRY = 900.0
"""Seconds within which a server is asked once to leave a host, by who gives notice and by who starts a lease
each."""


class Moves:
    """Has servers move away. Nova chooses where to, and says only by what becomes of a server whether it can.
    Any thread may use it."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._asked: dict[tuple[str, str], float] = {}
        """When, by server and host; the oldest first."""
        self._lock = threading.Lock()

    def make_way(self, servers: Sequence[Server], host: str, compute: Compute) -> Sequence[Server]:
        """Ask each to leave the host, once. Return those that are on their way: the others cannot, or could
        not be moved."""
        return [each for each in servers if each.status == MIGRATING or self._begin(each, host, compute)]

    def _begin(self, server: Server, host: str, compute: Compute) -> bool:
        if server.status not in TO_MOVE or server.is_being_deleted or not self._is_first(server, host):
            return False
        try:
            compute.migrate_server(server.id)
        except CloudRefused as refusal:
            LOG.info("Server %s is not moved from host %s: %s", server.id, host, refusal.message)
            return False
        return True

    def _is_first(self, server: Server, host: str) -> bool:
        """Return whether the server was not asked to leave the host before, and remember that it is."""
        now, key = self._monotonic(), (server.id, host)
        with self._lock:
            while self._asked and now - self._asked[oldest := next(iter(self._asked))] > ONE_TRY:
                del self._asked[oldest]
            is_first = key not in self._asked
            self._asked.setdefault(key, now)
            return is_first
