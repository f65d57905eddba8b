"""How an event moves a lease: what entering it does, and what its outcomes make of the lease. Pure rules over values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.event import Event, EventStatus, EventType
from blazar.domain.lease import Lease, LeaseStatus, Reservation, ReservationStatus, transition
from blazar.domain.outcome import Done, GiveUp, NotYet, Outcome

FIRST_RETRY = timedelta(seconds=1)
LONGEST_RETRY = timedelta(seconds=10)
"""Less than a claim holds: what an outage delayed goes on within a claim after its end."""
MISSED = "The lease ended before it could be started."

NOT_OVER = frozenset(
    {
        LeaseStatus.PENDING,
        LeaseStatus.STARTING,
        LeaseStatus.ACTIVE,
        LeaseStatus.ERROR,
        LeaseStatus.TERMINATING,
    }
)
ENTERS_FROM: Mapping[EventType, frozenset[LeaseStatus]] = {
    EventType.START: frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING}),
    EventType.BEFORE_END: frozenset({LeaseStatus.ACTIVE}),
    EventType.END: NOT_OVER,
    EventType.CONVERGE: frozenset({LeaseStatus.ACTIVE}),
    EventType.DELETE: frozenset({LeaseStatus.DELETING, LeaseStatus.CREATING}),
}
"""In which lease statuses an event still has something to do; in others it is moot, and done."""

WHILE: Mapping[EventType, LeaseStatus] = {
    EventType.START: LeaseStatus.STARTING,
    EventType.BEFORE_END: LeaseStatus.ACTIVE,
    EventType.END: LeaseStatus.TERMINATING,
    EventType.CONVERGE: LeaseStatus.ACTIVE,
    EventType.DELETE: LeaseStatus.DELETING,
}
"""The status of the lease while the event is worked on."""


@dataclass(frozen=True, slots=True)
class Entered:
    """The event is to be carried out on ``lease``."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Left:
    """There is nothing to be done now; ``lease`` holds what became of the event."""

    lease: Lease


def enter(lease: Lease, event: Event, now: datetime) -> Entered | Left:
    """Begin ``event`` (which belongs to ``lease`` and is open) at ``now``, or go on with it.

    One that was begun before its time, by a clock that was ahead, is finished: nobody is served by half a start."""
    if event.time > now and event.status is EventStatus.UNDONE:
        return Left(lease)
    if event.event_type is EventType.START and lease.interval.end <= now and lease.status in NOT_OVER:
        return Left(with_event(lease, replace(event, status=EventStatus.ERROR, reason=MISSED)))
    if lease.status in ENTERS_FROM[event.event_type]:
        begun = replace(event, status=EventStatus.IN_PROGRESS, attempts=event.attempts + 1)
        return Entered(with_event(transition(lease, WHILE[event.event_type], lease.status_reason), begun))
    if event.event_type is EventType.BEFORE_END and lease.status in ENTERS_FROM[EventType.START]:
        return postpone(lease, event, now + FIRST_RETRY, "the lease has not started yet")
    return Left(with_event(lease, replace(event, status=EventStatus.DONE, reason=f"the lease was {lease.status}")))


def postpone(lease: Lease, event: Event, until: datetime, reason: str) -> Left:
    """Nothing has happened yet, and nothing shall before ``until``."""
    return Left(with_event(lease, replace(event, due=until, reason=reason)))


def acts_on(event_type: EventType, reservation: Reservation) -> bool:
    """Whether the event has something to do for the reservation."""
    match event_type:
        case EventType.START:
            return reservation.status is ReservationStatus.PENDING
        case EventType.BEFORE_END | EventType.CONVERGE:
            return reservation.status is ReservationStatus.ACTIVE
        case EventType.END | EventType.DELETE:
            return reservation.status is not ReservationStatus.DELETED


def settle(lease: Lease, event: Event, outcomes: Mapping[str, Outcome], now: datetime) -> Lease | None:
    """The lease after the event's verbs ended in ``outcomes`` (by reservation id); None when it is to be forgotten.

    Capacity that was promised is never taken for released before the cloud has released it: an end or a deletion is tried
    until it succeeds, whatever stands in its way."""
    releasing = event.event_type in RELEASING
    lease = replace(
        lease,
        reservations=tuple(
            _settled(r, outcomes[r.id], event.event_type) if r.id in outcomes else r for r in lease.reservations
        ),
    )
    waiting = [o for o in outcomes.values() if isinstance(o, NotYet) or (releasing and isinstance(o, GiveUp))]
    failed = {r.status_reason or "" for r in lease.reservations if r.status is ReservationStatus.ERROR}
    failed |= {o.reason for o in outcomes.values() if isinstance(o, GiveUp)}
    if waiting:
        reason = "; ".join(sorted({o.reason for o in waiting}))
        later = replace(event, due=now + _delay(event, waiting), reason=reason)
        return with_event(replace(lease, status_reason=reason), later)
    if failed and not releasing:
        return _failed(lease, event, "; ".join(sorted(failed)))
    return _finished(lease, replace(event, status=EventStatus.DONE, reason=None))


RELEASING = frozenset({EventType.END, EventType.DELETE})


def _settled(reservation: Reservation, outcome: Outcome, event_type: EventType) -> Reservation:
    match outcome:
        case Done() if event_type in RELEASING:
            return replace(reservation, status=ReservationStatus.DELETED, cloud={}, allocations=())
        case Done(cloud):
            return replace(
                reservation,
                status=ReservationStatus.ACTIVE,
                status_reason=None,
                cloud={**reservation.cloud, **cloud},
                allocations=tuple(replace(a, bound=True) for a in reservation.allocations),
            )
        case NotYet(cloud=cloud):
            return replace(reservation, cloud={**reservation.cloud, **cloud})
        case GiveUp(reason) if event_type is EventType.START:
            return replace(reservation, status=ReservationStatus.ERROR, status_reason=reason)
        case GiveUp(reason) if event_type is EventType.CONVERGE:
            return replace(reservation, missing_resources=True, status_reason=reason)
        case GiveUp():
            return reservation


def _delay(event: Event, waiting: list[NotYet | GiveUp]) -> timedelta:
    backoff = min(FIRST_RETRY * 2 ** min(event.attempts - 1, 10), LONGEST_RETRY)
    delays = [o.check_after or backoff for o in waiting if isinstance(o, NotYet)]
    return min(delays, default=backoff)


def _failed(lease: Lease, event: Event, reason: str) -> Lease:
    lease = with_event(lease, replace(event, status=EventStatus.ERROR, reason=reason))
    if event.event_type is EventType.BEFORE_END:
        return lease
    if event.event_type is EventType.CONVERGE:
        return replace(lease, degraded=True, status_reason=reason)
    return transition(lease, LeaseStatus.ERROR, reason)


def _finished(lease: Lease, event: Event) -> Lease | None:
    lease = with_event(lease, event)
    match event.event_type:
        case EventType.DELETE:
            return None
        case EventType.END:
            return transition(_without_open_events(lease), LeaseStatus.TERMINATED)
        case EventType.START:
            return transition(lease, LeaseStatus.ACTIVE)
        case EventType.BEFORE_END | EventType.CONVERGE:
            return replace(lease, status_reason=None)


def _without_open_events(lease: Lease) -> Lease:
    over = tuple(
        replace(e, status=EventStatus.DONE, reason="the lease is over") if e.is_open else e for e in lease.events
    )
    return replace(lease, events=over)


def with_event(lease: Lease, event: Event) -> Lease:
    """The lease with ``event`` in the place of its namesake."""
    return replace(lease, events=tuple(event if e.id == event.id else e for e in lease.events))
