"""The use cases of maintenances in this process, as MaintenancesInterface names them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import Conflict, InvalidInput, MaintenanceNotFound, NotFound, Stale
from blazar.domain.lease.change import check_new_interval
from blazar.domain.lease.healing import Outage, told_closed
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import LeaseImpact, Maintenance, closures
from blazar.domain.planning.budget import Budget
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.domain.time import HORIZON, Interval, floor_minute
from blazar.service.admission import Admission
from blazar.service.calendars import Calendars
from blazar.service.commands import CreateMaintenance
from blazar.service.context import Caller
from blazar.service.healing import HealingSettings, known_misfits, on_closed
from blazar.service.ids import new_id
from blazar.service.leases.dates import moment_of
from blazar.service.maintenances.impact import STEPS, Assessment, ImpactCheck, Occupants, occupant_ids
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database, Nudge, UnitOfWork
from blazar.service.ports.kind import Kinds

LOG = logging.getLogger(__name__)
MOST_LEASES = 1000
"""Leases that one maintenance may have to do with: they are changed in one transaction."""
MOST_MAINTENANCES = 100
"""That are planned or under way at once, so that a list of them is never long."""
AT_ONCE = 200
"""Leases whose flags are changed in one transaction."""


@dataclass(frozen=True, slots=True)
class MaintenanceDecision:
    """The maintenance, and what it does to leases. ``maintenance`` is None where it was refused, for it would
    break leases."""

    maintenance: Maintenance | None
    impacts: tuple[LeaseImpact, ...]


class Maintenances:
    """The use cases of maintenances. ``pools`` are those whose resources can be taken away."""

    def __init__(
        self,
        database: Database,
        calendars: Calendars,
        admission: Admission,
        kinds: Kinds,
        clock: Clock,
        pools: Collection[Pool],
        settings: HealingSettings,
        nudge: Nudge,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._database = database
        self._calendars = calendars
        self._admission = admission
        self._kinds = kinds
        self._clock = clock
        self._pools = pools
        self._settings = settings
        self._nudge = nudge
        self._metrics = metrics
        self._has_told_all = False
        """Whether no maintenance was there when leases were told the last time: there is nothing to take back
        then, also not what a manager has left half-done."""

    def get(self, maintenance_id: str) -> Maintenance:
        with self._database.read() as uow:
            found = uow.maintenances.get(maintenance_id)
        if found is None:
            raise MaintenanceNotFound(maintenance=maintenance_id)
        return found

    def list(self) -> Sequence[Maintenance]:
        with self._database.read() as uow:
            return uow.maintenances.list()

    # take away

    def preview(self, command: CreateMaintenance, caller: Caller) -> MaintenanceDecision:
        """Return what a create would do at this moment. Nothing is written."""

        def attempt() -> MaintenanceDecision:
            maintenance, found = self._decided(command, new_id(), caller)
            return MaintenanceDecision(maintenance, tuple(found.impacts))

        return self._admission.until_committed(attempt, caller.deadline)

    def create(self, command: CreateMaintenance, caller: Caller) -> MaintenanceDecision:
        """Take the resources away, and move the leases that can be moved, in one commit; nothing where a
        lease would break, unless it is forced."""
        id_, impacts = new_id(), tuple[LeaseImpact, ...]()

        def attempt() -> MaintenanceDecision:
            nonlocal impacts
            with self._database.read() as uow:
                stored = uow.maintenances.get(id_)
            if stored is not None:  # by the attempt before, whose outcome was not known
                return MaintenanceDecision(stored, impacts)
            maintenance, found = self._decided(command, id_, caller)
            impacts = tuple(found.impacts)
            if found.broken and not command.force:
                return MaintenanceDecision(None, impacts)
            stored = self._commit(maintenance, found, caller)
            self._metrics.healed(found.moved, found.missed)
            return MaintenanceDecision(stored, impacts)

        decision = self._admission.until_committed(attempt, caller.deadline)
        if decision.maintenance is not None:
            self._nudge(self._clock.now())
            _tell(decision.maintenance, impacts)
        return decision

    def _decided(
        self, command: CreateMaintenance, id_: str, caller: Caller
    ) -> tuple[Maintenance, Assessment]:
        """Return the maintenance and what is to be committed with it. Raises Stale where the calendar is
        behind what was read."""
        now = self._clock.now()
        caller.require_time(now)
        minute = floor_minute(now)
        interval = check_new_interval(
            moment_of(command.start, minute), moment_of(command.end, minute), minute
        )
        with self._database.read() as uow:
            pool = self._pool(self._resources(uow, command.resources))
        calendar = self._calendars.copy(pool)
        with self._database.read() as uow:
            resources = self._resources(uow, command.resources)
            planned = uow.maintenances.list()
            _require_free(resources, planned, interval)
            maintenance = _maintenance(command, id_, resources, interval, caller)
            occupants = self._occupants(uow, calendar, maintenance, planned, now)
            failures = {each.id: each.failure for each in uow.resources.failed(pool) if each.failure}
        if any(calendar.generation_of(each.id) != each.generation for each in resources):
            raise Stale()
        outage = Outage(
            failures,
            Interval(now, now + (self._settings.interval or HORIZON)),
            self._settings.patience,
            known_misfits(self._kinds, pool, calendar, occupants.leases, now),
            closures(planned),
        )
        budget = Budget(STEPS, lambda: self._breathe(caller))
        check = ImpactCheck(
            self._kinds, self._settings, calendar, outage, maintenance, command.force, now, budget
        )
        found = check.assess(occupants)
        found.generations |= {each.id: each.generation for each in resources}
        return maintenance, found

    def _breathe(self, caller: Caller) -> None:
        caller.require_time(self._clock.now())
        self._calendars.breathe()

    def _occupants(
        self,
        uow: UnitOfWork,
        calendar: Calendar,
        maintenance: Maintenance,
        planned: Sequence[Maintenance],
        now: datetime,
    ) -> Occupants:
        ids = dict(occupant_ids(calendar, maintenance, now))
        for other in planned:
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

    def _resources(self, uow: UnitOfWork, references: Sequence[str]) -> Sequence[Registration]:
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
        if resource is not None and resource.pool in self._pools:
            return resource
        by_name = (uow.resources.find(pool, reference) for pool in self._pools)
        return next((each for each in by_name if each is not None), None)

    def _pool(self, resources: Sequence[Registration]) -> Pool:
        pools = {each.pool for each in resources}
        if len(pools) != 1:
            raise InvalidInput("A maintenance is of hosts of one kind, and of at least one.")
        return pools.pop()

    def _commit(self, maintenance: Maintenance, found: Assessment, caller: Caller) -> Maintenance:
        now = self._clock.now()

        def work(uow: UnitOfWork) -> Maintenance:
            if uow.maintenances.count() >= MOST_MAINTENANCES:
                raise Conflict(f"There are {MOST_MAINTENANCES} maintenances already: delete one first.")
            uow.resources.bump(found.generations, now)
            uow.leases.save_all(found.changes, now)
            stored = uow.maintenances.add(maintenance, now)
            caller.require_time(self._clock.now())
            return stored

        return self._database.transact(work)

    # give back

    def delete(self, maintenance_id: str, caller: Caller) -> None:
        """End the maintenance: its resources can be reserved again at once. Raises MaintenanceNotFound."""
        seen: list[Maintenance] = []

        def attempt() -> None:
            try:
                maintenance = self.get(maintenance_id)
            except MaintenanceNotFound:
                if seen:  # removed by the attempt before, or by another request
                    return
                raise
            seen.append(maintenance)
            self._remove(maintenance)

        self._admission.until_committed(attempt, caller.deadline)
        self.tell_leases()

    def _remove(self, maintenance: Maintenance) -> None:
        now = self._clock.now()

        def work(uow: UnitOfWork) -> None:
            uow.maintenances.remove(maintenance.id)
            uow.resources.touch(maintenance.resource_ids, now)

        self._database.transact(work)

    def upkeep(self) -> None:
        """Remove the maintenances that are over, and tell leases what is taken away from them. Several
        managers may do so at once."""
        with self._database.read() as uow:
            is_any, over = uow.maintenances.count() > 0, uow.maintenances.over(self._clock.now())
        for maintenance in over:
            try:
                self._remove(maintenance)
            except Stale:
                continue  # by another manager
            LOG.info("Maintenance %s is over", maintenance.id, extra={"action": "maintenance"})
        if is_any or not self._has_told_all:
            self.tell_leases()
            self._has_told_all = not is_any

    def tell_leases(self) -> None:
        """Flag the leases that something is taken away from, such as one that was offered before, and take
        the flag back from those that have all again. What is changed meanwhile is told the next time."""
        now = self._clock.now()
        with self._database.read() as uow:
            away = closures(uow.maintenances.list())
            ids = {*on_closed(uow, away, now), *uow.leases.degraded()}
            leases = uow.leases.get_many(sorted(ids)) if ids else ()
            failures = {
                each.id: each.failure
                for pool in self._pools
                for each in uow.resources.failed(pool)
                if each.failure
            }
        window = Interval(now, now + (self._settings.interval or HORIZON))
        outage = Outage(failures, window, self._settings.patience, closures=away)
        told = [(told_closed(lease, outage, now, new_id), lease) for lease in leases]
        for some in _chunks([(new, old) for new, old in told if new != old]):
            try:
                self._database.transact(lambda uow, pairs=some: uow.leases.save_all(pairs, now))  # type: ignore[misc]
            except Stale:
                LOG.debug("Leases that are under maintenance have changed; they are told later")


def _chunks(pairs: Sequence[tuple[Lease, Lease]]) -> Iterator[Sequence[tuple[Lease, Lease]]]:
    for first in range(0, len(pairs), AT_ONCE):
        yield pairs[first : first + AT_ONCE]


def _maintenance(
    command: CreateMaintenance,
    id_: str,
    resources: Sequence[Registration],
    interval: Interval,
    caller: Caller,
) -> Maintenance:
    allocations = tuple(Allocation(new_id(), id_, id_, resource.id, interval) for resource in resources)
    return Maintenance(id_, command.name, caller.user_id, interval, allocations, command.reason)


def _require_free(
    resources: Sequence[Registration], planned: Sequence[Maintenance], interval: Interval
) -> None:
    """Raise Conflict where a resource is taken away at this time already, or is being given back."""
    for resource in resources:
        if not resource.reservable:
            raise Conflict(f"Host {resource.name} is being deregistered.")
        for other in planned:
            if other.interval.overlaps(interval) and resource.id in other.resource_ids:
                raise Conflict(f"Host {resource.name} is under maintenance {other.id} at this time already.")


def _tell(maintenance: Maintenance, impacts: Sequence[LeaseImpact]) -> None:
    effects = [impact.effect for impact in impacts]
    LOG.info(
        "Maintenance %s takes %d hosts away from %s to %s: %s",
        maintenance.id,
        len(maintenance.allocations),
        maintenance.interval.start,
        maintenance.interval.end,
        ", ".join(f"{effects.count(effect)} leases: {effect}" for effect in sorted(set(effects)))
        or "no lease is there",
        extra={"action": "maintenance"},
    )
