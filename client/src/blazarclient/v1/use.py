"""What of the reservations of an active lease is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.22"
"""The version of the API that tells it."""
USE = "use"
QUANTITIES_MICROVERSION = "1.42"
"""The version of the API that tells it in quantities, too."""
QUANTITIES = "quantities"


def use_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each reservation, such as `1 of 3 x physical:host used, 2 left (at ...)`, from an
    answer of that version; nothing of a lease that is not active."""
    return "\n".join(_line(each, each[USE]) for each in lease["reservations"] if USE in each)


def quantities_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each quantity of a reservation, such as `500 of 800 volume_gigabytes used, 300 left`,
    from an answer of version 1.42."""
    told = [
        each for reservation in lease["reservations"] for each in reservation.get(USE, {}).get(QUANTITIES, ())
    ]
    return "\n".join(
        f"{each['used']} of {each['used'] + each['left']} {each['name']} used, {each['left']} left"
        for each in told
    )


def _line(reservation: Mapping[str, Any], use: Mapping[str, Any]) -> str:
    what = f"{reservation['units']} x {reservation['resource_type']}"
    if use["used"] is None:
        return f"{what}: not known"
    at = use["looked_at"][:16].replace("T", " ")
    return f"{use['used']} of {what} used, {use['left']} left (at {at} UTC)"
