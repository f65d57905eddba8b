"""The document of a lease, of which the answers of API 1.0 and the notifications are made. They differ in
their date formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from blazar.domain.lease.event import Event
from blazar.domain.lease.lease import Lease, Reservation
from blazar.service.ports.kind import Kinds


@dataclass(frozen=True, slots=True)
class DateFormats:
    """The formats of moments."""

    moment: Callable[[datetime], str]
    """A moment in the life of the lease: its start, its end, the time of an event."""
    stamp: Callable[[datetime | None], str | None]
    """created_at and updated_at."""


def without_zone(timespec: str) -> DateFormats:
    """Return ISO 8601, UTC without zone; ``timespec`` as ``datetime.isoformat`` takes it."""

    def text(moment: datetime) -> str:
        return moment.replace(tzinfo=None).isoformat(timespec=timespec)

    return DateFormats(text, lambda moment: None if moment is None else text(moment))


def lease_document(lease: Lease, kinds: Kinds, dates: DateFormats) -> dict[str, Any]:
    """Return the lease with its reservations and its public events. ``status_reason`` is there where there is
    one."""
    return {
        "id": lease.id,
        "name": lease.name,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "start_date": dates.moment(lease.interval.start),
        "end_date": dates.moment(lease.interval.end),
        "trust_id": lease.trust_id,
        "status": lease.status.value,
        "degraded": lease.degraded,
        "created_at": dates.stamp(lease.created_at),
        "updated_at": dates.stamp(lease.updated_at),
        "reservations": [_reservation(each, kinds, dates) for each in lease.reservations],
        "events": [_event(event, dates) for event in lease.events if event.event_type.is_public],
        **_reason(lease.status_reason),
    }


def _reservation(reservation: Reservation, kinds: Kinds, dates: DateFormats) -> dict[str, Any]:
    common = {
        "id": reservation.id,
        "lease_id": reservation.lease_id,
        "resource_id": reservation.resource_id,
        "resource_type": reservation.resource_type,
        "status": reservation.status.value,
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "created_at": dates.stamp(reservation.created_at),
        "updated_at": dates.stamp(reservation.updated_at),
        **_reason(reservation.status_reason),
    }
    kind = kinds.get(reservation.resource_type)
    # A kind that is no longer configured adds no fields; one that is takes no field from what all have in
    # common.
    return {**common, **(kind.render(reservation) if kind else {}), **common}


def _event(event: Event, dates: DateFormats) -> dict[str, Any]:
    return {
        "id": event.id,
        "lease_id": event.lease_id,
        "event_type": event.event_type.value,
        "time": dates.moment(event.time),
        "status": event.status.value,
        "created_at": dates.stamp(event.created_at),
        "updated_at": dates.stamp(event.updated_at),
    }


def _reason(reason: str | None) -> dict[str, str]:
    return {} if reason is None else {"status_reason": reason}
