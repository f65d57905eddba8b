"""The requests about shares of leases."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport

MICROVERSION = "1.34"
"""The version of the API that brought shares."""
RIGHT = "shared_right"
"""The field of a lease that tells what the caller's project may do with it."""


def share_lease(transport: Transport, lease_id: str, project_id: str, right: str) -> dict[str, Any]:
    path, body = _path(lease_id, project_id), {"right": right}
    share: dict[str, Any] = transport.request(path, "PUT", body=body, version=MICROVERSION)[1]["share"]
    return share


def unshare_lease(transport: Transport, lease_id: str, project_id: str) -> None:
    transport.request(_path(lease_id, project_id), "DELETE", version=MICROVERSION)


def list_shares(transport: Transport, lease_id: str) -> list[dict[str, Any]]:
    answer = transport.request(f"/leases/{lease_id}/shares", "GET", version=MICROVERSION)[1]
    shares: list[dict[str, Any]] = answer["shares"]
    return shares


def _path(lease_id: str, project_id: str) -> str:
    return f"/leases/{lease_id}/shares/{project_id}"
