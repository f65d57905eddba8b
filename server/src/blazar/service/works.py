"""What kinds need to look at active reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Pool
from blazar.service.ports import Database, LeasePlace, LeaseQuery, UnitOfWork
from blazar.service.ports.kind import Kind, Kinds, Work

BEGUN = (
    LeaseStatus.STARTING,
    LeaseStatus.ACTIVE,
    LeaseStatus.ERROR,
    LeaseStatus.TERMINATING,
    LeaseStatus.DELETING,
)
"""The statuses of a lease for which something may be in the cloud, or has to be taken from it."""
PAGE = 500


def others_of(database: Database, lease: Lease, reservation: Reservation) -> Sequence[Reservation]:
    """Return the project's other reservations of the same kind in leases that have begun and are not over,
    by lease."""
    found: list[Reservation] = []
    place: LeasePlace | None = None
    with database.read() as uow:
        while True:
            page = uow.leases.find(
                LeaseQuery(
                    PAGE,
                    after=place,
                    project_id=lease.project_id,
                    statuses=BEGUN,
                    resource_type=reservation.resource_type,
                )
            )
            there = (each for one in page.leases for each in (*one.reservations, *one.leaving))
            found += [
                each
                for each in there
                if each.id != reservation.id and each.resource_type == reservation.resource_type
            ]
            if (place := page.next) is None:
                return found


def is_unfinished(database: Database, reservation_id: str) -> bool:
    """Return whether the reservation is in a lease that is not over."""
    with database.read() as uow:
        return bool(uow.leases.unfinished_reservations([reservation_id]))


def users_of(uow: UnitOfWork, leases: Iterable[Lease]) -> Mapping[str, tuple[str, ...]]:
    """Return by lease the other projects that may use it. Where none ever could, nothing is asked."""
    ids = [lease.id for lease in leases if lease.access_revision]
    found: dict[str, tuple[str, ...]] = {}
    for share in uow.shares.of_leases(ids) if ids else ():
        if share.right.may_use:
            found[share.lease_id] = (*found.get(share.lease_id, ()), share.project_id)
    return found


def active_works(
    uow: UnitOfWork, database: Database, kinds: Kinds, leases: Iterable[Lease]
) -> Mapping[str, Sequence[tuple[Kind[Any], Work]]]:
    """Return the work of each active reservation with its kind, by lease. All kinds are enabled."""
    leases = tuple(leases)
    ids: dict[Pool, set[str]] = defaultdict(set)
    for lease in leases:
        for reservation in lease.reservations:
            pool = kinds[reservation.resource_type].pool_of(reservation)
            ids[pool].update(a.resource_id for a in reservation.allocations)
    known = {r.id: r for pool in sorted(ids) for r in uow.resources.list(pool, sorted(ids[pool]))}
    users = users_of(uow, leases)

    def work(lease: Lease, reservation: Reservation) -> Work:
        occupied = {a.resource_id for a in reservation.allocations} & known.keys()
        others = partial(others_of, database, lease, reservation)
        there = {i: known[i] for i in sorted(occupied)}
        return Work(
            lease,
            reservation,
            there,
            others=others,
            users=users.get(lease.id, ()),
            is_unfinished=partial(is_unfinished, database),
        )

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
