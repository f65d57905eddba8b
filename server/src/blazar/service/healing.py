"""Healing: other resources for what failed ones should serve, and flags for what cannot be replaced.

All reservations that lost something are planned in one go, in the order of their start, on one copy of the
calendar to which each plan is written before the next one is made. Then the leases are committed, many in one
transaction, with the generations that the plans stand on. Healing may be repeated at any time: what has been
replaced is found no more."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.errors import Stale
from blazar.domain.lease.healing import (
    UNSUITABLE,
    Outage,
    can_be_healed,
    healed,
    replaced,
    time_ahead,
    told_unsuitable,
)
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.maintenance import Closures, closures
from blazar.domain.planning.budget import DECISION, Budget
from blazar.domain.planning.demand import Demand, Order, PlanRequest
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.planning.planner import Allowance, plan
from blazar.domain.planning.suitability import misfits
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import BUFFER_ID, Allocation, Pool, Registration
from blazar.domain.time import HORIZON, Interval
from blazar.service.calendars import Calendars
from blazar.service.ids import new_id
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.notifications import tell_healing
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.ports.kind import Kinds

LOG = logging.getLogger(__name__)
STEPS = 2_000_000
"""Of planning in one round: some ten seconds. A thousand reservations on ten thousand hosts take a tenth."""
AT_ONCE = 200
"""Leases that one transaction changes: few enough that it is short, and that a lease which was changed
meanwhile holds up few others."""
ATTEMPTS = 10
CHECK_EVERY = 100
"""Plans between two signs of life."""


@dataclass(frozen=True, slots=True)
class HealingSettings:
    """The operator's settings for healing."""

    interval: timedelta = timedelta(hours=1)
    """What is served within this time is healed; zero for all that is ahead."""
    patience: timedelta = timedelta(minutes=5)
    """How long a resource must be down before an active reservation leaves it."""
    cleaning: timedelta = timedelta(0)
    order: Order = Order.PACKED


@dataclass(slots=True)
class Tally:
    """What a round of healing has done."""

    moved: int = 0
    """Reservations that got other resources."""
    missed: int = 0
    """Reservations that have newly lost something that cannot be replaced."""
    restored: int = 0
    """Reservations that have all they were promised again."""
    left: int = 0
    """Reservations that were not looked at, for the budget was spent."""


@dataclass(slots=True)
class _Change:
    """What is to become of one lease."""

    old: Lease
    new: Lease
    reservations: dict[str, Reservation] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    given_back: set[str] = field(default_factory=set)


