"""The order of lists, which the service does not define."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def sort_rows(rows: list[Row], key: str | None) -> list[Row]:
    """Return the rows sorted by a key, nulls first, or unchanged without a key. Raises KeyError."""
    if not key:
        return rows
    return sorted(rows, key=lambda row: (row[key] is not None, "" if row[key] is None else row[key]))
