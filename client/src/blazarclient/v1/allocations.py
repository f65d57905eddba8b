"""The calls of the v1 client for allocations."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed


class Allocations:
    """The reservations on each resource. `resource` is the path of a collection, for example ``os-hosts``."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def get(self, resource: str, resource_id: str) -> dict[str, Any]:
        """Return the present and future reservations on one resource."""
        body = self.request_manager.get(f"/{resource}/{resource_id}/allocation")[1]
        allocation: dict[str, Any] = body["allocation"]
        return allocation

    def list(self, resource: str, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the reservations on all resources of a collection, sorted by the key `sort_by`."""
        listed = Listed(self.request_manager, f"/{resource}/allocations", "allocations")
        return sort_rows([*listed.rows()], sort_by)
