"""Which reservations lie on a resource?"""

from __future__ import annotations

from typing import Any, TypedDict

from openstack import resource

from blazarclient.sdk.base import ServiceResource


class AllocatedReservation(TypedDict):
    """A reservation on a resource, with its lease's interval as the service writes it."""

    id: str
    lease_id: str
    start_date: str
    end_date: str


class Allocation(ServiceResource):
    """A resource and the reservations it serves, now and later."""

    resource_key = "allocation"
    resources_key = "allocations"
    base_path = "/os-hosts/allocations"

    resource_id: str = resource.Body("resource_id", alternate_id=True)
    reservations: list[AllocatedReservation] = resource.Body("reservations", type=list)

    @classmethod
    def _identity(cls, row: dict[str, Any]) -> str:
        return str(row["resource_id"])
