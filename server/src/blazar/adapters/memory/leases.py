"""Leases in memory, with their reservations, allocations and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.lease_lists import LeaseScan, page_of
from blazar.adapters.memory.state import State
from blazar.adapters.stored import added_lease, allocation_key, saved_lease
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import AHEAD, BEGINNING, Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval
from blazar.service.ports import KeptKey, LeaseHeading, LeasePage, LeaseQuery, ListPage
from blazar.service.ports.lease_lists import is_asked_for, lease_place


class MemoryLeases:
    """The LeaseRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, lease_id: str) -> Lease | None:
        return self._state.leases.get(lease_id)

    def get_many(self, lease_ids: Sequence[str]) -> Sequence[Lease]:
        return _oldest_first(self._state.leases[i] for i in set(lease_ids) if i in self._state.leases)

    def exists(self, lease_id: str) -> bool:
        return self._state.knows(lease_id)

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        found = (lease for lease in self._state.leases.values() if project_id in (None, lease.project_id))
        return _oldest_first(found)

    def page(self, page: ListPage, project_id: str | None = None) -> Sequence[Lease]:
        found = [
            _without_allocations(lease)
            for lease in self.list(project_id)
            if page.after is None or lease.key > page.after
        ]
        return found[: page.limit]

    def headings(self, lease_ids: Sequence[str]) -> Sequence[LeaseHeading]:
        return [
            LeaseHeading(each.id, each.name, each.status, each.project_id, each.user_id)
            for each in self.get_many(lease_ids)
        ]

    def find(self, query: LeaseQuery) -> LeasePage:
        found = {lease_place(lease, query.sort): lease for lease in self._asked_for(query)}
        in_order = sorted(found, reverse=query.descending)
        after = query.after
        follow = [p for p in in_order if after is None or (p < after if query.descending else p > after)]
        places, goes_on = page_of(query, [LeaseScan([(place, True) for place in follow], is_whole=True)])
        return LeasePage([_without_allocations(found[place]) for place in places], goes_on)

    def _asked_for(self, query: LeaseQuery) -> Iterator[Lease]:
        return (
            lease
            for lease in self._state.leases.values()
            if is_asked_for(lease, query) and self._is_shared(lease, query.shared_with)
        )

    def _is_shared(self, lease: Lease, project_id: str | None) -> bool:
        shares = self._state.shares.get(lease.id, ())
        return project_id is None or project_id in {each.project_id for each in shares}

    def add(self, lease: Lease, now: datetime) -> Lease:
        if self.exists(lease.id):
            raise Stale()
        return self._put(added_lease(lease, now))

    def keep_key(self, key: KeptKey) -> None:
        place = key.project_id, key.name
        if place in self._state.keys:
            raise Stale()
        self._state.keys[place] = key
        self._state.key_of[key.lease_id] = place

    def kept_key(self, project_id: str, name: str) -> KeptKey | None:
        return self._state.keys.get((project_id, name))

    def save(self, new: Lease, old: Lease, now: datetime) -> Lease:
        return self._put(saved_lease(new, self._unchanged(old), now))

    def save_all(self, changes: Sequence[tuple[Lease, Lease]], now: datetime) -> None:
        for new, old in changes:
            self.save(new, old, now)

    def remove(self, lease: Lease) -> None:
        self._unchanged(lease)
        del self._state.leases[lease.id]
        self._state.claims.pop(lease.id, None)
        self._state.shares.pop(lease.id, None)
        self._state.reconciled.pop(lease.id, None)
        if place := self._state.key_of.pop(lease.id, None):
            del self._state.keys[place]

    def ids_with_status(self, statuses: Sequence[str]) -> Sequence[str]:
        found = (lease for lease in self._state.leases.values() if lease.status in statuses)
        return [lease.id for lease in _oldest_first(found)]

    def ids_of_other_kinds(self, resource_types: Sequence[str]) -> Sequence[str]:
        return sorted(
            lease.id
            for lease in self._state.leases_and_offers()
            if lease.status is not LeaseStatus.TERMINATED
            and any(each.resource_type not in resource_types for each in _stored(lease))
        )

    def starting(self, after: datetime, until: datetime) -> Sequence[str]:
        found = [
            each
            for each in self._state.leases.values()
            if each.status is LeaseStatus.PENDING and after < each.interval.start <= until
        ]
        return [each.id for each in sorted(found, key=lambda each: (each.interval.start, each.id))]

    def count_over(self, before: datetime) -> int:
        return len(self.over(before, len(self._state.leases)))

    def over(self, before: datetime, limit: int) -> Sequence[str]:
        found = (lease for lease in self._state.leases.values() if _is_over_since(lease, before))
        return [lease.id for lease in found][:limit]

    def remove_over(self, lease_ids: Sequence[str], before: datetime) -> int:
        found = [self._state.leases[i] for i in lease_ids if i in self._state.leases]
        over = [lease for lease in found if _is_over_since(lease, before)]
        for lease in over:
            self.remove(lease)
        return len(over)

    def unfinished_reservations(self, reservation_ids: Sequence[str]) -> frozenset[str]:
        unfinished = (
            lease for lease in self._state.leases.values() if lease.status is not LeaseStatus.TERMINATED
        )
        return frozenset(r.id for lease in unfinished for r in _stored(lease)) & set(reservation_ids)

    def unfinished_on(self, resource_ids: Sequence[str], ending_by: datetime) -> Sequence[Allocation]:
        on = frozenset(resource_ids)
        found = (
            allocation
            for lease in self._state.leases.values()
            for reservation in _stored(lease)
            if not _is_over(lease, reservation)
            for allocation in (*reservation.allocations, *reservation.surplus)
            if allocation.resource_id in on and allocation.interval.end <= ending_by
        )
        return sorted(found, key=allocation_key)

    def on_resources(self, resource_ids: Sequence[str], interval: Interval) -> Sequence[str]:
        on = frozenset(resource_ids)
        return sorted(
            lease.id
            for lease in self._state.leases.values()
            if lease.status in AHEAD
            and any(a.resource_id in on and a.interval.overlaps(interval) for a in lease.allocations)
        )

    def degraded(self) -> Sequence[str]:
        found = self._state.leases.values()
        return sorted(lease.id for lease in found if lease.degraded and lease.status in AHEAD)

    def _put(self, lease: Lease) -> Lease:
        self._state.leases[lease.id] = lease
        return lease

    def _unchanged(self, lease: Lease) -> Lease:
        current = self._state.leases.get(lease.id)
        if current is None or current.revision != lease.revision:
            raise Stale()
        return current


def _oldest_first(leases: Iterable[Lease]) -> Sequence[Lease]:
    return sorted(leases, key=lambda lease: lease.key)


def _without_allocations(lease: Lease) -> Lease:
    return replace(
        lease,
        reservations=tuple(replace(r, allocations=(), surplus=()) for r in lease.reservations),
        leaving=tuple(replace(r, allocations=(), surplus=()) for r in lease.leaving),
    )


def _stored(lease: Lease) -> Sequence[Reservation]:
    """Return what databases have rows of: the reservations, and those that leave."""
    return *lease.reservations, *lease.leaving


def _is_over(lease: Lease, reservation: Reservation) -> bool:
    return reservation.status is ReservationStatus.DELETED or (
        reservation.status is ReservationStatus.PENDING and lease.status is LeaseStatus.TERMINATED
    )


def _is_over_since(lease: Lease, before: datetime) -> bool:
    return (
        lease.status in (LeaseStatus.TERMINATED, LeaseStatus.ERROR)
        and lease.trust_id is None
        and max(lease.interval.end, lease.updated_at or BEGINNING) <= before
        and not any(event.is_open for event in lease.events)
        and all(_is_over(lease, each) for each in _stored(lease))
    )
