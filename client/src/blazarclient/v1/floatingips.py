"""How does a program put floating IP addresses into the service's care?"""

from __future__ import annotations

from typing import Any

from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.transport import Transport


class FloatingIPs:
    """The reservable floating IP addresses, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(self, network_id: str, floating_ip_address: str, **kwargs: Any) -> dict[str, Any]:
        """Add an address of an external network."""
        body = {"floating_network_id": network_id, "floating_ip_address": floating_ip_address, **kwargs}
        return self._floatingip(self.request_manager.post("/floatingips", body)[1])

    def get(self, floatingip_id: str) -> dict[str, Any]:
        """One address."""
        return self._floatingip(self.request_manager.get(f"/floatingips/{floatingip_id}")[1])

    def delete(self, floatingip_id: str) -> None:
        """Take an address out of the service's care."""
        self.request_manager.delete(f"/floatingips/{floatingip_id}")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """All addresses, sorted here by a key if one is named."""
        return sort_rows(self.request_manager.get("/floatingips")[1]["floatingips"], sort_by)

    @staticmethod
    def _floatingip(body: Any) -> dict[str, Any]:
        floatingip: dict[str, Any] = body["floatingip"]
        return floatingip
