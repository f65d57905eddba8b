"""The call of the v1 client for the programs of the service."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows


class Services:
    """The programs that run the service. Administrators only."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the managers with their load, sorted by the key `sort_by`."""
        return sort_rows(self.request_manager.get("/services")[1]["services"], sort_by)
