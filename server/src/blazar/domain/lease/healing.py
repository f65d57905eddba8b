"""The rules of healing: which allocations a failed resource, or a maintenance, takes from a lease, and what
becomes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from blazar.domain.failure import Failure, FailureReason
from blazar.domain.lease.change import NewId, with_work
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import AHEAD, Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.maintenance import Closures
from blazar.domain.lease.surplus import with_surplus
from blazar.domain.resource import Allocation
from blazar.domain.time import MINUTE, Interval, floor_minute

LOST = "A resource of the reservation has failed, and no other one can take its place now."
UNSUITABLE = "A resource of the reservation has changed, and is no longer what was asked for."
CLOSED = (
    "A resource of the reservation is taken away for maintenance, and no other one can take its place now."
)
OWN_REASONS = frozenset({LOST, UNSUITABLE, CLOSED})
"""The reasons of reservations that miss something because of a resource that has failed, changed or is taken
away. Healing writes them, and only healing takes them back: what the cloud refused has other reasons."""


@dataclass(frozen=True, slots=True)
class Outage:
    """The failed resources by id, and what is to be healed of what they serve."""

    failures: Mapping[str, Failure]
    window: Interval
    """From now on. Only what is served in this interval is healed."""
    patience: timedelta
    """How long a resource must be down before an active reservation leaves it."""
    misfits: frozenset[str] = frozenset()
    """The ids of allocations whose resources have changed, so that they no longer suit."""
    closures: Closures = field(default_factory=dict)
    """When maintenances take resources away, however far ahead."""

    def fails(self, allocation: Allocation) -> bool:
        """Return whether the resource fails now, in the window. One on probation does not."""
        failure = self.failures.get(allocation.resource_id)
        return failure is not None and failure.is_present and allocation.interval.overlaps(self.window)

    def is_closed(self, allocation: Allocation) -> bool:
        """Return whether a maintenance that is not over takes the resource away in its time."""
        return any(
            allocation.interval.overlaps(closed) and closed.end > self.window.start
            for closed in self.closures.get(allocation.resource_id, ())
        )

    def is_lost(self, allocation: Allocation) -> bool:
        """Return whether another resource should take its place.

        What the cloud serves from there already stays on a disabled resource, for its servers run on, and on
        one that is down for a short time, for its servers may come back. It also stays on one that has
        changed, and on one that is taken away."""
        if allocation.id in self.misfits and not allocation.bound:
            return True
        if self.is_closed(allocation) and not allocation.bound:
            return True
        if not self.fails(allocation):
            return False
        failure = self.failures[allocation.resource_id]
        is_given_up = failure.reason is FailureReason.DOWN and self._age(failure) >= self.patience
        return is_given_up or not allocation.bound

    def _age(self, failure: Failure) -> timedelta:
        return self.window.start - failure.since


def can_be_healed(lease: Lease, reservation: Reservation, now: datetime) -> bool:
    """Return whether the reservation may get other resources now.

    An active reservation of a lease that is starting is left until the lease is active."""
    if not lease.is_understood or lease.status not in AHEAD or lease.interval.end <= now:
        return False
    return reservation.status is ReservationStatus.PENDING or (
        reservation.status is ReservationStatus.ACTIVE and lease.status is LeaseStatus.ACTIVE
    )


def time_ahead(lease: Lease, now: datetime) -> Interval:
    """Return the part of the lease's interval that can still be planned."""
    first = min(floor_minute(now), lease.interval.end - MINUTE)
    return Interval(max(lease.interval.start, first), lease.interval.end)


def replaced(
    reservation: Reservation, lost: Sequence[Allocation], slots: Mapping[str, int], new: Sequence[Allocation]
) -> Reservation:
    """Return the reservation with ``new`` allocations in place of those that it has lost.

    ``slots`` says by id how many slots an allocation has from now on that stays. What could not be replaced
    stays where it is: its resource may come back."""
    gone = {allocation.id for allocation in lost}
    stay = [replace(a, slots=slots.get(a.id, a.slots)) for a in reservation.allocations if a.id not in gone]
    had = sum(allocation.slots for allocation in reservation.allocations)
    missing = had - sum(allocation.slots for allocation in (*stay, *new))
    if missing >= sum(allocation.slots for allocation in lost):
        return reservation
    for allocation in sorted(lost, key=lambda each: not each.bound):
        if missing > 0:
            stay.append(replace(allocation, slots=min(allocation.slots, missing)))
            missing -= allocation.slots
    if missing > 0:
        return reservation  # what it would keep is less than it has
    return replace(reservation, allocations=(*stay, *new))


