"""How does a value of the service look in the output of a command?

Scripts read this output, so its form is fixed: nothing for null, one line per element of a list, objects as JSON
indented by four, and text that holds a Python literal of a list or an object is opened likewise. With `native`
values stay what they are.
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
_MOMENTS = frozenset({"start_date", "end_date", "before_end_date", "time", "created_at", "updated_at"})


def cell(value: Any) -> Any:
    """The value as text for one cell; numbers and booleans stay."""
    if isinstance(value, str):
        value = _opened(value)
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(_element(item) for item in value)
    if isinstance(value, dict):
        return json.dumps(value, indent=4)
    return value


def fields(row: Mapping[str, Any], native: bool = False) -> tuple[list[str], list[Any]]:
    """Names and cells of all fields, sorted by name."""
    names = sorted(row)
    return names, [row[name] if native else cell(row[name]) for name in names]


def in_zone(value: Any, zone: tzinfo | None, key: str = "") -> Any:
    """The value with every moment in it in this zone, as ISO 8601 with offset; unchanged without a zone."""
    if zone is None:
        return value
    if isinstance(value, dict):
        return {name: in_zone(item, zone, name) for name, item in value.items()}
    if isinstance(value, list):
        return [in_zone(item, zone, key) for item in value]
    if key in _MOMENTS and isinstance(value, str):
        try:
            moment = from_wire(value).astimezone(zone)
        except ValueError:
            return value
        return moment.isoformat(timespec="seconds" if moment.second else "minutes")
    return value


def to_the_minute(value: Any, key: str) -> Any:
    """A moment as the service writes it without its seconds, where they are none: what fits a terminal."""
    if key in _MOMENTS and isinstance(value, str) and _WHOLE_MINUTE.match(value):
        return value[:16].replace("T", " ")
    return value


def _element(item: Any) -> str:
    return json.dumps(item, indent=4) if isinstance(item, dict) else str(item)


def _opened(text: str) -> Any:
    if text[:1].strip() not in ("[", "{", "N", ""):
        return text  # only these can begin what is opened, and most values are none of them
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if value is None or isinstance(value, (list, dict)) else text
