"""Which servers the reservations of a lease take: those that name them, or ordinary ones as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.29"
"""The version of the API that tells it."""
MATCH = "match"


def matches_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each reservation of hosts, such as `open`, from an answer of that version."""
    return "\n".join(each[MATCH] for each in lease["reservations"] if MATCH in each)
