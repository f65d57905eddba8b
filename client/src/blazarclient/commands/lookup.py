"""The look-up of resources by name or id."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from blazarclient import exception
from blazarclient.kinds.base import UUID, RegisteredResource
from blazarclient.parsing.errors import nearest

Row = dict[str, Any]
ListRows = Callable[[], Sequence[Row]]


def lease_id(reference: str, list_leases: ListRows) -> str:
    """Return the id of a lease: a UUID is an id, and everything else is a name."""
    return _find(reference, UUID, "lease", "name", list_leases)


def resource_id(reference: str, resource: RegisteredResource, list_resources: ListRows) -> str:
    """Return the id of a registered resource: text of the id's pattern is an id, everything else a name."""
    return _find(reference, resource.id_pattern, resource.noun, resource.name_key, list_resources)


def not_found(reference: str, noun: str, names: Sequence[str]) -> exception.BlazarClientException:
    """Return the error for an unknown name, with the nearest of the known names."""
    guess = nearest(reference, dict.fromkeys(names))
    hint = f": did you mean '{guess}'?" if guess else ""
    return exception.BlazarClientException(
        f"Unable to find resource with name '{reference}'{hint}", code=404, noun=noun
    )


def _find(reference: str, id_pattern: re.Pattern[str], noun: str, key: str, list_rows: ListRows) -> str:
    if id_pattern.match(reference):
        return reference
    candidates = list_rows()
    found = [row for row in candidates if row.get(key) == reference]
    if len(found) > 1:
        raise exception.NoUniqueMatch(
            f"There are more than one appropriate resources for the name '{reference}' and type '{noun}'"
        )
    if not found:
        raise not_found(reference, noun, [str(row.get(key)) for row in candidates])
    return str(found[0]["id"])
