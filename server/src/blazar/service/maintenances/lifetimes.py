"""The use cases of lifetimes: from when on a host is there, and until when.

What is not there is taken away like a host under maintenance, by a row of its own; so all that looks at the
calendar keeps away from it. See decision 45."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from blazar.domain.errors import InvalidInput
from blazar.domain.lease.maintenance import (
    EVERLASTING,
    LeaseImpact,
    Lifetime,
    Maintenance,
    check_lifetime,
    lifetime_row,
    lifetimes,
)
from blazar.domain.resource import Registration
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission
from blazar.service.commands import UNSET, SetLifetime, Unset
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.maintenances.assessor import Assessor, Findings
from blazar.service.maintenances.impact import Assessment
from blazar.service.maintenances.use_cases import require_free
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.notifications import tell_healing
from blazar.service.ports import Clock, Database, Nudge, UnitOfWork

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LifetimeDecision:
    """The lifetime, and what it does to leases. ``lifetime`` is None where it was refused, for it would break
    leases."""

    lifetime: Lifetime | None
    impacts: tuple[LeaseImpact, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    """What is to be committed: the row in place of the one that is there, each None where there is none."""

    resource: Registration
    lifetime: Lifetime
    new: Maintenance | None
    old: Maintenance | None
    found: Assessment


class Lifetimes:
    """The use cases of lifetimes in this process, as LifetimesInterface names them."""

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

    def list(self, resource_ids: Sequence[str]) -> Mapping[str, Lifetime]:
        with self._database.read() as uow:
            return lifetimes(uow.maintenances.lifetimes(resource_ids), self._clock.now())

    def preview(self, command: SetLifetime, caller: Caller) -> LifetimeDecision:
        def attempt() -> LifetimeDecision:
            change = self._decided(command, new_id(), caller, is_preview=True)
            return LifetimeDecision(change.lifetime, tuple(change.found.impacts))

        return self._admission.until_committed(attempt, caller.deadline)

    def set(self, command: SetLifetime, caller: Caller) -> LifetimeDecision:
        id_, impacts = new_id(), tuple[LeaseImpact, ...]()

        def attempt() -> LifetimeDecision:
            nonlocal impacts
            change = self._decided(command, id_, caller)
            if change.old is not None and change.old.id == id_:
                # by the attempt before, whose outcome was not known
                return LifetimeDecision(change.lifetime, impacts)
            impacts = tuple(change.found.impacts)
            if change.found.broken and not command.force:
                return LifetimeDecision(None, impacts)
            self._commit(change, caller)
            self._metrics.healed(change.found.moved, change.found.missed)
            _tell(change)
            return LifetimeDecision(change.lifetime, impacts)

        decision = self._admission.until_committed(attempt, caller.deadline)
        if decision.lifetime is not None:
            self._nudge(self._clock.now())
        return decision

    def _decided(self, command: SetLifetime, id_: str, caller: Caller, is_preview: bool = False) -> _Change:
        """Return what is to be committed. Raises Stale where the calendar is behind what was read."""
        now = self._clock.now()
        caller.require_time(now)
        assessor, minute = self._assessor, floor_minute(now)
        with self._database.read() as uow:
            resources = assessor.resources(uow, [command.resource])
        calendar = assessor.copy(resources, in_full=is_preview)
        with self._database.read() as uow:
            resources = assessor.resources(uow, [command.resource])
            (resource,) = resources
            old = next(iter(uow.maintenances.lifetimes([resource.id])), None)
            before = lifetimes([old], now).get(resource.id, EVERLASTING) if old else EVERLASTING
            lifetime = _changed(before, command, minute)
            new = lifetime_row(id_, resource.id, lifetime, caller.user_id, minute, new_id)
            taken = _taken(new, before, minute)
            others = [each for each in uow.maintenances.list() if old is None or each.id != old.id]
            if new is not None:
                require_free(resources, others, new)
            gone = [each for each in (old, new) if each]
            seen = assessor.look(uow, calendar, resources, taken, [*others, *gone]) if taken else None
        if seen is None:
            found = Assessment(generations={resource.id: resource.generation})
        else:
            found = assessor.assess(_as_it_will_be(seen, old, new), command.force, caller)
        return _Change(resource, lifetime, new, old, found)

    def _commit(self, change: _Change, caller: Caller) -> None:
        now = self._clock.now()

        def work(uow: UnitOfWork) -> None:
            rows = [each.id for each in (change.old, change.new) if each is not None]
            changed = [*rows, *(old.id for _, old in change.found.changes)]
            uow.resources.bump(change.found.generations, now, changed)
            uow.leases.save_all(change.found.changes, now)
            tell_healing(uow, self._assessor.kinds, change.found.changes, now)
            if change.old is not None:
                uow.maintenances.remove(change.old.id)
            if change.new is not None:
                uow.maintenances.add(change.new, now)
            caller.require_time(self._clock.now())

        self._database.transact(work)


def _changed(before: Lifetime, command: SetLifetime, minute: datetime) -> Lifetime:
    """Return the lifetime as the command wants it. Raises InvalidInput."""
    begin = _moment(command.available_from, before.available_from)
    end = _moment(command.available_until, before.available_until)
    lifetime = Lifetime(begin if begin is not None and begin > minute else None, end)
    check_lifetime(lifetime, minute)
    if end is not None and end != before.available_until and end <= minute:
        raise InvalidInput("available_until must lie in the future: a host that is gone is deregistered.")
    return lifetime


def _moment(asked: datetime | Unset | None, before: datetime | None) -> datetime | None:
    if asked is UNSET or isinstance(asked, Unset):
        return before
    return None if asked is None else floor_minute(asked)


def _taken(new: Maintenance | None, before: Lifetime, minute: datetime) -> Maintenance | None:
    """Return what is taken away that was there so far; None where there is nothing."""
    was_away = before.away(minute)
    taken = tuple(
        replace(each, interval=rest)
        for each in (new.allocations if new else ())
        for rest in each.interval.without(was_away)
    )
    return replace(new, allocations=taken) if new and taken else None


def _as_it_will_be(seen: Findings, old: Maintenance | None, new: Maintenance | None) -> Findings:
    """Return the findings, in whose calendar the resource is away when it will be."""
    (resource,) = seen.resources
    rows = [row for row in seen.calendar.allocations_of(resource.id) if old is None or row.lease_id != old.id]
    seen.calendar.occupy(resource.id, [*rows, *(new.allocations if new else ())])
    planned = [each for each in seen.planned if old is None or each.id != old.id]
    return replace(seen, planned=planned)


def _tell(change: _Change) -> None:
    LOG.info(
        "Host %s is there from %s until %s: reservations that got others: %d, that lost something: %d",
        change.resource.name,
        change.lifetime.available_from or "now on",
        change.lifetime.available_until or "it is deregistered",
        change.found.moved,
        change.found.missed,
        extra={"action": "lifetime"},
    )
