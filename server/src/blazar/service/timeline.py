"""The timeline: the rows of registered resources, and what occupies them in a window of time.

A row is a resource; its bars are the reservations, maintenances and held capacity on it. The answer is worked
out from snapshots of the calendars, so its cost does not grow with what lies outside the window; only the
resources and leases that are told are read from the database. What is over is on no calendar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.errors import InvalidInput, UnsupportedResourceType
from blazar.domain.lease.maintenance import Maintenance
from blazar.domain.lease.share import ShareRight
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.domain.time import Interval, epoch, floor_minute
from blazar.service.calendars import Calendars
from blazar.service.context import Caller
from blazar.service.ports import Clock, Database, LeaseHeading, UnitOfWork
from blazar.service.ports.kind import Kinds, pools_of
from blazar.service.private_properties import private_names

DEFAULT_WINDOW = timedelta(days=7)
LONGEST_WINDOW = timedelta(days=800)
MOST_ROWS = 200
MOST_BARS = 5000
"""Of one answer: some hundred kilobytes. The shortest ones are left out where there are more."""
MOST_GROUPS = 500


@dataclass(frozen=True, slots=True)
class TimelineQuestion:
    """The question for some rows of the timeline, and the part of them in a window of time."""

    start: datetime | None = None
    """None for now."""
    end: datetime | None = None
    first: int = 0
    rows: int = MOST_ROWS
    resource_type: str | None = None
    """Only the resources of this kind."""
    group_by: str | None = None
    """The property whose values group the rows."""
    search: str = ""
    """Only resources that have this text in a property, in any case."""


class BarType(StrEnum):
    """What a bar stands for."""

    LEASE = "lease"
    MAINTENANCE = "maintenance"
    HELD = "held"
    """An offer, or a lease that has come or gone at this moment."""


@dataclass(frozen=True, slots=True)
class Occupant:
    """A lease or another thing that occupies resources. What has no lease has neither name nor owner, but for
    a maintenance, whose name its operator has given."""

    type: BarType
    id: str
    name: str = ""
    status: str = ""
    project_id: str = ""
    user_id: str = ""
    is_shared: bool = False
    """It is a lease of another project, shared with the caller's."""
    right: ShareRight | None = None
    """What the caller's project may do with it; a manager of the version before does not tell."""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A resource. ``trouble`` tells why no lease may get it now; empty where one may."""

    id: str
    name: str
    resource_types: tuple[str, ...]
    group: str = ""
    trouble: str = ""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """The amounts of its resource classes."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A reservation on a resource: ``row`` and ``occupant`` are places in the lists of the answer."""

    row: int
    occupant: int
    start: datetime
    end: datetime
    slots: int
    """How many units are there; 0 where it takes the whole resource."""