class Healing:
    """The story of healing. ``nudge`` wakes the engine: it has new work."""

    def __init__(
        self,
        database: Database,
        calendars: Calendars,
        kinds: Kinds,
        clock: Clock,
        settings: HealingSettings,
        nudge: Callable[[], None],
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._database = database
        self._calendars = calendars
        self._kinds = kinds
        self._clock = clock
        self._settings = settings
        self._nudge = nudge
        self._metrics = metrics

    def heal(self, pool: Pool, check: Callable[[], None]) -> Tally:
        """Replace what the failed resources of the pool should serve, as far as there is capacity; flag the
        rest, and take flags back that are no longer true.

        ``check`` is called from time to time and before each commit. It raises where it is another manager's
        turn."""
        tally = Tally()
        for attempt in range(ATTEMPTS):
            try:
                self._heal(pool, check, tally, one_by_one=attempt > ATTEMPTS // 2)
                break
            except Stale:  # a request was faster; what is committed already is not found again
                self._metrics.plan_conflicted()
                self._calendars.refresh(in_full=attempt > 0)
                self._clock.pause(random.uniform(0, 0.05 * (attempt + 1)))  # noqa: S311 - no secret
        else:
            LOG.warning("Requests were faster than healing; what is left is healed in the next round")
        self._metrics.healed(tally.moved, tally.missed)
        if tally.moved:
            self._nudge()
        return tally

    def _heal(self, pool: Pool, check: Callable[[], None], tally: Tally, one_by_one: bool) -> None:
        now = self._clock.now()
        outage, leases = self._affected(pool, now)
        calendar = self._calendar_for(pool, outage, leases, now)
        if calendar is not None:
            outage = replace(outage, misfits=known_misfits(self._kinds, pool, calendar, leases, now))
        changes = {lease.id: _Change(lease, lease) for lease in leases}
        if calendar is not None:
            tally.left = self._plan(pool, calendar, outage, changes, now, check)
        for change in changes.values():
            change.new = healed(change.old, change.reservations, outage, now, new_id)
        changed = [change for change in changes.values() if change.new != change.old]
        self._commit(changed, check, tally, 1 if one_by_one else AT_ONCE)

    def _affected(self, pool: Pool, now: datetime) -> tuple[Outage, Sequence[Lease]]:
        """Return the failed resources, and the leases that they serve or that have a flag."""
        window = Interval(now, now + (self._settings.interval or HORIZON))
        with self._database.read() as uow:
            failures = {r.id: r.failure for r in uow.resources.failed(pool) if r.failure}
            present = sorted(i for i, failure in failures.items() if failure.is_present)
            ids = {*uow.leases.on_resources(present, window), *uow.leases.degraded()}
            away = closures(uow.maintenances.list())
            ids.update(on_closed(uow, away, now))
            leases = uow.leases.get_many(sorted(ids)) if ids else []
        # A lease that waits longer for its start has more time to be served otherwise.
        leases = sorted(leases, key=lambda lease: (lease.interval.start, lease.id))
        return Outage(failures, window, self._settings.patience, closures=away), leases

    # plan

    def _calendar_for(
        self, pool: Pool, outage: Outage, leases: Sequence[Lease], now: datetime
    ) -> Calendar | None:
        """Return a copy of the calendar where something is to be planned."""
        is_needed = any(
            reservation.status_reason == UNSUITABLE or any(map(outage.is_lost, reservation.allocations))
            for lease in leases
            for reservation in lease.reservations
            if can_be_healed(lease, reservation, now)
        )
        return self._calendars.copy(pool) if is_needed else None

    def _plan(
        self,
        pool: Pool,
        calendar: Calendar,
        outage: Outage,
        changes: Mapping[str, _Change],
        now: datetime,
        check: Callable[[], None],
    ) -> int:
        """Plan for all reservations that have lost something; returns how many the budget did not reach."""
        waiting = list(self._losing(pool, outage, changes, now))
        with self._calendars.patient() as patience:
            budget = Budget(STEPS, patience.breathe)
            for number, (change, reservation, lost) in enumerate(waiting):
                if budget.spent + DECISION > STEPS:
                    return len(waiting) - number
                if number % CHECK_EVERY == 0:
                    check()
                self._replace(calendar, change, reservation, lost, outage.misfits, now, budget)
        return 0

    def _losing(
        self, pool: Pool, outage: Outage, changes: Mapping[str, _Change], now: datetime
    ) -> Iterable[tuple[_Change, Reservation, Sequence[Allocation]]]:
        for change in changes.values():
            for reservation in change.old.reservations:
                lost = [a for a in reservation.allocations if outage.is_lost(a)]
                if (
                    lost
                    and self._kinds[reservation.resource_type].pool_of(reservation) == pool
                    and can_be_healed(change.old, reservation, now)
                ):
                    yield change, reservation, lost

    def _replace(
        self,
        calendar: Calendar,
        change: _Change,
        reservation: Reservation,
        lost: Sequence[Allocation],
        misfits: frozenset[str],
        now: datetime,
        budget: Budget,
    ) -> None:
        """Plan for one reservation, and write the plan to the calendar."""
        kind, settings = self._kinds[reservation.resource_type], self._settings
        doubtful = {allocation.id for allocation in lost} & misfits
        gone = [allocation for allocation in lost if allocation.id not in doubtful]
        demand = kind.healing_demand(reservation, {allocation.id for allocation in gone}, doubtful)
        request = PlanRequest(
            time_ahead(change.old, now), (demand,), settings.cleaning, settings.order, random.getrandbits(32)
        )
        found = plan_replacement(calendar.snapshot(), request, budget)
        if not isinstance(found, Plan):
            return
        new = with_plan(reservation, gone, found)
        if new is reservation:
            return
        change.reservations[reservation.id] = new
        change.generations |= found.generations
        change.given_back |= {allocation.resource_id for allocation in lost} - found.generations.keys()
        write_down(calendar, reservation, new)

    # commit

    def _commit(
        self, changes: Sequence[_Change], check: Callable[[], None], tally: Tally, at_once: int
    ) -> None:
        """Commit some leases at a time. What one transaction has raised, the next one finds raised."""
        raised: Counter[str] = Counter()
        for first in range(0, len(changes), at_once):
            some = changes[first : first + at_once]
            generations = {i: n + raised[i] for change in some for i, n in change.generations.items()}
            given_back = {i for change in some for i in change.given_back} - generations.keys()
            check()
            self._write(some, generations, given_back)
            raised.update([*generations, *given_back])
            _count(some, tally)

    def _write(
        self, changes: Sequence[_Change], generations: Mapping[str, int], given_back: AbstractSet[str]
    ) -> None:
        now = self._clock.now()

        def work(uow: UnitOfWork) -> None:
            changed = [change.old.id for change in changes]
            uow.resources.touch(sorted(given_back), now, changed)
            uow.resources.bump(generations, now, changed)
            pairs = [(change.new, change.old) for change in changes]
            uow.leases.save_all(pairs, now)
            tell_healing(uow, self._kinds, pairs, now)

        self._database.transact(work)


def known_misfits(
    kinds: Kinds, pool: Pool, calendar: Calendar, leases: Sequence[Lease], now: datetime
) -> frozenset[str]:
    """Return the ids of allocations that still do not suit, of reservations that were told so."""
    snapshot, found = calendar.snapshot(), frozenset[str]()
    for lease in leases:
        for reservation in lease.reservations:
            kind = kinds[reservation.resource_type]
            if reservation.status_reason == UNSUITABLE and kind.pool_of(reservation) == pool:
                found |= misfits(snapshot, kind.demand(reservation), time_ahead(lease, now))
    return found


def tell_unsuitable(uow: UnitOfWork, kinds: Kinds, resource: Registration, now: datetime) -> int:
    """Flag the reservations that a resource, as it is stored now, no longer suits. Healing looks for other
    ones. Return how many leases are told."""
    ((_, rows),) = uow.resources.occupancy(resource.pool, [resource.id])
    calendar = Calendar()
    calendar.put(resource.resource, rows)
    snapshot, changes = calendar.snapshot(), []
    for lease in uow.leases.get_many(sorted({row.lease_id for row in rows if row.interval.end > now})):
        interval = time_ahead(lease, now)
        unsuitable = {
            reservation.id
            for reservation in lease.reservations
            if (kind := kinds[reservation.resource_type]).pool_of(reservation) == resource.pool
            and misfits(snapshot, kind.demand(reservation), interval)
        }
        new = told_unsuitable(lease, unsuitable, now)
        if new != lease:
            changes.append((new, lease))
    uow.leases.save_all(changes, now)
    tell_healing(uow, kinds, changes, now)
    return len(changes)


def on_closed(uow: UnitOfWork, away: Closures, now: datetime) -> set[str]:
    """Return the ids of the leases ahead that have something that a maintenance takes away."""
    alike: dict[Interval, list[str]] = {}
    for resource_id, intervals in away.items():
        for interval in intervals:
            if interval.end > now:
                alike.setdefault(interval, []).append(resource_id)
    return {i for interval, ids in alike.items() for i in uow.leases.on_resources(sorted(ids), interval)}


def plan_replacement(calendar: CalendarSnapshot, request: PlanRequest, budget: Budget) -> Plan | Shortage:
    """Plan in place of what was lost. What the buffer keeps is taken only where nothing else does."""
    found = plan(calendar, request, _allowance(budget))
    if isinstance(found, Plan) and _is_full(found, request):
        return found
    kept = calendar.held_by(BUFFER_ID)
    if not kept.any():
        return found
    whole = replace(request, given_up=request.given_up | {BUFFER_ID})
    if own := _kept_for(whole, calendar, kept):
        other = plan(calendar, own, _allowance(budget))
        if isinstance(other, Plan) and _is_full(other, request):
            return other
    other = plan(calendar, whole, _allowance(budget))
    return other if isinstance(other, Plan) else found


def _kept_for(request: PlanRequest, calendar: CalendarSnapshot, kept: Mask) -> PlanRequest | None:
    """Return the request with only those hosts of the buffer that it has already; None where it has none."""
    has = {allocation.resource_id for demand in request.demands for allocation in demand.current}
    names = {calendar.id_at(index) for index in np.flatnonzero(kept).tolist()}
    if not has & names:
        return None
    buffer = Demand(BUFFER_ID, 0, 0, resources=frozenset(names - has))
    leaving = [replace(each, yields_to=(*each.yields_to, buffer)) for each in request.demands]
    return replace(request, demands=tuple(leaving))


def _allowance(budget: Budget) -> Allowance:
    return Allowance(budget.part(DECISION), budget.part(DECISION))


def _is_full(found: Plan, request: PlanRequest) -> bool:
    return all(found.units(each.reservation_id) >= each.maximum for each in request.demands)


def with_plan(reservation: Reservation, lost: Sequence[Allocation], found: Plan) -> Reservation:
    """Return the reservation as the plan wants it. What stays keeps its interval: it is the same time."""
    new = [
        Allocation(
            id=new_id(),
            reservation_id=reservation.id,
            lease_id=reservation.lease_id,
            resource_id=assignment.resource_id,
            interval=found.interval,
            usage=assignment.usage,
            slots=assignment.slots,
        )
        for assignment in found.added
    ]
    slots = {kept.old.id: kept.new.slots for kept in found.kept}
    moved = replaced(reservation, [*lost, *found.released], slots, new)
    return reservation if _places(moved) == _places(reservation) else moved


def _places(reservation: Reservation) -> Counter[str]:
    """Return how many slots the reservation has on each resource."""
    places: Counter[str] = Counter()
    for allocation in reservation.allocations:
        places[allocation.resource_id] += allocation.slots
    return places


def write_down(calendar: Calendar, old: Reservation, new: Reservation) -> None:
    """Write to the calendar what the reservation has got and what it has given back."""
    known = {allocation.id: allocation for allocation in old.allocations}
    for allocation in new.allocations:
        if known.get(allocation.id) is None:
            calendar.add(allocation)
    stay = {allocation.id: allocation for allocation in new.allocations}
    changed = [a for a in old.allocations if stay.get(a.id) != a and calendar.is_reservable(a.resource_id)]
    for resource_id in {a.resource_id for a in changed}:
        # No plan takes a failed resource, so what is given back there needn't be written.
        rows = (a for a in calendar.allocations_of(resource_id) if a.id not in known)
        own = (a for a in new.allocations if a.id in known and a.resource_id == resource_id)
        calendar.occupy(resource_id, [*rows, *own])


def _count(changes: Sequence[_Change], tally: Tally) -> None:
    for change in changes:
        tally.moved += len(change.reservations)
        for old, new in zip(change.old.reservations, change.new.reservations, strict=True):
            tally.missed += new.missing_resources and not old.missing_resources
            tally.restored += old.missing_resources and not new.missing_resources
        LOG.info(
            "Healing changed lease %s: %s",
            change.new.id,
            ", ".join(_in_words(old, new) for old, new in _pairs(change)) or "flags",
            extra={"action": "heal", "lease_id": change.new.id},
        )


def _pairs(change: _Change) -> list[tuple[Reservation, Reservation]]:
    pairs = zip(change.old.reservations, change.new.reservations, strict=True)
    return [(old, new) for old, new in pairs if old != new]


def _in_words(old: Reservation, new: Reservation) -> str:
    before, after = ({a.resource_id for a in r.allocations} for r in (old, new))
    missing = ", resources are missing" if new.missing_resources else ""
    moved = f"{' '.join(sorted(before - after))} replaced by {' '.join(sorted(after - before))}"
    return f"reservation {new.id}: {moved if before != after else 'stays'}{missing}"
