"""The look-up of resources by name or id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blazarclient import exception
from blazarclient.kinds.base import UUID, RegisteredResource
from blazarclient.parsing.errors import nearest
from blazarclient.v1.leases import Leases
from blazarclient.v1.series import SeriesManager

Row = dict[str, Any]
ListRows = Callable[[], Sequence[Row]]
NAMES_TO_SUGGEST = 1000


def lease_id(reference: str, leases: Leases) -> str:
    """Return the id of a lease: a UUID is an id, and everything else is a name, which the service looks for.

    Only where there is none, further leases are fetched, for the name that may have been meant."""
    if UUID.match(reference):
        return reference
    found = leases.list(name=reference)
    return _only(
        reference, "lease", "name", found or leases.list(sort="created_at:desc", limit=NAMES_TO_SUGGEST)
    )


def series_id(reference: str, series: SeriesManager) -> str:
    """Return the id of a series, as `lease_id` does."""
    if UUID.match(reference):
        return reference
    found = series.list(name=reference)
    return _only(reference, "series", "name", found or series.list(limit=NAMES_TO_SUGGEST))


def resource_id(reference: str, resource: RegisteredResource, list_resources: ListRows) -> str:
    """Return the id of a registered resource: text of the id's pattern is an id, everything else a name."""
    if resource.id_pattern.match(reference):
        return reference
    return _only(reference, resource.noun, resource.name_key, list_resources())


def not_found(reference: str, noun: str, names: Sequence[str]) -> exception.BlazarClientException:
    """Return the error for an unknown name, with the nearest of the known names."""
    guess = nearest(reference, dict.fromkeys(names))
    hint = f": did you mean '{guess}'?" if guess else ""
    return exception.BlazarClientException(
        f"Unable to find resource with name '{reference}'{hint}", code=404, noun=noun
    )


def _only(reference: str, noun: str, key: str, candidates: Sequence[Row]) -> str:
    found = [row for row in candidates if row.get(key) == reference]
    if len(found) > 1:
        raise exception.NoUniqueMatch(
            f"There are more than one appropriate resources for the name '{reference}' and type '{noun}'"
        )
    if not found:
        raise not_found(reference, noun, [str(row.get(key)) for row in candidates])
    return str(found[0]["id"])
