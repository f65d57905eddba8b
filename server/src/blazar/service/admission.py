"""How a decision becomes true: plan on a snapshot, commit with the generations it was made on, else plan again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import uuid4

from blazar.domain.demand import Demand, Order, Plan, Request, Shortage
from blazar.domain.errors import Busy, CloudUnavailable
from blazar.domain.lease import Lease, Reservation
from blazar.domain.resource import Allocation, Pool
from blazar.domain.time import Interval
from blazar.kinds.base import Kind
from blazar.service.calendars import Calendars
from blazar.service.observer import NOBODY, Observer
from blazar.service.ports import Clock, OutcomeUnknown, Stale
from blazar.service.waiting import until

T = TypeVar("T")
ATTEMPTS = 40
COMES_BACK_WITHIN = timedelta(seconds=30)
"""How long a lost database is waited for to tell what became of a commit, where the caller sets no deadline."""
LOOK = 0.5
"""Seconds between two looks whether it is back."""
LONGEST_PAUSE = 0.1
"""Seconds between two attempts at the most; half of it on average, so that many requests do not stay in step."""


@dataclass(frozen=True, slots=True)
class Selection:
    """How the operator wants resources to be chosen."""

    order: Order = Order.PACKED
    cleaning: timedelta = timedelta(0)


class Admission:
    """Plans for leases, on the resident calendars."""

    def __init__(
        self,
        calendars: Calendars,
        kinds: Mapping[str, Kind],
        selection: Selection,
        clock: Clock,
        observer: Observer = NOBODY,
    ) -> None:
        self._calendars = calendars
        self._clock = clock
        self._kinds = kinds
        self._selection = selection
        self._observer = observer

    def plan(self, reservations: Sequence[Reservation], interval: Interval) -> Plan:
        """The allocations of all reservations together in ``interval``. Raises NotEnoughResources with the reason."""
        demands: dict[Pool, list[Demand]] = {}
        for reservation in reservations:
            kind = self._kinds[reservation.resource_type]
            demands.setdefault(kind.pool, []).append(kind.demand(reservation))
        if not demands:
            return Plan(interval)
        selection = self._selection
        began = time.perf_counter()  # a duration, not a time of day
        outcome = self._calendars.plan(
            {
                pool: Request(interval, tuple(of_pool), selection.cleaning, selection.order, random.getrandbits(32))
                for pool, of_pool in demands.items()
            }
        )
        cause = str(outcome.cause) if isinstance(outcome, Shortage) else None
        self._observer.planned(cause, time.perf_counter() - began)
        if isinstance(outcome, Shortage):
            short = next(r for r in reservations if r.id == outcome.reservation_id)
            raise self._kinds[short.resource_type].refusal(short, outcome)
        return outcome

    def until_committed(self, attempt: Callable[[], T], deadline: datetime | None = None) -> T:
        """Run plan-and-commit until no other request was faster, but not after ``deadline``. ``attempt`` must find its own
        work: where the database is lost in the middle of a commit, it is asked again what became of it.

        Raises Busy after too many rounds, OutcomeUnknown where the database does not come back."""
        for number in range(ATTEMPTS):
            try:
                return attempt()
            except Stale:
                self._observer.was_overtaken()
                if deadline is not None and self._clock.now() >= deadline:
                    break
                # Usually what was changed just now is enough. What was changed with a clock that is behind ours, or in a
                # transaction that took very long, is only found by comparing everything.
                self._calendars.refresh(in_full=number > 0)
                self._clock.pause(random.uniform(0, LONGEST_PAUSE * min(number + 1, 10) / 10))  # noqa: S311 - no secret
            except OutcomeUnknown as lost:
                return self._find_out(attempt, lost, deadline)
        raise Busy()

    def _find_out(self, attempt: Callable[[], T], lost: OutcomeUnknown, deadline: datetime | None) -> T:
        """Only the database knows what was stored, so ask as long as the caller waits."""
        self._clock.pause(LOOK)
        for _ in until(deadline or self._clock.now() + COMES_BACK_WITHIN, self._clock, LOOK):
            try:
                return attempt()
            except Stale:
                self._calendars.refresh(in_full=True)
            except Busy:
                continue
            except CloudUnavailable as still:
                if still.fields.get("service") != lost.fields.get("service"):
                    raise
        raise lost


def with_allocations(lease: Lease, plan: Plan) -> Lease:
    """The lease with what the plan gives to each of its reservations.

    An allocation that is kept in a lease that has begun keeps its start: the plan looks only at the time ahead."""
    kept = {k.old.id: k.new for k in plan.kept}
    reservations = []
    for reservation in lease.reservations:
        stay = [
            replace(
                kept[old.id],
                interval=Interval(min(old.interval.start, plan.interval.start), plan.interval.end)
                if old.bound
                else kept[old.id].interval,
            )
            for old in reservation.allocations
            if old.id in kept
        ]
        new = [
            Allocation(
                id=str(uuid4()),
                reservation_id=reservation.id,
                lease_id=lease.id,
                resource_id=assignment.resource_id,
                interval=plan.interval,
                claim=assignment.claim,
                slots=assignment.slots,
            )
            for assignment in plan.added
            if assignment.reservation_id == reservation.id
        ]
        reservations.append(replace(reservation, allocations=(*stay, *new)))
    return replace(lease, reservations=tuple(reservations))
