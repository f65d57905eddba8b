"""How many hosts, servers or addresses the reservations of a lease have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.19"
"""The version of the API that tells it."""
UNITS = "units"


def units_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each reservation, such as `3 x physical:host`, from an answer of that version."""
    return "\n".join(f"{each[UNITS]} x {each['resource_type']}" for each in lease["reservations"])
