"""Users who ask for leases of different priorities, and displace those of others.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.service.commands import CreateLease, PriorityWish, RequestKey

from .draws import some_replaced
from .kinds import KINDS
from .waiting import plain

if TYPE_CHECKING:
    from .database import Key, Written
    from .people import Action, User

DISPLACE = "create that may displace"


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some creates that may displace."""
    return some_replaced(random, actions, DISPLACE, (4, 8, 16))


def create_that_may_displace(user: User, random: Random) -> None:
    """Ask for a lease of some priority, that starts late enough to be displaced itself."""
    lease_id = str(UUID(int=user.ids.getrandbits(128), version=4))
    minute = user.world.now().replace(second=0, microsecond=0)
    start = minute + timedelta(minutes=random.choice((1, 2, 3, 4, 6, 6)))
    end = start + timedelta(minutes=random.choice((1, 2, 5, 30)))
    request = KINDS[random.choice(user.kinds)].request(random)
    request = replace(request, parameters={**request.parameters, **plain(request.parameters)})
    command = CreateLease("lease", start, end, None, (request,), lease_id)
    wish = PriorityWish(random.choice(list(Priority)), random.random() < 0.8)
    key = RequestKey(lease_id, "")
    user.ask(
        lease_id,
        f"create {wish.priority} {request.resource_type} from {start:%H:%M} to {end:%H:%M}"
        f"{' displacing others' if wish.displaces else ''}",
        lambda: user.leases.create(command, user.caller, key=key, priority=wish),
    )


def units(lease: Lease) -> Mapping[str, int]:
    """Return how much each reservation of the lease has."""
    return {each.id: sum(row.slots for row in each.allocations) for each in lease.reservations}


def displaced(changes: Mapping[Key, Written]) -> list[tuple[Lease, Lease]]:
    """Return the leases that lose to a new one by this commit what they had, as they were and as they are."""
    leases = [row for (table, _), row in changes.items() if table == "leases"]
    is_new = any(row.before is None for row in leases)
    return [
        (row.before, row.after)
        for row in leases
        if is_new
        and row.before is not None
        and row.after is not None
        and row.before.status is not LeaseStatus.WAITING
        and row.before.allocations
        and row.before.allocations != row.after.allocations
    ]
