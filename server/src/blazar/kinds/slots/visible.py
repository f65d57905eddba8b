"""The flavors that a caller may see: public ones, and those that the caller's project may use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from blazar.domain.errors import Conflict, MalformedParameter
from blazar.kinds.slots.errors import FlavorNotFound
from blazar.kinds.slots.needs import needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.service.ports import Flavor
from blazar.service.ports.kind import RequestContext

MOST_SIMILAR = 8
"""How many other flavors are looked at, at the most."""


def visible_flavor(flavor_id: str, request: RequestContext) -> SourceFlavor:
    """Return the flavor. Raises FlavorNotFound where the caller may not see it."""
    found = request.cloud.compute.flavor(flavor_id)
    if found is None or not _is_visible(found, request):
        raise FlavorNotFound(flavor=flavor_id)
    return SourceFlavor.model_validate(asdict(found))


def similar_flavors(flavor: SourceFlavor, request: RequestContext) -> Sequence[SourceFlavor]:
    """Return the visible flavors that can be reserved and differ least in size, the nearest first."""
    every = (SourceFlavor.model_validate(asdict(each)) for each in request.cloud.compute.flavors())
    known = [each for each in every if each.id != flavor.id and _can_be_reserved(each)]
    known.sort(key=lambda each: (_distance(flavor, each), each.id))
    # Nova is asked about each private one, so that few of them are looked at.
    private = [each for each in known if not each.is_public][:MOST_SIMILAR]
    visible = {each.id for each in private if _is_visible(each, request)}
    return [each for each in known if each.is_public or each.id in visible][:MOST_SIMILAR]


def _is_visible(flavor: Flavor | SourceFlavor, request: RequestContext) -> bool:
    caller = request.caller
    if flavor.is_public or caller.is_admin:
        return True
    return caller.project_id in request.cloud.compute.flavor_projects(flavor.id)


def _can_be_reserved(flavor: SourceFlavor) -> bool:
    try:
        needs_of(flavor)
    except (Conflict, MalformedParameter):
        return False
    return True


def _distance(one: SourceFlavor, other: SourceFlavor) -> float:
    """Return how much the sizes differ: twice as much of one thing is as far as half of it."""
    pairs = ((one.vcpus, other.vcpus), (one.ram, other.ram), (one.disk, other.disk))
    return sum(abs(math.log2((1 + a) / (1 + b))) for a, b in pairs)
