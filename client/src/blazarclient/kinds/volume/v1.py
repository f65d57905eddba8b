"""The calls of the v1 client for volume types."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows

MICROVERSION = "1.25"
"""The version of the API that brought these calls."""


class VolumeTypes:
    """The reservable volume types, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(self, volume_type: str, gigabytes: int, volumes: int) -> dict[str, Any]:
        """Register a volume type, by its id or name, with how much of it can be reserved. Return it."""
        body = {"volume_type": volume_type, "gigabytes": gigabytes, "volumes": volumes}
        created: dict[str, Any] = self._request("/volumetypes", "POST", body)["volumetype"]
        return created

    def get(self, volumetype_id: str) -> dict[str, Any]:
        """Return one volume type."""
        found: dict[str, Any] = self._request(f"/volumetypes/{volumetype_id}", "GET")["volumetype"]
        return found

    def update(self, volumetype_id: str, gigabytes: int, volumes: int) -> dict[str, Any]:
        """Change how much of a volume type can be reserved, and return it."""
        body = {"gigabytes": gigabytes, "volumes": volumes}
        changed: dict[str, Any] = self._request(f"/volumetypes/{volumetype_id}", "PUT", body)["volumetype"]
        return changed

    def delete(self, volumetype_id: str) -> None:
        """Remove a volume type from the reservation service."""
        self._request(f"/volumetypes/{volumetype_id}", "DELETE")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return all volume types; `sort_by` names a key to sort by, on the client's side."""
        return sort_rows(self._request("/volumetypes", "GET")["volumetypes"], sort_by)

    def _request(self, url: str, method: str, body: dict[str, Any] | None = None) -> Any:
        return self.request_manager.request(url, method, body=body, version=MICROVERSION)[1]
