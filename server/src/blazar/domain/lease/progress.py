"""The rules by which an event moves a lease: what follows when it begins, in time, late or missed, and from
the outcomes of the verbs. They are pure rules over values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeGuard

from blazar.domain.errors import InvalidStatus
from blazar.domain.lease.change import NewId, with_work
from blazar.domain.lease.event import UNSETTLING, Event, EventStatus, EventType
from blazar.domain.lease.healing import OWN_REASONS
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus, transition
from blazar.domain.lease.leaving import released
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.domain.lease.surplus import without_freed, without_surplus
from blazar.domain.resource import Allocation, Usage

FIRST_RETRY = timedelta(seconds=1)
LONGEST_RETRY = timedelta(seconds=30)
LONGEST_OUTAGE = timedelta(seconds=10)
"""Between two attempts while the cloud fails. Less than a claim holds: what an outage delayed goes on within
a claim after its end."""
GROWTH = 1.3
"""Of the pause between two looks at servers that are being deleted: the last look is late by a quarter of the
whole wait at most, and servers that refuse to die cost next to nothing."""
LONG_PAUSE = timedelta(seconds=5)
SHORTEST_WAIT = timedelta(seconds=0.2)
LONGEST_WAIT = timedelta(seconds=10)
MOST_ATTEMPTS = 10_000
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
    EventType.READY: frozenset({LeaseStatus.PENDING}),
    EventType.DELETE: frozenset({LeaseStatus.DELETING, LeaseStatus.CREATING}),
    EventType.WARN_UNCLAIMED: frozenset({LeaseStatus.ACTIVE}),
    EventType.CLOSE_UNCLAIMED: frozenset({LeaseStatus.ACTIVE}),
    EventType.END_UNCLAIMED: frozenset({LeaseStatus.ACTIVE}),
}
"""In which lease statuses an event still has something to do; in others it is moot, and done."""

WHILE: Mapping[EventType, LeaseStatus] = {
    EventType.START: LeaseStatus.STARTING,
    EventType.BEFORE_END: LeaseStatus.ACTIVE,
    EventType.END: LeaseStatus.TERMINATING,
    EventType.CONVERGE: LeaseStatus.ACTIVE,
    EventType.READY: LeaseStatus.PENDING,
    EventType.DELETE: LeaseStatus.DELETING,
    EventType.WARN_UNCLAIMED: LeaseStatus.ACTIVE,
    EventType.CLOSE_UNCLAIMED: LeaseStatus.ACTIVE,
    EventType.END_UNCLAIMED: LeaseStatus.ACTIVE,
}
"""The status of the lease while the event is worked on."""


@dataclass(frozen=True, slots=True)
class Entered:
    """The event is to be carried out on ``lease``."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Left:
    """The answer that there is nothing to be done now; ``lease`` holds what became of the event."""

    lease: Lease


def enter(lease: Lease, event: Event, now: datetime) -> Entered | Left:
    """Begin ``event`` (which belongs to ``lease`` and is open) at ``now``, or go on with it.

    One that was begun before its time, by a clock that was ahead, is finished: half a start serves no
    user."""
    if event.time > now and event.status is EventStatus.UNDONE:
        return Left(lease)
    if event.event_type is EventType.START and lease.interval.end <= now and lease.status in NOT_OVER:
        return Left(with_event(lease, replace(event, status=EventStatus.ERROR, reason=MISSED)))
    if lease.status in ENTERS_FROM[event.event_type]:
        begun = replace(event, status=EventStatus.IN_PROGRESS, attempts=event.attempts + 1)
        return Entered(with_event(transition(lease, WHILE[event.event_type], lease.status_reason), begun))
    if event.event_type is EventType.BEFORE_END and lease.status in ENTERS_FROM[EventType.START]:
        return postpone(lease, event, now + waiting_pause(event, now), "the lease has not started yet")
    if not event.event_type.is_public:
        return Left(without_event(lease, event))
    return Left(
        with_event(lease, replace(event, status=EventStatus.DONE, reason=f"the lease was {lease.status}"))
    )


