"""What of its promised resource-hours a reservation has really used, added up from samples.

A sample tells how many units (hosts, servers, addresses, ports) of a reservation are used at a moment. It
stands for the time since the sample before, or since the start, but for no more than ``LONGEST``. The rest of
the time is unknown, and neither used nor unused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from blazar.domain.lease.lease import Lease, Reservation, ReservationStatus
from blazar.domain.time import epoch, from_epoch

LONGEST = timedelta(hours=1)
"""The most time that one sample stands for."""


@dataclass(frozen=True, slots=True)
class QuantityUse:
    """How much of a quantity is used, and how much is left."""

    used: int
    left: int


@dataclass(frozen=True, slots=True)
class Sample:
    """What is used of a reservation at a moment: how many units, and where these do not tell how much, what
    of the kind's quantities."""

    used: int
    quantities: Mapping[str, QuantityUse] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Utilization:
    """A reservation from its start until ``until``. ``promised``, ``known`` and ``used`` are seconds, times
    the units: what it had, of how much of that is known whether it was used, and what was used."""

    reservation_id: str
    lease_id: str
    project_id: str
    user_id: str
    resource_type: str
    start: datetime
    until: datetime
    """Both are whole seconds."""
    units: int
    """What the reservation has now, or had at its end."""
    promised: int = 0
    known: int = 0
    used: int = 0
    used_now: int | None = None
    """The units that the last sample found to be used; None where there is none, or the kind cannot tell."""
    looked_at: datetime | None = None
    """When the last sample was taken."""
    quantities_now: Mapping[str, QuantityUse] = field(default_factory=dict)
    """What the last sample found of the quantities."""
    is_over: bool = False
    is_no_show: bool = False
    """The lease is over, and no reservation of it was ever found to be used."""

    def lasting(self, units: int, moment: datetime, used: int | None) -> Utilization:
        """Return it until ``moment``, with ``units`` since ``until``, of which ``used`` were used."""
        seconds = max(0, epoch(moment) - epoch(self.until))
        told = 0 if used is None else min(seconds, int(LONGEST.total_seconds()))
        return replace(
            self,
            until=from_epoch(epoch(self.until) + seconds),
            units=units,
            promised=self.promised + units * seconds,
            known=self.known + units * told,
            used=self.used + min(used or 0, units) * told,
        )


def units_of(reservation: Reservation) -> int:
    """Return how many units the reservation has: its hosts, servers or addresses."""
    return sum(allocation.slots for allocation in reservation.allocations)


def begun(lease: Lease, reservation: Reservation) -> Utilization:
    """Return the utilization of a reservation that was never looked at: since its start."""
    first = min((a.interval.start for a in reservation.allocations), default=lease.interval.start)
    start = from_epoch(epoch(max(lease.interval.start, first)))
    return Utilization(
        reservation.id,
        lease.id,
        lease.project_id,
        lease.user_id,
        reservation.resource_type,
        start,
        start,
        units_of(reservation),
    )


def sampled(
    known: Utilization | None, lease: Lease, reservation: Reservation, found: Sample | None, now: datetime
) -> Utilization:
    """Return the utilization after a sample of an active reservation. One that was over goes on: its lease
    had an error, and is active again."""
    before = known or begun(lease, reservation)
    if before.is_over:
        before = replace(before, is_over=False, is_no_show=False)
    units, end = units_of(reservation), min(now, lease.interval.end)
    if found is None:
        return replace(before.lasting(units, end, None), used_now=None, looked_at=None, quantities_now={})
    later = before.lasting(units, end, found.used)
    return replace(later, used_now=found.used, looked_at=now, quantities_now=found.quantities)


def ended(known: Utilization, moment: datetime) -> Utilization:
    """Return the utilization at its end. What the last sample has found is true until then."""
    return replace(known.lasting(known.units, moment, known.used_now), is_over=True)


def ended_with(lease: Lease, known: Iterable[Utilization], now: datetime) -> Sequence[Utilization]:
    """Return all utilizations of a lease that is active until now, at its end."""
    by_id: Mapping[str, Utilization] = {each.reservation_id: each for each in known}
    end = min(now, lease.interval.end)
    had = [r for r in lease.reservations if r.status is ReservationStatus.ACTIVE]
    over = {r.id: ended(by_id.get(r.id) or begun(lease, r), end) for r in had}
    gone = {i: each if each.is_over else ended(each, each.until) for i, each in by_id.items()}
    is_released = lease.claim_by is not None and lease.claim_by.released_at is not None
    return told_apart([*{**gone, **over}.values()], is_released)


def told_apart(of_lease: Sequence[Utilization], is_released: bool = False) -> Sequence[Utilization]:
    """Return the utilizations of a lease that is over, which tell whether it was ever used. One that was not
    looked at is not called unused, unless it was released for that."""
    is_no_show = is_released or all(each.known and not each.used for each in of_lease)
    return [replace(each, is_no_show=is_no_show) for each in of_lease]
