"""What kinds need to look at active reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blazar.domain.lease.lease import Lease, Reservation, ReservationStatus
from blazar.domain.resource import Pool
from blazar.service.ports import UnitOfWork
from blazar.service.ports.kind import Kind, Kinds, Work


def active_works(
    uow: UnitOfWork, kinds: Kinds, leases: Iterable[Lease]
) -> Mapping[str, Sequence[tuple[Kind[Any], Work]]]:
    """Return the work of each active reservation with its kind, by lease. All kinds are enabled."""
    leases = tuple(leases)
    ids: dict[Pool, set[str]] = defaultdict(set)
    for lease in leases:
        for reservation in lease.reservations:
            ids[kinds[reservation.resource_type].pool].update(a.resource_id for a in reservation.allocations)
    known = {r.id: r for pool in sorted(ids) for r in uow.resources.list(pool, sorted(ids[pool]))}

    def work(lease: Lease, reservation: Reservation) -> Work:
        occupied = {a.resource_id for a in reservation.allocations} & known.keys()
        return Work(lease, reservation, {i: known[i] for i in sorted(occupied)})

    return {
        lease.id: [
            (kinds[r.resource_type], work(lease, r))
            for r in lease.reservations
            if r.status is ReservationStatus.ACTIVE
        ]
        for lease in leases
    }


def are_enabled(lease: Lease, kinds: Kinds) -> bool:
    """Return whether the kinds of all of its reservations are enabled."""
    return all(reservation.resource_type in kinds for reservation in lease.reservations)
