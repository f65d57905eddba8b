"""The reservations that leave a lease: an update has removed them. They are released as at the lease's end,
while the lease goes on without them.

The calendar has at once what they had, as a surplus: a lease that gets it waits until the cloud has given
it back. The same holds for what is made for a reservation that is about to join a lease: until the lease is
stored with it, it is one that leaves, so that a crash in between leaves nothing behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from blazar.domain.lease.change import NewId
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.domain.lease.surplus import given_up

RELEASES = frozenset({EventType.CONVERGE, EventType.END, EventType.DELETE})
"""The events that release what leaves."""


def without(lease: Lease, removed: Collection[str], new_id: NewId) -> Lease:
    """Return the lease without the reservations of these ids. What they have, or may have, in the cloud
    leaves."""
    gone = [each for each in lease.reservations if each.id in removed]
    has_begun = lease.status is not LeaseStatus.PENDING
    leaving = tuple(_leaving(each, has_begun, new_id) for each in gone if has_begun or each.cloud_state)
    stay = tuple(each for each in lease.reservations if each.id not in removed)
    return replace(lease, reservations=stay, leaving=(*lease.leaving, *leaving))


def _leaving(reservation: Reservation, has_begun: bool, new_id: NewId) -> Reservation:
    had = tuple(given_up(each, new_id) for each in reservation.allocations if has_begun)
    return replace(
        reservation,
        status=ReservationStatus.LEAVING,
        allocations=(),
        surplus=(*reservation.surplus, *had),
    )


def expected(lease: Lease, joining: Collection[Reservation]) -> Lease:
    """Return the lease that remembers reservations that are about to join it, and for which something is
    made."""
    marked = tuple(
        replace(each, status=ReservationStatus.LEAVING, allocations=(), surplus=()) for each in joining
    )
    return replace(lease, leaving=(*lease.leaving, *marked))


def released(stored: Lease, acted: Lease, outcomes: Mapping[str, Outcome]) -> tuple[Reservation, ...]:
    """Return what still leaves ``stored`` after the verbs ended in ``outcomes``; they acted on ``acted``.

    A reservation that was removed while a verb made it serve the lease has to be released yet: it remembers
    what was made."""
    were_leaving = {each.id for each in acted.leaving}
    return tuple(
        _remembering(each, outcomes.get(each.id))
        for each in stored.leaving
        if not (each.id in were_leaving and isinstance(outcomes.get(each.id), Done))
    )


def _remembering(reservation: Reservation, outcome: Outcome | None) -> Reservation:
    if isinstance(outcome, Done | NotYet) and outcome.cloud_state:
        return replace(reservation, cloud_state={**reservation.cloud_state, **outcome.cloud_state})
    return reservation


def is_hindered(reservation: Reservation, leaving: Collection[Reservation]) -> bool:
    """Return whether the reservation takes a resource that one of those that leave has not given back."""
    taken = {each.resource_id for other in leaving for each in other.surplus}
    return any(not each.bound and each.resource_id in taken for each in reservation.allocations)
