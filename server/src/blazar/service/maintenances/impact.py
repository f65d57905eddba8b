"""The impact of a maintenance: what becomes of each lease that has something on the resources in its time.

The leases are planned in one go, those first that start first, on a copy of the calendar on which the
resources are taken already, and to which each plan is written before the next one is made. Nothing else is
moved than what is taken away. What is told is what a commit with these generations would do."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import InvalidInput
from blazar.domain.lease.healing import Outage, can_be_healed, healed, time_ahead
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.maintenance import Effect, EffectReason, LeaseImpact, Maintenance, Move, closures
from blazar.domain.planning.budget import DECISION, Budget
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.plan import Plan
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval
from blazar.service.healing import HealingSettings, plan_replacement, with_plan, write_down
from blazar.service.ids import new_id
from blazar.service.ports.kind import Kinds

ENDING = frozenset({LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING, LeaseStatus.ERROR})
"""The statuses of a lease that is owed nothing any more."""
STEPS = 2_000_000
"""Of planning for one maintenance: some ten seconds at the most, of which a thousand leases take a tenth."""
TOO_MUCH = "This is too much work at once: take fewer hosts away, or for a shorter time."
PRECEDENCE = (EffectReason.HAS_BEGUN, EffectReason.NOT_NOW, EffectReason.NOTHING_SUITS)
"""Of several reasons why a lease breaks, the first one is told."""


@dataclass(frozen=True, slots=True)
class Occupants:
    """What has something on the resources: the leases, and by id when others have something there."""

    leases: Sequence[Lease]
    others: Mapping[str, Interval]


@dataclass(slots=True)
class Assessment:
    """What a maintenance does to leases, and what is to be committed for it."""

    impacts: list[LeaseImpact] = field(default_factory=list)
    changes: list[tuple[Lease, Lease]] = field(default_factory=list)
    """Leases as they are to be, and as they were read."""
    generations: dict[str, int] = field(default_factory=dict)
    moved: int = 0
    """Reservations that get other resources."""
    missed: int = 0
    """Reservations that lose something."""

    @property
    def broken(self) -> int:
        return sum(impact.effect is Effect.BREAKS for impact in self.impacts)


def occupant_ids(calendar: Calendar, maintenance: Maintenance, now: datetime) -> Mapping[str, Interval]:
    """Return when each lease, or what holds something as a lease does, has something on the resources: in the
    time of the maintenance, or now and until it begins."""
    found: dict[str, Interval] = {}
    for resource_id in maintenance.resource_ids:
        for row in calendar.allocations_of(resource_id):
            if maintenance.closes(resource_id, row.interval) or _is_there_now(row, now):
                has = found.get(row.lease_id, row.interval)
                found[row.lease_id] = Interval(
                    min(has.start, row.interval.start), max(has.end, row.interval.end)
                )
    return found


def _is_there_now(row: Allocation, now: datetime) -> bool:
    return row.interval.contains(now)


class ImpactCheck:
    """Works out the assessment of one maintenance. ``outage`` is what fails and what is taken away already;
    ``calendar`` is written to."""

    def __init__(
        self,
        kinds: Kinds,
        settings: HealingSettings,
        calendar: Calendar,
        outage: Outage,
        maintenance: Maintenance,
        force: bool,
        now: datetime,
        budget: Budget,
    ) -> None:
        self._kinds = kinds
        self._settings = settings
        self._calendar = calendar
        self._maintenance = maintenance
        self._force = force
        self._now = now
        self._budget = budget
        own = closures([maintenance])
        both = {i: [*outage.closures.get(i, ()), *own.get(i, ())] for i in {**outage.closures, **own}}
        self._outage = replace(outage, closures=both)

    def assess(self, occupants: Occupants) -> Assessment:
        """Return what becomes of the occupants. Raises InvalidInput where that is too much work."""
        for allocation in self._maintenance.allocations:
            self._calendar.add(allocation)
        found = Assessment()
        for lease in sorted(occupants.leases, key=lambda each: (each.interval.start, each.id)):
            self._assess(lease, found)
        for id_, interval in sorted(occupants.others.items(), key=lambda each: (each[1], each[0])):
            if self._maintenance.overlaps(interval):
                found.impacts.append(LeaseImpact(id_, interval, Effect.BREAKS, EffectReason.NOT_NOW))
        return found

    def _assess(self, lease: Lease, found: Assessment) -> None:
        lost = {each.id: self._lost(each) for each in lease.reservations}
        if not any(lost.values()):
            self._tell(found, lease, Effect.STAYS, EffectReason.ENDS_BEFORE)
            return
        if lease.status in ENDING:
            self._tell(found, lease, Effect.STAYS, EffectReason.IS_ENDING)
            return
        reasons: set[EffectReason] = set()
        replaced: dict[str, Reservation] = {}
        for reservation in lease.reservations:
            gone = lost[reservation.id]
            reason = self._hindrance(lease, reservation, gone)
            if gone and reason is None:
                new = self._replaced(lease, reservation, gone, found)
                if new is not reservation:
                    replaced[reservation.id] = new
                reason = EffectReason.NOTHING_SUITS if self._lost(new) else None
            reasons |= {reason} if reason else set()
        worst = next((reason for reason in PRECEDENCE if reason in reasons), None)
        moves = tuple(_move(old, replaced[old.id]) for old in lease.reservations if old.id in replaced)
        self._tell(found, lease, Effect.BREAKS if worst else Effect.MOVES, worst, moves)
        new_lease = healed(lease, replaced, self._outage, self._now, new_id)
        if new_lease != lease:
            found.changes.append((new_lease, lease))
        found.moved += len(replaced)
        found.missed += sum(
            new.missing_resources and not old.missing_resources
            for old, new in zip(lease.reservations, new_lease.reservations, strict=True)
        )

    def _lost(self, reservation: Reservation) -> list[Allocation]:
        """Return what the reservation has on the resources in the time of the maintenance."""
        return [
            each
            for each in reservation.allocations
            if self._maintenance.closes(each.resource_id, each.interval)
        ]

    def _hindrance(
        self, lease: Lease, reservation: Reservation, gone: Sequence[Allocation]
    ) -> EffectReason | None:
        """Return why the reservation may not be moved now, if it loses something."""
        if not gone:
            return None
        if not can_be_healed(lease, reservation, self._now):
            return EffectReason.NOT_NOW
        if not self._force and any(allocation.bound for allocation in gone):
            return EffectReason.HAS_BEGUN
        return None

    def _replaced(
        self, lease: Lease, reservation: Reservation, gone: Sequence[Allocation], found: Assessment
    ) -> Reservation:
        """Return the reservation with other resources, as far as there are any, and write it down."""
        if self._budget.spent + DECISION > STEPS:
            raise InvalidInput(TOO_MUCH)
        kind, settings = self._kinds[reservation.resource_type], self._settings
        demand = kind.healing_demand(reservation, {allocation.id for allocation in gone}, frozenset())
        request = PlanRequest(
            time_ahead(lease, self._now),
            (demand,),
            settings.cleaning,
            settings.order,
            random.getrandbits(32),
        )
        planned = plan_replacement(self._calendar.snapshot(), request, self._budget)
        new = with_plan(reservation, gone, planned) if isinstance(planned, Plan) else reservation
        if new is not reservation and isinstance(planned, Plan):
            found.generations |= planned.generations
            write_down(self._calendar, reservation, new)
        return new

    def _tell(
        self,
        found: Assessment,
        lease: Lease,
        effect: Effect,
        reason: EffectReason | None,
        moves: tuple[Move, ...] = (),
    ) -> None:
        has = {each.resource_id for each in lease.allocations}
        found.impacts.append(
            LeaseImpact(
                lease.id,
                lease.interval,
                effect,
                reason,
                tuple(each for each in self._maintenance.resource_ids if each in has),
                moves,
                lease.name,
                lease.project_id,
                lease.user_id,
                lease.status,
            )
        )


def _move(old: Reservation, new: Reservation) -> Move:
    before, after = _resources(old.allocations), _resources(new.allocations)
    left = tuple(each for each in before if each not in after)
    return Move(old.id, left, tuple(each for each in after if each not in before))


def _resources(allocations: Iterable[Allocation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.resource_id for each in allocations))
