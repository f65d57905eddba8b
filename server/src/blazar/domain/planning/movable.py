"""What is movable in a calendar, what stays there, and how room was made for a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.calendar.occupancy import Occupancy
from blazar.domain.calendar.snapshot import CalendarSnapshot, seconds
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import candidate_for
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.plan import Assignment, Plan
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation, PlannedMove
from blazar.domain.time import FOREVER, Interval, epoch

_PASSES = 8
"""Passes over arrays to read them."""
_STEPS = 4
"""To read a demand."""


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """The plan of a request, and the moves that make room for it.

    The generations of all resources that get something are in those of the plan."""

    plan: Plan
    moves: tuple[PlannedMove, ...] = ()


def rearrangement(
    calendar: CalendarSnapshot,
    interval: Interval,
    assigned: Sequence[Assignment],
    moves: Sequence[PlannedMove],
) -> Rearrangement:
    """Return the outcome of these assignments of a new request, and of these moves."""
    names = [*(each.resource_id for each in assigned), *(each.resource_id for each in moves)]
    generations = {name: n for name in names if (n := calendar.generation_of(name)) is not None}
    plan = Plan(interval, tuple(assigned), tuple(assigned), generations=generations)
    return Rearrangement(plan, tuple(moves))


class Movables:
    """The demands of a request and those that are movable, with the rows of the calendar in their time.

    A demand has a number: first come those of the request, then the movable ones. A row is movable where its
    reservation is, and where the calendar has it as it was when the reservation was read."""

    def __init__(
        self, calendar: CalendarSnapshot, request: PlanRequest, movable: Sequence[Demand], budget: Budget
    ) -> None:
        self.calendar = calendar
        self.request = request
        self.demands = (*request.demands, *movable)
        self.new = len(request.demands)
        self.width = seconds(request.cleaning)
        budget.spend(sum(_STEPS + len(each.current) for each in movable))
        self.candidates = [
            *(candidate_for(calendar, each, budget) for each in request.demands),
            *(candidate_for(calendar, _bare(each), budget) for each in movable),
        ]
        self._number = {each.reservation_id: self.new + n for n, each in enumerate(movable)}
        self._read(movable, budget)

    def _read(self, movable: Sequence[Demand], budget: Budget) -> None:
        occupancy = self.calendar.occupancy
        intervals = [self.request.interval, *(row.interval for each in movable for row in each.current)]
        begin = min(epoch(each.start) for each in intervals) - self.width
        end = max(epoch(each.end) for each in intervals) + self.width
        rows = occupancy.overlapping(begin, end)
        budget.spend(of_array(len(rows) + len(occupancy.start), _PASSES))
        indexes = occupancy.index[rows].astype(np.int64)
        order = np.argsort(indexes, kind="stable")
        self.rows: Ints = rows[order]
        """In the order of their resources."""
        self.indexes: Ints = indexes[order]
        may_move = {row.id: row for each in movable for row in movable_rows(each)}
        hashes = np.array([hash(each.reservation_id) for each in movable], np.int64)
        found = []
        for row in rows[np.isin(occupancy.reservation[rows], hashes)].tolist():
            stored = occupancy.allocations[row]
            # What has changed since the leases were read stays.
            if stored is not None and is_same(stored, may_move.get(stored.id)):
                found.append(row)
        self.is_movable: Mask = mask_of(occupancy, np.array(found, np.int64))
        """By row of the calendar."""

    def allocation(self, row: int) -> Allocation:
        allocation = self.calendar.occupancy.allocations[row]
        assert allocation is not None  # noqa: S101 - free rows overlap nothing
        return allocation

    def number_of(self, allocation: Allocation) -> int | None:
        """Return the number of the movable demand that has it."""
        return self._number.get(allocation.reservation_id)


class InUse(NamedTuple):
    """Times in which resources are in use: those of one resource do not overlap."""

    indexes: Ints
    begins: Ints
    ends: Ints

    def during(self, start: int, end: int) -> Ints:
        """Return the indexes of resources that are in use at any time between."""
        return self.indexes[(self.begins < end) & (self.ends > start)]

    def next_after(self, moment: int, size: int) -> Ints:
        """Return by index when each of so many resources is in use next, from the moment on."""
        found: Ints = np.full(size, epoch(FOREVER), np.int64)
        later = self.begins >= moment
        np.minimum.at(found, self.indexes[later], self.begins[later])
        return found


def in_use(occupancy: Occupancy, rows: Ints, cleaning: int = 0) -> InUse:
    """Return the times in which resources have any of the rows, with so many seconds after each."""
    index, start, end = (
        occupancy.index[rows].astype(np.int64),
        occupancy.start[rows],
        occupancy.end[rows] + cleaning,
    )
    if not len(rows):
        return InUse(index, start, end)
    order = sorted_order(index << int(start.max()).bit_length() | start)
    index, start, end = index[order], start[order], end[order]
    # The latest end so far on the same resource: a later resource is always above all before it.
    offset = index * (int(end.max()) + 1)
    reached = np.maximum.accumulate(end + offset)
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (index[1:] != index[:-1]) | (start[1:] + offset[1:] > reached[:-1])
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(rows)) - 1
    return InUse(index[firsts], start[firsts], reached[lasts] - offset[lasts])


def movable_rows(demand: Demand) -> Sequence[Allocation]:
    """Return the allocations that can be moved one by one: not where the user named the resource."""
    if demand.grouping is Grouping.TOGETHER and len(demand.current) > 1:
        return ()
    rows = [row for row in demand.current if row.resource_id not in demand.must_include]
    return [row for row in rows if row.usage == demand.usage and row.slots > 0]


def mask_of(occupancy: Occupancy, rows: Ints) -> Mask:
    mask: Mask = np.zeros(len(occupancy.start), bool)
    mask[rows] = True
    return mask


def _bare(demand: Demand) -> Demand:
    """Return what a movable demand asks of a resource, whatever it has."""
    return replace(demand, current=(), keep_current=False, must_include=())


def is_same(stored: Allocation, known: Allocation | None) -> bool:
    """Return whether an allocation of the calendar is as it was read."""
    return known is not None and (stored.resource_id, stored.interval, stored.slots, stored.usage) == (
        known.resource_id,
        known.interval,
        known.slots,
        known.usage,
    )
