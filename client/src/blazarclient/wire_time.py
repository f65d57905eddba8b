"""How are moments written in requests and answers?

Both forms are UTC without a zone. Requests carry whole minutes; answers always carry microseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime

INPUT_FORMAT = "%Y-%m-%d %H:%M"
OUTPUT_FORMAT = "%Y-%m-%dT%H:%M:%S.%f"
NOW = "now"


def to_wire(moment: datetime) -> str:
    """An aware moment as a request carries it. Raises ValueError for a moment without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone could mean anything: give one with tzinfo")
    return moment.astimezone(UTC).strftime(INPUT_FORMAT)


def from_wire(text: str) -> datetime:
    """An aware UTC moment from any form in which the service writes one."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
