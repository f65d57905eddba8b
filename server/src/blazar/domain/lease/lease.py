"""The lease: its reservations and events, its statuses, and the one table of transitions between
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from blazar.domain.errors import InvalidStatus
from blazar.domain.lease.claim_by import ClaimBy
from blazar.domain.lease.event import UNSETTLING, Event, EventType
from blazar.domain.lease.priority import Priority
from blazar.domain.lease.waiting import Waiting
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval

P = TypeVar("P")
BEGINNING = datetime.min.replace(tzinfo=UTC)


class LeaseStatus(StrEnum):
    WAITING = "WAITING"
    """It did not fit, and waits in line until it does. It has nothing yet."""
    CREATING = "CREATING"
    PENDING = "PENDING"
    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    TERMINATING = "TERMINATING"
    TERMINATED = "TERMINATED"
    DELETING = "DELETING"
    ERROR = "ERROR"
    UNKNOWN = "UNKNOWN"
    """A status that only a newer version knows. The lease is shown, and nothing is done to it."""

    @classmethod
    def _missing_(cls, value: object) -> LeaseStatus:
        return cls.UNKNOWN

    @property
    def is_stable(self) -> bool:
        return self in STABLE


STABLE = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.TERMINATED, LeaseStatus.ERROR})

AHEAD = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE})
"""The statuses of a lease that is yet to have what it was promised."""

TRANSITIONS: Mapping[LeaseStatus, frozenset[LeaseStatus]] = {
    LeaseStatus.WAITING: frozenset({LeaseStatus.PENDING, LeaseStatus.TERMINATED, LeaseStatus.DELETING}),
    LeaseStatus.CREATING: frozenset({LeaseStatus.PENDING, LeaseStatus.DELETING}),
    LeaseStatus.PENDING: frozenset(
        {LeaseStatus.STARTING, LeaseStatus.TERMINATING, LeaseStatus.DELETING, LeaseStatus.WAITING}
    ),
    LeaseStatus.STARTING: frozenset(
        {LeaseStatus.ACTIVE, LeaseStatus.ERROR, LeaseStatus.TERMINATING, LeaseStatus.DELETING}
    ),
    LeaseStatus.ACTIVE: frozenset({LeaseStatus.TERMINATING, LeaseStatus.ERROR, LeaseStatus.DELETING}),
    LeaseStatus.TERMINATING: frozenset({LeaseStatus.TERMINATED, LeaseStatus.DELETING}),
    LeaseStatus.TERMINATED: frozenset({LeaseStatus.DELETING}),
    LeaseStatus.ERROR: frozenset(
        {LeaseStatus.STARTING, LeaseStatus.ACTIVE, LeaseStatus.TERMINATING, LeaseStatus.DELETING}
    ),
    LeaseStatus.DELETING: frozenset(),
}
"""Where a lease may go from each status. A lease is CREATING while something is made for it in the cloud that
its creation waits for; without such it is PENDING at once. One that is WAITING becomes PENDING when it fits,
and TERMINATED when it has waited long enough; one that is PENDING waits where it
is displaced. An update never changes the status: it is decided
and committed in one transaction, and the cloud follows. A lease whose start failed still ends (TERMINATING),
and a deletion is repeated until the cloud is clean, so DELETING has no way back."""


class ReservationStatus(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    DELETED = "deleted"
    ERROR = "error"
    LEAVING = "leaving"
    """It was removed from its lease, and the cloud has not given back yet what it had. No user sees it."""
    UNKNOWN = "unknown"
    """A status that only a newer version knows."""

    @classmethod
    def _missing_(cls, value: object) -> ReservationStatus:
        return cls.UNKNOWN


class _Decoded:
    """Room for what ``Reservation.decoded`` has found. It is no field: it is neither compared, stored nor
    sent."""

    __slots__ = ("_parameters",)
    _parameters: Any


@dataclass(frozen=True, slots=True)
class Reservation(_Decoded):
    """One line of a lease: an amount of one resource kind with requirements.

    ``parameters`` is the kind's own request as JSON values, as it is stored and sent; ``decoded`` is its
    typed form. ``cloud_state`` is what the kind has to remember about the objects it made, by name (aggregate
    id, group id)."""

    id: str
    lease_id: str
    resource_id: str
    resource_type: str
    parameters: Mapping[str, Any]
    status: ReservationStatus = ReservationStatus.PENDING
    status_reason: str | None = None
    missing_resources: bool = False
    resources_changed: bool = False
    cloud_state: Mapping[str, Any] = field(default_factory=dict)
    allocations: tuple[Allocation, ...] = ()
    surplus: tuple[Allocation, ...] = ()
    """What it has given up and may still have in the cloud, see ``domain.lease.surplus``."""
    region: str | None = None
    """The region that it lies in, with all that it has; None is the first one."""
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def decoded(self, decode: Callable[[Mapping[str, Any]], P]) -> P:
        """Return the parameters in their typed form. ``decode``, which is always the same, is called once."""
        try:
            found: P = self._parameters
        except AttributeError:
            found = decode(self.parameters)
            object.__setattr__(self, "_parameters", found)
        return found


@dataclass(frozen=True, slots=True, order=True)
class LeaseKey:
    """The place of a lease in lists, which never changes: lists begin with the oldest lease."""

    created_at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A user's contract: reservations in an interval. ``revision`` grows with every commit that changes
    it."""

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
    quantities: Mapping[str, int] | None = None
    """What it counts as against quotas; None where a version before this has stored it."""
    waiting: Waiting | None = None
    """What it needs to be planned again, while it is WAITING."""
    claim_by: ClaimBy | None = None
    """How soon it has to be used; None where it need not be."""
    leaving: tuple[Reservation, ...] = ()
    """What was removed from it and may still have something in the cloud: these are no longer its
    reservations. All of them are LEAVING. See ``domain.lease.leaving``."""
    priority: Priority = Priority.NORMAL
    series_id: str | None = None
    """The series that has made it, which may be deleted since."""
    access_revision: int = 0
    """Grows with each change of which other projects may use it; 0 where none ever could. See
    ``domain.lease.share``."""

    start_task: str | None = None
    """The type of what is started with it, see ``domain.lease.start_task``; None where nothing is."""

    def event(self, event_type: EventType) -> Event | None:
        return next((event for event in self.events if event.event_type is event_type), None)

    @property
    def is_understood(self) -> bool:
        """Return whether this version knows the statuses of the lease and of its reservations. A lease that a
        newer version has brought into another status must be left to that version."""
        return self.status is not LeaseStatus.UNKNOWN and all(
            reservation.status is not ReservationStatus.UNKNOWN for reservation in self.reservations
        )

    @property
    def is_settled(self) -> bool:
        """Return whether an active lease has all it should have, as far as is known: nothing is under way and
        each allocation is bound."""
        served = [r for r in self.reservations if r.status is ReservationStatus.ACTIVE]
        return (
            self.status is LeaseStatus.ACTIVE
            and not self.leaving
            and not any(r.status is ReservationStatus.PENDING for r in self.reservations)
            and not any(reservation.surplus for reservation in self.reservations)
            and not any(event.event_type in UNSETTLING and event.is_open for event in self.events)
            and all(allocation.bound for reservation in served for allocation in reservation.allocations)
        )

    @property
    def key(self) -> LeaseKey:
        return LeaseKey(self.created_at or BEGINNING, self.id)

    @property
    def next_due(self) -> datetime | None:
        """Return when the first of its open events is due."""
        return min((event.next_try for event in self.events if event.is_open), default=None)

    @property
    def before_end_date(self) -> datetime | None:
        event = self.event(EventType.BEFORE_END)
        return event.time if event else None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        return tuple(
            allocation for reservation in self.reservations for allocation in reservation.allocations
        )

    @property
    def resource_ids(self) -> tuple[str, ...]:
        """Return the ids of the resources that the lease occupies, sorted."""
        return tuple(sorted({allocation.resource_id for allocation in self.allocations}))

    def reservation(self, reservation_id: str) -> Reservation | None:
        return next((r for r in self.reservations if r.id == reservation_id), None)

    def asks_as(self, other: Lease) -> bool:
        """Return whether both have the same reservations with the same parameters."""
        return [(r.id, r.parameters) for r in self.reservations] == [
            (r.id, r.parameters) for r in other.reservations
        ]

    def remembered(self, reservation_id: str) -> Reservation | None:
        """Return the reservation, also where it is leaving."""
        return next((r for r in (*self.reservations, *self.leaving) if r.id == reservation_id), None)


def transition(lease: Lease, to: LeaseStatus, reason: str | None = None) -> Lease:
    """Return the lease in status ``to``. Raises InvalidStatus where the table does not allow it; staying is
    allowed."""
    if to is not lease.status and to not in TRANSITIONS.get(lease.status, frozenset()):
        raise InvalidStatus(reason=f"the lease is {lease.status} and cannot become {to}.")
    return replace(lease, status=to, status_reason=reason)
