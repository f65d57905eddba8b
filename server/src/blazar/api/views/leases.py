"""How a lease looks in answers, with its reservations and events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from blazar.api.views.dates import stamp, wire_date
from blazar.domain.event import Event
from blazar.domain.lease import Lease, Reservation
from blazar.kinds.base import Kind
from blazar.service.context import Caller


class EventView(TypedDict):
    """A moment of a lease."""

    id: str
    lease_id: str
    event_type: str
    time: str
    status: str
    created_at: str | None
    updated_at: str | None


@with_config(ConfigDict(extra="allow"))
class ReservationView(TypedDict):
    """A reservation; further keys are those of its kind."""

    id: str
    lease_id: str
    resource_id: str
    resource_type: str
    status: str
    status_reason: NotRequired[str]
    missing_resources: bool
    resources_changed: bool
    created_at: str | None
    updated_at: str | None


class LeaseView(TypedDict):
    """A lease. `trust_id` is shown to administrators only."""

    id: str
    name: str
    user_id: str
    project_id: str
    start_date: str
    end_date: str
    trust_id: str | None
    status: str
    status_reason: NotRequired[str]
    degraded: bool
    created_at: str | None
    updated_at: str | None
    reservations: list[ReservationView]
    events: list[EventView]


class LeaseReply(TypedDict):
    lease: LeaseView


class LeasesReply(TypedDict):
    leases: list[LeaseView]


def lease_reply(lease: Lease, caller: Caller, kinds: Mapping[str, Kind]) -> LeaseReply:
    return {"lease": lease_view(lease, caller, kinds)}


def leases_reply(leases: Iterable[Lease], caller: Caller, kinds: Mapping[str, Kind]) -> LeasesReply:
    return {"leases": [lease_view(lease, caller, kinds) for lease in leases]}


def lease_view(lease: Lease, caller: Caller, kinds: Mapping[str, Kind]) -> LeaseView:
    view: LeaseView = {
        "id": lease.id,
        "name": lease.name,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "start_date": wire_date(lease.interval.start),
        "end_date": wire_date(lease.interval.end),
        "trust_id": lease.trust_id if caller.is_admin else None,
        "status": lease.status.value,
        "degraded": lease.degraded,
        "created_at": stamp(lease.created_at),
        "updated_at": stamp(lease.updated_at),
        "reservations": [_reservation_view(each, kinds) for each in lease.reservations],
        "events": [_event_view(event) for event in lease.events if event.event_type.is_public],
    }
    if lease.status_reason is not None:
        view["status_reason"] = lease.status_reason
    return view


def _reservation_view(reservation: Reservation, kinds: Mapping[str, Kind]) -> ReservationView:
    view: ReservationView = {
        "id": reservation.id,
        "lease_id": reservation.lease_id,
        "resource_id": reservation.resource_id,
        "resource_type": reservation.resource_type,
        "status": reservation.status.value,
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "created_at": stamp(reservation.created_at),
        "updated_at": stamp(reservation.updated_at),
    }
    if reservation.status_reason is not None:
        view["status_reason"] = reservation.status_reason
    kind = kinds.get(reservation.resource_type)
    own: dict[str, Any] = kind.render(reservation) if kind else {}  # a kind that is no longer configured: no fields
    return {**view, **own, **view}  # type: ignore[typeddict-item]  # a kind's own keys are not ours to name


def _event_view(event: Event) -> EventView:
    return {
        "id": event.id,
        "lease_id": event.lease_id,
        "event_type": event.event_type.value,
        "time": wire_date(event.time),
        "status": event.status.value,
        "created_at": stamp(event.created_at),
        "updated_at": stamp(event.updated_at),
    }
