"""The displacement of leases: which ones may have to give way to one of a higher class, and what becomes of
them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, transition
from blazar.domain.lease.priority import Priority
from blazar.domain.lease.waiting import Waiting

KNOWN = frozenset({EventType.START, EventType.END, EventType.BEFORE_END})
"""The events of a lease for which nothing is under way."""


class DisplacementEffect(StrEnum):
    """What becomes of a lease that is displaced."""

    MOVES = "moves"
    """It keeps its time, and gets other resources."""
    WAITS = "waits"
    """It loses what it had, and waits in line."""


@dataclass(frozen=True, slots=True)
class DisplacedLease:
    """A lease as it was, and as it is after it has been displaced."""

    old: Lease
    new: Lease

    @property
    def effect(self) -> DisplacementEffect:
        has_left = self.new.status is LeaseStatus.WAITING
        return DisplacementEffect.WAITS if has_left else DisplacementEffect.MOVES


def may_be_displaced(lease: Lease, by: Priority, since: datetime) -> bool:
    """Return whether a lease of the class ``by`` may displace it: it is of a lower class, starts at ``since``
    or later, and nothing is under way for it."""
    return lease.priority.rank < by.rank and is_only_planned(lease, since)


def is_only_planned(lease: Lease, since: datetime) -> bool:
    """Return whether the lease starts at ``since`` or later, and nothing is under way for it."""
    return (
        lease.status is LeaseStatus.PENDING
        and lease.interval.start >= since
        and lease.is_understood
        and not lease.leaving
        and not any(allocation.bound for allocation in lease.allocations)
        and all(event.event_type in KNOWN for event in lease.events if event.is_open)
    )


def may_wait(lease: Lease) -> bool:
    """Return whether the lease can wait in line: nothing was made for it in the cloud with its user's
    rights, which it would have to have again."""
    return lease.trust_id is None and not any(each.cloud_state for each in lease.reservations)


def in_order(leases: Iterable[Lease]) -> list[Lease]:
    """Return the leases in the order in which they give way: the lowest class first, of one class the latest
    start first."""
    by_start = sorted(leases, key=lambda each: (each.interval.start, each.id), reverse=True)
    return sorted(by_start, key=lambda each: each.priority.rank)


def moved(lease: Lease, now: datetime) -> Lease:
    """Return the lease, which has got other resources, as one that tells so."""
    reason = f"It was moved to other resources for a lease of a higher priority at {now:%Y-%m-%d %H:%M}."
    return replace(lease, status_reason=reason)


def put_in_line(lease: Lease, now: datetime) -> Lease:
    """Return the lease without its resources, in line until its start. Its turn is the moment at which it was
    made: who began to wait after that stands behind it."""
    waiting = Waiting(
        since=now,
        until=lease.interval.start,
        turn=min(lease.created_at or now, now),
        before_end=lease.before_end_date,
    )
    reason = f"It was displaced by a lease of a higher priority at {now:%Y-%m-%d %H:%M}, and waits in line."
    emptied = tuple(
        replace(each, allocations=(), missing_resources=False, status_reason=None)
        for each in lease.reservations
    )
    return replace(
        transition(lease, LeaseStatus.WAITING, reason),
        degraded=False,
        reservations=emptied,
        events=(),
        waiting=waiting,
        quantities={},
    )
