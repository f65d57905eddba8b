"""The format of the service's values in the cells of a command's output.

Scripts parse this output, so its format is fixed: null is empty, a list has one line per element, and an
object is JSON with an indent of four. Text with the Python literal of a list or an object has the same
format. With `native`, values keep their types.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from blazarclient.wire_time import from_wire

_WHOLE_MINUTE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000000$")
_TIME_KEYS = frozenset(
    {
        *("start_date", "end_date", "before_end_date", "claim_by_date", "time", "created_at", "updated_at"),
        *("started_at", "seen_at", "since", "until", "expected_start", "occurred_at"),
    }
)


def format_cell(value: Any) -> Any:
    """Return the text of one cell; numbers and booleans keep their types."""
    if isinstance(value, str):
        value = _parse_literal(value)
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(_element(item) for item in value)
    if isinstance(value, dict):
        return json.dumps(value, indent=4)
    return value


def format_fields(row: Mapping[str, Any], native: bool = False) -> tuple[list[str], list[Any]]:
    """Return the names and cells of all fields, sorted by name."""
    names = sorted(row)
    return names, [row[name] if native else format_cell(row[name]) for name in names]


def in_zone(value: Any, zone: tzinfo | None, key: str = "") -> Any:
    """Return the value with all its times in this zone, as ISO 8601 with offset; unchanged without a zone."""
    if zone is None:
        return value
    if isinstance(value, dict):
        return {name: in_zone(item, zone, name) for name, item in value.items()}
    if isinstance(value, list):
        return [in_zone(item, zone, key) for item in value]
    if key in _TIME_KEYS and isinstance(value, str):
        try:
            time = from_wire(value).astimezone(zone)
        except ValueError:
            return value
        return time.isoformat(timespec="seconds" if time.second else "minutes")
    return value


def without_seconds(value: Any, key: str) -> Any:
    """Return a time without its seconds if they are zero, so that tables fit a terminal."""
    if key in _TIME_KEYS and isinstance(value, str) and _WHOLE_MINUTE.match(value):
        return value[:16].replace("T", " ")
    return value


def _element(item: Any) -> str:
    return json.dumps(item, indent=4) if isinstance(item, dict) else str(item)


def _parse_literal(text: str) -> Any:
    if text[:1].strip() not in ("[", "{", "N", ""):
        return text  # a literal of a list, an object or None begins with one of these
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if value is None or isinstance(value, (list, dict)) else text
