"""The surplus of reservations: what they have given up, by a change or by healing, and may still have in the
cloud.

The calendar has it back at once, and plans others there. But the cloud takes time to give it back: servers
die slowly, and on a host that is down not at all. Until the verbs of the reservation have freed a resource,
those who come after it there wait, as they wait for the end of an earlier lease."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from blazar.domain.lease.change import NewId
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.resource import Allocation
from blazar.domain.time import MINUTE, Interval

HAS_SOMETHING = frozenset({LeaseStatus.STARTING, LeaseStatus.ACTIVE})
"""The statuses of a lease whose reservations may have something in the cloud, and whose events take back what
they have too much. One in ERROR has no such event before its end, so no lease waits for it."""


def with_surplus(new: Lease, old: Lease, new_id: NewId) -> Lease:
    """Return ``new`` with what each of its reservations has in ``old`` and no longer has as its surplus."""
    if old.status not in HAS_SOMETHING:
        return new
    before = {reservation.id: reservation for reservation in old.reservations}
    told = tuple(_with_surplus(r, before[r.id], new_id) if r.id in before else r for r in new.reservations)
    return replace(new, reservations=told)


def _with_surplus(new: Reservation, old: Reservation, new_id: NewId) -> Reservation:
    lost = _slots(old.allocations) - _slots(new.allocations)
    gone = (
        given_up(replace(allocation, slots=lost.pop(key)), new_id)
        for allocation in old.allocations
        if (key := _key(allocation)) in lost
    )
    return replace(new, surplus=(*old.surplus, *gone)) if lost else new


def given_up(allocation: Allocation, new_id: NewId) -> Allocation:
    """Return the allocation as surplus. It takes no time that is ahead. A lease that gets the resource now
    comes after it, by any clock that is after the start."""
    start = allocation.interval.start
    return replace(allocation, id=new_id(), interval=Interval(start - MINUTE, start), bound=True)


def without_freed(
    reservation: Reservation, acted: Reservation | None, freed: frozenset[str] | None = None
) -> Reservation:
    """Return the reservation without the surplus that ``acted`` had on the resources of these ids, or on any
    where they are None: the verbs have freed them."""
    over = {a.id for a in (acted.surplus if acted else ()) if freed is None or a.resource_id in freed}
    stay = tuple(allocation for allocation in reservation.surplus if allocation.id not in over)
    return reservation if stay == reservation.surplus else replace(reservation, surplus=stay)


def without_surplus(lease: Lease) -> Lease:
    """Return a lease that takes nothing back any more before its end: others would wait until then."""
    return replace(lease, reservations=tuple(replace(each, surplus=()) for each in lease.reservations))


def only_surplus(lease: Lease) -> Lease:
    """Return the lease for verbs that only take back what is too much: its reservations that have a surplus,
    with what serves them already, and those that leave it."""
    shedding = (
        replace(each, allocations=tuple(a for a in each.allocations if a.bound))
        for each in lease.reservations
        if each.surplus
    )
    return replace(lease, reservations=tuple(shedding))


def has_surplus(lease: Lease) -> bool:
    return bool(lease.leaving) or any(reservation.surplus for reservation in lease.reservations)


def surplus_slots(reservation: Reservation) -> Mapping[str, int]:
    """Return how many slots the reservation has given up and not freed yet, by resource id."""
    slots: Counter[str] = Counter()
    for allocation in reservation.surplus:
        slots[allocation.resource_id] += allocation.slots
    return slots


_Key = tuple[str, tuple[tuple[str, int], ...] | None]


def _key(allocation: Allocation) -> _Key:
    amounts = allocation.usage.amounts
    return allocation.resource_id, None if amounts is None else tuple(sorted(amounts.items()))


def _slots(allocations: Iterable[Allocation]) -> Counter[_Key]:
    slots: Counter[_Key] = Counter()
    for allocation in allocations:
        slots[_key(allocation)] += allocation.slots
    return slots
