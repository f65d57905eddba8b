"""What reservations were promised and have really used: looked at from time to time, kept when their leases
end, and added up for reports.

A look asks the cloud outside of any transaction. What it found of a reservation is written only where the row
is as it was read: a lease that has ended meanwhile, or that another manager has looked at, keeps what it
has."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from blazar.domain.errors import CloudRefused, CloudUnavailable, InvalidInput, Stale
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.utilization import Utilization, ended, ended_with, sampled, told_apart
from blazar.domain.time import epoch, from_epoch
from blazar.service.ports import Clock, Cloud, Database, UnitOfWork, UsageQuestion, UsageRow
from blazar.service.ports.kind import Dependencies
from blazar.service.works import active_works, are_enabled

LOG = logging.getLogger(__name__)
AT_ONCE = 50
"""Leases that are read, looked at and written together."""
MOST_FAILURES = 5
"""Questions about a kind that may fail one after another; then the look asks no more about this kind."""
DEFAULT_WINDOW = timedelta(days=30)
LONGEST_WINDOW = timedelta(days=366)
FORGOTTEN = 1000
"""Rows that one transaction removes."""
MOST_ROWS = 10_000
"""Of a report: a few megabytes in one message of the broker."""


def keep_ended(uow: UnitOfWork, old: Lease | None, new: Lease | None, now: datetime) -> None:
    """Keep what an active lease has used that ends or is removed in this transaction."""
    if old is None or old.status is not LeaseStatus.ACTIVE:
        return
    if new is None or new.status is not LeaseStatus.ACTIVE:
        known = uow.utilizations.of_leases([old.id])
        _save(uow, known, ended_with(old, known, now))


class Sampling:
    """Looks at all active reservations, and adds up what they use."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.database
        self._cloud = dependencies.cloud
        self._kinds = dependencies.kinds
        self._clock = dependencies.clock

    def look(self, check: Callable[[], None]) -> int:
        """Look once, and return how many reservations could be looked at. ``check`` is called before each
        request to the cloud, and raises to end the work."""
        cloud = self._cloud.fenced(check)
        with self._database.read() as uow:
            ids = uow.leases.ids_with_status([LeaseStatus.ACTIVE])
        failures: Counter[tuple[str, str | None]] = Counter()
        looked = sum(
            self._look_at(ids[first : first + AT_ONCE], cloud, failures)
            for first in range(0, len(ids), AT_ONCE)
        )
        self._end_left_open()
        return looked

    def _look_at(self, ids: Sequence[str], cloud: Cloud, failures: Counter[tuple[str, str | None]]) -> int:
        """Return how many could be looked at. ``failures`` are the questions about each kind in each region
        that have failed since the last one that did not."""
        with self._database.read() as uow:
            leases = [each for each in uow.leases.get_many(ids) if self._is_active(each)]
            works = active_works(uow, self._database, self._kinds, leases)
            known = {each.reservation_id: each for each in uow.utilizations.of_leases(ids)}
        changes: list[tuple[Utilization | None, Utilization]] = []
        for lease in leases:
            for kind, work in works[lease.id]:
                old = known.pop(work.reservation.id, None)
                asked = (kind.resource_type, work.reservation.region)
                if failures[asked] > MOST_FAILURES:
                    continue
                try:
                    found = kind.sample(work, cloud.in_region(work.reservation.region))
                except (CloudUnavailable, CloudRefused) as failure:
                    failures[asked] += isinstance(failure, CloudUnavailable)
                    LOG.warning("It is not known what reservation %s uses: %s", work.reservation.id, failure)
                    continue
                failures[asked] = 0
                changes.append((old, sampled(old, lease, work.reservation, found, self._clock.now())))
        looked = len(changes)
        there = {each.id for each in leases}
        left = [each for each in known.values() if each.lease_id in there and not each.is_over]
        changes += [(each, ended(each, each.until)) for each in left]
        with suppress(Stale):  # a lease has ended meanwhile; the others are looked at again soon
            self._database.transact(lambda uow: uow.utilizations.save(changes))
        return looked

    def _is_active(self, lease: Lease) -> bool:
        return lease.status is LeaseStatus.ACTIVE and lease.is_understood and are_enabled(lease, self._kinds)

    def _end_left_open(self) -> None:
        """End what a program of the version before has ended or removed without a word."""
        now = self._clock.now()
        while ids := self._left_open():
            self._database.transact(lambda uow: _end_left_open(uow, ids, now))

    def _left_open(self) -> Sequence[str]:
        with self._database.read() as uow:
            return uow.utilizations.left_open(AT_ONCE)


