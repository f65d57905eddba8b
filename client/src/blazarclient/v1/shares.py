"""The requests about shares of leases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from blazarclient.exception import BlazarClientException
from blazarclient.transport import Transport
from blazarclient.v1.paging import NOT_ACCEPTABLE

T = TypeVar("T")

MICROVERSION = "1.34"
"""The version of the API that brought shares."""
USE = "1.36"
"""The version that brought the right to use a lease."""
USES = frozenset({"use", "use_and_change"})
TAKE_OVER = "1.38"
"""The version that brought the right to take a lease over."""
RIGHT = "shared_right"
"""The field of a lease that tells what the caller's project may do with it."""


def share_lease(transport: Transport, lease_id: str, project_id: str, right: str) -> dict[str, Any]:
    path, body = _path(lease_id, project_id), {"right": right}
    version = TAKE_OVER if right == "take_over" else USE if right in USES else MICROVERSION
    share: dict[str, Any] = transport.request(path, "PUT", body=body, version=version)[1]["share"]
    return share


def unshare_lease(transport: Transport, lease_id: str, project_id: str) -> None:
    transport.request(_path(lease_id, project_id), "DELETE", version=MICROVERSION)


def take_lease_over(transport: Transport, lease_id: str) -> dict[str, Any]:
    lease: dict[str, Any] = transport.request(f"/leases/{lease_id}/take_over", "POST", version=TAKE_OVER)[1][
        "lease"
    ]
    return lease


def list_shares(transport: Transport, lease_id: str) -> list[dict[str, Any]]:
    def ask(version: str) -> list[dict[str, Any]]:
        answer = transport.request(f"/leases/{lease_id}/shares", "GET", version=version)[1]
        shares: list[dict[str, Any]] = answer["shares"]
        return shares

    return with_all_rights(ask)


def with_all_rights(ask: Callable[[str], T]) -> T:
    """Return the answer in the version that tells all rights, or else in the newest one that there is."""
    for version in (TAKE_OVER, USE):
        try:
            return ask(version)
        except BlazarClientException as error:
            if error.kwargs.get("code") != NOT_ACCEPTABLE:
                raise
    return ask(MICROVERSION)


def _path(lease_id: str, project_id: str) -> str:
    return f"/leases/{lease_id}/shares/{project_id}"
