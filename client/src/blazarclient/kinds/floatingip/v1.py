"""The calls of the v1 client for floating IPs."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed


class FloatingIPs:
    """The reservable floating IP addresses, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(self, network_id: str, floating_ip_address: str, **kwargs: Any) -> dict[str, Any]:
        """Register an address of an external network, and return it."""
        body = {"floating_network_id": network_id, "floating_ip_address": floating_ip_address, **kwargs}
        return self._floatingip(self.request_manager.post("/floatingips", body)[1])

    def get(self, floatingip_id: str) -> dict[str, Any]:
        """Return one address."""
        return self._floatingip(self.request_manager.get(f"/floatingips/{floatingip_id}")[1])

    def delete(self, floatingip_id: str) -> None:
        """Remove an address from the reservation service."""
        self.request_manager.delete(f"/floatingips/{floatingip_id}")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return all addresses; `sort_by` names a key to sort by, on the client's side."""
        return sort_rows([*Listed(self.request_manager, "/floatingips", "floatingips").rows()], sort_by)

    @staticmethod
    def _floatingip(body: Any) -> dict[str, Any]:
        floatingip: dict[str, Any] = body["floatingip"]
        return floatingip
