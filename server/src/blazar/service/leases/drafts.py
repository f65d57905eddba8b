"""Reservations as they are asked for: checked by their kind, with nothing allocated yet."""

from __future__ import annotations

from blazar.domain.errors import UnsupportedResourceType
from blazar.domain.lease.lease import Reservation
from blazar.service.commands import ReservationRequest
from blazar.service.ids import new_id
from blazar.service.ports.kind import Kinds


def draft_reservation(
    lease_id: str, request: ReservationRequest, kinds: Kinds, id_: str | None = None
) -> Reservation:
    """Return the new reservation. Raises UnsupportedResourceType, and what ``parse`` of its kind raises."""
    kind = kinds.get(request.resource_type)
    if kind is None:
        raise UnsupportedResourceType(resource_type=request.resource_type)
    return Reservation(
        id=id_ or new_id(),
        lease_id=lease_id,
        resource_id=new_id(),
        resource_type=request.resource_type,
        parameters=kind.encode(kind.parse(request.parameters)),
    )
