"""Which leases are removed from the database, and when: those that were over long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from blazar.domain.lease.lease import Lease
from blazar.service.ports import Clock, Database, UnitOfWork

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
    return database.transact(lambda uow: _removed(uow, found, before)) if found else None


def _removed(uow: UnitOfWork, lease_ids: Sequence[str], before: datetime) -> int:
    removed = uow.leases.remove_over(lease_ids, before)
    uow.start_tasks.forget(lease_ids)
    return removed


def purge(database: Database, clock: Clock, before: datetime) -> Iterator[int]:
    """Remove all leases that are over since ``before`` or earlier, in small transactions. Yield how many
    each removed."""
    return _paced(partial(purge_some, database, before), clock)


Keep = Callable[[Sequence[Lease]], None]
"""Stores leases outside of the database. It returns when they are there for good."""


def archive(database: Database, clock: Clock, before: datetime, keep: Keep) -> Iterator[int]:
    """Have all leases kept that are over since ``before`` or earlier, and then remove them, in small
    transactions. Yield how many each removed.

    What is kept and not removed, for the process ends in between, is kept again the next time."""
    return _paced(partial(_archive_some, database, before, keep), clock)


def _archive_some(database: Database, before: datetime, keep: Keep) -> int | None:
    with database.read() as uow:
        found = uow.leases.get_many(uow.leases.over(before, BATCH))
    if not found:
        return None
    keep(found)
    # One that has been renamed meanwhile is not removed, and is kept anew when it has not been changed for
    # as long.
    return database.transact(lambda uow: _removed(uow, [lease.id for lease in found], before))


def _paced(some: Callable[[], int | None], clock: Clock) -> Iterator[int]:
    while (removed := some()) is not None:
        yield removed
        clock.pause(PAUSE)