def postpone(lease: Lease, event: Event, until: datetime, reason: str) -> Left:
    """Put the event off to ``until``: nothing has happened yet."""
    return Left(with_event(lease, replace(event, due=until, reason=reason)))


def waiting_pause(event: Event, now: datetime) -> timedelta:
    """Return how long an event waits before it looks again for the end of what it waits for: a quarter of the
    time that it has waited."""
    return min(max((now - event.time) / 4, SHORTEST_WAIT), LONGEST_WAIT)


def acts_on(event_type: EventType, reservation: Reservation) -> bool:
    """Return whether the event has something to do for the reservation."""
    match event_type:
        case EventType.START | EventType.READY:
            return reservation.status is ReservationStatus.PENDING
        case EventType.CONVERGE:
            # One that was added to an active lease is pending until it serves it.
            return reservation.status in (ReservationStatus.ACTIVE, ReservationStatus.PENDING)
        case EventType.BEFORE_END:
            return reservation.status is ReservationStatus.ACTIVE
        case EventType.END | EventType.DELETE:
            return reservation.status is not ReservationStatus.DELETED
        case EventType.WARN_UNCLAIMED | EventType.CLOSE_UNCLAIMED | EventType.END_UNCLAIMED:
            return reservation.status is ReservationStatus.ACTIVE


def settle(
    lease: Lease,
    event: Event,
    acted: Lease,
    outcomes: Mapping[str, Outcome],
    now: datetime,
    start_retry: timedelta = timedelta(0),
    is_shedding: bool = False,
) -> Lease | None:
    """Return the lease after the event's verbs ended in ``outcomes`` (by reservation id); None when it is to
    be removed.

    ``acted`` is the lease that the verbs acted on. A request may have changed the lease since: then only what
    was acted on is settled, and the event stays open and is due at once. The same holds where the verbs were
    ``is_shedding``: they only took back a surplus, for the rest waits for others.

    Capacity that was promised is never taken for released before the cloud has released it: an end or a
    deletion is tried until it succeeds, whatever stands in its way. A start that is refused is tried again
    for ``start_retry``, for refusals may pass: credentials and aggregates are changed by people."""
    if event.status is EventStatus.UNDONE:
        # A request moved the event to a later time while it was worked on: it is worked on again then.
        return lease
    outcomes = _retried(outcomes, event, acted, start_retry, is_shedding)
    is_changed = event.event_type in BINDING and _is_changed_meanwhile(lease, acted, outcomes)
    is_changed |= event.event_type is EventType.CONVERGE and _has_other_users(lease, acted)
    lease = _with_outcomes(lease, acted, outcomes, event.event_type)
    waiting = [each for each in outcomes.values() if _is_tried_again(each, event)]
    if is_changed and not (is_shedding and waiting):
        return with_event(lease, replace(event, due=now, attempts=0, reason=CHANGED))
    if waiting:
        reason = _sentence({each.reason for each in waiting})
        later = due_later(event, waiting, now, reason)
        return with_event(replace(lease, status_reason=reason), later)
    failures = _failures(lease, outcomes)
    if failures and event.event_type not in RELEASING:
        return _failed(lease, event, _sentence(failures))
    return _finished(lease, replace(event, status=EventStatus.DONE, reason=None))


RELEASING = frozenset({EventType.END, EventType.DELETE})
BINDING = frozenset({EventType.START, EventType.CONVERGE})
"""The events whose verbs make resources serve a reservation."""
CHANGED = "The lease was changed meanwhile."
LONGEST_REASON = 4000
"""Characters of a reason that are kept: a refusal may name thousands of hosts."""


def _retried(
    outcomes: Mapping[str, Outcome], event: Event, acted: Lease, start_retry: timedelta, is_shedding: bool
) -> Mapping[str, Outcome]:
    """Return the outcomes without what is given up although it is tried again: a start within its time, what
    waits for others, and what leaves the lease."""
    is_start = event.event_type is EventType.START and spent(event.attempts) < start_retry
    leaving = {each.id for each in acted.leaving}

    def retried(of: str, outcome: Outcome) -> Outcome:
        if isinstance(outcome, GiveUp) and (is_start or is_shedding or of in leaving):
            return NotYet(outcome.reason)
        return outcome

    return {of: retried(of, outcome) for of, outcome in outcomes.items()}