def healed(
    old: Lease, reservations: Mapping[str, Reservation], outage: Outage, now: datetime, new_id: NewId
) -> Lease:
    """Return the lease after these of its reservations (by id) have got other resources, with the flags that
    tell its owner."""
    told = tuple(
        _told(each, reservations.get(each.id, each), outage) if can_be_healed(old, each, now) else each
        for each in old.reservations
    )
    new = _with_flags(old, told)
    if new.allocations != old.allocations:
        new = with_surplus(new, old, new_id)
    elif not _is_back(new, old):
        return new
    return _to_converge(new, now, new_id)


def told_unsuitable(lease: Lease, reservation_ids: Collection[str], now: datetime) -> Lease:
    """Return the lease with a flag on those of these reservations that have not lost something already."""
    told = tuple(
        replace(each, missing_resources=True, status_reason=UNSUITABLE)
        if each.id in reservation_ids
        and each.status_reason not in (LOST, CLOSED)
        and can_be_healed(lease, each, now)
        else each
        for each in lease.reservations
    )
    return lease if told == lease.reservations else replace(lease, reservations=told, degraded=True)


def told_closed(lease: Lease, outage: Outage, now: datetime, new_id: NewId) -> Lease:
    """Return the lease with a flag on each reservation from which a maintenance takes something away, and
    without it on those from which none does any more."""
    told = tuple(
        _told_closed(each, outage) if can_be_healed(lease, each, now) else each for each in lease.reservations
    )
    if told == lease.reservations:
        return lease
    new = _with_flags(lease, told)
    return _to_converge(new, now, new_id) if _is_back(new, lease) else new


def _told_closed(reservation: Reservation, outage: Outage) -> Reservation:
    is_closed = any(map(outage.is_closed, reservation.allocations))
    if is_closed and reservation.status_reason not in OWN_REASONS:
        return replace(reservation, missing_resources=True, status_reason=CLOSED)
    if (
        reservation.status_reason == CLOSED
        and not is_closed
        and not any(map(outage.fails, reservation.allocations))
    ):
        return replace(reservation, missing_resources=False, status_reason=None)
    return reservation


def _told(old: Reservation, new: Reservation, outage: Outage) -> Reservation:
    if new.status is ReservationStatus.ACTIVE and new.allocations != old.allocations:
        new = replace(new, resources_changed=True)
    if any(outage.fails(allocation) for allocation in new.allocations):
        return replace(new, missing_resources=True, status_reason=LOST)
    if any(outage.is_closed(allocation) for allocation in new.allocations):
        return replace(new, missing_resources=True, status_reason=CLOSED)
    if any(allocation.id in outage.misfits for allocation in new.allocations):
        return replace(new, missing_resources=True, status_reason=UNSUITABLE)
    has_failed = any(allocation.resource_id in outage.failures for allocation in new.allocations)
    if new.status_reason in OWN_REASONS and not has_failed:
        return replace(new, missing_resources=False, status_reason=None)
    return new


def _with_flags(old: Lease, told: tuple[Reservation, ...]) -> Lease:
    """Return the lease with these reservations, degraded where one of them has a flag. What the cloud has
    refused before is still to be done, whatever a resource does meanwhile: its reason is the lease's, or
    something of the lease is not bound."""
    new = replace(old, reservations=told)
    if [_flags(each) for each in told] == [_flags(each) for each in old.reservations]:
        return new
    is_open = old.status_reason is not None or not old.is_settled
    is_refused = old.degraded and old.status is LeaseStatus.ACTIVE and is_open
    return replace(new, degraded=is_refused or any(any(_flags(each)) for each in told))


def _to_converge(lease: Lease, now: datetime, new_id: NewId) -> Lease:
    """Return the lease with an event that brings the cloud to what it says, where it is active: that the
    cloud has refused something may be told by no reservation any more."""
    is_active = lease.status is LeaseStatus.ACTIVE
    return with_work(lease, EventType.CONVERGE, now, new_id) if is_active else lease


def _is_back(new: Lease, old: Lease) -> bool:
    """Return whether a resource that was missing is there again."""
    missing = {reservation.id for reservation in old.reservations if reservation.missing_resources}
    return any(each.id in missing and not each.missing_resources for each in new.reservations)


def _flags(reservation: Reservation) -> tuple[bool, bool]:
    return reservation.missing_resources, reservation.resources_changed
