"""Late binding: until a lease begins, the resources that serve it are only planned, and may be others later.

Which leases may get other resources to make room for a new one, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from blazar.domain.lease.change import NewId
from blazar.domain.lease.displacement import is_only_planned
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.resource import Allocation, PlannedMove


def may_be_replanned(lease: Lease, since: datetime) -> bool:
    """Return whether other resources may serve the lease: it starts at ``since`` or later, nothing is under
    way for it, and it has all it should have. To one that lacks something healing gives what it can."""
    return is_only_planned(lease, since) and not lease.degraded


def replanned(lease: Lease, moves: Iterable[PlannedMove], new_id: NewId) -> Lease:
    """Return the lease after these moves of parts of its allocations. It is the same in all else."""
    by_reservation: dict[str, list[PlannedMove]] = {}
    for move in moves:
        by_reservation.setdefault(move.allocation.reservation_id, []).append(move)
    return replace(
        lease,
        reservations=tuple(
            _replanned(each, by_reservation.get(each.id, ()), new_id) for each in lease.reservations
        ),
    )


def _replanned(reservation: Reservation, moves: Iterable[PlannedMove], new_id: NewId) -> Reservation:
    slots = {each.id: each.slots for each in reservation.allocations}
    added: dict[str, Allocation] = {}
    for move in moves:
        slots[move.allocation.id] -= move.slots
        before = added[move.resource_id].slots if move.resource_id in added else 0
        added[move.resource_id] = replace(
            move.allocation,
            id=new_id(),
            resource_id=move.resource_id,
            slots=before + move.slots,
            created_at=None,
        )
    kept: list[Allocation] = []
    for each in reservation.allocations:
        more = added.pop(each.resource_id).slots if slots[each.id] and each.resource_id in added else 0
        if slots[each.id]:
            kept.append(replace(each, slots=slots[each.id] + more))
    allocations = (*kept, *added.values())
    return (
        reservation
        if allocations == reservation.allocations
        else replace(reservation, allocations=allocations)
    )
