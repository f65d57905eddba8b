"""The port of the use cases to the database: repositories inside transactions, claims on events, an
outbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from blazar.domain.lease.event import Event
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.domain.time import Interval
from blazar.service.ports.feeds import FeedRepository
from blazar.service.ports.lease_lists import LeasePage, LeaseQuery, ListPage
from blazar.service.ports.mails import MailRepository
from blazar.service.ports.maintenances import MaintenanceRepository
from blazar.service.ports.offers import OfferRepository
from blazar.service.ports.quotas import QuotaRepository
from blazar.service.ports.series import SeriesRepository
from blazar.service.ports.shares import ShareRepository
from blazar.service.ports.start_tasks import StartTaskRepository
from blazar.service.ports.subscriptions import SubscriptionRepository
from blazar.service.ports.utilizations import UtilizationRepository
from blazar.service.ports.waitlist import WaitlistRepository

T = TypeVar("T")

ANY_NUMBER = range(2**31 - 1)
"""Of attempts at an event."""

LONGEST_TEXT = 10_000
"""Characters of the longest explanation (a status reason, the reason of an event) that is stored; what is
longer is cut. In UTF-8 they take at most 40 kB, and a text column of MariaDB holds 64 kB."""


@dataclass(frozen=True, slots=True)
class KeptKey:
    """The key of the request that has created a lease. It is kept for as long as the lease."""

    project_id: str
    name: str
    fingerprint: str
    """The hash of the request."""
    lease_id: str


@dataclass(frozen=True, slots=True)
class LeaseHeading:
    """What a calendar tells of a lease, without reading all of it."""

    id: str
    name: str
    status: LeaseStatus
    project_id: str
    user_id: str


class LeaseRepository(Protocol):
    """Leases with their reservations, allocations and events. Reasons are cut to LONGEST_TEXT characters."""

    def get(self, lease_id: str) -> Lease | None: ...

    def get_many(self, lease_ids: Sequence[str]) -> Sequence[Lease]:
        """Return those of these leases that are there, oldest first."""
        ...

    def exists(self, lease_id: str) -> bool:
        """Return whether there is such a lease, by one cheap look: for those who wait until it is gone."""
        ...

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        """Return the leases of a project, or of all projects, oldest first (created_at, id)."""
        ...

    def page(self, page: ListPage, project_id: str | None = None) -> Sequence[Lease]:
        """Return a part of ``list``, without the allocations: a lease may have ten thousand, and no list
        shows them.

        A lease that is there from the first page to the last one is on exactly one of them, for its key never
        changes."""
        ...

    def find(self, query: LeaseQuery) -> LeasePage:
        """Return a page of the leases that are asked for, in the order that is asked for, without the
        allocations.

        A lease whose place and whose answer to the conditions stay the same from the first page to the last
        one is on exactly one of them, whatever comes and goes meanwhile."""
        ...

    def headings(self, lease_ids: Sequence[str]) -> Sequence[LeaseHeading]:
        """Return the headings of those of these leases that are there, in no order."""
        ...

    def add(self, lease: Lease, now: datetime) -> Lease:
        """Insert the lease, its reservations, allocations and events. Return them as stored: created_at is
        ``now``.

        Raises Stale where the id exists already."""
        ...

    def keep_key(self, key: KeptKey) -> None:
        """Keep the key with its lease. Raises Stale where the project has one of this name already."""
        ...

    def kept_key(self, project_id: str, name: str) -> KeptKey | None: ...

    def save(self, new: Lease, old: Lease, now: datetime) -> Lease:
        """Write the difference between ``old`` (as it was read) and ``new``: rows of the lease, its
        reservations, allocations and events that were changed, added or removed. Return the lease as stored:
        updated_at of changed rows is ``now``, the revision is ``old.revision + 1``.

        Raises Stale where the stored revision is no longer ``old.revision``."""
        ...

    def save_all(self, changes: Sequence[tuple[Lease, Lease]], now: datetime) -> None:
        """Write the difference of each pair: a lease as it is to be, and as it was read. ``save`` does so for
        one.

        Raises Stale where one of the stored revisions is another; the transaction must then be given up."""
        ...

    def remove(self, lease: Lease) -> None:
        """Delete the lease and all that belongs to it. Raises Stale as ``save`` does."""
        ...

    def ids_with_status(self, statuses: Sequence[str]) -> Sequence[str]: ...

    def ids_of_other_kinds(self, resource_types: Sequence[str]) -> Sequence[str]:
        """Return the ids of leases that are not TERMINATED and have a reservation of none of these types,
        sorted."""
        ...

    def count_over(self, before: datetime) -> int:
        """Return how many leases are over since ``before`` or earlier.

        Such a lease is TERMINATED, or in ERROR; its end has passed, and it was not changed since; no event
        of it is open; and nothing of it can be in the cloud: it has no trust, and each reservation was
        released, or has never started in a lease that is TERMINATED."""
        ...

    def over(self, before: datetime, limit: int) -> Sequence[str]:
        """Return the ids of leases that are over since ``before`` or earlier, as ``count_over`` counts
        them."""
        ...

    def remove_over(self, lease_ids: Sequence[str], before: datetime) -> int:
        """Delete those of these leases that are still over since ``before``, with all that belongs to them.
        Return how many."""
        ...

    def unfinished_reservations(self, reservation_ids: Sequence[str]) -> frozenset[str]:
        """Return those of these reservations whose lease is there and not TERMINATED: what is in the cloud
        for them is theirs."""
        ...

    def unfinished_on(self, resource_ids: Sequence[str], ending_by: datetime) -> Sequence[Allocation]:
        """Return the allocations on these resources that end at ``ending_by`` or earlier and whose
        reservation is not over yet (neither deleted, nor pending in a lease that is TERMINATED)."""
        ...

    def on_resources(self, resource_ids: Sequence[str], interval: Interval) -> Sequence[str]:
        """Return the ids of leases ahead (PENDING, STARTING, ACTIVE) that have an allocation on one of these
        resources in the interval, sorted."""
        ...

    def degraded(self) -> Sequence[str]:
        """Return the ids of degraded leases ahead (PENDING, STARTING, ACTIVE), sorted."""
        ...

    def starting(self, after: datetime, until: datetime) -> Sequence[str]:
        """Return the ids of PENDING leases that start after the first moment, and at the second one or
        earlier, by start and id."""
        ...


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """What has changed on a resource."""

    registration: Registration
    """The resource as it is now."""
    lease_ids: frozenset[str] | None
    """The leases that have changed something, where no more than that has changed; None where that is not
    known."""
    allocations: Sequence[Allocation]
    """All that these leases have there now; where they are not known, all that is reserved there."""


class ResourceRepository(Protocol):
    """Registered resources, their generations, and who occupies them."""

    def get(self, resource_id: str) -> Registration | None: ...

    def find(self, pool: Pool, name: str) -> Registration | None: ...

    def find_by_cloud_id(self, pool: Pool, cloud_id: str) -> Registration | None: ...

    def failed(self, pool: Pool) -> Sequence[Registration]:
        """Return the registrations of the pool that have a failure, those on probation too, in the order of
        ids."""
        ...

    def unreservable(self, pool: Pool) -> Sequence[Registration]:
        """Return the registrations of the pool that no lease may get, in the order of ids."""
        ...

    def list(self, pool: Pool, ids: Sequence[str] | None = None) -> Sequence[Registration]:
        """Return the registrations of the pool, or those with one of the ``ids``, in the order of ids:
        numeric ids by number."""
        ...

    def ids(self, pool: Pool, limit: int, after: str | None = None) -> Sequence[str]:
        """Return at most ``limit`` ids of the pool in the order of ``list``: those that follow ``after``,
        which need not be there; the first ones where it is None."""
        ...

    def page(self, pool: Pool, limit: int, after: str | None = None) -> Sequence[Registration]:
        """Return the registrations of ``ids``, without traits and inventory: a host has hundreds, and no list
        shows them."""
        ...

    def add(self, registration: Registration, now: datetime) -> Registration:
        """Insert, with the generation that the registration has. Return the registration as stored.

        Raises Stale where the id exists already, or the name or the cloud_id in the pool."""
        ...

    def save(self, registration: Registration, now: datetime) -> Registration:
        """Write cloud_id, facts, capabilities, traits, inventory, reservable and failure of a registration
        that was read, and raise the generation by one. Return the registration as stored; pool and name never
        change.

        Raises Stale where the stored generation is no longer ``registration.generation``, or the cloud_id is
        that of another resource of the pool."""
        ...

    def remove(self, resource_id: str, generation: int) -> None:
        """Remove the resource. Raises Stale where the stored generation is another."""
        ...

    def bump(self, generations: Mapping[str, int], now: datetime, lease_ids: Iterable[str] = ()) -> None:
        """Compare and raise: each resource must still have the generation given here; all are raised by one,
        or Stale is raised and none is (the transaction must then be given up).

        ``lease_ids`` are all leases, offers and maintenances of which the transaction changes what they have
        on these resources. Without them, who reads ``changes`` is not told."""
        ...

    def touch(self, resource_ids: Sequence[str], now: datetime, lease_ids: Iterable[str] = ()) -> None:
        """Raise the generation of each by one without comparing: something on them was given back.
        ``lease_ids`` are as ``bump`` has them."""
        ...

    def generations(self, pool: Pool, touched_since: datetime | None = None) -> Mapping[str, int]:
        """Return the generations by resource id; with ``touched_since`` only of those added or raised at that
        moment or later."""
        ...

    def occupancy(
        self, pool: Pool, ids: Sequence[str] | None = None
    ) -> Iterable[tuple[Registration, Sequence[Allocation]]]:
        """Return the resources with their allocations of leases that are not over, for the calendar."""
        ...

    def every(self, pool: Pool) -> Iterable[Registration]:
        """Return all resources of the pool, in any order. They are asked for when the first is used, and read
        as they are, so a pool of any size takes little memory: nothing else may be asked in the transaction
        until all are."""
        ...

    def reserved(self, pool: Pool) -> Iterable[Allocation]:
        """Return all allocations of leases that are not over on resources of the pool, in any order, read as
        ``every`` does. What was committed after ``every`` was read may be among them."""
        ...

    def changes(self, pool: Pool, known: Mapping[str, int | None]) -> Iterable[ResourceChange]:
        """Return what has changed on those of these resources that are there, since they had the generations
        given here; None is that of a resource which is not known yet.

        Which leases have changed something is known where each change since then told it, and these are not
        too many."""
        ...

    def allocations(
        self,
        pool: Pool,
        *,
        resource_ids: Sequence[str] | None = None,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        ending_after: datetime | None = None,
    ) -> Sequence[Allocation]:
        """Return the allocations that meet all of the given conditions, by resource, start and id.
        ``resource_ids`` are any of these resources."""
        ...

    def private_properties(self, resource_type: str) -> Mapping[str, PropertyRecord]:
        """Return the records of resource properties by name (private or not)."""
        ...

    def add_properties(self, resource_type: str, names: Iterable[str], now: datetime) -> None:
        """Make records for the names that have none yet; not private."""
        ...

    def set_property_private(
        self, resource_type: str, name: str, private: bool, now: datetime
    ) -> PropertyRecord | None:
        """Make a property private or public. Return the changed record, or None where there is none."""
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
    """A claim on one of the lease's events that was not given back, valid or not. ``token`` names its
    holder."""

    lease_id: str
    token: str
    until: datetime


class EventRepository(Protocol):
    """The engine's view on events: which are due, who works on them.

    A claim is neither taken, extended nor voided while another transaction has changed the lease and is not
    committed yet: LeaseLocked is raised at once, for the other one may have been suspended, and the engine
    has other leases to see to."""

    def due(self, now: datetime, limit: int, attempts: range = ANY_NUMBER) -> Sequence[Event]:
        """Return the open events with ``due <= now`` of leases that have no valid claim, by due time,
        precedence of the type, and id; only those that were tried as often as ``attempts`` says."""
        ...

    def put_off(self, event_id: str, token: str, now: datetime, due: datetime) -> None:
        """Try the event again at ``due``, as one that was tried before, and give the claim back. Raises as
        ``release_claim``."""
        ...

    def unreconciled(self, before: datetime, now: datetime, limit: int) -> Sequence[str]:
        """Return the ids of unclaimed ACTIVE leases that were last compared with the cloud, or else started,
        at ``before`` or earlier; first those that never were compared, then by that moment."""
        ...

    def claim_lease(
        self, lease_id: str, token: str, now: datetime, until: datetime, before: datetime
    ) -> bool:
        """Compare and set: false where the lease is claimed, or no longer one of ``unreconciled``. The claim
        is extended and given back with the lease's id in place of an event's. Raises LeaseLocked."""
        ...

    def mark_reconciled(self, lease_id: str, now: datetime) -> None:
        """Remember that the lease has been compared with the cloud."""
        ...

    def claim(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Compare and set: false where another claim is valid at ``now``, where another event of the same
        lease is claimed, or where the event is no longer open and due. Raises LeaseLocked."""
        ...

    def extend(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Extend the claim. Return false where it is lost. Raises LeaseLocked."""
        ...

    def release_claim(self, event_id: str, token: str, now: datetime) -> None:
        """Give the claim back in the transaction that writes the outcome. Raises ClaimLost where it is lost
        or expired, so that a manager that was asleep cannot write over its successor's work. An event deleted
        with its lease is no error as long as the claim was valid when the transaction began; call it before
        the lease is removed."""
        ...

    def claims(self) -> Sequence[StandingClaim]:
        """Return all claims that were not given back, valid or not."""
        ...

    def void(self, claim: StandingClaim) -> bool:
        """Forget the claim; false where it was extended, given back or taken over meanwhile. Raises
        LeaseLocked."""
        ...

    def bring_forward(self, now: datetime, retry: datetime, confirmation: datetime) -> int:
        """Undo what a clock that was ahead has put off, and return the number of these events. A retry later
        than ``retry`` is made at the event's own time, or ``now`` where the event is in progress. The
        engine's own work, which is always due at once, is due ``now``; that of a lease which is CREATING only
        where it is later than ``confirmation``."""
        ...

    def next_due(self, now: datetime) -> datetime | None:
        """Return when the next open event is due or the next claim of an open event expires; None where there
        is none."""
        ...

    def lag(self, now: datetime) -> float:
        """Return the seconds by which the oldest open, due, unclaimed event is late; 0.0 where none is. An
        event that was made after its time is late since then."""
        ...

    def waiting(self, now: datetime, limit: int) -> int:
        """Return how many events are open, due and unclaimed; ``limit`` at the most."""
        ...


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification that waits in the outbox."""

    id: int
    event_type: str
    payload: Mapping[str, Any]
    created_at: datetime
    matched: bool = False
    """It was compared with the subscriptions."""


class Outbox(Protocol):
    """Notifications that were committed together with what they tell, until the relay has delivered them and
    they were compared with the subscriptions, whichever comes last."""

    def put(self, event_type: str, payload: Mapping[str, Any], now: datetime) -> int:
        """Store a notification, and return its id."""
        ...

    def put_all(self, told: Sequence[tuple[str, Mapping[str, Any]]], now: datetime) -> None:
        """Store many notifications, event types and payloads, in this order."""
        ...

    def peek(self, limit: int) -> Sequence[Notification]:
        """Return the oldest ones that were not delivered, by id, taken or not."""
        ...

    def take(self, limit: int, now: datetime, until: datetime) -> Sequence[Notification]:
        """Take the oldest of them, by id, for the caller to deliver up to ``until``; none while another relay
        has some, so that they are delivered in order, and twice only where a relay died or was too
        slow. A relay that has them for more than twice as long as the caller would took them by a clock that
        was ahead, and does not count."""
        ...

    def unmatched(self, limit: int) -> Sequence[Notification]:
        """Return the oldest ones that were not compared with the subscriptions, by id, taken or delivered or
        not."""
        ...

    def mark_matched(self, ids: Sequence[int]) -> None:
        """Remember that these were compared with the subscriptions, and remove those that were delivered.
        Raises Stale where one of them was compared already, or is gone: what was found by the comparison must
        then be given up."""
        ...

    def give_back(self, ids: Sequence[int]) -> None:
        """Give back notifications that could not be delivered: every relay may try again at once."""
        ...

    def mark_delivered(self, ids: Sequence[int]) -> None:
        """Remember that these were delivered, and remove those that were compared with the subscriptions."""
        ...

    def remove(self, ids: Sequence[int]) -> None: ...

    def depth(self) -> int:
        """Return how many were not delivered."""
        ...


class ReportType(StrEnum):
    """What a usage filter may be told of a lease."""

    CREATED = "created"
    UPDATED = "updated"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Report:
    """What a usage filter is to be told of a lease. It waits until it is delivered."""

    filter: str
    lease_id: str
    type: ReportType
    documents: Mapping[str, Any]
    """The lease as it was, for the lease may be gone: see ``service.usage_documents``."""
    created_at: datetime
    only_if_absent: bool = False
    """The lease was allowed and is about to be stored. It is told only where that does not happen."""
    attempts: int = 0
    id: int = 0


LONGEST_DELAY = timedelta(hours=1)
"""By how much a report may be put off. One that is due later was put off by a clock that was ahead, and is
due now."""


class ReportRepository(Protocol):
    """Reports that were committed together with what they tell, until they are delivered."""

    def put(self, report: Report, due: datetime) -> None:
        """Store a report with a new id. The end of a lease replaces what was to be told only if the lease is
        absent."""
        ...

    def withdraw(self, filter: str, lease_id: str) -> None:
        """Remove what was to be told only if the lease is absent."""
        ...

    def is_any_due(self, filter: str, now: datetime) -> bool: ...

    def take(self, filter: str, limit: int, now: datetime, until: datetime) -> Sequence[Report]:
        """Take due reports to this filter, those first that are due longest. No other manager gets them
        before ``until``: then they are due again.

        Of each lease the oldest one only, so that a filter is told in order what becomes of a lease.
        Raises Stale where another manager was faster."""
        ...

    def put_off(self, report: Report, due: datetime) -> None:
        """Make a report due at another moment, with its number of attempts."""
        ...

    def remove(self, ids: Sequence[int]) -> None: ...

    def depth(self) -> int:
        """Return how many wait to be told, without those that are told only if the lease is absent."""
        ...


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """Something was taken from another database: its sort (host, floating IP, lease), its id there, and the
    one that it got here."""

    noun: str
    source_id: str
    target_id: str


class ImportRepository(Protocol):
    """What was taken from another database, so that nothing is taken twice."""

    def known(self, noun: str, source_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the ids here by those of the source, of what was taken already."""
        ...

    def add(self, record: ImportRecord, now: datetime) -> None:
        """Record it. Raises Stale where it was taken before."""
        ...


class CallRepository(Protocol):
    """The calls that were begun, so that one which the broker delivers twice is carried out once."""

    def begin(self, call_id: str, now: datetime) -> None:
        """Store that the call is begun. Raises Stale where it was begun before."""
        ...

    def forget(self, before: datetime) -> None:
        """Remove the calls that were begun before this moment."""
        ...


class DutyRepository(Protocol):
    """Work that is done from time to time, by one manager at a time."""

    def take(self, name: str, token: str, now: datetime, until: datetime, before: datetime) -> bool:
        """Take the duty up to ``until`` where it was done last at ``before`` or earlier.

        Return false where it is not time yet, or another manager has it. Who has it may take it again: it may
        not know that it has.

        What a clock that was ahead has written does not count: a duty that is held for more than twice as
        long as the caller would hold it, or that was done in the future."""
        ...

    def done_at(self, name: str) -> datetime | None:
        """Return when the duty was last done."""
        ...

    def extend(self, name: str, token: str, now: datetime, until: datetime) -> bool:
        """Hold the duty up to ``until``. Return false where it is lost or has expired."""
        ...

    def give_back(self, name: str, token: str, done_at: datetime | None) -> bool:
        """Give the duty back, as done at ``done_at``; as not done where that is None. Return false if it is
        lost."""
        ...


@dataclass(frozen=True, slots=True)
class Presence:
    """A program that runs, or ran until ``seen_at``. What a program of another version does not tell is
    None."""

    id: str
    """A new one for each process."""
    program: str
    host: str
    started_at: datetime
    seen_at: datetime
    version: str | None = None
    events: int | None = None
    """Events under way."""
    plans: int | None = None
    """Requests that wait for their turn to be planned."""
    late_seconds: float | None = None
    """By how much it was late with an event in the last minute, at most."""


class PresenceRepository(Protocol):
    """The programs that run."""

    def put(self, presence: Presence) -> None:
        """Store the presence in place of what was stored of the same process."""
        ...

    def remove(self, id: str) -> None:
        """Remove what is stored of a process, if anything is."""
        ...

    def forget(self, before: datetime) -> None:
        """Remove the processes that were last seen before this moment."""
        ...

    def list(self) -> Sequence[Presence]:
        """Return all, by program, host and start."""
        ...


class UnitOfWork(Protocol):
    """The repositories inside one transaction."""

    @property
    def leases(self) -> LeaseRepository: ...
    @property
    def offers(self) -> OfferRepository: ...
    @property
    def maintenances(self) -> MaintenanceRepository: ...
    @property
    def resources(self) -> ResourceRepository: ...
    @property
    def events(self) -> EventRepository: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def calls(self) -> CallRepository: ...
    @property
    def duties(self) -> DutyRepository: ...
    @property
    def reports(self) -> ReportRepository: ...
    @property
    def imports(self) -> ImportRepository: ...
    @property
    def presences(self) -> PresenceRepository: ...
    @property
    def quotas(self) -> QuotaRepository: ...
    @property
    def subscriptions(self) -> SubscriptionRepository: ...
    @property
    def series(self) -> SeriesRepository: ...
    @property
    def shares(self) -> ShareRepository: ...
    @property
    def feeds(self) -> FeedRepository: ...
    @property
    def waitlist(self) -> WaitlistRepository: ...
    @property
    def utilizations(self) -> UtilizationRepository: ...
    @property
    def mails(self) -> MailRepository: ...
    @property
    def start_tasks(self) -> StartTaskRepository: ...


class Database(Protocol):
    """Transactions. Raises CloudUnavailable(service='database') where the database does not answer, and
    OutcomeUnknown where it stopped answering in the middle of a commit."""

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """Begin a consistent view for reading; nothing is written."""
        ...

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        """Run ``work`` in one write transaction and commit; an exception rolls back and comes through. On a
        deadlock or a serialization failure ``work`` is run again (bounded, with jitter), so it must have no
        effect but on the database."""
        ...

    def takes_changes(self) -> bool:
        """Return false while its disk is full, or it is read-only, as far as this process has noticed."""
        ...
