"""Servers that leave their host without being lost: they are shelved where a lease needs the host.

Those are servers with a known end that have no lease which keeps their capacity, and preemptible ones whose
flavor says so."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.kinds.deletions import first_names
from blazar.service.ports import Cloud, Compute, Server

LOG = logging.getLogger(__name__)
REFUSED = "blazar_lease_error"
"""The key of the reason in the metadata of a server that gets no lease."""
NEEDED_BY = "by a lease that starts"
LONGEST_VALUE = 255
"""Characters of a value of metadata, as Nova takes them."""
TO_SHELVE = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"})
SHELVED = "SHELVED"
NOT_YET = frozenset({"BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "REVERT_RESIZE", "MIGRATING"})
"""The statuses in which Nova is at a server, which has another one soon."""
PATIENCE = 900.0
"""Seconds after which a server is deleted that Nova cannot shelve: its host is promised to a lease."""


def shelve(server_id: str, status: str, cloud: Cloud) -> None:
    """Ask for the next step by which a server leaves its host, where its status allows one. Nova refuses that
    as long as it is at another one, so a refusal is no error: it is asked again."""
    try:
        if status == SHELVED:
            cloud.compute.offload_server(server_id)
        elif status in TO_SHELVE:
            cloud.compute.shelve_server(server_id)
    except CloudRefused as refusal:
        LOG.debug("Server %s is not shelved yet: %s", server_id, refusal.message)
    if status in TO_SHELVE:
        mark_image(server_id, cloud)


def mark_image(server_id: str, cloud: Cloud) -> None:
    """Mark the image that Nova makes of a server which the service itself had shelved, so that it is removed
    when the server is gone.

    Nova has the image's entry in Glance before it answers, also while it refuses to shelve once more: so what
    a crash has left unmarked is marked when it is asked again. Glance may be away: a lease does not wait for
    it, and an image without the mark stays."""
    try:
        cloud.images.mark_shelved(server_id)
    except (CloudRefused, CloudUnavailable) as failure:
        LOG.warning(
            "The image of server %s is not marked, and stays when the server is gone: %s",
            server_id,
            failure.message,
        )


class Shelving:
    """Has servers make way where a lease starts on their host. Any thread may use it."""

    def __init__(
        self, reason_key: str, monotonic: Callable[[], float] = time.monotonic, needed_by: str = NEEDED_BY
    ) -> None:
        """The reason is written into their metadata under this key: that their host is needed, and by
        whom."""
        self._reason_key = reason_key
        self._needed_by = needed_by
        self._monotonic = monotonic
        self._asked: dict[str, float] = {}
        """Since when, by the id of the server; the oldest first."""
        self._lock = threading.Lock()

    def make_way(self, servers: Sequence[Server], host: str, cloud: Cloud) -> Sequence[Server]:
        """Ask for the next step of each, on this host. Return those to wait for: the others are those that
        Nova could not shelve for too long, or cannot shelve at all."""
        waiting: list[Server] = []
        for server in servers:
            is_leaving = server.status in TO_SHELVE | NOT_YET | {SHELVED} and not server.is_being_deleted
            if is_leaving and self._seconds(server) < PATIENCE:
                self._tell(server, host, cloud.compute)
                shelve(server.id, server.status, cloud)
                waiting.append(server)
        return waiting

    def _seconds(self, server: Server) -> float:
        """Return for how long it has been asked to leave."""
        now = self._monotonic()
        with self._lock:
            while self._asked and now - next(iter(self._asked.values())) > 2 * PATIENCE:
                del self._asked[next(iter(self._asked))]
            return now - self._asked.setdefault(server.id, now)

    def _tell(self, server: Server, host: str, compute: Compute) -> None:
        """Write the reason into its metadata, once: before it is shelved, for then Nova refuses that."""
        reason = f"host {host} is needed {self._needed_by}"
        if server.metadata.get(self._reason_key) != reason:
            try:
                compute.set_server_metadata(server.id, self._reason_key, reason)
            except CloudRefused as refusal:
                LOG.warning("Server %s cannot be told why it is shelved: %s", server.id, refusal.message)


def being_shelved(servers: Sequence[Server]) -> Sequence[str]:
    """Return what is waited for: a sentence, or none."""
    return [f"{len(servers)} servers are being shelved: {first_names(servers)}"] if servers else []
