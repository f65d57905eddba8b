"""What the use cases need from the world: the database, the cloud, the clock, notifications, as Protocols.

Shipped implementations: ``adapters.db`` and ``adapters.memory`` for the database, ``adapters.openstack`` for the cloud.
One contract suite holds all implementations of a port to the same behaviour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from blazar.domain.errors import BlazarError, CloudUnavailable
from blazar.domain.event import Event
from blazar.domain.lease import Lease
from blazar.domain.resource import Allocation, Inventory, Pool, PropertyValue, Registration

T = TypeVar("T")


class Clock(Protocol):
    """The only reader of time, and the only one who waits for it to pass."""

    def now(self) -> datetime:
        """The current moment, aware, in UTC."""
        ...

    def pause(self, seconds: float) -> None:
        """Let this much time pass."""
        ...


# ---------------------------------------------------------------------------------------------------- the database


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
        by (time, what ends before what starts, id)."""
        ...

    def claim(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Compare and set: false where somebody else's claim is valid at ``now``, where another event of the same lease is
        claimed, or where the event is no longer open."""
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


# ------------------------------------------------------------------------------------------------------- the cloud


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """A compute host as Nova describes it; ``facts`` holds all of it under the names of API 1.0's host fields."""

    id: str
    hypervisor_hostname: str
    service_name: str
    facts: Mapping[str, PropertyValue]


@dataclass(frozen=True, slots=True)
class Provider:
    """A compute node as Placement describes it."""

    uuid: str
    traits: frozenset[str]
    inventory: Mapping[str, Inventory]


@dataclass(frozen=True, slots=True)
class Server:
    id: str
    name: str
    host: str | None
    status: str
    project_id: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A Nova host aggregate; ``id`` is Nova's integer."""

    id: int
    name: str
    availability_zone: str | None
    hosts: tuple[str, ...]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Flavor:
    """What a server of it gets: ``ram`` and ``swap`` in MiB, ``disk`` (root) and ``ephemeral`` in GiB."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int = 0
    swap: int = 0
    is_public: bool = True
    extra_specs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """A Nova server group; ``policy`` is affinity, anti-affinity or one of their soft kinds."""

    id: str
    name: str
    policy: str
    project_id: str | None = None


class Compute(Protocol):
    """Nova. Every method may raise CloudUnavailable (try again later) or CloudRefused (Nova says no)."""

    def find_hypervisor(self, reference: str) -> Hypervisor | None:
        """The hypervisor with this hypervisor_hostname, or with this numeric id; exact, never by pattern."""
        ...

    def servers_on(self, host: str) -> Sequence[Server]:
        """Servers of all projects on a compute service host."""
        ...

    def servers_of(self, flavor_id: str) -> Sequence[Server]:
        """Servers of all projects that were booted from a flavor; none for a flavor that is not there."""
        ...

    def delete_server(self, server_id: str) -> None:
        """Ask for the deletion; a server that is gone already is no error."""
        ...

    def snapshot_server(self, server: Server, image_name: str) -> None: ...

    def aggregate(self, aggregate_id: int) -> Aggregate | None: ...

    def find_aggregate(self, name: str) -> Aggregate | None: ...

    def aggregates(self) -> Sequence[Aggregate]: ...

    def create_aggregate(self, name: str, availability_zone: str | None, metadata: Mapping[str, str]) -> Aggregate:
        """The aggregate of this name with this metadata; one that exists already is taken as it is and completed."""
        ...

    def add_host(self, aggregate_id: int, host: str) -> None:
        """A host that is a member already is no error. Raises CloudUnavailable where Nova won't have it yet (it is in
        another zone), CloudRefused where there is no such host or aggregate."""
        ...

    def remove_host(self, aggregate_id: int, host: str) -> None:
        """A host that is no member is no error."""
        ...

    def delete_aggregate(self, aggregate_id: int) -> None:
        """The aggregate must be empty; one that is gone already is no error."""
        ...

    def flavor(self, flavor_id: str) -> Flavor | None:
        """The flavor with its extra specs; None where there is none that these credentials may see."""
        ...

    def create_flavor(self, flavor: Flavor) -> None:
        """Make the flavor and set its extra specs; one with this id that exists already gets the extra specs."""
        ...

    def delete_flavor(self, flavor_id: str) -> None:
        """One that is gone already is no error; its servers are not touched."""
        ...

    def flavor_projects(self, flavor_id: str) -> frozenset[str]:
        """The projects that may use a private flavor; none for a flavor that is public or not there."""
        ...

    def grant_flavor(self, flavor_id: str, project_id: str) -> None:
        """A project that may use it already is no error."""
        ...

    def revoke_flavor(self, flavor_id: str, project_id: str) -> None:
        """A project that may not use it, or a flavor that is gone, is no error."""
        ...

    def create_server_group(self, name: str, policy: str) -> ServerGroup:
        """Always a new one, in the project of these credentials: several groups may have one name."""
        ...

    def server_groups(self, name: str) -> Sequence[ServerGroup]:
        """The groups of this name, of all projects."""
        ...

    def delete_server_group(self, group_id: str) -> None:
        """One that is gone already is no error."""
        ...


class Placement(Protocol):
    """Placement. Raises as Compute does."""

    def provider(self, name: str) -> Provider | None:
        """The provider of this name, with its traits and its inventories."""
        ...

    def ensure_reservation_provider(self, hypervisor_hostname: str) -> None:
        """Make the provider ``blazar_<hypervisor_hostname>`` below the compute node's, unless it is there."""
        ...

    def remove_reservation_provider(self, hypervisor_hostname: str) -> None:
        """One that is gone already is no error."""
        ...

    def ensure_resource_class(self, name: str) -> None:
        """Make the resource class, unless it is there."""
        ...

    def remove_resource_class(self, name: str) -> None:
        """One that is gone already is no error. Raises CloudUnavailable while a provider has an inventory of it."""
        ...

    def set_reserved_slots(self, hypervisor_hostname: str, resource_class: str, total: int) -> None:
        """Make ``total`` the inventory of the class on that provider, which is made where it is not there; with 0 the
        inventory is removed. Raises CloudUnavailable where it is to be removed and still in use."""
        ...


