"""The rules by which a lease that is unused is warned of and released, in three steps.

First its user is warned. At the deadline no user can begin to use it any more. A while later it ends, if none
was about to. Where it is found to be used at one of these steps, it stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from blazar.domain.lease import change
from blazar.domain.lease.change import NewId, with_work
from blazar.domain.lease.event import UNCLAIMED, Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.outcome import NotYet
from blazar.domain.lease.progress import due_later, with_event, without_event
from blazar.domain.time import Interval, floor_minute

WARNING = timedelta(minutes=15)
GRACE = timedelta(minutes=1)
"""Between the moment from which no user can begin to use a lease and the last look: longer than the cloud
takes to show what was begun before."""


NOT_USED_YET = frozenset(
    {
        LeaseStatus.WAITING,
        LeaseStatus.CREATING,
        LeaseStatus.PENDING,
        LeaseStatus.STARTING,
        LeaseStatus.ACTIVE,
        LeaseStatus.ERROR,
    }
)
"""The statuses of a lease that may have to be used."""


class Use(Enum):
    """What the cloud tells of a lease."""

    USED = "used"
    UNUSED = "unused"
    OPEN = "open"
    """It is unused, but up to now a user could have begun to use it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look at a lease has found. ``reason`` tells why nothing is known."""

    use: Use
    reason: str = ""


def watched(lease: Lease, now: datetime, ahead: timedelta, new_id: NewId) -> Lease:
    """Return an active lease with the event that looks first whether it is used, ``ahead`` of its
    deadline. It begins anew where it was under way."""
    was_closed = any(e.event_type is not EventType.WARN_UNCLAIMED for e in _events(lease))
    lease = replace(lease, events=tuple(e for e in lease.events if e.event_type not in UNCLAIMED))
    if was_closed:
        lease = with_work(lease, EventType.CONVERGE, now, new_id)
    if lease.claim_by is None:
        return lease
    moment = lease.claim_by.warning(lease.interval.start, ahead)
    return _with(lease, EventType.WARN_UNCLAIMED, moment, new_id)


def started(lease: Lease, now: datetime, ahead: timedelta, new_id: NewId) -> Lease:
    """Return a lease that has become active now, watched if it has to be used. Where its start was late, its
    users have as much time."""
    if lease.claim_by is None:
        return lease
    late = floor_minute(now) > lease.interval.start
    claim_by = replace(lease.claim_by, since=floor_minute(now) if late else None)
    return watched(replace(lease, claim_by=claim_by), now, ahead, new_id)


def settle(
    lease: Lease, event: Event, finding: Finding, now: datetime, ahead: timedelta, new_id: NewId
) -> Lease:
    """Return the lease after a look for ``event``. It has its end now where it is released."""
    match finding.use:
        case Use.UNKNOWN:
            return with_event(lease, due_later(event, [NotYet(finding.reason)], now, finding.reason))
        case Use.USED if event.event_type is EventType.WARN_UNCLAIMED:
            return without_event(lease, event)
        case Use.USED:
            return with_work(without_event(lease, event), EventType.CONVERGE, now, new_id)
    rest = without_event(lease, event)
    if event.event_type is EventType.WARN_UNCLAIMED:
        return _with(rest, EventType.CLOSE_UNCLAIMED, _deadline(lease, now, ahead), new_id)
    if event.event_type is EventType.CLOSE_UNCLAIMED or finding.use is Use.OPEN:
        return _with(rest, EventType.END_UNCLAIMED, now + GRACE, new_id)
    return _released(rest, now, new_id)


def released_from(lease: Lease) -> datetime | None:
    """Return when the lease is released unless it is used by then; None where it need not be used, any
    more."""
    if lease.claim_by is None or lease.status not in NOT_USED_YET:
        return None
    closing = lease.event(EventType.CLOSE_UNCLAIMED)
    if closing is not None:
        return closing.time
    is_looked_at = lease.status is not LeaseStatus.ACTIVE or bool(_events(lease))
    return lease.claim_by.deadline(lease.interval.start) if is_looked_at else None


def looked_too_early(lease: Lease, event: Event, now: datetime) -> Lease:
    """Return the lease with the event due again: it was changed while it was looked at."""
    return with_event(lease, replace(event, status=EventStatus.UNDONE, due=now, attempts=0))


def _deadline(lease: Lease, now: datetime, ahead: timedelta) -> datetime:
    """Return the deadline of a lease that is warned of now: a late warning leaves as much time as one in
    time."""
    assert lease.claim_by is not None  # noqa: S101 - it is warned of
    start = lease.interval.start
    deadline = lease.claim_by.deadline(start)
    return max(deadline, floor_minute(now) + (deadline - lease.claim_by.warning(start, ahead)))


def _released(lease: Lease, now: datetime, new_id: NewId) -> Lease:
    assert lease.claim_by is not None  # noqa: S101 - it is released for this
    claim_by = replace(lease.claim_by, released_at=now)
    end = min(change.end_now(lease, floor_minute(now)), lease.interval.end)
    interval = Interval(lease.interval.start, end)
    events = change.moved_events(lease, interval, None, now, new_id)
    ended = replace(lease, interval=interval, events=events, claim_by=claim_by, status_reason=claim_by.reason)
    return change.shrunk(ended)


def _events(lease: Lease) -> list[Event]:
    return [e for e in lease.events if e.event_type in UNCLAIMED]


def _with(lease: Lease, event_type: EventType, time: datetime, new_id: NewId) -> Lease:
    return replace(lease, events=(*lease.events, Event(new_id(), lease.id, event_type, time)))
