"""The deletions of servers that a process has asked for: what Nova is at is not asked for at each look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from blazar.kinds.for_each import for_each
from blazar.service.ports import Compute, Server
from blazar.service.ports.steps import RunSteps, one_after_another

ASK_AGAIN = 60.0
"""Seconds after which a deletion that Nova is at is asked for once more: it may have lost the request, and it
deletes by itself what is on a host that is down by then."""


class Deletions:
    """Asks for deletions, and remembers for ``ASK_AGAIN`` seconds which. Any thread may use it."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._asked: dict[str, float] = {}
        """When, by the id of the server; the oldest first."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many servers are remembered."""
        return len(self._asked)

    def ask(
        self, servers: Iterable[Server], compute: Compute, run_steps: RunSteps = one_after_another
    ) -> None:
        """Ask for the deletion of the servers but for those that need not be asked for yet. Raises what the
        cloud said of one when all are asked for."""

        def ask_for(server_id: str) -> None:
            compute.delete_server(server_id)
            self._remember(server_id)

        new = [server.id for server in servers if not self._is_under_way(server)]
        for_each(new, ask_for, run_steps).require()

    def are_under_way(self, servers: Iterable[Server]) -> bool:
        """Return whether there are servers, and all that can be done about each is to wait."""
        found = list(servers)
        return bool(found) and all(map(self._is_under_way, found))

    def _is_under_way(self, server: Server) -> bool:
        asked = self._asked.get(server.id)
        return server.is_being_deleted and asked is not None and self._monotonic() - asked < ASK_AGAIN

    def _remember(self, server_id: str) -> None:
        now = self._monotonic()
        with self._lock:
            self._asked.pop(server_id, None)
            self._asked[server_id] = now
            while now - self._asked[oldest := next(iter(self._asked))] >= ASK_AGAIN:
                del self._asked[oldest]


def being_deleted(servers: Sequence[Server]) -> Sequence[str]:
    """Return what is waited for: a sentence, or none."""
    return [f"{len(servers)} servers are being deleted: {first_names(servers)}"] if servers else []


def first_names(servers: Sequence[Server]) -> str:
    """Return the names of some of them, for a sentence."""
    return ", ".join(server.name for server in servers[:5]) + (", ..." if len(servers) > 5 else "")
