"""The formats of times in requests and answers.

Both are UTC without a zone. Requests have whole minutes, and answers have microseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime

INPUT_FORMAT = "%Y-%m-%d %H:%M"
OUTPUT_FORMAT = "%Y-%m-%dT%H:%M:%S.%f"
NOW = "now"


def to_wire(time: datetime) -> str:
    """Return an aware time in the format of requests. Raises ValueError for a time without a zone."""
    if time.tzinfo is None:
        raise ValueError("a time without a time zone is ambiguous: give one with tzinfo")
    return time.astimezone(UTC).strftime(INPUT_FORMAT)


def from_wire(text: str) -> datetime:
    """Return an aware UTC time from any format of the service."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
