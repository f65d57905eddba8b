"""Leases in memory, with their reservations, allocations and events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from blazar.adapters.memory.state import State, allocation_key, stored
from blazar.domain.event import Event
from blazar.domain.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Allocation
from blazar.service.ports import Stale

BEGINNING = datetime.min.replace(tzinfo=UTC)


class MemoryLeases:
    """The LeaseRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, lease_id: str) -> Lease | None:
        return self._state.leases.get(lease_id)

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        found = (lease for lease in self._state.leases.values() if project_id in (None, lease.project_id))
        return _oldest_first(found)

    def add(self, lease: Lease, now: datetime) -> None:
        if lease.id in self._state.leases:
            raise Stale()
        nothing = replace(lease, reservations=(), events=())
        self._state.leases[lease.id] = replace(_merged(lease, nothing, now), created_at=now, updated_at=None)

    def save(self, new: Lease, old: Lease, now: datetime) -> None:
        current = self._unchanged(old)
        merged = replace(_merged(new, current, now), created_at=current.created_at, updated_at=current.updated_at)
        changed = merged != replace(current, revision=merged.revision)
        revision = current.revision + 1
        self._state.leases[old.id] = replace(
            merged, revision=revision, updated_at=now if changed else current.updated_at
        )

    def remove(self, lease: Lease) -> None:
        self._unchanged(lease)
        del self._state.leases[lease.id]
        self._state.claims.pop(lease.id, None)

    def ids_with_status(self, statuses: Sequence[str]) -> Sequence[str]:
        found = (lease for lease in self._state.leases.values() if lease.status in statuses)
        return [lease.id for lease in _oldest_first(found)]

    def unfinished_on(self, resource_ids: Sequence[str], ending_by: datetime) -> Sequence[Allocation]:
        on = frozenset(resource_ids)
        found = (
            allocation
            for lease in self._state.leases.values()
            for reservation in lease.reservations
            if not _is_over(lease, reservation)
            for allocation in reservation.allocations
            if allocation.resource_id in on and allocation.interval.end <= ending_by
        )
        return sorted(found, key=allocation_key)

    def _unchanged(self, lease: Lease) -> Lease:
        current = self._state.leases.get(lease.id)
        if current is None or current.revision != lease.revision:
            raise Stale()
        return current


def _oldest_first(leases: Iterable[Lease]) -> Sequence[Lease]:
    return sorted(leases, key=lambda lease: (lease.created_at or BEGINNING, lease.id))


def _is_over(lease: Lease, reservation: Reservation) -> bool:
    return reservation.status is ReservationStatus.DELETED or (
        reservation.status is ReservationStatus.PENDING and lease.status is LeaseStatus.TERMINATED
    )


# ---------------------------------------------------------------------- the moments of creation and of change


def _merged(new: Lease, current: Lease, now: datetime) -> Lease:
    """``new`` as it is stored where ``current`` was, with the moments at which rows were made and changed."""
    reservations = {reservation.id: reservation for reservation in current.reservations}
    allocations = {allocation.id: allocation for allocation in current.allocations}
    events = {event.id: event for event in current.events}
    return replace(
        new,
        reservations=tuple(
            _reservation(reservation, reservations.get(reservation.id), allocations, now)
            for reservation in new.reservations
        ),
        events=tuple(_event(event, events.get(event.id), now) for event in new.events),
    )


def _reservation(
    new: Reservation, current: Reservation | None, allocations: dict[str, Allocation], now: datetime
) -> Reservation:
    new = stored(new)
    new = replace(new, allocations=tuple(_allocation(a, allocations.get(a.id), now) for a in new.allocations))
    if current is None:
        return replace(new, created_at=now, updated_at=None)
    new = replace(new, created_at=current.created_at, updated_at=current.updated_at)
    is_same = replace(new, allocations=()) == replace(current, allocations=())  # allocations are rows of their own
    return new if is_same else replace(new, updated_at=now)


def _allocation(new: Allocation, current: Allocation | None, now: datetime) -> Allocation:
    return replace(new, created_at=now if current is None else current.created_at)


def _event(new: Event, current: Event | None, now: datetime) -> Event:
    new = replace(new, due=None if new.due == new.time else new.due)
    if current is None:
        return replace(new, created_at=now, updated_at=None)
    new = replace(new, created_at=current.created_at, updated_at=current.updated_at)
    return new if new == current else replace(new, updated_at=now)
