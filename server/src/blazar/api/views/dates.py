"""The three formats of moments in API 1.0; clients parse them strictly."""

from __future__ import annotations

from datetime import UTC, datetime

UTC_OFFSET = "+00:00"


def wire_date(moment: datetime) -> str:
    """Of leases, events and allocations: ``2050-01-01T10:00:00.000000``; clients parse exactly this."""
    return _in_utc(moment, "T", "microseconds")


def stamp(moment: datetime | None) -> str | None:
    """created_at and updated_at: ``2026-11-20 14:58:06``; clients refuse a fraction of a second."""
    return None if moment is None else _in_utc(moment, " ", "seconds")


def stamp_with_t(moment: datetime | None) -> str | None:
    """created_at and updated_at of what was just made or changed, in some answers: with a ``T`` in the
    middle."""
    return None if moment is None else _in_utc(moment, "T", "seconds")


def _in_utc(moment: datetime, between: str, timespec: str) -> str:
    """Return the moment in UTC, without a zone. Nearly all are in UTC already, and a list has very many: to
    ask each for its offset would take as long as its text."""
    text = moment.isoformat(between, timespec)
    if text.endswith(UTC_OFFSET):
        return text[: -len(UTC_OFFSET)]
    if moment.tzinfo is None:
        return text
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(between, timespec)
