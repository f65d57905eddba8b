"""The YAML or JSON file that describes a lease.

Its keys are those of a create request, with the short forms `start`, `end` and `before_end`, and `duration`.
Requirements may be lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from blazarclient.commands.claim_by import NEVER
from blazarclient.commands.on_start import read_yaml, without_dates
from blazarclient.kinds.reservations import parse_reservation
from blazarclient.parsing.errors import InvalidInput, unknown_word
from blazarclient.v1.on_start import ON_START

_SHORT = {"start": "start_date", "end": "end_date", "before_end": "before_end_date"}
_TEXTS = ("name", "start_date", "end_date", "before_end_date", "duration", "claim_by")
_KEYS = (*_TEXTS, "reservations", "events", ON_START)


@dataclass(frozen=True)
class LeaseFile:
    """The contents of the file; None for a missing key. Times are text, as a user types them."""

    name: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    before_end_date: str | None = None
    duration: str | None = None
    claim_by: str | None = None
    reservations: tuple[dict[str, Any], ...] = ()
    events: tuple[dict[str, Any], ...] = field(default=())
    on_start: dict[str, Any] | None = None


def parse_lease_file(path: Path) -> LeaseFile:
    """Return the contents of a file. Raises InvalidInput with the path and, if known, the line."""
    found = read_yaml(path)
    try:
        return _lease(found)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def _lease(found: Any) -> LeaseFile:
    if isinstance(found, dict) and set(found) == {"lease"}:
        found = found["lease"]
    if not isinstance(found, dict):
        raise InvalidInput("a lease is keys and values: name, start, end or duration, reservations")
    values: dict[str, Any] = {}
    for key, value in found.items():
        name = _SHORT.get(str(key), str(key))
        if name not in _KEYS:
            raise unknown_word("key", str(key), [*_SHORT, *_KEYS])
        if name in values:
            raise InvalidInput(f"{name} is given twice")
        values[name] = value
    values["claim_by"] = _with_unit(values.get("claim_by"))
    texts = {key: _text(values.get(key)) for key in _TEXTS}
    return LeaseFile(
        **texts,
        reservations=tuple(parse_reservation(item) for item in _objects(values, "reservations")),
        events=tuple(_objects(values, "events")),
        on_start=_object(values, ON_START),
    )


def _objects(values: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = values.get(key) or []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InvalidInput(f"{key} is to be a list of keys and values")
    return found


def _object(values: dict[str, Any], key: str) -> dict[str, Any] | None:
    found = without_dates(values.get(key))
    if found is not None and not isinstance(found, dict):
        raise InvalidInput(f"{key} is to be keys and values")
    return found


def _with_unit(claim_by: Any) -> Any:
    """Return the minutes of a request as the option has them: 0 is never."""
    if isinstance(claim_by, bool) or not isinstance(claim_by, int):
        return claim_by
    return f"{claim_by}m" if claim_by else NEVER


def _text(value: Any) -> str | None:
    """Return the text of a value; YAML converts unquoted times, which this function reverts."""
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return None if value is None else str(value)
