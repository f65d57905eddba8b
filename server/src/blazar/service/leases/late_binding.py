"""Late binding: room for a lease is made by planning others on other resources, of those that have not
begun."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lease.late_binding import replanned
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.availability import Requests
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.movable import Rearrangement
from blazar.domain.planning.plan import Plan
from blazar.domain.planning.planner import as_assigned, plan_if_it_fits
from blazar.domain.planning.rearrangement import movable_allocations, rearrange
from blazar.domain.resource import PlannedMove, Pool, declared
from blazar.domain.time import Interval, floor_minute
from blazar.service.admission import Admission
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.movable_leases import KnownLease, MovableLeases
from blazar.service.leases.settings import LateBindingSettings
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import Kinds

LOG = logging.getLogger(__name__)
STEPS = 12_000
"""Of planning, to make room: a fifth of a decision, for all that are refused pay for it."""
STEPS_IN_LINE = 48_000
"""The same for a lease that waits in line: no answer waits for it."""
CHAINS = 1_500
"""Of these, to find chains of moves, where numbers of whole resources do not tell it."""
_ATTEMPTS = 3
"""Plans, where what is to move was changed by others meanwhile."""
_PASSES = 3
"""Passes over the calendar to leave out what a lease has."""
MOST_LOOKED_AT = 1000
"""Leases in each pool that may be moved. Where there are more, it is only a few of them."""


@dataclass(frozen=True, slots=True)
class RoomMade:
    """The plan of a lease, and the leases that are planned on other resources for it."""

    plan: Plan
    replanned: Sequence[tuple[Lease, Lease]] = ()
    """As they are to be, and as they were read."""
    given_back: Sequence[str] = ()
    """The ids of resources on which only something becomes free."""


class LateBinding:
    """The story of room that is made. It is part of a creation, of an update and of a promotion."""

    def __init__(
        self,
        database: Database,
        admission: Admission,
        kinds: Kinds,
        clock: Clock,
        settings: LateBindingSettings,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._movable = MovableLeases(database, kinds, settings)
        self._admission = admission
        self._kinds = kinds
        self._clock = clock
        self._settings = settings
        self._metrics = metrics

    def find(
        self,
        reservations: Sequence[Reservation],
        interval: Interval,
        caller: Caller,
        given_up: Collection[str] = (),
        steps: int = STEPS,
    ) -> RoomMade | None:
        """Return the plan of the reservations of a lease, which do not fit, and what is planned elsewhere for
        them; None where there is no room even so, or none is found within so many steps. Nothing is written.
        The other arguments are those of a plan. Raises TooLate."""
        if not self._settings.is_on:
            return None
        requests = self._admission.requests(reservations, interval, given_up)
        try:
            return self._admission.examine(caller, lambda budget: self._found(requests, budget.part(steps)))
        except CutShort:
            return None

    def tell(self, replanned: Sequence[tuple[Lease, Lease]]) -> None:
        """Log and count the leases that were committed on other resources."""
        if replanned:
            self._metrics.replanned(len(replanned))
        for new, _ in replanned:
            extra = {"action": "replan", "lease_id": new.id}
            LOG.info("Lease %s is planned on other resources, to make room", new.id, extra=extra)

    def _found(self, requests: Requests, budget: Budget) -> RoomMade | None:
        """Return what was found, as soon as what is to move is as it was when it was planned."""
        for _ in range(_ATTEMPTS):
            known: dict[str, KnownLease] = {}
            found = self._in_pools(requests, known, budget)
            if found is None:
                return None
            moving = self._movable.read_again(found.moves, known)
            if moving is not None:
                return _room(found, moving)
        return None

    def _in_pools(
        self, requests: Requests, known: dict[str, KnownLease], budget: Budget
    ) -> Rearrangement | None:
        now = self._clock.now()
        plans: list[Plan] = []
        moves: list[PlannedMove] = []
        for pool, request in requests.items():
            found = self._in_pool(pool, request, known, now, budget)
            if found is None:
                return None
            plans.append(found.plan)
            moves += found.moves
        return Rearrangement(Plan.joined(plans), tuple(moves))

    def _in_pool(
        self, pool: Pool, request: PlanRequest, known: dict[str, KnownLease], now: datetime, budget: Budget
    ) -> Rearrangement | None:
        """``known`` gets what is known of the leases that are looked at, as it is known first."""
        snapshot = self._admission.latest(pool)
        fits = plan_if_it_fits(snapshot, request, budget)
        if fits is not None:
            return Rearrangement(fits)
        has = [row for demand in request.demands for row in demand.current]
        if not has:
            return self._rearranged(pool, snapshot, request, known, now, budget)
        own = frozenset(row.reservation_id for row in has)
        budget.spend(of_array(len(snapshot.occupancy.end), _PASSES))
        found = self._rearranged(pool, snapshot.without(own), request, known, now, budget)
        if found is None:
            return None
        # What of all that the lease has is kept.
        plan = as_assigned(snapshot, request, found.plan.assignments, budget)
        return Rearrangement(
            replace(plan, generations={**found.plan.generations, **plan.generations}), found.moves
        )

    def _rearranged(
        self,
        pool: Pool,
        snapshot: CalendarSnapshot,
        request: PlanRequest,
        known: dict[str, KnownLease],
        now: datetime,
        budget: Budget,
    ) -> Rearrangement | None:
        """Return the plan of a request that has nothing in the snapshot, with the moves that make room."""
        kinds = [kind.resource_type for kind in self._kinds.values() if kind.pool == declared(pool)]
        leads = [lead for each in kinds if (lead := self._settings.lead_of(each)) is not None]
        if not leads:
            return None
        since = floor_minute(now) + min(leads)
        allocations = movable_allocations(snapshot, request, since, MOST_LOOKED_AT, budget)
        known |= {id_: each for id_, each in self._movable.known(allocations).items() if id_ not in known}
        movable = [
            demand
            for id_, rows in allocations.items()
            if id_ in known
            for demand in known[id_].demands(rows, pool, now)
        ]
        return rearrange(snapshot, request, movable, budget, CHAINS)


def _room(found: Rearrangement, leases: Mapping[str, Lease]) -> RoomMade:
    by_lease: dict[str, list[PlannedMove]] = {}
    for move in found.moves:
        by_lease.setdefault(move.allocation.lease_id, []).append(move)
    pairs = [(replanned(leases[id_], by_lease[id_], new_id), leases[id_]) for id_ in sorted(by_lease)]
    left = {move.allocation.resource_id for move in found.moves} - found.plan.generations.keys()
    return RoomMade(found.plan, pairs, sorted(left))
