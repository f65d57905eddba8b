"""The requests of callers that change something, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

from blazar.domain.lease.priority import Priority
from blazar.domain.lease.start_task import StackRequest
from blazar.domain.series import OnConflict
from blazar.domain.subscription import CapacityCondition, LeaseEvent, SubscribedEvent


class Unset(Enum):
    """The field was not sent, so it stays as it is (which differs from null)."""

    UNSET = "unset"


UNSET = Unset.UNSET


class Now(Enum):
    """The literal date ``now``: the current minute, when the request is carried out."""

    NOW = "now"


NOW = Now.NOW

Moment = datetime | Now
"""An aware UTC datetime, or ``now``."""


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """One reservation of a new lease; ``parameters`` are the kind's own fields as the caller sent them."""

    resource_type: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReservationChange:
    """New values for some parameters of reservation ``id``; ``resource_type``, if sent, must be the stored
    one."""

    id: str
    parameters: Mapping[str, Any]
    resource_type: str | None = None


@dataclass(frozen=True, slots=True)
class SplitReservation:
    """A reservation that goes into another lease: all of it, or so many of its units."""

    id: str
    units: int | None = None


@dataclass(frozen=True, slots=True)
class SplitLease:
    """Make another lease of some reservations of a lease."""

    name: str
    reservations: tuple[SplitReservation, ...]


@dataclass(frozen=True, slots=True)
class CreateLease:
    name: str
    start: Moment
    end: Moment
    before_end: datetime | None = None
    reservations: tuple[ReservationRequest, ...] = ()
    id: str | None = field(default=None, compare=False)
    """The id of the new lease, chosen by a caller that may have to ask twice: the second call finds the lease
    of the first."""


@dataclass(frozen=True, slots=True)
class SetLifetime:
    """Change from when on a resource, by its id or name, is there, and until when; None where it is there
    already, and where it stays. With ``force`` also where leases cannot be moved."""

    resource: str
    available_from: datetime | Unset | None = UNSET
    available_until: datetime | Unset | None = UNSET
    force: bool = False


@dataclass(frozen=True, slots=True)
class CreateMaintenance:
    """Take resources, by their ids or names, away from ``start`` to ``end``. With ``force`` also those from
    which leases cannot be moved."""

    resources: tuple[str, ...]
    start: Moment
    end: Moment
    name: str
    reason: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class CreateSubscription:
    """Tell these events of leases to an address, or keep them for clients that ask. A filter that is None
    leaves all through."""

    name: str
    url: str
    """Empty for a stream."""
    events: tuple[SubscribedEvent, ...]
    watched_project: str | None = None
    lease_id: str | None = None
    resource_type: str | None = None
    capacity: CapacityCondition | None = None
    """Tell of capacity, and not of leases."""


@dataclass(frozen=True, slots=True)
class UpdateSubscription:
    name: str | Unset = UNSET
    url: str | Unset = UNSET
    events: tuple[SubscribedEvent, ...] | Unset = UNSET
    resume: bool = False
    renew_secret: bool = False


@dataclass(frozen=True, slots=True)
class CreateSeries:
    """Make leases by a rule of RFC 5545: one for each of its days that is no exception, at the local time of
    ``start`` in a zone."""

    id: str
    """Chosen by the caller, who may have to ask twice."""
    name: str
    start: datetime
    length: datetime | timedelta
    """The end of the first one, or the duration of all."""
    reservations: tuple[ReservationRequest, ...]
    rule: str
    time_zone: str
    exceptions: tuple[date, ...] = ()
    on_conflict: OnConflict = OnConflict.REFUSE


@dataclass(frozen=True, slots=True)
class UpdateSeries:
    """Cancel occurrences that have not started: those of some days, and those after a last day."""

    name: str | Unset = UNSET
    exceptions: tuple[date, ...] = ()
    last_day: date | None = None


@dataclass(frozen=True, slots=True)
class CreateFeed:
    """Make a calendar feed of a project's leases: of those of one user, or of one lease, where these are not
    None. The caller has made the secret: only its hash is sent."""

    name: str
    secret_hash: str
    watched_project: str
    watched_user: str | None = None
    lease_id: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateMail:
    """What the caller wants to be told by mail; without events, what the operator has told."""

    events: tuple[LeaseEvent, ...] | Unset | None = UNSET
    is_daily: bool | Unset = UNSET


@dataclass(frozen=True, slots=True)
class ByDuration:
    """The dates of a new lease by how long it lasts: its end is not looked at."""

    duration: timedelta
    """In whole minutes."""
    earliest: bool = False
    """Whether it starts as soon as there is enough, from its start on."""
    latest_end: datetime | None = None
    """When it has to be over, if it starts as soon as there is enough."""


@dataclass(frozen=True, slots=True)
class ClaimByWish:
    """The wish of a caller how soon a lease has to be used."""

    after: timedelta | None
    """In whole minutes after the start; zero for never, None for what the operator has set."""
    may_be_later: bool = False
    """Whether it may be later than what the operator has set."""


@dataclass(frozen=True, slots=True)
class PriorityWish:
    """The class that a lease is to have; None for the one that it has, or for the normal one."""

    priority: Priority | None = None
    displaces: bool = False
    """Whether a new lease that does not fit may displace leases of lower classes that have not started."""


@dataclass(frozen=True, slots=True)
class WebhookWish:
    """A receiver that is told when a lease starts and ends. The caller has made id and secret, for it may
    have to ask twice."""

    url: str
    subscription_id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class StartTaskWish:
    """What is to be started with a lease: one of both."""

    stack: StackRequest | None = None
    webhook: WebhookWish | None = None


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The key that a client has given to a request, so that it may make the request again."""

    name: str
    fingerprint: str
    """A hash of the request and of who makes it: the same one is made again, or it is another one."""


@dataclass(frozen=True, slots=True)
class ClaimOffer:
    """What the offer does not say of the lease that it becomes."""

    name: str
    before_end: datetime | None = None
    id: str | None = field(default=None, compare=False)
    """The id of the claim, chosen by a caller that may have to ask twice."""


@dataclass(frozen=True, slots=True)
class UpdateLease:
    name: str | Unset = UNSET
    start: Moment | Unset = UNSET
    end: Moment | Unset = UNSET
    before_end: datetime | Unset = UNSET
    reservations: tuple[ReservationChange, ...] = ()


@dataclass(frozen=True, slots=True)
class AddedReservation:
    """A reservation that a lease is to get. Its caller has chosen its id, for it may have to ask twice."""

    id: str
    request: ReservationRequest


@dataclass(frozen=True, slots=True)
class ReservationsChange:
    """The reservations that a lease is to get, and the ids of those that it is to lose."""

    added: tuple[AddedReservation, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AvailabilityQuestion:
    """A question: when, and for how long, could these reservations be had together?"""

    reservations: tuple[ReservationRequest, ...]
    start: Moment
    """The earliest start that would do."""
    duration: timedelta
    """The wanted duration, in whole minutes."""
    latest_start: datetime | None = None
    shortest: timedelta | None = None
    """The shortest duration that would do; None where only the wanted one does."""
    alternatives: bool = False
    """Whether other requirements and other sizes would do as well. A manager of the version before does not
    look at it."""