def _is_tried_again(outcome: Outcome, event: Event) -> TypeGuard[NotYet | GiveUp]:
    return isinstance(outcome, NotYet) or (isinstance(outcome, GiveUp) and event.event_type in RELEASING)


def _is_changed_meanwhile(lease: Lease, acted: Lease, outcomes: Mapping[str, Outcome]) -> bool:
    """Return whether a request has changed, added or removed anything that the verbs did not know of."""
    leaving = {each.id for each in acted.leaving}
    return any(
        _is_changed(each, acted)
        for each in lease.reservations
        if each.id in outcomes or acted.reservation(each.id) is None
    ) or any(each.id not in leaving for each in lease.leaving)


def _has_other_users(lease: Lease, acted: Lease) -> bool:
    """Return whether a share has changed since. A start does not ask: where other projects may use the lease,
    a convergence follows it."""
    return lease.access_revision != acted.access_revision


def _with_outcomes(
    lease: Lease, acted: Lease, outcomes: Mapping[str, Outcome], event_type: EventType
) -> Lease:
    """Return the lease in which only what was acted on is settled."""
    reservations = tuple(
        _settled(each, acted, outcomes[each.id], event_type)
        if each.id in outcomes and acted.reservation(each.id)
        else each
        for each in lease.reservations
    )
    return replace(lease, reservations=reservations, leaving=released(lease, acted, outcomes))


def _failures(lease: Lease, outcomes: Mapping[str, Outcome]) -> set[str]:
    """Return the reasons for which reservations cannot be served."""
    given_up = {each.reason for each in outcomes.values() if isinstance(each, GiveUp)}
    return given_up | {
        each.status_reason or "" for each in lease.reservations if each.status is ReservationStatus.ERROR
    }


def _sentence(reasons: Iterable[str]) -> str:
    return "; ".join(sorted(reasons))[:LONGEST_REASON]


def _placements(reservation: Reservation) -> Mapping[str, tuple[str, Usage, int]]:
    return {a.id: (a.resource_id, a.usage, a.slots) for a in reservation.allocations}


def _is_changed(stored: Reservation, acted: Lease) -> bool:
    """Return whether the reservation asks the cloud for anything else than what was acted on."""
    known = acted.reservation(stored.id)
    return known is None or (stored.parameters, stored.cloud_state, _placements(stored)) != (
        known.parameters,
        known.cloud_state,
        _placements(known),
    )


def _settled(reservation: Reservation, acted: Lease, outcome: Outcome, event_type: EventType) -> Reservation:
    is_changed = _is_changed(reservation, acted)  # then the start is not over for it, whatever came of it
    match outcome:
        case Done() if event_type in RELEASING:
            return replace(
                reservation, status=ReservationStatus.DELETED, cloud_state={}, allocations=(), surplus=()
            )
        case Done(cloud_state) if event_type in BINDING:
            bound = _bound(reservation, acted)
            bound = replace(bound, cloud_state={**reservation.cloud_state, **cloud_state})
            return bound if is_changed else _served(bound)
        case NotYet(cloud_state=cloud_state, serving=serving, freed=freed) if event_type in BINDING:
            bound = _bound(reservation, acted, serving, freed)
            return replace(bound, cloud_state={**reservation.cloud_state, **cloud_state})
        case Done(cloud_state) | NotYet(cloud_state=cloud_state):
            return replace(reservation, cloud_state={**reservation.cloud_state, **cloud_state})
        case GiveUp(reason) if event_type is EventType.START and not is_changed:
            return replace(reservation, status=ReservationStatus.ERROR, status_reason=reason[:LONGEST_REASON])
        case GiveUp(reason) if event_type is EventType.CONVERGE:
            # The reason of a failed resource stays until healing takes it back; the lease tells the other.
            is_lost = reservation.status_reason in OWN_REASONS
            told = reservation.status_reason if is_lost else reason[:LONGEST_REASON]
            return replace(reservation, missing_resources=True, status_reason=told)
        case GiveUp():
            return reservation


