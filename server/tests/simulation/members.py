"""Users who add reservations to their leases, and remove some of them.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.domain.lease.lease import Lease
from blazar.service.commands import AddedReservation, ReservationsChange, UpdateLease
from blazar.service.leases.update import outstanding

from .draws import some_replaced
from .kinds import KINDS

if TYPE_CHECKING:
    from .people import Action, User

EXCHANGE = "exchange reservations"


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that exchange reservations."""
    return some_replaced(random, actions, EXCHANGE, (2, 4, 8, 16))


def exchange(user: User, random: Random) -> None:
    """Add and remove reservations of one lease, once or twice within a moment."""
    for _ in range(random.choice((1, 1, 2))):
        lease = user.some_lease(random)
        if lease is None:
            return
        _exchange(user, random, lease)
        user.world.scheduler.sleep(random.choice((0, 0.1, 1, 4)))
    if random.random() < 0.5:
        user.boot(random)


def _exchange(user: User, random: Random, lease: Lease) -> None:
    more = [KINDS[random.choice(user.kinds)].request(random) for _ in range(random.choice((0, 1, 1, 2)))]
    ids = [str(UUID(int=user.ids.getrandbits(128), version=4)) for _ in more]
    gone = [each.id for each in lease.reservations if random.random() < 0.4]
    membership = ReservationsChange(tuple(map(AddedReservation, ids, more)), tuple(gone))
    command = UpdateLease()
    if random.random() < 0.3:
        minutes = random.choice((-1, 1, 2))
        command = replace(command, end=lease.interval.end + timedelta(minutes=minutes))
    kinds = " ".join(each.resource_type for each in more)
    user.ask(
        lease.id,
        f"update {lease.id[:4]} remove {' '.join(i[:4] for i in gone)} add {kinds} {command.end}",
        lambda: user.leases.update(lease.id, command, user.caller, membership=membership),
        lambda found: outstanding(membership, found) is None,
    )
