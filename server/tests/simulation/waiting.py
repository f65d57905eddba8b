"""Users who wait in line for what they cannot have at once.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.service.commands import CreateLease, RequestKey

from .draws import some_replaced
from .kinds import KINDS

if TYPE_CHECKING:
    from .people import Action, User

WAIT = "create that may wait"


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some creates that may wait."""
    return some_replaced(random, actions, WAIT, (2, 4, 8, 16))


def create_that_may_wait(user: User, random: Random) -> None:
    """Ask for a lease with a fixed start, as its user knows its dates whatever becomes of it."""
    lease_id = str(UUID(int=user.ids.getrandbits(128), version=4))
    minute = user.world.now().replace(second=0, microsecond=0)
    start = minute + timedelta(minutes=random.choice((2, 3, 4, 6, 15, 15)))
    end = start + timedelta(minutes=random.choice((1, 2, 5, 30)))
    request = KINDS[random.choice(user.kinds)].request(random)
    # Nothing that needs the user's own rights in the cloud may wait.
    request = replace(request, parameters={**request.parameters, **plain(request.parameters)})
    command = CreateLease("lease", start, end, None, (request,), lease_id)
    until = minute + timedelta(minutes=random.choice((2, 3, 5, 60, 60)))
    key = RequestKey(lease_id, "")
    user.ask(
        lease_id,
        f"create {request.resource_type} from {start:%H:%M} to {end:%H:%M} or wait until {until:%H:%M}",
        lambda: user.leases.create(command, user.caller, key=key, wait_until=until),
    )


def plain(parameters: object) -> dict[str, object]:
    """Return the parameters that need nothing of a user's own rights in the cloud."""
    known = parameters if isinstance(parameters, dict) else {}
    plain = {"before_end": "", "affinity": None}
    return {name: value for name, value in plain.items() if name in known}
