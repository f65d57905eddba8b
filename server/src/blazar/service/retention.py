"""Which leases are removed for good, and when: those that were over long ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from blazar.service.ports import Clock, Database

BATCH = 100
"""Leases that one transaction removes: it takes some milliseconds, and holds nothing that others wait for."""
PAUSE = 0.02
"""Seconds between two transactions, in which others have their turn: SQLite has one writer at a time."""


def count_over(database: Database, before: datetime) -> int:
    """Return how many leases ``purge`` would remove."""
    with database.read() as uow:
        return uow.leases.count_over(before)


def purge_some(database: Database, before: datetime) -> int | None:
    """Remove leases that are over since ``before`` or earlier, with all that belongs to them: at most BATCH
    of them.

    Return how many; None where there is none. It is fewer than were found where others purge too."""
    with database.read() as uow:
        found = uow.leases.over(before, BATCH)
    return database.transact(lambda uow: uow.leases.remove_over(found, before)) if found else None


def purge(database: Database, clock: Clock, before: datetime) -> Iterator[int]:
    """Remove all leases that are over since ``before`` or earlier, in small transactions. Yield how many
    each removed."""
    while (removed := purge_some(database, before)) is not None:
        yield removed
        clock.pause(PAUSE)
