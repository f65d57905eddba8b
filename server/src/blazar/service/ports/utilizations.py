"""The port to what reservations were promised and have used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from blazar.domain.lease.utilization import Utilization


@dataclass(frozen=True, slots=True)
class UsageQuestion:
    """Which resource-hours are added up: those in ``[start, end)``, of a project, a user, a kind. None is all
    of them."""

    start: datetime
    end: datetime
    project_id: str | None = None
    user_id: str | None = None
    resource_type: str | None = None
    by_project: bool = True
    by_user: bool = False


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The resource-hours of a kind, of a project, a user, or all. Seconds are times the units."""

    project_id: str | None
    user_id: str | None
    resource_type: str
    leases: int
    no_shows: int
    """The leases that ended in the window and were never used."""
    promised: float
    known: float
    used: float


class UtilizationRepository(Protocol):
    """What reservations were promised and have used: a row for each that has begun. It outlives the lease."""

    def of_leases(self, lease_ids: Sequence[str]) -> Sequence[Utilization]:
        """Return those of these leases, by lease and reservation."""
        ...

    def left_open(self, limit: int) -> Sequence[str]:
        """Return the ids of leases of which some are not over, though the lease is not ACTIVE, or gone."""
        ...

    def save(self, changes: Sequence[tuple[Utilization | None, Utilization]]) -> None:
        """Store each as it is to be, where it still is as it was read; None is one that is new. What has
        changed meanwhile stays. Raises Stale where another transaction has added one that is new."""
        ...

    def report(self, question: UsageQuestion, limit: int) -> Sequence[UsageRow]:
        """Return at most ``limit`` rows, by project, user and kind. Of a reservation that is partly in the
        window the same part of its seconds counts."""
        ...

    def forget(self, before: datetime, limit: int) -> None:
        """Remove those that are over since ``before`` or earlier, at most ``limit`` at once."""
        ...
