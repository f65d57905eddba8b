"""How does a program learn which reservations lie on which resource?"""

from __future__ import annotations

from typing import Any

from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.transport import Transport


class Allocations:
    """Which reservations each resource serves; `resource` is the collection's path, ``os-hosts``."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def get(self, resource: str, resource_id: str) -> dict[str, Any]:
        """The reservations on one resource, present and future."""
        body = self.request_manager.get(f"/{resource}/{resource_id}/allocation")[1]
        allocation: dict[str, Any] = body["allocation"]
        return allocation

    def list(self, resource: str, sort_by: str | None = None) -> list[dict[str, Any]]:
        """The reservations on every resource of a collection, sorted here by a key if one is named."""
        return sort_rows(self.request_manager.get(f"/{resource}/allocations")[1]["allocations"], sort_by)
