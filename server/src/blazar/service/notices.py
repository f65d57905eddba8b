"""What the world is told of leases: the notifications and their payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazar.domain.event import Event, EventType
from blazar.domain.lease import Lease, Reservation
from blazar.kinds.base import Kind

LEASE_CREATE = "lease.create"
LEASE_UPDATE = "lease.update"
LEASE_DELETE = "lease.delete"
WARNING_WITHDRAWN = "lease.event.before_end_lease.stop"
"""The warning of the end was given, but the end has moved since: it will be given again."""


def event_notice(event_type: EventType) -> str:
    return f"lease.event.{event_type}"


def payload(lease: Lease, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The flat payload that consumers of API 1.0's notifications know: reservations and events with the fields of the
    API's answers; dates in ISO 8601, UTC without zone."""
    return {
        "lease_id": lease.id,
        "name": lease.name,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "trust_id": lease.trust_id,
        "start_date": _date(lease.interval.start),
        "end_date": _date(lease.interval.end),
        "status": str(lease.status),
        "degraded": lease.degraded,
        "created_at": _date(lease.created_at),
        "updated_at": _date(lease.updated_at),
        "reservations": [_reservation(each, kinds) for each in lease.reservations],
        "events": [_event(event) for event in lease.events if event.event_type.is_public],
    }


def _reservation(reservation: Reservation, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    common = {
        "id": reservation.id,
        "lease_id": reservation.lease_id,
        "resource_id": reservation.resource_id,
        "resource_type": reservation.resource_type,
        "status": str(reservation.status),
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "created_at": _date(reservation.created_at),
        "updated_at": _date(reservation.updated_at),
    }
    kind = kinds.get(reservation.resource_type)
    return {**(kind.render(reservation) if kind else {}), **common}


def _event(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "lease_id": event.lease_id,
        "event_type": str(event.event_type),
        "time": _date(event.time),
        "status": str(event.status),
        "created_at": _date(event.created_at),
        "updated_at": _date(event.updated_at),
    }


def _date(moment: Any) -> str | None:
    return None if moment is None else moment.replace(tzinfo=None).isoformat()