@dataclass(frozen=True, slots=True)
class TimelineGroup:
    """Rows that follow each other, of the same kinds and with the same value: ``first`` is the number of the
    first of them."""

    resource_types: tuple[str, ...]
    value: str
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The answer. ``rows`` begin with the row number ``first`` of ``total``."""

    start: datetime
    end: datetime
    total: int
    first: int
    groups: tuple[TimelineGroup, ...]
    rows: tuple[TimelineRow, ...]
    bars: tuple[Bar, ...]
    occupants: tuple[Occupant, ...]
    left_out: int = 0
    """Bars that there are besides."""


class TimelineUseCases:
    """The use case of the timeline, as TimelineInterface names it."""

    def __init__(
        self, calendars: Calendars, kinds: Kinds, regions: Sequence[str], database: Database, clock: Clock
    ) -> None:
        self._calendars = calendars
        self._kinds = kinds
        self._regions = regions
        self._database = database
        self._clock = clock

    def get(self, question: TimelineQuestion, caller: Caller) -> Timeline:
        start = floor_minute(question.start or self._clock.now())
        interval = Interval(start, floor_minute(question.end) if question.end else start + DEFAULT_WINDOW)
        if interval.duration > LONGEST_WINDOW:
            raise InvalidInput(f"The time is longer than {LONGEST_WINDOW.days} days.")
        pools = self._pools(question.resource_type)
        hidden = self._hidden(caller)

        def examine(budget: Budget) -> _Page:
            sections = [
                _Section(pool, types, self._calendars.snapshot(pool), question, hidden, budget)
                for pool, types in pools.items()
            ]
            return _page(sections, question, interval, budget)

        try:
            page = self._calendars.examine(caller, examine)
        except CutShort:
            raise InvalidInput("This is too much work: ask for fewer rows or for a shorter time.") from None
        with self._database.read() as uow:
            return _answer(page, interval, uow, self._kinds, caller)

    def _pools(self, resource_type: str | None) -> Mapping[Pool, tuple[str, ...]]:
        """Return the pools with the kinds that reserve of them."""
        if resource_type is not None and resource_type not in self._kinds:
            raise UnsupportedResourceType(resource_type=resource_type)
        found: dict[Pool, tuple[str, ...]] = {}
        for name, kind in self._kinds.items():
            for pool in pools_of({name: kind}, self._regions):
                found[pool] = (*found.get(pool, ()), name)
        return {pool: types for pool, types in found.items() if resource_type in (None, *types)}

    def _hidden(self, caller: Caller) -> frozenset[str]:
        if caller.sees_private_properties:
            return frozenset()
        with self._database.read() as uow:
            return private_names(uow)


class _Section:
    """The rows of a pool, in order: grouped, and then as the database sorts ids."""

    def __init__(
        self,
        pool: Pool,
        resource_types: tuple[str, ...],
        snapshot: CalendarSnapshot,
        question: TimelineQuestion,
        hidden: frozenset[str],
        budget: Budget,
    ) -> None:
        self.pool, self.resource_types, self.snapshot = pool, resource_types, snapshot
        columns = snapshot.columns
        budget.spend(of_array(columns.size, 4))
        found = columns.containing(question.search, hidden) if question.search else columns.all()
        indexes = np.flatnonzero(found)
        grouping = None if question.group_by in hidden else question.group_by
        self.values, place = columns.grouped(grouping) if grouping else ([""], np.zeros(columns.size, int))
        self.indexes: Ints = indexes[np.lexsort((snapshot.rank[indexes], place[indexes]))]
        self._places: Ints = place[self.indexes]

    def groups(self, before: int) -> Iterable[TimelineGroup]:
        """Return the groups; ``before`` is the number of rows before the section."""
        bounds = [0, *(np.flatnonzero(np.diff(self._places)) + 1).tolist(), len(self.indexes)]
        for first, end in pairwise(bounds):
            if end > first:
                yield TimelineGroup(self.resource_types, self.value_at(first), before + first, end - first)

    def value_at(self, row: int) -> str:
        return self.values[int(self._places[row])]


@dataclass(frozen=True, slots=True)
class _Place:
    """A row that is told: a resource of a section."""

    section: _Section
    resource_id: str
    group: str


@dataclass(frozen=True, slots=True)
class _Page:
    """What is known of an answer from the calendars alone."""

    total: int
    first: int
    groups: tuple[TimelineGroup, ...]
    places: Sequence[_Place]
    occupied: Sequence[tuple[int, Allocation]]
    """The number of a place, and what is on it."""
    left_out: int


def _page(
    sections: Sequence[_Section], question: TimelineQuestion, interval: Interval, budget: Budget
) -> _Page:
    groups: list[TimelineGroup] = []
    places: list[_Place] = []
    occupied: list[tuple[int, Allocation]] = []
    before = 0
    for section in sections:
        groups += section.groups(before)
        if len(groups) > MOST_GROUPS:
            raise InvalidInput(f"The rows have more than {MOST_GROUPS} values of {question.group_by}.")
        size = len(section.indexes)
        begin = min(max(question.first - before, 0), size)
        end = min(max(question.first + question.rows - before, 0), size)
        told = section.indexes[begin:end]
        occupied += _occupied(section.snapshot, told, len(places), interval, budget)
        for row, index in enumerate(told.tolist(), begin):
            places.append(_Place(section, section.snapshot.id_at(index), section.value_at(row)))
        before += size
    merged = _merged(occupied)
    kept = sorted(merged, key=lambda bar: bar[1].interval.duration, reverse=True)[:MOST_BARS]
    kept.sort(key=lambda bar: (bar[0], bar[1].interval.start, bar[1].reservation_id))
    return _Page(before, question.first, tuple(groups), places, kept, len(merged) - len(kept))


def _occupied(
    snapshot: CalendarSnapshot, told: Ints, before: int, interval: Interval, budget: Budget
) -> Iterable[tuple[int, Allocation]]:
    """Return the allocations in the interval on the resources that are told, each with its place."""
    occupancy = snapshot.occupancy
    place = np.full(snapshot.columns.size, -1)
    place[told] = np.arange(before, before + len(told))
    rows = occupancy.overlapping(epoch(interval.start), epoch(interval.end))
    budget.spend(of_array(len(occupancy.page)) + of_array(len(rows), 2))
    at = place[occupancy.index[rows]]
    chosen = np.flatnonzero(at >= 0)
    budget.spend(len(chosen))
    for row, number in zip(rows[chosen].tolist(), at[chosen].tolist(), strict=True):
        allocation = occupancy.allocations[row]
        if allocation is not None:
            yield number, allocation


def _merged(occupied: Iterable[tuple[int, Allocation]]) -> Sequence[tuple[int, Allocation]]:
    """Return the allocations of one reservation on one resource at the same time as one."""
    found: dict[tuple[int, str, Interval], Allocation] = {}
    for number, allocation in occupied:
        key = number, allocation.reservation_id, allocation.interval
        known = found.get(key)
        found[key] = allocation if known is None else replace(known, slots=known.slots + allocation.slots)
    return [(number, allocation) for (number, _, _), allocation in found.items()]


def _answer(page: _Page, interval: Interval, uow: UnitOfWork, kinds: Kinds, caller: Caller) -> Timeline:
    rows = _rows(page.places, uow, kinds)
    ids = list(dict.fromkeys(allocation.lease_id for _, allocation in page.occupied))
    number = {id_: at for at, id_ in enumerate(ids)}
    bars = tuple(
        Bar(
            row,
            number[each.lease_id],
            each.interval.start,
            each.interval.end,
            0 if each.usage.whole else each.slots,
        )
        for row, each in page.occupied
    )
    occupants = tuple(_occupants(ids, uow, caller))
    first = min(page.first, page.total)
    return Timeline(
        interval.start, interval.end, page.total, first, page.groups, rows, bars, occupants, page.left_out
    )


def _rows(places: Sequence[_Place], uow: UnitOfWork, kinds: Kinds) -> tuple[TimelineRow, ...]:
    by_pool: dict[Pool, list[str]] = {}
    for place in places:
        by_pool.setdefault(place.section.pool, []).append(place.resource_id)
    known = {each.id: each for pool, ids in by_pool.items() for each in uow.resources.list(pool, ids)}
    return tuple(_row(place, known.get(place.resource_id), kinds) for place in places)


def _row(place: _Place, found: Registration | None, kinds: Kinds) -> TimelineRow:
    """Return the row; one whose resource was removed a moment ago tells that."""
    types = place.section.resource_types
    if found is None:
        return TimelineRow(place.resource_id, place.resource_id, types, place.group, "removed")
    capacity = {name: inventory.capacity for name, inventory in found.inventory.items()}
    name = kinds[types[0]].label(found)
    return TimelineRow(found.id, name, types, place.group, _trouble(found), capacity)


def _trouble(found: Registration) -> str:
    if found.failure is not None:
        return str(found.failure.reason)
    return "" if found.reservable else "not reservable"


def _occupants(ids: Sequence[str], uow: UnitOfWork, caller: Caller) -> Iterable[Occupant]:
    leases = {each.id: each for each in uow.leases.headings(ids)}
    shared = _shared_with(caller, leases.values(), uow)
    maintenances: dict[str, Maintenance] = {}
    if len(leases) < len(ids):
        maintenances = {each.id: each for each in uow.maintenances.list()}
    for id_ in ids:
        if id_ in leases:
            yield _lease(leases[id_], shared.get(id_))
        elif id_ in maintenances:
            yield Occupant(BarType.MAINTENANCE, id_, maintenances[id_].name)
        else:
            yield Occupant(BarType.HELD, id_)


def _shared_with(caller: Caller, leases: Iterable[LeaseHeading], uow: UnitOfWork) -> Mapping[str, ShareRight]:
    """Return the rights of the project of the caller to those of the leases that are shared with it.
    Administrators see all anyway."""
    if caller.is_admin or caller.project_id is None:
        return {}
    others = [each.id for each in leases if each.project_id != caller.project_id]
    return uow.shares.rights(others, caller.project_id) if others else {}


def _lease(lease: LeaseHeading, right: ShareRight | None) -> Occupant:
    owner = lease.project_id, lease.user_id
    return Occupant(BarType.LEASE, lease.id, lease.name, lease.status.value, *owner, right is not None, right)
