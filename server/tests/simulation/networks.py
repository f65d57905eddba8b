"""The operator registers the segments of networks, gives some up, and takes them back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from blazar.kinds.network.errors import NetworkSegmentAlreadyRegistered
from blazar.kinds.network.names import name_of, registration_of
from blazar.kinds.network.segments import SegmentRange

from .kinds import Networks
from .site import SEGMENTS

if TYPE_CHECKING:
    from .people import Action, Operator

TAKE_AWAY = "give a segment up and take it back"


def added(random: Random, actions: Sequence[Action], kinds: Sequence[str]) -> list[Action]:
    """Return the actions with some that are about segments, where these are reserved."""
    found = list(actions)
    places = [n for n, each in enumerate(found) if each.who == "operator"]
    if not places or Networks.resource_type not in kinds:
        return found
    for place in random.sample(places, min(len(places), random.choice((1, 2, 4)))):
        found[place] = replace(found[place], verb=TAKE_AWAY, seed=random.getrandbits(32))
    return found


def register_all(operator: Operator) -> None:
    """Have all segments in care, whichever are already."""
    for each in SEGMENTS:
        for number in range(each.first, each.last + 1):
            one = replace(each, first=number, last=number)
            operator.insist(f"register {one.network_type} {number}", lambda o=one: _register(operator, o))


def take_away(operator: Operator, random: Random) -> None:
    """Give one segment up, which is refused where it is reserved, and register it again."""
    of = random.choice(SEGMENTS)
    number = random.randint(of.first, of.last)
    one = replace(of, first=number, last=number)
    (segment,) = one.segments()
    segment_id = registration_of(segment).id
    if operator.tried(f"unregister {name_of(segment)}", lambda: operator.segments.unregister(segment_id)):
        operator.world.scheduler.sleep(20 * random.random())
    operator.tried(f"register {name_of(segment)}", lambda: _register(operator, one))


def _register(operator: Operator, wanted: SegmentRange) -> None:
    with contextlib.suppress(NetworkSegmentAlreadyRegistered):
        operator.segments.register(wanted)
