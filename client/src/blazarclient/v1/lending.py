"""Whether the reservations of a lease lend the hosts that they do not use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.43"
"""The version of the API that tells it."""
LEND = "lend"


def lending_of(lease: Mapping[str, Any]) -> str:
    """Return a line for each reservation of hosts, such as `unused hosts but 1`, from an answer of that
    version."""
    return "\n".join(
        f"unused hosts but {each['keep_free']}" if each[LEND] else "nothing"
        for each in lease["reservations"]
        if LEND in each
    )
