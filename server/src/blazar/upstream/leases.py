"""What becomes of upstream's leases: their statuses and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from blazar.adapters.stored import fitting
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.time import HORIZON, MINUTE, Interval
from blazar.service.ids import new_id
from blazar.upstream.reservations import reservation_of
from blazar.upstream.resources import Refusal
from blazar.upstream.source import LeaseRows

STABLE: Mapping[tuple[str, str], LeaseStatus] = {
    ("UNDONE", "UNDONE"): LeaseStatus.PENDING,
    ("DONE", "UNDONE"): LeaseStatus.ACTIVE,
    ("DONE", "DONE"): LeaseStatus.TERMINATED,
}
"""The status of a lease by those of its start and its end, as upstream itself says."""
RESERVATIONS: Mapping[LeaseStatus, ReservationStatus] = {
    LeaseStatus.PENDING: ReservationStatus.PENDING,
    LeaseStatus.ACTIVE: ReservationStatus.ACTIVE,
    LeaseStatus.TERMINATED: ReservationStatus.DELETED,
}
"""The status that all reservations of a lease have, but for those that are over before it."""
STARTS: Mapping[LeaseStatus, EventStatus] = {
    LeaseStatus.PENDING: EventStatus.UNDONE,
    LeaseStatus.STARTING: EventStatus.IN_PROGRESS,
}
"""The status of the start event; in all other statuses of the lease it has happened or failed."""
ENDS: Mapping[LeaseStatus, EventStatus] = {
    LeaseStatus.TERMINATING: EventStatus.IN_PROGRESS,
    LeaseStatus.TERMINATED: EventStatus.DONE,
    LeaseStatus.DELETING: EventStatus.DONE,
}
"""The status of the end event; it is yet to come in all other statuses."""
CUT_OFF: Mapping[str, str] = {
    "CREATING": "its creation was cut off, so it is removed with all that was made for it",
    "DELETING": "its deletion was cut off, and goes on",
    "STARTING": "its start was cut off, and goes on",
    "TERMINATING": "its end was cut off, and goes on",
}
KNOWN = frozenset({*CUT_OFF, "PENDING", "ACTIVE", "TERMINATED", "ERROR", "UPDATING"})
OVER = "TERMINATED"


def lease_of(rows: LeaseRows, ids: Mapping[str, str], now: datetime) -> tuple[Lease, list[str]]:
    """Return the lease, and what is different. ``ids`` are those of resources here by those in upstream.

    A reservation that cannot be taken is left out. Raises Refusal where the lease is nothing without it."""
    row = rows.lease
    notes: list[str] = []
    status = _status(rows, notes)
    interval = _interval(row, now, notes)
    lease = Lease(
        id=row.id,
        name=fitting(row.name) or "",
        user_id=row.user_id or "",
        project_id=_project(row),
        interval=interval,
        status=status,
        degraded=bool(row.degraded),
        # A lease that is over needs none. Upstream leaves them in Keystone.
        trust_id=None if status is LeaseStatus.TERMINATED else row.trust_id,
        reservations=tuple(_reservations(rows, status, interval, ids, notes)),
    )
    lease = replace(lease, events=_events(rows, lease, now))
    return lease, notes


def _project(row: Any) -> str:
    if not row.project_id:
        raise Refusal("it belongs to no project")
    return str(row.project_id)


def _interval(row: Any, now: datetime, notes: list[str]) -> Interval:
    start, end = row.start_date.replace(tzinfo=UTC), row.end_date.replace(tzinfo=UTC)
    if end <= start:
        notes.append("it ends a minute after its start, not at it")
        end = start + MINUTE
    latest = (now + HORIZON).replace(second=0, microsecond=0)
    if start >= latest:
        raise Refusal("it starts more than a hundred years ahead")
    if end > latest:
        notes.append(f"it ends in a hundred years, not on {end.date()}")
        end = latest
    return Interval(start, end)


# ---------------------------------------------------------------------------- the status


def _status(rows: LeaseRows, notes: list[str]) -> LeaseStatus:
    """Return the status with which the lease goes on; what upstream has cut off is taken up."""
    told = rows.lease.status
    if told in CUT_OFF:
        notes.append(CUT_OFF[told])
        return LeaseStatus.DELETING if told == "CREATING" else LeaseStatus(told)
    if told not in KNOWN:
        raise Refusal(f"its status {told!a} is not known")
    if told in STABLE.values():
        return LeaseStatus(told)
    return _derived(rows, notes)


def _derived(rows: LeaseRows, notes: list[str]) -> LeaseStatus:
    """Return the status of a lease that upstream has left in UPDATING or ERROR.

    A change or a deletion that failed has set many to ERROR whose promise stands: upstream itself derives
    their status from their events at the next update."""
    told = rows.lease.status
    start, end = (_of_type(rows, each) for each in (EventType.START, EventType.END))
    if (
        told == "ERROR"
        and end is not None
        and (start and start.status, end.status) == ("DONE", "IN_PROGRESS")
    ):
        notes.append("its deletion had failed, and goes on")
        return LeaseStatus.DELETING
    found = STABLE.get((start.status, end.status)) if start is not None and end is not None else None
    if found is not None and _holds(rows, found):
        notes.append(f"{told} after a change that failed or was cut off; it goes on as {found}")
        return found
    if told == "ERROR":
        if end is not None and end.status != "UNDONE":
            notes.append("its end had failed, and is tried again")
        return LeaseStatus.ERROR
    notes.append(f"{told}, and its events do not tell how it goes on: ERROR until its end")
    return LeaseStatus.ERROR


def _holds(rows: LeaseRows, status: LeaseStatus) -> bool:
    """Return whether all reservations are as they are in a lease of this status."""
    return all(each.reservation.status == RESERVATIONS[status] for each in rows.reservations)


def _of_type(rows: LeaseRows, event_type: EventType) -> Any:
    """Return the lease's event of this type. Clients could make more: then the one at the time
    of the lease itself."""
    found = [event for event in rows.events if event.event_type == event_type]
    due = {EventType.START: rows.lease.start_date, EventType.END: rows.lease.end_date}.get(event_type)
    return next((event for event in found if event.time == due), found[0] if found else None)


# ---------------------------------------------------------------------------- what it reserves


def _reservations(
    rows: LeaseRows, status: LeaseStatus, interval: Interval, ids: Mapping[str, str], notes: list[str]
) -> list[Reservation]:
    taken: list[Reservation] = []
    reasons: list[str] = []
    for each in rows.reservations:
        before = each.reservation.status
        became, is_bound = _reservation_status(before, status), _is_bound(before, status)
        try:
            reservation, told = reservation_of(each, became, interval, is_bound, ids)
        except Refusal as refusal:
            reasons.append(f"reservation {each.reservation.id} is refused: {refusal}")
            continue
        taken.append(reservation)
        notes += [f"reservation {reservation.id}: {note}" for note in told]
    if reasons and not taken:
        raise Refusal("; ".join(reasons))
    notes += reasons
    return taken


def _reservation_status(told: str | None, lease: LeaseStatus) -> ReservationStatus:
    known = ReservationStatus(told or "pending")
    found = ReservationStatus.PENDING if known is ReservationStatus.UNKNOWN else known
    if lease is LeaseStatus.TERMINATED:
        return ReservationStatus.DELETED
    return found if found is ReservationStatus.DELETED else RESERVATIONS.get(lease, found)


def _is_bound(told: str | None, lease: LeaseStatus) -> bool:
    """Return whether the cloud serves the reservation. One that is in error in an active lease does: only a
    snapshot has failed."""
    if lease is LeaseStatus.ACTIVE:
        return told in ("active", "error")
    return lease is LeaseStatus.STARTING and told == "active"


# ---------------------------------------------------------------------------- the events


def _events(rows: LeaseRows, lease: Lease, now: datetime) -> tuple[Event, ...]:
    """Return the start, the end and the warning as they are in a lease of this status, and the deletion where
    that goes on."""
    status = lease.status
    moments = {EventType.START: lease.interval.start, EventType.END: lease.interval.end}
    start = _of_type(rows, EventType.START)
    may_have_failed = status in (LeaseStatus.ERROR, LeaseStatus.TERMINATING)
    has_started = not may_have_failed or (start is not None and start.status == "DONE")
    statuses = {
        EventType.START: STARTS.get(status, EventStatus.DONE if has_started else EventStatus.ERROR),
        EventType.END: ENDS.get(status, EventStatus.UNDONE),
    }
    events = []
    for event_type in moments:
        row = _of_type(rows, event_type)
        event_id = row.id if row is not None else new_id()
        event = Event(event_id, lease.id, event_type, moments[event_type], statuses[event_type])
        # What was begun is finished, also where that was ahead of its time.
        is_early = event.status is EventStatus.IN_PROGRESS and event.time > now
        events.append(replace(event, due=now if is_early else None))
    warning = _of_type(rows, EventType.BEFORE_END)
    if warning is not None and warning.time is not None:
        events.append(_warning(warning, lease))
    if status is LeaseStatus.DELETING:
        events.append(Event(new_id(), lease.id, EventType.DELETE, now))
    return tuple(events)


def _warning(row: Any, lease: Lease) -> Event:
    status = EventStatus(row.status) if row.status in list(EventStatus) else EventStatus.UNDONE
    if status is EventStatus.IN_PROGRESS:
        status = EventStatus.UNDONE
    if lease.status is LeaseStatus.TERMINATED and status is EventStatus.UNDONE:
        status = EventStatus.DONE
    return Event(row.id, lease.id, EventType.BEFORE_END, row.time.replace(tzinfo=UTC), status)
