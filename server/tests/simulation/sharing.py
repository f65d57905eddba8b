"""Users who let other projects use their leases, and take it back.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

from blazar.domain.errors import BlazarError
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.share import ShareRight
from blazar.kinds.host.actuator import SHARED
from blazar.kinds.slots.actuator import USER_KEY

from .broker import UNSURE
from .draws import some_replaced

if TYPE_CHECKING:
    from .people import Action, User
    from .site import Site

SHARE = "share a lease"
GUESTS = ("guest-1", "guest-2")
SLOTS = ("virtual:instance", "flavor:instance")


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that share leases."""
    return some_replaced(random, actions, SHARE, (4, 8, 16))


def share(user: User, random: Random) -> None:
    """Share a lease, or end it, some times within moments."""
    for _ in range(random.choice((1, 2, 3))):
        lease = user.some_lease(random)
        if lease is None:
            return
        _change(user, random, lease)
        user.world.scheduler.sleep(random.choice((0, 0.1, 1, 4)))


def _change(user: User, random: Random, lease: Lease) -> None:
    guest, right = random.choice(GUESTS), random.choice((*ShareRight, None))
    what = f"share {lease.id[:4]} with {guest}: {right or 'no longer'}"
    user.world.tell(what, "asked")
    try:
        if right is None:
            user.shares.delete(lease.id, guest, user.caller)
        else:
            user.shares.put(lease.id, guest, right, user.caller)
    except UNSURE as failure:
        user.world.tell(what, f"not known: {failure}")
        user.learn(lease.id)
    except BlazarError as refusal:
        user.world.tell(what, f"refused: {refusal}")
    else:
        user.world.tell(what, "done")
        user.see(lease.id)


def other_access(site: Site, lease: Lease, reservation: Reservation) -> Iterator[str]:
    """Yield how the projects that the cloud lets in differ from those that may use the lease."""
    shares = site.database.committed.shares.get(lease.id, ())
    wanted = sorted(each.project_id for each in shares if each.right.may_use)
    state = site.cloud.state
    metadata = next((a.metadata for a in state.aggregates.values() if a.name == reservation.id), {})
    if reservation.resource_type == "physical:host":
        found = sorted(key for key, value in metadata.items() if value == SHARED)
        if found != wanted:
            yield f"the aggregate lets in {found} instead of {wanted}"
    elif reservation.resource_type in SLOTS:
        told = sorted(key.removeprefix(USER_KEY) for key in metadata if key.startswith(USER_KEY))
        having = sorted(state.access.get(reservation.id, set()) - {lease.project_id})
        if (told, having) != (wanted, wanted):
            yield f"the aggregate tells {told}, and the flavor is {having}'s, instead of {wanted}"
