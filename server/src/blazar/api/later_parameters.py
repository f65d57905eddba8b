"""Parameters of reservations that came with a later version of the API. One before it ignores them, as it
ignores all that it does not know, and shows none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from blazar.api.microversion import Version
from blazar.api.routing import Request
from blazar.api.views.leases import LeaseView, ReservationView
from blazar.domain.lease.lease import Lease, Reservation
from blazar.service.ports.kind import Kind, Kinds


def body_of(request: Request, kinds: Kinds, lease: Lease | None = None) -> Mapping[str, Any]:
    """Return the body of a request about a lease, as the version that it asks for knows it. A change of the
    ``lease`` names its reservations by their ids."""
    listed = request.body.get("reservations")
    if not isinstance(listed, list):
        return request.body
    return {**request.body, "reservations": [_known(each, request, kinds, lease) for each in listed]}


def later_views(lease: Lease, view: LeaseView, version: Version, kinds: Kinds) -> list[ReservationView]:
    """Return the reservations of the lease's view, with the fields that came with versions up to this one."""
    return [
        cast(ReservationView, {**shown, **_later_fields(each, version, kinds)})
        for shown, each in zip(view["reservations"], lease.reservations, strict=True)
    ]


def _later_fields(reservation: Reservation, version: Version, kinds: Kinds) -> Mapping[str, Any]:
    kind = kinds.get(reservation.resource_type)
    known = {name for name, since in kind.later_parameters.items() if since <= version} if kind else set()
    if kind is None or not known:
        return {}
    return {name: value for name, value in kind.render_later(reservation).items() if name in known}


def _known(reservation: Any, request: Request, kinds: Kinds, lease: Lease | None) -> Any:
    kind = _kind_of(reservation, kinds, lease) if isinstance(reservation, dict) else None
    if kind is None:
        return reservation
    later = {name for name, since in kind.later_parameters.items() if request.version < since}
    return {name: value for name, value in reservation.items() if name not in later}


def _kind_of(reservation: Mapping[str, Any], kinds: Kinds, lease: Lease | None) -> Kind[Any] | None:
    reservation_id, resource_type = reservation.get("id"), reservation.get("resource_type")
    known = lease.reservation(reservation_id) if lease and isinstance(reservation_id, str) else None
    if known is not None:
        return kinds.get(known.resource_type)
    return kinds.get(resource_type) if isinstance(resource_type, str) else None
