"""The calls of the v1 client for VLANs."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows


class Vlans:
    """The reservable VLANs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, segment: str) -> dict[str, Any]:
        created: dict[str, Any] = self._transport.post("/vlans", {"segment": segment})[1]["vlan"]
        return created

    def get(self, vlan_id: str) -> dict[str, Any]:
        vlan: dict[str, Any] = self._transport.get(f"/vlans/{vlan_id}")[1]["vlan"]
        return vlan

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        return sort_rows(self._transport.get("/vlans")[1]["vlans"], sort_by)
