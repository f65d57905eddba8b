"""In which order does a list come when the service has no order of its own?"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def sort_rows(rows: list[Row], key: str | None) -> list[Row]:
    """The rows sorted by one key, nulls first; as they came when no key is given. Raises KeyError for an unknown key."""
    if not key:
        return rows
    return sorted(rows, key=lambda row: (row[key] is not None, "" if row[key] is None else row[key]))
