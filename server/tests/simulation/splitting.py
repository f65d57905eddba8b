"""Users who split a lease, some at the moment at which it starts, and then go on with both.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from blazar.domain.errors import BlazarError
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.split import units_of
from blazar.domain.time import Interval
from blazar.service.commands import CreateLease, RequestKey, SplitLease, SplitReservation

from .broker import PATIENCE, UNSURE
from .draws import some_replaced
from .kinds import KINDS

if TYPE_CHECKING:
    from .database import Key, Written
    from .people import Action, User

SPLIT = "split a lease"
PART = "part "
"""How the names of the new leases begin."""


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that split leases."""
    return some_replaced(random, actions, SPLIT, (4, 8, 16))


def split(user: User, random: Random) -> None:
    """Ask for a lease that starts soon, split it, and change, delete or leave one of both."""
    lease = _asked_for(user, random)
    if lease is None:
        return
    user.world.scheduler.sleep(random.choice((0, 1, 10, 40, 58, 59.5)))
    part_id = _split(user, random, lease)
    if part_id is not None and random.random() < 0.3:
        user.delete_lease(random.choice((lease.id, part_id)))


def _asked_for(user: User, random: Random) -> Lease | None:
    """Return the new lease, None where there is none."""
    lease_id = user.new_id()
    start = user.in_minutes(random.choice((1, 1, 2, 3)))
    end = start + timedelta(minutes=random.choice((1, 2, 5, 30)))
    requests = tuple(
        KINDS[random.choice(user.kinds)].request(random) for _ in range(random.choice((1, 2, 2)))
    )
    user.create_as(CreateLease("lease", start, end, None, requests, lease_id))
    known = user.known.get(lease_id)
    return known.lease if known else None


def _split(user: User, random: Random, lease: Lease) -> str | None:
    """Return the id of the new lease, None where there is none."""
    chosen = random.choice(lease.reservations)
    units = units_of(chosen)
    going = SplitReservation(chosen.id, random.choice((None, *range(1, units + 1))))
    key = user.new_id()
    command = SplitLease(f"{PART}{key[:4]}", (going,))
    what = f"split {lease.id[:4]}: {going.units or 'all'} of {chosen.resource_type} {chosen.id[:4]}"
    user.world.tell(what, "asked")
    try:
        part = user.leases.split(lease.id, command, user.caller, key=RequestKey(key, ""))
    except UNSURE as failure:
        user.world.tell(what, f"not known: {failure}")
        user.world.scheduler.sleep(PATIENCE + 10)
        found = next((each for each in user.site.leases().values() if each.name == command.name), None)
        part_id = found.id if found else None
    except BlazarError as refusal:
        user.world.tell(what, f"refused: {refusal}")
        user.require_known(lease.id, "what is refused has no effect")
        return None
    else:
        user.world.tell(what, f"done: {part.id[:4]}")
        part_id = part.id
    user.see(lease.id)
    if part_id is not None:
        user.see(part_id)
    return part_id


def of_split(changes: Mapping[Key, Written]) -> tuple[Lease, Lease, Lease] | None:
    """Return the lease that this commit splits, what stays of it, and what goes; None without a split."""
    leases = [row for (table, _), row in changes.items() if table == "leases"]
    parts = [row.after for row in leases if row.before is None and row.after is not None]
    if len(leases) != 2 or len(parts) != 1 or not parts[0].name.startswith(PART):
        return None
    old = next((row for row in leases if row.before is not None), None)
    return (old.before, old.after, parts[0]) if old and old.before and old.after else None


def given_or_taken(before: Lease, *after: Lease) -> str:
    """Return what both leases have instead of what the one had, in words; "" where it is the same."""
    had, has = _units(before), sum(map(_units, after), Counter())
    return "" if had == has else f"{before.id} had {dict(had)}, and both have {dict(has)}"


def _units(lease: Lease) -> Counter[tuple[str, Interval]]:
    """Return how many units the lease has of each resource, and when."""
    units: Counter[tuple[str, Interval]] = Counter()
    for each in lease.allocations:
        units[each.resource_id, each.interval] += each.slots
    return units
