"""What the use cases need from the database: repositories inside transactions, claims on events, an outbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from blazar.domain.errors import BlazarError, CloudUnavailable
from blazar.domain.event import Event
from blazar.domain.lease import Lease
from blazar.domain.resource import Allocation, Pool, Registration

T = TypeVar("T")


class Stale(BlazarError):
    """Somebody else changed what this commit was decided on; decide again on fresh values."""

    code = "stale"
    template = "Changed by another request meanwhile"


class ClaimLost(BlazarError):
    """The claim on an event expired or is somebody else's by now: this manager must not act on it any more."""

    code = "claim_lost"
    template = "The claim on event {event} was lost"


class OutcomeUnknown(CloudUnavailable):
    """The database was lost while it committed: what was to be stored is either stored as a whole or not at all."""

    code = "outcome_unknown"
    template = "{service} is not available: {reason}; whether the change was stored is not known"


class LeaseRepository(Protocol):
    """Leases with their reservations, allocations and events."""

    def get(self, lease_id: str) -> Lease | None: ...

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        """Leases of a project, or of all projects, oldest first (created_at, id)."""
        ...

    def add(self, lease: Lease, now: datetime) -> None:
        """Insert the lease, its reservations, allocations and events; created_at is ``now``."""
        ...

    def save(self, new: Lease, old: Lease, now: datetime) -> None:
        """Write the difference between ``old`` (as it was read) and ``new``: rows of the lease, its reservations,
        allocations and events that were changed, added or removed. updated_at of changed rows is ``now``. Raises Stale where
        the stored revision is no longer ``old.revision``; the stored one becomes ``old.revision + 1``."""
        ...

    def remove(self, lease: Lease) -> None:
        """Delete the lease and all that belongs to it. Raises Stale as ``save`` does."""
        ...

    def ids_with_status(self, statuses: Sequence[str]) -> Sequence[str]: ...

    def unfinished_on(self, resource_ids: Sequence[str], ending_by: datetime) -> Sequence[Allocation]:
        """Allocations on these resources that end at ``ending_by`` or earlier and whose reservation is not over yet
        (neither deleted, nor pending in a lease that is TERMINATED)."""
        ...


class ResourceRepository(Protocol):
    """Registered resources, their generations, and who occupies them."""

    def get(self, resource_id: str) -> Registration | None: ...

    def find(self, pool: Pool, name: str) -> Registration | None: ...

    def list(self, pool: Pool, ids: Sequence[str] | None = None) -> Sequence[Registration]:
        """In the order of registration ids: numeric ids by number."""
        ...

    def add(self, registration: Registration, now: datetime) -> None:
        """Insert with generation 0. Raises Stale where the id exists already."""
        ...

    def save(self, registration: Registration, now: datetime) -> None:
        """Write facts, capabilities, traits, inventory and reservable, and raise the generation by one. Raises Stale
        where the stored generation is no longer ``registration.generation``."""
        ...

    def remove(self, resource_id: str, generation: int) -> None:
        """Raises Stale where the stored generation is another."""
        ...

    def bump(self, generations: Mapping[str, int], now: datetime) -> None:
        """Compare and raise: each resource must still have the generation given here; all are raised by one, or Stale is
        raised and none is (the transaction must then be given up)."""
        ...

    def touch(self, resource_ids: Sequence[str], now: datetime) -> None:
        """Raise the generation of each by one without comparing: something on them was given back."""
        ...

    def generations(self, pool: Pool, touched_since: datetime | None = None) -> Mapping[str, int]:
        """Generation by resource id; with ``touched_since`` only of those added or raised at that moment or later."""
        ...

    def occupancy(
        self, pool: Pool, ids: Sequence[str] | None = None
    ) -> Iterable[tuple[Registration, Sequence[Allocation]]]:
        """The resources with their allocations of leases that are not over, for the calendar."""
        ...

    def allocations(
        self,
        pool: Pool,
        *,
        resource_id: str | None = None,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        ending_after: datetime | None = None,
    ) -> Sequence[Allocation]:
        """Allocations that meet all of the given conditions, by resource, start and id."""
        ...

    def private_properties(self, resource_type: str) -> Mapping[str, PropertyRecord]:
        """The records of resource properties by name (private or not)."""
        ...

    def add_properties(self, resource_type: str, names: Iterable[str], now: datetime) -> None:
        """Make records for the names that have none yet; not private."""
        ...

    def set_property_private(
        self, resource_type: str, name: str, private: bool, now: datetime
    ) -> PropertyRecord | None:
        """The changed record, or None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class PropertyRecord:
    """A resource property that some host has or had."""

    id: str
    resource_type: str
    name: str
    private: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClaimedEvent:
    """An event that this manager may work on until ``until``; ``token`` proves it at the settlement."""

    event: Event
    token: str
    until: datetime


@dataclass(frozen=True, slots=True)
class StandingClaim:
    """A claim that was not given back, valid or not: on one of the lease's events, by whoever has the token."""

    lease_id: str
    token: str
    until: datetime


