"""Parameters of reservations that came with a later version of the API: one before it ignores them, as it
ignores all that it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazar.api.routing import Request
from blazar.service.ports.kind import Kinds


def body_of(request: Request, kinds: Kinds) -> Mapping[str, Any]:
    """Return the body of a request about a lease, as the version that it asks for knows it."""
    listed = request.body.get("reservations")
    if not isinstance(listed, list):
        return request.body
    return {**request.body, "reservations": [_known(each, request, kinds) for each in listed]}


def _known(reservation: Any, request: Request, kinds: Kinds) -> Any:
    resource_type = reservation.get("resource_type") if isinstance(reservation, dict) else None
    kind = kinds.get(resource_type) if isinstance(resource_type, str) else None
    if kind is None:
        return reservation
    later = {name for name, since in kind.later_parameters.items() if request.version < since}
    return {name: value for name, value in reservation.items() if name not in later}
