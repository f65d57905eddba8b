"""The split of a lease in two: what of it becomes a lease of its own, and what stays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from blazar.domain.lease import change
from blazar.domain.lease.change import NewId
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.resource import Allocation


@dataclass(frozen=True, slots=True)
class Halves:
    """A reservation of which some units go into another lease: what it is from now on, and what they are."""

    stays: Reservation
    goes: Reservation


def units_of(reservation: Reservation) -> int:
    """Return how many units (hosts, servers, addresses) the reservation has."""
    return sum(each.slots for each in reservation.allocations)


def allotted(
    allocations: Sequence[Allocation], units: int, new_id: NewId
) -> tuple[tuple[Allocation, ...], tuple[Allocation, ...]]:
    """Return the allocations that stay, and those of so many units that go: the last ones. One of which some
    slots go becomes two on the same resource."""
    stay, go, left = [], [], units
    for each in reversed(allocations):
        slots = min(each.slots, left)
        left -= slots
        if slots == each.slots:
            go.append(each)
        else:
            stay.append(replace(each, slots=each.slots - slots))
            if slots:
                go.append(replace(each, id=new_id(), slots=slots))
    return tuple(reversed(stay)), tuple(reversed(go))


def split(
    lease: Lease,
    whole: Collection[str],
    halves: Mapping[str, Halves],
    part_id: str,
    name: str,
    new_id: NewId,
) -> tuple[Lease, Lease]:
    """Return the lease without the reservations that go, and the new lease ``part_id`` with these: ``whole``
    ones keep their ids, of others there are ``halves``.

    Both have the same dates and the same warning. The new one is a lease by itself: of no series, and shared
    with no project."""
    moved = tuple(_moved(each, part_id) for each in _going(lease, whole, halves))
    stay = (halves[r.id].stays if r.id in halves else r for r in lease.reservations if r.id not in whole)
    rest = replace(lease, reservations=tuple(stay))
    part = Lease(
        id=part_id,
        name=name,
        user_id=lease.user_id,
        project_id=lease.project_id,
        interval=lease.interval,
        status=lease.status,
        reservations=moved,
        events=change.new_events(part_id, lease.interval, lease.before_end_date, new_id),
        claim_by=lease.claim_by,
        priority=lease.priority,
    )
    return _flagged(rest, lease), _flagged(part, lease)


def _going(lease: Lease, whole: Collection[str], halves: Mapping[str, Halves]) -> Iterator[Reservation]:
    for each in lease.reservations:
        if each.id in whole:
            yield each
        elif each.id in halves:
            yield halves[each.id].goes


def _moved(reservation: Reservation, lease_id: str) -> Reservation:
    allocations = tuple(
        replace(each, lease_id=lease_id, reservation_id=reservation.id) for each in reservation.allocations
    )
    return replace(reservation, lease_id=lease_id, allocations=allocations)


def _flagged(half: Lease, lease: Lease) -> Lease:
    """Return one half of a lease: degraded where the lease was, and one of its reservations has a flag."""
    has_flag = any(each.missing_resources or each.resources_changed for each in half.reservations)
    return replace(half, degraded=lease.degraded and has_flag)
