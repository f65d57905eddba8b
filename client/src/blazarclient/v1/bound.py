"""Whether the resources of the reservations of a lease serve them, or are a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.23"
"""The version of the API that tells it."""
BOUND = "bound"


def bound_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each reservation, such as `3 x physical:host: planned`, from an answer of that
    version."""
    return "\n".join(
        f"{each['units']} x {each['resource_type']}: {BOUND if each[BOUND] else 'planned'}"
        for each in lease["reservations"]
    )
