"""How API 1.0 writes moments: three ways, because clients parse them strictly."""

from __future__ import annotations

from datetime import UTC, datetime


def wire_date(moment: datetime) -> str:
    """Of leases, events and allocations: ``2050-01-01T10:00:00.000000``; clients parse exactly this."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def stamp(moment: datetime | None) -> str | None:
    """created_at and updated_at: ``2026-11-20 14:58:06.496404``, without a fraction where there is none."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def stamp_with_t(moment: datetime | None) -> str | None:
    """created_at and updated_at of a property that was just changed: with a ``T`` in the middle."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None).isoformat("T")
