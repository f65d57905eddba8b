"""The operator says from when on a host is there, or until when, and takes it back, or not.

Half of the seeds have some of these, drawn by themselves: the others are the same without this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from blazar.domain.errors import BlazarError, NotFound
from blazar.service.commands import UNSET, SetLifetime, Unset

from .site import ADMIN, HOSTS

if TYPE_CHECKING:
    from .people import Action, Operator

BOUND = "say when a host is there"


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some in which the operator says when a host is there."""
    found = list(actions)
    places = [
        n
        for n, each in enumerate(found)
        if each.who == "operator" and each.verb != "take hosts away for maintenance"
    ]
    if not places or random.random() < 0.5:
        return found
    for place in random.sample(places, min(len(places), random.choice((1, 2)))):
        found[place] = replace(found[place], verb=BOUND, seed=random.getrandbits(32))
    return found


def bind(operator: Operator, number: int, random: Random) -> None:
    minute = operator.world.now().replace(second=0, microsecond=0)
    begin = random.choice((0, 1, 2, 3))
    end = begin + random.choice((1, 2, 3))
    which = random.choice(("from", "until", "both"))

    def at(minutes: int) -> datetime:
        return minute + timedelta(minutes=minutes)

    found: datetime | Unset = UNSET if which == "until" else at(begin)
    until: datetime | Unset = UNSET if which == "from" else at(end)
    command = SetLifetime(str(number + 1), found, until, random.random() < 0.4)
    what = f"{HOSTS[number]} is there {which}{' by force' if command.force else ''}"
    operator.world.tell(what, "asked")
    try:
        decision = operator.lifetimes.set(command, ADMIN)
    except BlazarError as failure:
        operator.world.tell(what, f"{type(failure).__name__}: {failure}")
        return
    effects = " ".join(f"{impact.lease_id[:4]} {impact.effect}" for impact in decision.impacts)
    operator.world.tell(what, f"{decision.lifetime or 'refused'}: {effects or 'no lease'}")
    if random.random() < 0.3:
        operator.world.scheduler.sleep(30 * random.random())
        unbind(operator, command.resource)


def unbind(operator: Operator, host_id: str) -> bool:
    """Let the host be there at all times. Return whether it is."""
    what = f"host {host_id} is there"
    operator.world.tell(what, "asked")
    try:
        operator.lifetimes.set(SetLifetime(host_id, None, None), ADMIN)
    except NotFound:
        operator.world.tell(what, "it is deregistered")
    except BlazarError as failure:
        operator.world.tell(what, f"{type(failure).__name__}: {failure}")
        return False
    else:
        operator.world.tell(what, "done")
    return True