@dataclass(frozen=True, slots=True)
class CloudNetwork:
    """A Neutron network."""

    id: str
    name: str
    is_external: bool


@dataclass(frozen=True, slots=True)
class Subnet:
    """A range of addresses on a network; ``pools`` are the parts, first and last address, that Neutron gives out itself."""

    id: str
    cidr: str
    gateway: str | None
    pools: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FloatingIP:
    """A floating IP that somebody has; ``port_id`` is the port that it leads to."""

    id: str
    network_id: str
    address: str
    project_id: str
    port_id: str | None = None
    description: str = ""
    tags: frozenset[str] = frozenset()


class Network(Protocol):
    """Neutron. Raises as Compute does."""

    def network(self, network_id: str) -> CloudNetwork | None:
        """The network; None where there is none that these credentials may see."""
        ...

    def subnets(self, network_id: str) -> Sequence[Subnet]:
        """The subnets of a network; none of one that is not there."""
        ...

    def is_address_used(self, network_id: str, address: str) -> bool:
        """Whether anything on the network has the address: a floating IP, a router, a server."""
        ...

    def floating_ip(self, network_id: str, address: str) -> FloatingIP | None:
        """The floating IP at this address, whoever has it."""
        ...

    def floating_ips(self, network_id: str, tags: Sequence[str]) -> Sequence[FloatingIP]:
        """Those on the network that have all of the tags."""
        ...

    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, description: str
    ) -> FloatingIP:
        """The floating IP at this address; one that exists already is taken as it is, whoever has it. Raises CloudRefused
        where something else has the address."""
        ...

    def set_floating_ip_tags(self, floating_ip_id: str, tags: Sequence[str]) -> None:
        """Replace all tags; a floating IP that is gone is no error."""
        ...

    def disassociate_floating_ip(self, floating_ip_id: str) -> None:
        """Let it lead to no port any more; one that is gone is no error."""
        ...

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        """One that is gone already is no error."""
        ...


class Identity(Protocol):
    """Keystone. Raises as Compute does."""

    def create_trust(self, trustor_id: str, project_id: str, roles: Sequence[str], expires_at: datetime) -> str:
        """A trust of these credentials' user to the service, which may then act as the user in the project with the
        roles (names), until ``expires_at`` or up to a day longer; its id."""
        ...

    def is_trust_valid(self, trust_id: str) -> bool:
        """Whether the service can act by it now: false where it, its user or one of the roles is gone."""
        ...

    def delete_trust(self, trust_id: str) -> None:
        """One that is gone already, or dead, is no error."""
        ...


class Cloud(Protocol):
    """The facets of one OpenStack cloud, on kept sessions; with the service's own credentials unless said otherwise."""

    @property
    def compute(self) -> Compute: ...
    @property
    def placement(self) -> Placement: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def network(self) -> Network: ...

    def as_user(self, token: str) -> Cloud:
        """The same cloud with the rights of a user's token. What these rights don't allow is CloudRefused."""
        ...

    def as_trustee(self, trust_id: str) -> Cloud:
        """The same cloud, acting as the user who made the trust. A trust that is no longer valid is CloudRefused at
        the first request."""
        ...

    def fenced(self, check: Callable[[], None]) -> Cloud:
        """The same cloud, where ``check`` is called before each request and may raise to prevent it: a manager that was
        asleep for longer than its claim must not act on it."""
        ...


# ----------------------------------------------------------------------------------------------------------- others


class Notifier(Protocol):
    def send(self, notice: Notice) -> None:
        """Deliver, or raise CloudUnavailable so that the relay tries again later."""
        ...
