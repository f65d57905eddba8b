"""What a lease is: its reservations and events, its statuses, and the one table of transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from blazar.domain.errors import InvalidStatus
from blazar.domain.event import Event, EventType
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval


class LeaseStatus(StrEnum):
    CREATING = "CREATING"
    PENDING = "PENDING"
    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    TERMINATING = "TERMINATING"
    TERMINATED = "TERMINATED"
    DELETING = "DELETING"
    ERROR = "ERROR"

    @property
    def is_stable(self) -> bool:
        return self in STABLE


STABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.TERMINATED, LeaseStatus.ERROR})

TRANSITIONS: Mapping[LeaseStatus, frozenset[LeaseStatus]] = {
    LeaseStatus.CREATING: frozenset({LeaseStatus.PENDING, LeaseStatus.DELETING}),
    LeaseStatus.PENDING: frozenset({LeaseStatus.STARTING, LeaseStatus.TERMINATING, LeaseStatus.DELETING}),
    LeaseStatus.STARTING: frozenset(
        {LeaseStatus.ACTIVE, LeaseStatus.ERROR, LeaseStatus.TERMINATING, LeaseStatus.DELETING}
    ),
    LeaseStatus.ACTIVE: frozenset({LeaseStatus.TERMINATING, LeaseStatus.ERROR, LeaseStatus.DELETING}),
    LeaseStatus.TERMINATING: frozenset({LeaseStatus.TERMINATED, LeaseStatus.DELETING}),
    LeaseStatus.TERMINATED: frozenset({LeaseStatus.DELETING}),
    LeaseStatus.ERROR: frozenset({LeaseStatus.ACTIVE, LeaseStatus.TERMINATING, LeaseStatus.DELETING}),
    LeaseStatus.DELETING: frozenset(),
}
"""Where a lease may go from each status. A lease is CREATING while something is made for it in the cloud that its
creation waits for; without such it is PENDING at once. An update never changes the status: it is decided and committed in one
transaction, and the cloud follows. A lease whose start failed still ends (TERMINATING), and a deletion is repeated
until the cloud is clean, so DELETING has no way back."""


class ReservationStatus(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    DELETED = "deleted"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Reservation:
    """One line of a lease: an amount of one resource kind with requirements.

    ``parameters`` is the kind's own request as JSON values (the kind turns it into its typed form);
    ``cloud`` is what the kind has to remember about the objects it made, by name (aggregate id, group id).
    """

    id: str
    lease_id: str
    resource_id: str
    resource_type: str
    parameters: Mapping[str, Any]
    status: ReservationStatus = ReservationStatus.PENDING
    status_reason: str | None = None
    missing_resources: bool = False
    resources_changed: bool = False
    cloud: Mapping[str, Any] = field(default_factory=dict)
    allocations: tuple[Allocation, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A user's contract: reservations in an interval. ``revision`` grows with every commit that changes it."""

    id: str
    name: str
    user_id: str
    project_id: str
    interval: Interval
    status: LeaseStatus = LeaseStatus.PENDING
    status_reason: str | None = None
    degraded: bool = False
    trust_id: str | None = None
    reservations: tuple[Reservation, ...] = ()
    events: tuple[Event, ...] = ()
    revision: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def event(self, event_type: EventType) -> Event | None:
        return next((event for event in self.events if event.event_type is event_type), None)

    @property
    def before_end_date(self) -> datetime | None:
        event = self.event(EventType.BEFORE_END)
        return event.time if event else None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        return tuple(allocation for reservation in self.reservations for allocation in reservation.allocations)

    def reservation(self, reservation_id: str) -> Reservation | None:
        return next((r for r in self.reservations if r.id == reservation_id), None)


def transition(lease: Lease, to: LeaseStatus, reason: str | None = None) -> Lease:
    """The lease in status ``to``. Raises InvalidStatus where the table does not allow it; staying is allowed."""
    if to is not lease.status and to not in TRANSITIONS[lease.status]:
        raise InvalidStatus(reason=f"the lease is {lease.status} and cannot become {to}.")
    return replace(lease, status=to, status_reason=reason)
