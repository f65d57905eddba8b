"""The port to the line of leases that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blazar.domain.lease.waiting import Waiting


@dataclass(frozen=True, slots=True)
class PlaceInLine:
    """A lease that waits, as the line knows it."""

    lease_id: str
    project_id: str
    revision: int
    """It grows with each change of the lease."""
    waiting: Waiting


class WaitlistRepository(Protocol):
    """The line. A waiting lease is one of LeaseRepository's, without allocations and events."""

    def queue_up(self) -> None:
        """Wait for the other transactions by which leases join the line, up to the end of this one."""
        ...

    def line(self) -> Sequence[PlaceInLine]:
        """Return all leases that wait, the next one first. There are no more than the line has places."""
        ...
