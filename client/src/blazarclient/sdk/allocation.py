"""Allocations in `blazarclient.sdk`: the reservations on a resource."""

from __future__ import annotations

from typing import Any, TypedDict

from openstack import resource

from blazarclient.sdk.base import ServiceResource


class AllocatedReservation(TypedDict):
    """A reservation on a resource, with the interval of its lease in the service's format."""

    id: str
    lease_id: str
    start_date: str
    end_date: str


class Allocation(ServiceResource):
    """A resource and its present and future reservations. Each kind lists them under a path of its own."""

    resource_key = "allocation"
    resources_key = "allocations"

    resource_id: str = resource.Body("resource_id", alternate_id=True)
    reservations: list[AllocatedReservation] = resource.Body("reservations", type=list)

    @classmethod
    def _identity(cls, row: dict[str, Any]) -> str:
        return str(row["resource_id"])
