"""Late binding: room for a lease is made by planning others on other resources, of those that have not
begun."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lease.late_binding import may_be_replanned, replanned
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.availability import Requests
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.movable import Rearrangement
from blazar.domain.planning.plan import Plan
from blazar.domain.planning.planner import as_assigned, plan_if_it_fits
from blazar.domain.planning.rearrangement import movable_ids, rearrange
from blazar.domain.resource import PlannedMove, Pool, declared
from blazar.domain.time import Interval, floor_minute
from blazar.service.admission import Admission
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.settings import LateBindingSettings
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import Kinds

LOG = logging.getLogger(__name__)
STEPS = 12_000
"""Of planning, to make room: a fifth of a decision, for all that are refused pay for it."""
CHAINS = 1_500
"""Of these, to find few moves. Then all that may move is planned anew."""
_PASSES = 3
"""Passes over the calendar to leave out what a lease has."""
MOST_LOOKED_AT = 1000
"""Leases in each pool that may be moved, those that are worth a look first."""


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
        self._database = database
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
    ) -> RoomMade | None:
        """Return the plan of the reservations of a lease, which do not fit, and what is planned elsewhere for
        them; None where there is no room even so, or none is found within the budget. Nothing is written. The
        arguments are those of a plan. Raises TooLate."""
        if not self._settings.is_on:
            return None
        requests = self._admission.requests(reservations, interval, given_up)
        try:
            return self._admission.examine(caller, lambda budget: self._found(requests, budget.part(STEPS)))
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
        now = self._clock.now()
        known: dict[str, Lease] = {}
        plans: list[Plan] = []
        moves: list[PlannedMove] = []
        for pool, request in requests.items():
            found = self._in_pool(pool, request, known, now, budget)
            if found is None:
                return None
            plans.append(found.plan)
            moves += found.moves
        by_lease: dict[str, list[PlannedMove]] = {}
        for move in moves:
            by_lease.setdefault(move.allocation.lease_id, []).append(move)
        pairs = [(replanned(known[id_], by_lease[id_], new_id), known[id_]) for id_ in sorted(by_lease)]
        plan = Plan.joined(plans)
        left = {move.allocation.resource_id for move in moves} - plan.generations.keys()
        return RoomMade(plan, pairs, sorted(left))

    def _in_pool(
        self, pool: Pool, request: PlanRequest, known: dict[str, Lease], now: datetime, budget: Budget
    ) -> Rearrangement | None:
        """``known`` gets the leases that are looked at, as they are read first: the commit compares them."""
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
        known: dict[str, Lease],
        now: datetime,
        budget: Budget,
    ) -> Rearrangement | None:
        """Return the plan of a request that has nothing in the snapshot, with the moves that make room."""
        kinds = [kind.resource_type for kind in self._kinds.values() if kind.pool == declared(pool)]
        leads = [lead for each in kinds if (lead := self._settings.lead_of(each)) is not None]
        if not leads:
            return None
        since = floor_minute(now) + min(leads)
        ids = movable_ids(snapshot, request, since, MOST_LOOKED_AT, budget)
        unread = [id_ for id_ in ids if id_ not in known]
        if unread:
            with self._database.read() as uow:
                known |= {each.id: each for each in uow.leases.get_many(sorted(unread))}
        leases = [known[id_] for id_ in ids if id_ in known]
        return rearrange(snapshot, request, list(self._movable(leases, pool, now)), budget, CHAINS)

    def _movable(self, leases: Iterable[Lease], pool: Pool, now: datetime) -> Iterator[Demand]:
        """Yield the reservations that may get other resources of the pool."""
        minute = floor_minute(now)
        for lease in leases:
            for reservation in lease.reservations:
                kind = self._kinds.get(reservation.resource_type)
                lead = self._settings.lead_of(reservation.resource_type)
                if (
                    kind is not None
                    and kind.pool_of(reservation) == pool
                    and lead is not None
                    and may_be_replanned(lease, minute + lead)
                    and reservation.allocations
                ):
                    yield kind.demand(reservation)
