"""The request that splits a lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.repetition import send_with_key

MICROVERSION = "1.40"
"""The version of the API that brought it."""
REPEATS = 2


def split_lease(
    transport: Transport, lease_id: str, name: str, reservations: Mapping[str, int | None]
) -> dict[str, Any]:
    """Return the new lease with these reservations: all of each, or so many of its units."""
    going = [
        {"id": each} if units is None else {"id": each, "units": units}
        for each, units in reservations.items()
    ]
    body = {"name": name, "reservations": going}
    answer = send_with_key(transport, f"/leases/{lease_id}/split", body, REPEATS, MICROVERSION)
    lease: dict[str, Any] = answer["lease"]
    return lease
