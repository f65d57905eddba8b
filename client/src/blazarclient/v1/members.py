"""The reservations that an update adds to a lease and removes from it, as requests have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blazarclient.v1.priority import MICROVERSION as PRIORITIES
from blazarclient.v1.priority import PRIORITY, version_of

MICROVERSION = "1.12"
"""The version of the API that brought it."""


def with_members(
    changed: Sequence[Mapping[str, Any]] | None,
    added: Iterable[Mapping[str, Any]],
    removed: Iterable[str],
) -> list[dict[str, Any]]:
    """Return the reservations of an update: those that change, those to add, and those to remove, by id."""
    gone = ({"id": each, "remove": True} for each in removed)
    return [*map(dict, changed or ()), *map(dict, added), *gone]


def version_of_update(body: Mapping[str, Any]) -> str | None:
    """Return the version of the API that the body of an update needs; None where any does."""
    if PRIORITY in body:
        return PRIORITIES
    has_members = any("id" not in each or "remove" in each for each in body.get("reservations", ()))
    return MICROVERSION if has_members else version_of(body)
