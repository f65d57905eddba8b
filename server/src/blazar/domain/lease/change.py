"""The changes that a status allows: the dates and events of a lease, as rules over values.

The rules and sentences are those of the wire specification (chapters 2.2 to 2.4), where they are not marked
as weak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from blazar.domain.errors import InvalidInput, InvalidStatus
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, transition
from blazar.domain.time import HORIZON, MINUTE, Interval, floor_minute

NewId = Callable[[], str]


def check_new_interval(start: datetime, end: datetime, now: datetime) -> Interval:
    """Return the interval of a new lease. ``now`` is the current minute: a start in it is allowed. Raises
    InvalidInput."""
    if start < now:
        raise InvalidInput("Start date must be later than current date")
    if end <= start:
        raise InvalidInput("End date must be later than start date.")
    check_horizon(end, now)
    return Interval(start, end)


def end_now(lease: Lease, now: datetime) -> datetime:
    """Return the end of a lease that is to end in the current minute ``now``.

    No interval is empty. So where the lease has begun in this minute, or has grown in it, the lease ends with
    the minute."""
    begun = {lease.interval.start, *(allocation.interval.start for allocation in lease.allocations)}
    return now + MINUTE if now in begun else now


def has_ended(lease: Lease, now: datetime) -> bool:
    """Return whether the end of the lease is not after the current minute ``now``: a wish to end it now is
    fulfilled, whether the engine has carried out the end already or not."""
    return lease.interval.end <= now


def check_horizon(end: datetime, now: datetime) -> None:
    if end > now + HORIZON:
        latest = (now + HORIZON).strftime("%Y-%m-%d %H:%M")
        raise InvalidInput(f"End date is too far in the future: the latest accepted is {latest}.")


def check_changed_interval(lease: Lease, start: datetime, end: datetime, now: datetime) -> Interval:
    """Return the interval of ``lease`` after an update to ``start`` and ``end``; ``now`` is the current
    minute.

    Raises InvalidStatus for a lease in transition, InvalidInput where the dates may not become these."""
    require_stable(lease)
    if lease.status is LeaseStatus.TERMINATED or lease.interval.end < now:
        raise InvalidInput("Terminated leases can only be renamed")
    if start != lease.interval.start:
        if lease.status is not LeaseStatus.PENDING or lease.interval.start < now:
            raise InvalidInput("Cannot modify the start date of already started leases")
        if start < now:
            raise InvalidInput("Start date must be later than current date")
    if (end != lease.interval.end and end < now) or end <= start:
        raise InvalidInput("End date must be later than current and start date")
    check_horizon(end, now)
    return Interval(start, end)


def require_understood(lease: Lease) -> None:
    """Raise InvalidStatus for a lease that a newer version of the service has brought into a status that
    this one does not know."""
    if not lease.is_understood:
        raise InvalidStatus(reason="a newer version of the service is at work on the lease.")


def require_stable(lease: Lease) -> None:
    if not lease.status.is_stable:
        raise InvalidStatus(reason=f"the lease is {lease.status}; it can be updated as soon as that is over.")


def default_before_end(interval: Interval, notification: timedelta) -> datetime | None:
    """Return when to warn of the end unless the user says: ``notification`` before it; None without
    notification."""
    return _ahead_of_end(interval, notification) if notification else None


def _ahead_of_end(interval: Interval, notification: timedelta) -> datetime:
    """Return the moment ``notification`` before the end, or half way where the interval is not longer than
    that: at the start no user needs a warning."""
    if notification < interval.duration:
        return interval.end - notification
    return floor_minute(interval.start + interval.duration / 2)


def check_before_end(moment: datetime, interval: Interval) -> datetime:
    if not interval.start < moment < interval.end:
        raise InvalidInput(
            "Datetime is out of lease limits: before_end_date must lie between start and end date."
        )
    return moment


def new_events(
    lease_id: str, interval: Interval, before_end: datetime | None, new_id: NewId
) -> tuple[Event, ...]:
    moments = [(EventType.START, interval.start), (EventType.END, interval.end)]
    if before_end is not None:
        moments.append((EventType.BEFORE_END, before_end))
    return tuple(Event(new_id(), lease_id, event_type, time) for event_type, time in moments)


def unconfirmed(lease: Lease, until: datetime, new_id: NewId) -> Lease:
    """Return the new lease while something is made for it in the cloud: nothing happens to it, but that it is
    released and forgotten unless it is confirmed by ``until``: by then the request or its process has
    died."""
    return replace(
        lease, status=LeaseStatus.CREATING, events=(Event(new_id(), lease.id, EventType.DELETE, until),)
    )


def confirmed(lease: Lease, events: tuple[Event, ...]) -> Lease:
    """Return the lease that was CREATING, with the events of its own."""
    return replace(transition(lease, LeaseStatus.PENDING), events=events)


def promoted(lease: Lease, interval: Interval, notification: timedelta, new_id: NewId) -> Lease:
    """Return the lease that was WAITING, in this interval, with its events. Its warning is given when its
    user said, where that is still within it."""
    waiting = lease.waiting
    asked = waiting.before_end if waiting else None
    is_within = asked is not None and interval.start < asked < interval.end
    warning = asked if is_within else default_before_end(interval, notification)
    events = new_events(lease.id, interval, warning, new_id)
    return replace(transition(lease, LeaseStatus.PENDING), interval=interval, events=events, waiting=None)


def waited_in_vain(lease: Lease) -> Lease:
    """Return the lease that has waited as long as it could."""
    until = lease.waiting.until if lease.waiting else lease.interval.start
    reason = f"There was not enough for it until {until:%Y-%m-%d %H:%M}."
    return replace(transition(lease, LeaseStatus.TERMINATED, reason), waiting=None)


def was_announced(lease: Lease) -> bool:
    """Return whether the world was told of the lease: of one that was never confirmed it was not."""
    return lease.event(EventType.START) is not None


def moved_events(
    lease: Lease, interval: Interval, before_end: datetime | None, now: datetime, new_id: NewId
) -> tuple[Event, ...]:
    """Return the lease's events after its interval became ``interval``, with ``before_end`` if the user gave
    one.

    Without it the warning keeps its distance from the end, where the lease is longer than that. A warning
    that was given already is given again only if its new time lies ahead."""
    events = []
    for event in lease.events:
        match event.event_type:
            case EventType.START:
                events.append(_moved(event, interval.start))
            case EventType.END:
                events.append(_moved(event, interval.end))
            case EventType.BEFORE_END:
                kept = _ahead_of_end(interval, lease.interval.end - event.time)
                moved = _moved(event, before_end or kept)
                if event.status is not EventStatus.UNDONE and moved.time > now:
                    moved = replace(moved, status=EventStatus.UNDONE, attempts=0, reason=None)
                events.append(moved)
            case _:
                events.append(event)
    if before_end is not None and lease.event(EventType.BEFORE_END) is None:
        events.append(Event(new_id(), lease.id, EventType.BEFORE_END, before_end))
    return tuple(events)


def _moved(event: Event, time: datetime) -> Event:
    return event if event.time == time else replace(event, time=time, due=None)


def with_work(lease: Lease, event_type: EventType, now: datetime, new_id: NewId) -> Lease:
    """Return the lease with an event of the engine's own (converge, delete) due at once. One that is open is
    kept. A converge that is open has something new to do, so what it has tried in vain puts it off no
    longer."""
    open_one = next((e for e in lease.events if e.event_type is event_type and e.is_open), None)
    if open_one is not None and event_type is not EventType.CONVERGE:
        return lease
    if open_one is not None:
        anew = replace(open_one, due=now, attempts=0)
        return replace(lease, events=tuple(anew if e.id == anew.id else e for e in lease.events))
    return replace(lease, events=(*lease.events, Event(new_id(), lease.id, event_type, now)))


def with_changed_users(lease: Lease, now: datetime, new_id: NewId) -> Lease:
    """Return the lease as one that other projects may use than before: where it is active, the cloud is
    brought to that. A start that is under way is followed by such an event anyway."""
    raised = replace(lease, access_revision=lease.access_revision + 1)
    is_active = lease.status is LeaseStatus.ACTIVE
    return with_work(raised, EventType.CONVERGE, now, new_id) if is_active else raised


def shrunk(lease: Lease) -> Lease:
    """Return the lease with all allocations inside its new interval."""
    interval = lease.interval
    return replace(
        lease,
        reservations=tuple(
            replace(
                r,
                allocations=tuple(
                    replace(a, interval=Interval(max(a.interval.start, interval.start), interval.end))
                    for a in r.allocations
                ),
            )
            for r in lease.reservations
        ),
    )


def marked_for_deletion(lease: Lease, now: datetime, new_id: NewId) -> Lease:
    """Return the lease on its way out: nothing else happens to it any more but the release of what it has."""
    settled = tuple(
        replace(e, status=EventStatus.DONE, reason="the lease was deleted")
        if e.status is EventStatus.UNDONE
        else e
        for e in lease.events
    )
    return with_work(
        transition(replace(lease, events=settled), LeaseStatus.DELETING), EventType.DELETE, now, new_id
    )