def _served(reservation: Reservation) -> Reservation:
    # That a resource has failed is not the cloud's to say: healing takes it back.
    is_lost = reservation.status_reason in OWN_REASONS
    return replace(
        reservation,
        status=ReservationStatus.ACTIVE,
        status_reason=reservation.status_reason if is_lost else None,
        missing_resources=is_lost,
        resources_changed=False,
    )


def _bound(
    reservation: Reservation,
    acted: Lease,
    serving: frozenset[str] | None = None,
    freed: frozenset[str] | None = None,
) -> Reservation:
    """Bind the allocations that were acted on and are still the same, and forget the surplus that was freed.
    ``serving`` and ``freed`` name their resources, all where they are None."""
    known = acted.reservation(reservation.id)
    before, stored = _placements(known) if known else {}, _placements(reservation)
    bound = [
        replace(a, bound=True)
        if before.get(a.id) == stored[a.id] and (serving is None or a.resource_id in serving)
        else a
        for a in reservation.allocations
    ]
    return replace(without_freed(reservation, known, freed), allocations=_merged(bound))


def _merged(allocations: Iterable[Allocation]) -> tuple[Allocation, ...]:
    """Return the allocations with one for all bound slots of a size on a resource, since the first of them:
    slots that were added have waited in an allocation of their own."""
    merged: dict[object, Allocation] = {}
    for a in allocations:
        amounts = tuple(sorted((a.usage.amounts or {}).items()))
        key = (a.resource_id, amounts, a.interval.end) if a.bound and not a.usage.whole else a.id
        first = merged.get(key)
        merged[key] = _together(first, a) if first else a
    return tuple(merged.values())


def _together(one: Allocation, other: Allocation) -> Allocation:
    first = min(one, other, key=lambda a: (a.interval.start, a.id))
    return replace(first, slots=one.slots + other.slots)


def due_later(event: Event, waiting: Sequence[NotYet | GiveUp], now: datetime, reason: str) -> Event:
    """Return the event as it is tried again after outcomes that are not final."""
    delay = min(_pause_after(event.attempts, outcome) for outcome in waiting)
    return replace(event, due=_due_in(delay, now), reason=reason)


def _due_in(delay: timedelta, now: datetime) -> datetime:
    """Return when an event is due again: after a long pause at a whole second, so that many that wait are
    found by one look."""
    due = now + delay
    return due.replace(microsecond=0) if delay >= LONG_PAUSE else due


def _pause_after(attempts: int, outcome: NotYet | GiveUp) -> timedelta:
    if isinstance(outcome, NotYet) and outcome.check_after is not None:
        seconds = outcome.check_after.total_seconds() * math.pow(GROWTH, min(attempts - 1, 30))
        return min(timedelta(seconds=seconds), LONGEST_RETRY)
    longest = LONGEST_RETRY if isinstance(outcome, GiveUp) else LONGEST_OUTAGE
    seconds = FIRST_RETRY.total_seconds() * math.pow(2, min(attempts - 1, 10))
    return min(timedelta(seconds=seconds), longest)


def spent(attempts: int) -> timedelta:
    """Return how long an event has been tried that failed this often: the pauses between its attempts. It
    does not begin with the event's time, for managers may have been away then."""
    pauses = (_pause_after(n, NotYet("")) for n in range(1, min(attempts, MOST_ATTEMPTS)))
    return sum(pauses, timedelta(0))


