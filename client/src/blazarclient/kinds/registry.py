"""The installed resource kinds."""

from __future__ import annotations

import functools
import logging
from importlib.metadata import EntryPoint, entry_points

from blazarclient.kinds.base import Kind, RegisteredResource

ENTRY_POINT_GROUP = "blazarclient.kinds"
_LOG = logging.getLogger(__name__)


@functools.cache
def installed_kinds() -> tuple[Kind, ...]:
    """Return the kinds of all installed distributions, by position and name."""
    kinds = [kind for entry_point in entry_points(group=ENTRY_POINT_GROUP) if (kind := _load(entry_point))]
    return tuple(sorted(kinds, key=lambda kind: (kind.position, kind.resource_type)))


def registered_resources() -> tuple[RegisteredResource, ...]:
    """Return the resources of the installed kinds."""
    return tuple(kind.resource for kind in installed_kinds() if kind.resource is not None)


def resources_with_allocations() -> dict[str, RegisteredResource]:
    """Return the resources whose allocations the API lists, by noun."""
    return {resource.noun: resource for resource in registered_resources() if resource.allocations_path}


def _load(entry_point: EntryPoint) -> Kind | None:
    """Return the kind, or None if its module is broken: the other kinds remain usable."""
    try:
        kind: Kind = entry_point.load()()
    except (ImportError, AttributeError) as error:
        _LOG.warning(
            "Could not load the resource kind %s (%s): %s", entry_point.name, entry_point.value, error
        )
        return None
    return kind
