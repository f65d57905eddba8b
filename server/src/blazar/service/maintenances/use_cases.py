"""The use cases of maintenances in this process, as MaintenancesInterface names them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from blazar.domain.errors import Conflict, MaintenanceNotFound, Stale
from blazar.domain.lease.change import check_new_interval
from blazar.domain.lease.healing import Outage, told_closed
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import LeaseImpact, Maintenance, Purpose, closures
from blazar.domain.resource import Allocation, Registration
from blazar.domain.time import HORIZON, Interval, floor_minute
from blazar.service.admission import Admission
from blazar.service.commands import CreateMaintenance
from blazar.service.context import Caller
from blazar.service.healing import on_closed
from blazar.service.ids import new_id
from blazar.service.leases.dates import moment_of
from blazar.service.maintenances.assessor import Assessor
from blazar.service.maintenances.impact import Assessment
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.notifications import tell_healing
from blazar.service.ports import Clock, Database, Nudge, UnitOfWork

LOG = logging.getLogger(__name__)
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
    """The use cases of maintenances."""

    def __init__(
        self,
        database: Database,
        admission: Admission,
        clock: Clock,
        assessor: Assessor,
        nudge: Nudge,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._database = database
        self._admission = admission
        self._clock = clock
        self._assessor = assessor
        self._nudge = nudge
        self._metrics = metrics
        self._has_told_all = False
        """Whether no maintenance was there when leases were told the last time: there is nothing to take back
        then, also not what a manager has left half-done."""

    def get(self, maintenance_id: str) -> Maintenance:
        with self._database.read() as uow:
            found = uow.maintenances.get(maintenance_id)
        if found is None or found.purpose is not Purpose.MAINTENANCE:
            raise MaintenanceNotFound(maintenance=maintenance_id)
        return found

    def list(self) -> Sequence[Maintenance]:
        with self._database.read() as uow:
            found = uow.maintenances.list()
        return [each for each in found if each.purpose is Purpose.MAINTENANCE]

    # take away

    def preview(self, command: CreateMaintenance, caller: Caller) -> MaintenanceDecision:
        """Return what a create would do at this moment. Nothing is written."""

        def attempt() -> MaintenanceDecision:
            maintenance, found = self._decided(command, new_id(), caller, is_preview=True)
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
        self, command: CreateMaintenance, id_: str, caller: Caller, is_preview: bool = False
    ) -> tuple[Maintenance, Assessment]:
        """Return the maintenance and what is to be committed with it. Raises Stale where the calendar is
        behind what was read."""
        now = self._clock.now()
        caller.require_time(now)
        minute = floor_minute(now)
        interval = check_new_interval(
            moment_of(command.start, minute), moment_of(command.end, minute), minute
        )
        assessor = self._assessor
        with self._database.read() as uow:
            resources = assessor.resources(uow, command.resources)
        calendar = assessor.copy(resources, in_full=is_preview)
        with self._database.read() as uow:
            resources = assessor.resources(uow, command.resources)
            planned = uow.maintenances.list()
            maintenance = _maintenance(command, id_, resources, interval, caller)
            require_free(resources, planned, maintenance)
            seen = assessor.look(uow, calendar, resources, maintenance, planned)
        return maintenance, assessor.assess(seen, command.force, caller)

    def _commit(self, maintenance: Maintenance, found: Assessment, caller: Caller) -> Maintenance:
        now = self._clock.now()

        def work(uow: UnitOfWork) -> Maintenance:
            if uow.maintenances.count(Purpose.MAINTENANCE) >= MOST_MAINTENANCES:
                raise Conflict(f"There are {MOST_MAINTENANCES} maintenances already: delete one first.")
            changed = [maintenance.id, *(old.id for _, old in found.changes)]
            uow.resources.bump(found.generations, now, changed)
            uow.leases.save_all(found.changes, now)
            tell_healing(uow, self._assessor.kinds, found.changes, now)
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
            uow.resources.touch(maintenance.resource_ids, now, [maintenance.id])

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
            what = "Maintenance" if maintenance.purpose is Purpose.MAINTENANCE else "The time before"
            LOG.info("%s %s is over", what, maintenance.id, extra={"action": "maintenance"})
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
                for pool in self._assessor.pools
                for each in uow.resources.failed(pool)
                if each.failure
            }
        window = Interval(now, now + (self._assessor.settings.interval or HORIZON))
        outage = Outage(failures, window, self._assessor.settings.patience, closures=away)
        told = [(told_closed(lease, outage, now, new_id), lease) for lease in leases]
        for some in _chunks([(new, old) for new, old in told if new != old]):
            try:
                self._database.transact(partial(self._save, some, now))
            except Stale:
                LOG.debug("Leases that are under maintenance have changed; they are told later")

    def _save(self, pairs: Sequence[tuple[Lease, Lease]], now: datetime, uow: UnitOfWork) -> None:
        uow.leases.save_all(pairs, now)
        tell_healing(uow, self._assessor.kinds, pairs, now)


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


def require_free(
    resources: Sequence[Registration], planned: Sequence[Maintenance], maintenance: Maintenance
) -> None:
    """Raise Conflict where a resource is taken away at this time already, or is being given back."""
    for resource in resources:
        if not resource.reservable:
            raise Conflict(f"Host {resource.name} is being deregistered.")
        intervals = [a.interval for a in maintenance.allocations if a.resource_id == resource.id]
        for other in planned:
            if other.purpose is not Purpose.BUFFER and any(
                other.closes(resource.id, interval) for interval in intervals
            ):
                raise Conflict(
                    f"Host {resource.name} is under maintenance {other.id} at this time already."
                    if other.purpose is Purpose.MAINTENANCE
                    else f"Host {resource.name} is not there at this time: see available_from and "
                    "available_until of the host."
                )


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