def _end_left_open(uow: UnitOfWork, lease_ids: Sequence[str], now: datetime) -> None:
    leases = {each.id: each for each in uow.leases.get_many(lease_ids)}
    known: dict[str, list[Utilization]] = {lease_id: [] for lease_id in lease_ids}
    for each in uow.utilizations.of_leases(lease_ids):
        known[each.lease_id].append(each)
    changes: list[tuple[Utilization, Utilization]] = []
    for lease_id, of_lease in known.items():
        lease = leases.get(lease_id)
        if lease is None or lease.status is not LeaseStatus.ACTIVE:
            end = None if lease is None else min(now, lease.interval.end)
            over = [each if each.is_over else ended(each, end or each.until) for each in of_lease]
            changes += zip(of_lease, told_apart(over), strict=True)
    uow.utilizations.save(changes)


def _save(uow: UnitOfWork, known: Sequence[Utilization], new: Sequence[Utilization]) -> None:
    """Store what has become of those that are known, and what is new."""
    by_id = {each.reservation_id: each for each in known}
    uow.utilizations.save([(by_id.get(each.reservation_id), each) for each in new])


@dataclass(frozen=True, slots=True)
class UsageWish:
    """What a user asks for: a window of time, and whose resource-hours. None of a moment is the default."""

    start: datetime | None = None
    end: datetime | None = None
    project_id: str | None = None
    user_id: str | None = None
    resource_type: str | None = None
    by_project: bool = True
    by_user: bool = False


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The resource-hours of a window of time."""

    start: datetime
    end: datetime
    rows: tuple[UsageRow, ...]


class UsageUseCases:
    """Reports, and what single leases use."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def get(self, wish: UsageWish) -> UsageReport:
        """Return the resource-hours that were promised and used in the window, up to now. Raises
        InvalidInput."""
        question = self._question(wish)
        with self._database.read() as uow:
            rows = uow.utilizations.report(question, MOST_ROWS + 1)
        if len(rows) > MOST_ROWS:
            raise InvalidInput(f"The report has more than {MOST_ROWS} rows: ask for one project or one user.")
        return UsageReport(question.start, question.end, tuple(rows))

    def get_of_lease(self, lease_id: str) -> Sequence[Utilization]:
        """Return what the reservations of a lease use; nothing of those that were not looked at yet."""
        with self._database.read() as uow:
            return uow.utilizations.of_leases([lease_id])

    def forget(self, kept: timedelta) -> None:
        """Remove what is over for longer than this."""
        before = self._clock.now() - kept
        self._database.transact(lambda uow: uow.utilizations.forget(before, FORGOTTEN))

    def _question(self, wish: UsageWish) -> UsageQuestion:
        now = self._clock.now()
        end = min(wish.end or now, now)
        start = wish.start or end - DEFAULT_WINDOW
        if start >= end:
            raise InvalidInput("The window is to begin before it ends, and before now.")
        if end - start > LONGEST_WINDOW:
            raise InvalidInput(f"The window is at most {LONGEST_WINDOW.days} days long.")
        return UsageQuestion(
            from_epoch(epoch(start)),
            from_epoch(epoch(end)),
            wish.project_id,
            wish.user_id,
            wish.resource_type,
            wish.by_project,
            wish.by_user,
        )
