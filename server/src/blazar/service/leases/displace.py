"""The displacement of leases by one of a higher class that does not fit: which ones give way, and where they
go."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import InvalidInput
from blazar.domain.lease.displacement import (
    DisplacedLease,
    DisplacementEffect,
    in_order,
    may_be_displaced,
    may_wait,
    moved,
    put_in_line,
)
from blazar.domain.lease.lease import Lease
from blazar.domain.planning.availability import AvailabilitySearch, Requests
from blazar.domain.planning.blocking import movable_ids
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.displacement import least
from blazar.domain.planning.plan import Plan
from blazar.domain.resource import Pool
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission, with_allocations
from blazar.service.commands import ByDuration
from blazar.service.context import Caller
from blazar.service.leases.settings import DisplacementSettings
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.preparation import Task

LOG = logging.getLogger(__name__)
MOST_LOOKED_AT = 500
"""Leases in each pool that may give way, those that start last."""
NOT_HERE = "This service displaces no leases. Ask without displace."
NEEDS_START = "A lease that starts as early as can be displaces no others. Ask without displace."
OWN_RIGHTS = (
    "This lease cannot displace others: instances with an affinity, and snapshots before the end, are made "
    "in the cloud after that, and may fail. Ask without displace."
)


@dataclass(frozen=True, slots=True)
class Displacement:
    """The plan of a lease, and the leases that give way to it."""

    plan: Plan
    leases: tuple[DisplacedLease, ...]
    generations: Mapping[str, int] = field(default_factory=dict)
    """The generations of the resources that the plans rely on."""

    @property
    def waiting(self) -> int:
        return sum(each.effect is DisplacementEffect.WAITS for each in self.leases)

    @property
    def given_back(self) -> Sequence[str]:
        """Return the ids of resources on which only something becomes free."""
        left = {id_ for each in self.leases for id_ in each.old.resource_ids}
        return sorted(left - self.generations.keys())


class LeaseDisplacement:
    """The story of a displacement. It is part of a creation."""

    def __init__(
        self,
        database: Database,
        admission: Admission,
        clock: Clock,
        settings: DisplacementSettings,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._database = database
        self._admission = admission
        self._clock = clock
        self._settings = settings
        self._metrics = metrics

    def require_allowed(self, by_duration: ByDuration | None, task: Task | None) -> None:
        """Raise InvalidInput where a lease may displace no others, whether there is enough or not."""
        if not self._settings.is_allowed:
            raise InvalidInput(NOT_HERE)
        if by_duration is not None and by_duration.earliest:
            raise InvalidInput(NEEDS_START)
        if task is not None:
            raise InvalidInput(OWN_RIGHTS)

    def find(self, lease: Lease, caller: Caller) -> Displacement | None:
        """Return the plan of the lease, and which leases give way to it; None where it does not fit even so,
        or that is not found within the budget of a decision. Nothing is written. Raises TooLate."""
        requests = self._admission.requests(lease.reservations, lease.interval)
        try:
            return self._admission.examine(caller, lambda budget: self._found(lease, requests, budget))
        except CutShort:
            return None

    def tell(self, displacement: Displacement) -> None:
        """Log and count what was committed."""
        waiting = displacement.waiting
        self._metrics.displaced(len(displacement.leases) - waiting, waiting)
        for each in displacement.leases:
            extra = {"action": "displace", "lease_id": each.old.id}
            LOG.info("Lease %s is displaced: it %s", each.old.id, each.effect, extra=extra)

    def _found(self, lease: Lease, requests: Requests, budget: Budget) -> Displacement | None:
        now = self._clock.now()
        since = floor_minute(now) + self._settings.notice
        calendars = {pool: self._admission.copy(pool) for pool in requests}
        ids = {
            id_
            for pool, request in requests.items()
            for id_ in movable_ids(calendars[pool].snapshot(), request, since, MOST_LOOKED_AT, budget)
        }
        with self._database.read() as uow:
            leases = uow.leases.get_many(sorted(ids)) if ids else ()
        candidates = in_order(each for each in leases if may_be_displaced(each, lease.priority, since))
        trial = _Trial(self._admission, calendars, lease, requests, budget, now)
        # One that can neither move nor wait spoils a choice.
        movable = [each for each in candidates if may_wait(each)]
        return least(candidates, trial.fits, trial.outcome) or least(movable, trial.fits, trial.outcome)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What would be if some leases gave way."""

    admission: Admission
    calendars: dict[Pool, Calendar]
    lease: Lease
    requests: Requests
    budget: Budget
    now: datetime
    scratches: dict[Pool, Calendar] = field(default_factory=dict)

    def fits(self, chosen: Sequence[Lease]) -> bool:
        return self._plan(self.calendars, self._without(chosen)) is not None

    def outcome(self, chosen: Sequence[Lease]) -> Displacement | None:
        """Return what becomes of the chosen leases, those first that give way last; None where one can
        neither move nor wait."""
        plan = self._plan(self.calendars, self._without(chosen))
        if plan is None:
            return None
        wanted = [self._moves(each) for each in chosen]
        calendars = {pool: self._scratch(pool) for each in (self.requests, *wanted) for pool in each}
        changed: set[str] = set()
        try:
            return self._placed(chosen, wanted, plan, calendars, changed)
        finally:
            self._restore(calendars, changed)

    def _placed(
        self,
        chosen: Sequence[Lease],
        wanted: Sequence[Requests],
        plan: Plan,
        calendars: Mapping[Pool, Calendar],
        changed: set[str],
    ) -> Displacement | None:
        """Write to the calendars where the new lease and the chosen ones go. ``changed`` gets the ids of the
        resources that are written."""
        for each in chosen:
            _clear(calendars.values(), each, changed)
        _write(calendars.values(), with_allocations(self.lease, plan), changed)
        generations = dict(plan.generations)
        displaced: list[DisplacedLease] = []
        for old, requests in reversed(list(zip(chosen, wanted, strict=True))):
            found = self._plan(calendars, requests)
            if found is not None:
                new = with_allocations(old, found)
                _write(calendars.values(), new, changed)
                if new.allocations == old.allocations:
                    continue  # it is not in the way
                new = moved(new, self.now)
                generations |= {**found.relied_on, **found.generations}
            elif may_wait(old):
                new = put_in_line(old, self.now)
            else:
                return None
            displaced.append(DisplacedLease(old, new))
        return Displacement(plan, tuple(displaced), generations)

    def _without(self, chosen: Sequence[Lease]) -> Requests:
        ids = frozenset(each.id for each in chosen)
        return {pool: replace(request, given_up=ids) for pool, request in self.requests.items()}

    def _moves(self, lease: Lease) -> Requests:
        """Return what the lease asks for to have as much as it has."""
        requests = self.admission.requests(lease.reservations, lease.interval)
        return {
            pool: replace(request, demands=tuple(each.replacing(()) for each in request.demands))
            for pool, request in requests.items()
        }

    def _plan(self, calendars: Mapping[Pool, Calendar], requests: Requests) -> Plan | None:
        search = AvailabilitySearch(lambda pool: calendars[pool].snapshot(), self.budget)
        found = search.fitting(requests)
        return None if found is None else found.plan

    def _scratch(self, pool: Pool) -> Calendar:
        """Return a calendar of the pool to write to: one for all trials, for a copy takes longer than a
        plan."""
        if pool not in self.scratches:
            if pool not in self.calendars:
                self.calendars[pool] = self.admission.copy(pool)
            self.scratches[pool] = self.calendars[pool].copy()
        return self.scratches[pool]

    def _restore(self, calendars: Mapping[Pool, Calendar], changed: Iterable[str]) -> None:
        for pool, calendar in calendars.items():
            for resource_id in changed:
                calendar.occupy(resource_id, self.calendars[pool].allocations_of(resource_id))


def _clear(calendars: Iterable[Calendar], lease: Lease, changed: set[str]) -> None:
    changed.update(lease.resource_ids)
    for calendar in calendars:
        for resource_id in lease.resource_ids:
            calendar.release(resource_id, lease.id)


def _write(calendars: Iterable[Calendar], lease: Lease, changed: set[str]) -> None:
    changed.update(lease.resource_ids)
    for calendar in calendars:
        for allocation in lease.allocations:
            calendar.add(allocation)