def retried(lease: Lease, now: datetime) -> Lease:
    """Return a lease in ERROR as one whose start is due at once, by an operator's wish. Raises
    InvalidStatus."""
    start = lease.event(EventType.START)
    if lease.status is not LeaseStatus.ERROR or start is None or start.status is not EventStatus.ERROR:
        raise InvalidStatus(
            reason=f"the lease is {lease.status}; only one whose start failed can be retried."
        )
    if lease.interval.end <= now:
        raise InvalidStatus(reason="the lease is over.")
    reservations = tuple(
        replace(r, status=ReservationStatus.PENDING, status_reason=None)
        if r.status is ReservationStatus.ERROR
        else r
        for r in lease.reservations
    )
    again = replace(start, status=EventStatus.UNDONE, due=now, attempts=0, reason=None)
    lease = transition(replace(lease, reservations=reservations), LeaseStatus.STARTING, lease.status_reason)
    return with_event(lease, again)


def _failed(lease: Lease, event: Event, reason: str) -> Lease:
    match event.event_type:
        case EventType.CONVERGE:
            return replace(without_event(lease, event), degraded=True, status_reason=reason)
        case EventType.READY:
            # The start does all that is missing.
            return replace(without_event(lease, event), status_reason=reason)
        case EventType.BEFORE_END:
            return with_event(lease, replace(event, status=EventStatus.ERROR, reason=reason))
        case _:
            closed = replace(event, status=EventStatus.ERROR, reason=reason)
            return transition(with_event(without_surplus(lease), closed), LeaseStatus.ERROR, reason)


def _finished(lease: Lease, event: Event) -> Lease | None:
    match event.event_type:
        case EventType.DELETE:
            return None
        case EventType.END:
            reason = lease.claim_by.reason if lease.claim_by else None
            return transition(_without_open_events(with_event(lease, event)), LeaseStatus.TERMINATED, reason)
        case EventType.START:
            return transition(with_event(lease, event), LeaseStatus.ACTIVE)
        case EventType.BEFORE_END:
            return replace(with_event(lease, event), status_reason=None)
        case EventType.CONVERGE:
            # What a converge before could not do is done now.
            degraded = any(r.missing_resources or r.resources_changed for r in lease.reservations)
            return replace(without_event(lease, event), status_reason=None, degraded=degraded)
        case EventType.READY:
            return replace(without_event(lease, event), status_reason=None)
        case EventType.WARN_UNCLAIMED | EventType.CLOSE_UNCLAIMED | EventType.END_UNCLAIMED:
            return without_event(lease, event)


def _without_open_events(lease: Lease) -> Lease:
    over = tuple(
        replace(e, status=EventStatus.DONE, reason="the lease is over") if e.is_open else e
        for e in lease.events
        if e.event_type.is_public
    )
    return replace(lease, events=over)


def without_event(lease: Lease, event: Event) -> Lease:
    """Return the lease without ``event``, which is the engine's own work and done, and without what earlier
    versions kept of such work: nothing grows with what is over."""
    kept = tuple(e for e in lease.events if e.id != event.id and (e.event_type.is_public or e.is_open))
    return replace(lease, events=kept)


def reconciled(
    lease: Lease, event: Event, outcomes: Mapping[str, Outcome], now: datetime, new_id: NewId
) -> Lease:
    """Return the lease after it was compared with the cloud; ``event`` stands for the comparison and is not
    stored.

    What is under way in the cloud, or was never bound, gets an event of its own."""
    if lease.status is not LeaseStatus.ACTIVE:
        return lease
    if not outcomes:
        has_work = any(e.event_type in UNSETTLING and e.is_open for e in lease.events)
        return lease if has_work or lease.is_settled else with_work(lease, EventType.CONVERGE, now, new_id)
    begun = replace(event, status=EventStatus.IN_PROGRESS, attempts=1)
    settled = settle(lease, begun, lease, outcomes, now)
    assert settled is not None  # noqa: S101 - only a deletion ends in nothing
    if any(isinstance(outcome, NotYet) for outcome in outcomes.values()):
        return with_work(settled, EventType.CONVERGE, now, new_id)
    return settled


def with_event(lease: Lease, event: Event) -> Lease:
    """Return the lease with ``event`` in the place of its namesake."""
    return replace(lease, events=tuple(event if e.id == event.id else e for e in lease.events))