class EventRepository(Protocol):
    """The engine's view on events: which are due, who works on them."""

    def due(self, now: datetime, limit: int) -> Sequence[Event]:
        """Open events with ``due <= now`` that nobody holds a valid claim on, of leases none of whose events is claimed;
        by (time, precedence of its type, id)."""
        ...

    def claim(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Compare and set: false where somebody else's claim is valid at ``now``, where another event of the same lease is
        claimed, or where the event is no longer open and due."""
        ...

    def extend(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        """False where the claim is lost."""
        ...

    def settle(self, event_id: str, token: str, now: datetime) -> None:
        """Give the claim back in the transaction that writes the outcome. Raises ClaimLost where it is lost or expired, so
        that a manager that was asleep cannot write over its successor's work. An event deleted with its lease is no error
        as long as the claim was valid when the transaction began; call it before the lease is removed."""
        ...

    def claims(self) -> Sequence[StandingClaim]:
        """All claims that were not given back, valid or not."""
        ...

    def void(self, claim: StandingClaim) -> bool:
        """Forget the claim; false where it was extended, given back or taken over meanwhile."""
        ...

    def bring_forward(self, now: datetime, retry: datetime, confirmation: datetime) -> int:
        """Undo what a clock that was ahead has put off, and tell how many events it was. A retry later than ``retry`` is
        made at the event's own time, or ``now`` where the event is in progress. The engine's own work, which is always due
        at once, is due ``now``; that of a lease which is CREATING only where it is later than ``confirmation``."""
        ...

    def next_due(self, now: datetime) -> datetime | None:
        """When the next open event is due or the next claim of an open event expires; None where there is none."""
        ...

    def lag(self, now: datetime) -> float:
        """Seconds by which the oldest open, due, unclaimed event is late; 0.0 where none is."""
        ...


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification that waits in the outbox."""

    id: int
    event_type: str
    payload: Mapping[str, Any]
    created_at: datetime


class Outbox(Protocol):
    """Notifications that were committed together with what they tell, until the relay has delivered them."""

    def put(self, event_type: str, payload: Mapping[str, Any], now: datetime) -> int:
        """The id of the new one."""
        ...

    def peek(self, limit: int) -> Sequence[Notice]:
        """The oldest ones, by id, whoever delivers them."""
        ...

    def take(self, limit: int, now: datetime, until: datetime) -> Sequence[Notice]:
        """The oldest ones, by id, for the caller to deliver up to ``until``; none while somebody else has some of them, so
        that they are delivered in order, and twice only where a relay died or was too slow. Who has them for more than
        twice as long as the caller would took them by a clock that was ahead, and does not count."""
        ...

    def give_back(self, ids: Sequence[int]) -> None:
        """They were taken, and could not be delivered: anybody may try again at once."""
        ...

    def remove(self, ids: Sequence[int]) -> None: ...

    def depth(self) -> int: ...


class UnitOfWork(Protocol):
    """The repositories inside one transaction."""

    @property
    def leases(self) -> LeaseRepository: ...
    @property
    def resources(self) -> ResourceRepository: ...
    @property
    def events(self) -> EventRepository: ...
    @property
    def outbox(self) -> Outbox: ...


class Database(Protocol):
    """Transactions. Raises CloudUnavailable(service='database') where the database does not answer, and OutcomeUnknown
    where it stopped answering in the middle of a commit."""

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """A consistent view for reading; nothing is written."""
        ...

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        """Run ``work`` in one write transaction and commit; an exception rolls back and comes through. On a deadlock or a
        serialization failure ``work`` is run again (bounded, with jitter), so it must have no effect but on the database."""
        ...

    def takes_changes(self) -> bool:
        """False while its disk is full, or it is read-only, as far as this process has noticed."""
        ...
