"""The priority of a lease, as requests have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient.v1 import claim_by

MICROVERSION = "1.13"
"""The version of the API that brought it."""
PRIORITY = "priority"
SHORTAGE = "on_shortage"
DISPLACE = "displace"
PRIORITIES = ("low", "normal", "high")


def with_priority(body: dict[str, Any], priority: str | None) -> dict[str, Any]:
    """Return the body with the priority, if it is given."""
    return body if priority is None else {**body, PRIORITY: priority}


def with_displacement(body: dict[str, Any], displace: bool) -> dict[str, Any]:
    """Return the body of a create that displaces leases of lower priorities where there is not enough."""
    if not displace:
        return body
    return {**body, SHORTAGE: {**body.get(SHORTAGE, {}), DISPLACE: True}}


def version_of(body: Mapping[str, Any]) -> str | None:
    """Return the version of the API that the body needs; None where any does."""
    is_newest = PRIORITY in body or DISPLACE in body.get(SHORTAGE, {})
    return MICROVERSION if is_newest else claim_by.version_of(body)
