"""The parser of reservations, for the installed kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blazarclient.kinds.base import Kind
from blazarclient.kinds.fields import Field
from blazarclient.kinds.registry import installed_kinds
from blazarclient.parsing.errors import InvalidInput, nearest, unknown_word


def parse_reservation(given: Mapping[str, Any], kinds: Sequence[Kind] | None = None) -> dict[str, Any]:
    """Return a reservation for a create request. Raises InvalidInput.

    A resource type that is not similar to an installed one may be a kind of a newer service. Its keys are
    sent unchanged.
    """
    by_type = _by_type(kinds)
    resource_type = given.get("resource_type")
    if not isinstance(resource_type, str) or not resource_type:
        raise InvalidInput(f"resource_type is missing: one of {', '.join(by_type)}")
    kind = by_type.get(resource_type)
    if kind is None:
        halves = {half for known in by_type for half in known.split(":")}
        if nearest(resource_type, by_type) or nearest(resource_type, halves):
            raise unknown_word("resource_type", resource_type, by_type)
        return {key: _number_if_possible(value) for key, value in given.items()}
    body: dict[str, Any] = {"resource_type": resource_type}
    for key, value in given.items():
        if key != "resource_type":
            body[key] = _known_field(kind, key).parse(value)
    missing = [item.name for item in kind.fields if item.required and item.name not in body]
    if missing:
        raise InvalidInput(f"a {resource_type} reservation needs also {', '.join(missing)}")
    body = with_defaults(body, kinds)
    kind.check(body)
    return body


def with_defaults(given: Mapping[str, Any], kinds: Sequence[Kind] | None = None) -> dict[str, Any]:
    """Return a program's reservation with the defaults that the service requires, and with encoded values."""
    kind = _by_type(kinds).get(str(given.get("resource_type")))
    body = dict(given)
    for item in kind.fields if kind else ():
        if item.sends_default:
            body.setdefault(item.name, item.default)
        if item.name in body:
            body[item.name] = item.encode(body[item.name])
    return body


def parse_reservation_update(given: Mapping[str, Any], kinds: Sequence[Kind] | None = None) -> dict[str, Any]:
    """Return a reservation for an update request: its id and the keys to change. Raises InvalidInput.

    An update names no resource type, so it may have the keys of any kind.
    """
    if not given.get("id"):
        raise InvalidInput("id=RESERVATION_ID is missing: see the reservations in `lease show`")
    known = {item.name: item for kind in reversed(_sequence(kinds)) for item in kind.fields}
    body: dict[str, Any] = {"id": str(given["id"])}
    for key, value in given.items():
        if key in ("id", "resource_type"):
            body[key] = value
        elif key in known:
            body[key] = known[key].parse(value)
        else:
            raise unknown_word("key", key, ["id", *known])
    return body


def needed_version(body: Mapping[str, Any]) -> str | None:
    """Return the version of the API that knows all keys of the reservations in a request; None where each
    version does."""
    needed = [""]
    listed = body.get("reservations")
    for reservation in listed if isinstance(listed, list | tuple) else ():
        resource_type = reservation.get("resource_type")
        # A change names no resource type: a key may be that of any kind, and of the one that had it first.
        kinds = [k for k in installed_kinds() if resource_type in (None, k.resource_type)]
        for name in reservation:
            since = [item.since or "" for kind in kinds for item in kind.fields if item.name == name]
            needed.append(min(since, key=_order, default=""))
    return max(needed, key=_order) or None


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)


def help_text(kinds: Sequence[Kind] | None = None) -> str:
    """Return all kinds and their keys for `--help`; optional keys are in brackets."""
    lines = []
    for kind in _sequence(kinds):
        keys = [item.name if item.required else f"[{item.name}]" for item in kind.fields]
        lines.append(f"resource_type={kind.resource_type}: {', '.join(keys)}")
    return "; ".join(lines)


def _sequence(kinds: Sequence[Kind] | None) -> Sequence[Kind]:
    return installed_kinds() if kinds is None else kinds


def _by_type(kinds: Sequence[Kind] | None) -> dict[str, Kind]:
    return {kind.resource_type: kind for kind in _sequence(kinds)}


def _known_field(kind: Kind, key: str) -> Field:
    found = kind.field(key)
    if found is None:
        names = [item.name for item in kind.fields]
        raise unknown_word("key", key, names, where=f" of {kind.resource_type}")
    return found


def _number_if_possible(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() else value
