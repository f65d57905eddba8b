"""Find the leases that stand in the way of a request that does not fit.

A lease stands in the way where it has an allocation on a resource that matches a demand, in the window of the
request, cleaning time included. Its share of the resource does not matter: of a host that servers share, it
takes a part that is lacking."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.occupancy import NEVER, Occupancy
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import candidate_for
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.planner import held_by
from blazar.domain.requirement.language import Mask
from blazar.domain.time import epoch, from_epoch

MOST_BLOCKING = 20
"""How many leases are named, at the most."""
_PASSES = 8
"""Passes over the allocations in the window, sorting included."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """A lease that stands in the way: when its first allocation there starts, when its last one ends, and on
    how many resources."""

    lease_id: str
    start: datetime
    end: datetime
    resources: int


def blocking(
    calendar: CalendarSnapshot, request: PlanRequest, reservation_ids: Collection[str], budget: Budget
) -> tuple[list[Blocking], int]:
    """Return the leases in the way of these reservations of the request, those first that end first, and how
    many there are besides. Raises CutShort."""
    window = calendar.window(request.interval, request.cleaning, request.replaced, held_by(calendar, request))
    wanted = [each for each in request.demands if each.reservation_id in reservation_ids]
    matching: Mask = np.zeros(calendar.columns.size, bool)
    for demand in wanted:
        matching |= candidate_for(calendar, demand, budget).matching
    matching &= calendar.columns.reservable
    budget.spend(of_array(window.rows, _PASSES))
    rows = window.overlapping[matching[calendar.occupancy.index[window.overlapping]]]
    return _by_lease(calendar.occupancy, rows)


def movable_ids(
    calendar: CalendarSnapshot, request: PlanRequest, since: datetime, most: int, budget: Budget
) -> list[str]:
    """Return the ids of what has something that suits the request in its window, and starts at ``since`` or
    later: at most so many, those first that start last. Raises CutShort."""
    window = calendar.window(request.interval, request.cleaning, request.replaced, held_by(calendar, request))
    matching: Mask = np.zeros(calendar.columns.size, bool)
    for demand in request.demands:
        matching |= candidate_for(calendar, demand, budget).matching
    budget.spend(of_array(window.rows, _PASSES))
    occupancy = calendar.occupancy
    rows = window.overlapping[matching[occupancy.index[window.overlapping]]]
    rows = rows[occupancy.start[rows] >= epoch(since)]
    _, firsts = np.unique(occupancy.lease[rows], return_index=True)
    rows = rows[firsts]
    latest = rows[np.argsort(-occupancy.start[rows], kind="stable")][:most]
    found = (occupancy.allocations[int(row)] for row in latest.tolist())
    return [allocation.lease_id for allocation in found if allocation is not None]


def _by_lease(occupancy: Occupancy, rows: Ints) -> tuple[list[Blocking], int]:
    """Return one value for each of the first leases, known by the hash of its id, and the number of the
    others."""
    hashes, firsts, group = np.unique(occupancy.lease[rows], return_index=True, return_inverse=True)
    starts, ends = np.full(len(hashes), NEVER), np.zeros(len(hashes), np.int64)
    np.minimum.at(starts, group, occupancy.start[rows])
    np.maximum.at(ends, group, occupancy.end[rows])
    pairs = np.unique((group.astype(np.int64) << 32) | occupancy.index[rows])
    resources = np.bincount(pairs >> 32, minlength=len(hashes))
    found = []
    for at in np.lexsort((hashes, starts, ends))[:MOST_BLOCKING].tolist():
        allocation = occupancy.allocations[int(rows[firsts[at]])]
        if allocation is not None:
            first, last = from_epoch(int(starts[at])), from_epoch(int(ends[at]))
            found.append(Blocking(allocation.lease_id, first, last, int(resources[at])))
    return found, len(hashes) - len(found)
