"""The calls of the v1 client for network segments."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed

MICROVERSION = "1.28"
"""The version of the API that brought these calls."""


class NetworkSegments:
    """The reservable network segments, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        network_type: str,
        segmentation_id: int,
        last_segmentation_id: int | None = None,
        physical_network: str | None = None,
    ) -> list[dict[str, Any]]:
        """Register a segment, or all up to a last one. Return them."""
        body = {
            "network_type": network_type,
            "segmentation_id": segmentation_id,
            "last_segmentation_id": last_segmentation_id,
            "physical_network": physical_network,
        }
        sent = {name: value for name, value in body.items() if value is not None}
        created: list[dict[str, Any]] = self._request("/networksegments", "POST", sent)["networksegments"]
        return created

    def get(self, networksegment_id: str) -> dict[str, Any]:
        """Return one segment."""
        found: dict[str, Any] = self._request(f"/networksegments/{networksegment_id}", "GET")[
            "networksegment"
        ]
        return found

    def delete(self, networksegment_id: str) -> None:
        """Remove a segment from the reservation service."""
        self._request(f"/networksegments/{networksegment_id}", "DELETE")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return all segments; `sort_by` names a key to sort by, on the client's side."""
        listed = Listed(self.request_manager, "/networksegments", "networksegments", version=MICROVERSION)
        return sort_rows([*listed.rows()], sort_by)

    def _request(self, url: str, method: str, body: dict[str, Any] | None = None) -> Any:
        return self.request_manager.request(url, method, body=body, version=MICROVERSION)[1]
