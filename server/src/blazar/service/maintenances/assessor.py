"""The steps that all take which take resources away: find them, find out what is on them, and assess that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import InvalidInput, NotFound, Stale
from blazar.domain.failure import Failure
from blazar.domain.lease.healing import Outage
from blazar.domain.lease.maintenance import Maintenance, closures
from blazar.domain.planning.budget import Budget
from blazar.domain.resource import Pool, Registration
from blazar.domain.time import HORIZON, Interval
from blazar.service.calendars import Calendars
from blazar.service.context import Caller
from blazar.service.healing import HealingSettings, known_misfits
from blazar.service.maintenances.impact import STEPS, Assessment, ImpactCheck, Occupants, occupant_ids
from blazar.service.ports import Clock, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.short_requests import Patience

MOST_LEASES = 1000
"""Leases that one maintenance may have to do with: they are changed in one transaction."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What an assessment stands on, as it was read."""

    calendar: Calendar
    resources: Sequence[Registration]
    maintenance: Maintenance
    planned: Sequence[Maintenance]
    occupants: Occupants
    failures: Mapping[str, Failure]
    now: datetime


class Assessor:
    """Tells what taking resources away does to leases. ``pools`` are those whose resources can be taken
    away."""

    def __init__(
        self,
        calendars: Calendars,
        kinds: Kinds,
        clock: Clock,
        pools: Collection[Pool],
        settings: HealingSettings,
    ) -> None:
        self._calendars = calendars
        self.kinds = kinds
        self._clock = clock
        self.pools = pools
        self.settings = settings

    def resources(self, uow: UnitOfWork, references: Sequence[str]) -> Sequence[Registration]:
        """Return the resources by id or name, each once. Raises NotFound."""
        found: dict[str, Registration] = {}
        for reference in references:
            resource = self._found(uow, reference)
            if resource is None:
                raise NotFound(object=str({"host_id": reference}))
            found[resource.id] = resource
        return list(found.values())

    def _found(self, uow: UnitOfWork, reference: str) -> Registration | None:
        resource = uow.resources.get(reference)
        if resource is not None and resource.pool in self.pools:
            return resource
        by_name = (uow.resources.find(pool, reference) for pool in self.pools)
        return next((each for each in by_name if each is not None), None)

    def copy(self, resources: Sequence[Registration], in_full: bool) -> Calendar:
        """Return a copy of the calendar that the resources share, to be planned on. Raises InvalidInput where
        they share none. What is only told, and compared with nothing, needs it ``in_full``."""
        pools = {each.pool for each in resources}
        if len(pools) != 1:
            raise InvalidInput("A maintenance is of hosts of one kind, and of at least one.")
        return self._calendars.copy(pools.pop(), in_full)

    def look(
        self,
        uow: UnitOfWork,
        calendar: Calendar,
        resources: Sequence[Registration],
        maintenance: Maintenance,
        planned: Sequence[Maintenance],
    ) -> Findings:
        """Return what there is to know for an assessment; ``planned`` is what takes resources away besides.

        Raises Stale where the calendar is behind what is stored, InvalidInput where there is too much to
        do."""
        now = self._clock.now()
        occupants = self._occupants(uow, calendar, maintenance, planned, now)
        if any(calendar.generation_of(each.id) != each.generation for each in resources):
            raise Stale()
        failures = {each.id: each.failure for each in uow.resources.failed(resources[0].pool) if each.failure}
        return Findings(calendar, resources, maintenance, planned, occupants, failures, now)

    def assess(self, seen: Findings, force: bool, caller: Caller) -> Assessment:
        """Return what becomes of leases, with the generations of all that this relies on. The calendar is
        written to. Raises InvalidInput where it is too much work, and TooLate."""
        now, settings, pool = seen.now, self.settings, seen.resources[0].pool
        outage = Outage(
            seen.failures,
            Interval(now, now + (settings.interval or HORIZON)),
            settings.patience,
            known_misfits(self.kinds, pool, seen.calendar, seen.occupants.leases, now),
            closures(seen.planned),
        )
        with self._calendars.patient(caller.project_id) as patience:
            budget = Budget(STEPS, lambda: self._look_up(caller, patience))
            check = ImpactCheck(
                self.kinds, settings, seen.calendar, outage, seen.maintenance, force, now, budget
            )
            found = check.assess(seen.occupants)
        found.generations |= {each.id: each.generation for each in seen.resources}
        return found

    def _look_up(self, caller: Caller, patience: Patience) -> None:
        caller.require_time(self._clock.now())
        patience.breathe()

    def _occupants(
        self,
        uow: UnitOfWork,
        calendar: Calendar,
        maintenance: Maintenance,
        planned: Sequence[Maintenance],
        now: datetime,
    ) -> Occupants:
        ids = dict(occupant_ids(calendar, maintenance, now))
        for other in [maintenance, *planned]:
            ids.pop(other.id, None)
        if len(ids) > MOST_LEASES:
            raise InvalidInput(
                f"{len(ids)} leases have something on these hosts then, and at most {MOST_LEASES} can be "
                "looked after at once: take fewer hosts away, or for a shorter time."
            )
        leases = uow.leases.get_many(sorted(ids))
        for lease in leases:
            del ids[lease.id]
        return Occupants(leases, ids)
