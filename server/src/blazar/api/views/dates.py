"""The three formats of moments in API 1.0; clients parse them strictly."""

from __future__ import annotations

from datetime import UTC, datetime

STAMP = len("2026-11-20 14:58:06")


def wire_date(moment: datetime) -> str:
    """Of leases, events and allocations: ``2050-01-01T10:00:00.000000``; clients parse exactly this."""
    return _in_utc(moment).isoformat(timespec="microseconds")


def stamp(moment: datetime | None) -> str | None:
    """created_at and updated_at: ``2026-11-20 14:58:06``; clients refuse a fraction of a second."""
    if moment is None:
        return None
    # To the second, and without a zone.
    return (str(moment) if not moment.utcoffset() else str(_in_utc(moment)))[:STAMP]


def stamp_with_t(moment: datetime | None) -> str | None:
    """created_at and updated_at of what was just made or changed, in some answers: with a ``T`` in the
    middle."""
    return None if moment is None else _in_utc(moment).isoformat("T", "seconds")


def _in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC, without a zone: nearly all are in UTC, and a list has very many."""
    return (moment.astimezone(UTC) if moment.utcoffset() else moment).replace(tzinfo=None)
