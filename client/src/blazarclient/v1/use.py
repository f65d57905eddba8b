"""What of the reservations of an active lease is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.22"
"""The version of the API that tells it."""
USE = "use"


def use_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each reservation, such as `1 of 3 x physical:host used, 2 left (at ...)`, from an
    answer of that version; nothing of a lease that is not active."""
    return "\n".join(_line(each, each[USE]) for each in lease["reservations"] if USE in each)


def _line(reservation: Mapping[str, Any], use: Mapping[str, Any]) -> str:
    what = f"{reservation['units']} x {reservation['resource_type']}"
    if use["used"] is None:
        return f"{what}: not known"
    at = use["looked_at"][:16].replace("T", " ")
    return f"{use['used']} of {what} used, {use['left']} left (at {at} UTC)"
