"""The volumes that were made at the start of a lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.39"
"""The version of the API that tells them."""
MADE_VOLUMES = "made_volumes"


def made_volumes_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each volume, with its id and its status, from an answer of that version."""
    volumes = [volume for each in lease["reservations"] for volume in each.get(MADE_VOLUMES, ())]
    return "\n".join(f"{volume['id']} {volume['status'] or 'gone'}" for volume in volumes)
