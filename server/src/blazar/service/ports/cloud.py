"""The port of the use cases to OpenStack: the facets of one cloud, and the values that describe its
objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from blazar.domain.resource import Inventory, PropertyValue


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """A compute host as Nova describes it; ``facts`` holds all of it under the names of API 1.0's host
    fields."""

    uuid: str
    """Nova's id of it, which no other hypervisor has."""
    number: str | None
    """The id that Nova knew it by before microversion 2.53. Each cell counts its own hypervisors, so another
    one may have it too. A list does not tell it: None."""
    hypervisor_hostname: str
    service_name: str
    facts: Mapping[str, PropertyValue]
    is_up: bool = True
    """Whether its nova-compute reports, as far as Nova knows."""
    is_enabled: bool = True
    """Whether new servers may be placed on it."""


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
    is_being_deleted: bool = False
    """Whether Nova has accepted the deletion, and is at it."""
    created: str | None = None
    """When, as Nova writes it: a later moment is a greater text."""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewServer:
    """What a server is booted from."""

    name: str
    image_id: str
    flavor_id: str
    networks: str | tuple[str, ...] = "none"
    """The networks' ids, or ``auto`` or ``none``."""
    key_name: str | None = None
    user_data: str | None = field(default=None, repr=False)
    """In base64. It is a secret."""
    security_groups: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


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
    """The sizes of a server: ``ram`` and ``swap`` in MiB, ``disk`` (root) and ``ephemeral`` in GiB."""

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
class ServerDetails:
    """One server, as Nova shows it by itself."""

    id: str
    name: str
    status: str
    """Such as ACTIVE, SHUTOFF or SHELVED_OFFLOADED."""
    flavor: Flavor
    """The sizes that the server has, whatever became of the flavor since; without the flavor's id."""
    task_state: str | None = None
    """What Nova is doing to it; None where it does nothing."""
    host: str | None = None
    """The compute service host; None of a server that has none, and where the credentials may not see it."""
    project_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_locked: bool = False
    fault: str | None = None
    """Why it is in status ERROR."""
    tags: frozenset[str] = frozenset()
    boots_from_volume: bool = False
    """Whether its disk is a volume. Of such a server Nova makes no image, but a snapshot of the volume, in
    the project of the caller."""


@dataclass(frozen=True, slots=True)
class ChangedServer:
    """A server as lists of what has changed show it."""

    id: str
    name: str
    status: str
    project_id: str
    user_id: str
    flavor: str
    """The name that its flavor had."""
    image_id: str | None = None
    """None where it was booted from a volume."""
    hints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The scheduler hints that its user booted it with, each with its values: Nova keeps a list also where
    one text was sent."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    host: str | None = None
    """The compute service host; None of a server that has none."""


@dataclass(frozen=True, slots=True)
class ChangedServers:
    """Servers that have changed, those first that changed first."""

    servers: Sequence[ChangedServer]
    until: datetime | None = None
    """When the last of them changed, where there are more; None where these are all."""


@dataclass(frozen=True, slots=True)
class Image:
    """A Glance image; ``status`` is such as queued, saving or active."""

    id: str
    name: str
    status: str
    project_id: str | None = None
    """The project that has it; None where it is not known."""


SHELVED_SUFFIX = "-shelved"
"""What the name of an image ends with that Nova makes of a server that is shelved."""


@dataclass(frozen=True, slots=True)
class ShelvedImage:
    """An image that Nova made when the service had a server shelved."""

    id: str
    server_id: str


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """A Nova server group; ``policy`` is affinity, anti-affinity or one of their soft kinds."""

    id: str
    name: str
    policy: str
    project_id: str | None = None


LEASE_HINT = "lease_params"
"""The scheduler hint by which a user says at the boot from when until when a server is to run."""
PREEMPTIBLE_SPEC = "blazar:preemptible"
TRUE_WORDS = frozenset({"1", "t", "true", "on", "y", "yes"})
"""What the filter in nova-scheduler takes for true."""


class MakesWay(StrEnum):
    """What becomes of a preemptible server where a lease needs its host."""

    DELETED = "deleted"
    SHELVED = "shelved"
    """It keeps its disk and its addresses, and its user may unshelve it."""


SHELVE = "shelve"
"""The value of ``PREEMPTIBLE_SPEC`` in flavors whose servers are shelved."""


def makes_way(extra_specs: Mapping[str, str]) -> MakesWay | None:
    """Return how the servers of a flavor with these extra specs make way; None where they are not
    preemptible."""
    word = extra_specs.get(PREEMPTIBLE_SPEC, "").strip().lower()
    if word == SHELVE:
        return MakesWay.SHELVED
    return MakesWay.DELETED if word in TRUE_WORDS else None


class Compute(Protocol):
    """Nova. Every method may raise CloudUnavailable (try again later) or CloudRefused (Nova says no)."""

    def find_hypervisor(self, reference: str) -> Hypervisor | None:
        """Return the hypervisor with this hypervisor_hostname, or with this number; exact, never by pattern.
        Raises MultipleHostsFound where hypervisors of several cells have the number."""
        ...

    def hypervisors(self) -> Sequence[Hypervisor]:
        """Return all hypervisors, without their numbers: a few requests, however many there are."""
        ...

    def servers_on(self, host: str) -> Sequence[Server]:
        """Return the servers of all projects on a compute service host."""
        ...

    def preemptible_servers_on(self, host: str) -> Mapping[MakesWay, Sequence[Server]]:
        """Return the preemptible servers of all projects on a compute service host by how they make way, by
        the extra specs that their flavors had when they were booted."""
        ...

    def bounded_servers_on(self, host: str) -> Sequence[Server]:
        """Return the servers of all projects on a compute service host that were booted with the hint
        ``LEASE_HINT``, so that they have an end."""
        ...

    def servers_of(self, flavor_id: str) -> Sequence[Server]:
        """Return the servers of all projects that were booted from a flavor; none for a flavor that is not
        there."""
        ...

    def changed_servers(self, since: datetime) -> ChangedServers:
        """Return the servers of all projects that Nova has changed since then, without those that are
        deleted: some of them, where there are very many. ``until`` is later than ``since`` then."""
        ...

    def deleted_servers(self, since: datetime) -> Sequence[str]:
        """Return the ids of servers of all projects that Nova has deleted since then: of the last ones, where
        there are very many."""
        ...

    def boot_server(self, new: NewServer) -> str:
        """Ask Nova for a server in the project of these credentials, a new one each time. Return its id."""
        ...

    def delete_server(self, server_id: str) -> None:
        """Ask for the deletion. A server that is gone already is no error."""
        ...

    def snapshot_server(self, server: Server, image_name: str) -> None: ...

    def server(self, server_id: str) -> ServerDetails | None:
        """Return a server; None where there is none that these credentials may see."""
        ...

    def is_server_gone(self, server_id: str) -> bool:
        """Return whether there is no such server any more, of any project. Raises CloudUnavailable where its
        cell does not answer, CloudRefused where these credentials may not see the servers of all projects: a
        server that is not seen may then be there. For administrators."""
        ...

    # The following ask Nova for something, which it does later: ``server`` tells when. A server that is gone
    # is no error; one whose state does not allow it is CloudRefused.

    def shelve_server(self, server_id: str) -> None:
        """Ask Nova to shelve a server, which leaves its host then or later, as Nova is configured."""
        ...

    def offload_server(self, server_id: str) -> None:
        """Ask Nova to take a server that is SHELVED from its host. For administrators."""
        ...

    def unshelve_server(self, server_id: str, host: str) -> None:
        """Ask Nova to bring a server that is SHELVED_OFFLOADED up on a host, whatever zone it was in before.
        For administrators.

        Where the scheduler does not let it onto the host, it stays as it is."""
        ...

    def lock_server(self, server_id: str) -> None:
        """Keep all but administrators from changing or deleting a server, until it is unlocked. Done at
        once."""
        ...

    def unlock_server(self, server_id: str) -> None: ...

    def suspend_server(self, server_id: str) -> None: ...

    def attach_volume(self, server_id: str, volume_id: str) -> None:
        """Have Nova let a server have a volume, which takes time; from then on the volume is not available.
        Raises CloudRefused where it is not, or the server is gone or in no status for it."""
        ...

    def detach_volume(self, server_id: str, volume_id: str) -> None:
        """Have Nova take a volume from a server, which takes time; where it has it not, nothing is done.
        Raises CloudRefused where the server is in no status for it, or the volume is its first disk."""
        ...

    def stop_server(self, server_id: str) -> None: ...

    def create_image(self, server_id: str, name: str, properties: Mapping[str, str]) -> None:
        """Ask Nova for an image of a server, which has the properties from the beginning."""
        ...

    def set_server_metadata(self, server_id: str, key: str, value: str) -> None:
        """Set one key of a server's metadata at once."""
        ...

    def remove_server_metadata(self, server_id: str, key: str) -> None:
        """Remove one key of a server's metadata; one that is not there is no error."""
        ...

    def servers_with_tag(self, tag: str) -> Sequence[Server]:
        """Return the servers of all projects that have a tag. For administrators."""
        ...

    def add_server_tag(self, server_id: str, tag: str) -> None:
        """Give a server a tag; one that it has already, and a server that is gone, are no error. Raises
        CloudRefused where its state does not allow it, or it has as many as Nova lets it have."""
        ...

    def remove_server_tag(self, server_id: str, tag: str) -> None:
        """Take a tag from a server; one that it does not have is no error. Raises CloudRefused where its
        state does not allow it."""
        ...

    def aggregate(self, aggregate_id: int) -> Aggregate | None: ...

    def find_aggregate(self, name: str) -> Aggregate | None: ...

    def aggregates(self) -> Sequence[Aggregate]: ...

    def create_aggregate(
        self, name: str, availability_zone: str | None, metadata: Mapping[str, str]
    ) -> Aggregate:
        """Create an aggregate of this name with this metadata, and return it. One that exists already is
        completed and returned."""
        ...

    def remove_metadata(self, aggregate_id: int, keys: Sequence[str]) -> None:
        """Remove keys from the metadata of an aggregate; those that are not there, and an aggregate that is
        gone, are no error."""
        ...

    def add_host(self, aggregate_id: int, host: str) -> None:
        """Add a host; one that is a member already is no error. Raises CloudUnavailable where Nova won't have
        it yet (it is in another zone), CloudRefused where there is no such host or aggregate."""
        ...

    def remove_host(self, aggregate_id: int, host: str) -> None:
        """Remove a host; one that is no member is no error."""
        ...

    def refresh_aggregate(self, aggregate: Aggregate) -> None:
        """Have Nova tell its schedulers the hosts of an aggregate as they are now; one that is gone is no
        error.

        Each change of an aggregate tells the schedulers all of its hosts as that request knows them. Of
        changes that come at once, the last one told may not know the others."""
        ...

    def delete_aggregate(self, aggregate_id: int) -> None:
        """Delete an aggregate, which must be empty; one that is gone already is no error."""
        ...

    def flavor(self, flavor_id: str) -> Flavor | None:
        """Return the flavor with its extra specs; None where there is none that these credentials may see."""
        ...

    def flavors(self) -> Sequence[Flavor]:
        """Return all flavors, public and private, with their extra specs: a few requests, however many there
        are."""
        ...

    def create_flavor(self, flavor: Flavor) -> None:
        """Make the flavor and set its extra specs; one with this id that exists already gets the extra
        specs."""
        ...

    def delete_flavor(self, flavor_id: str) -> None:
        """Delete a flavor; one that is gone already is no error, and its servers are not touched."""
        ...

    def flavor_projects(self, flavor_id: str) -> frozenset[str]:
        """Return the projects that may use a private flavor; none for a flavor that is public or not
        there."""
        ...

    def grant_flavor(self, flavor_id: str, project_id: str) -> None:
        """Let a project use a flavor; one that may use it already is no error."""
        ...

    def revoke_flavor(self, flavor_id: str, project_id: str) -> None:
        """Take a flavor from a project. A project that may not use it, or a flavor that is gone, is no
        error."""
        ...

    def create_server_group(self, name: str, policy: str) -> ServerGroup:
        """Create a new group each time, in the project of these credentials: several groups may have one
        name."""
        ...

    def server_groups(self, name: str | None = None) -> Sequence[ServerGroup]:
        """Return the groups of this name, or all groups, of all projects."""
        ...

    def delete_server_group(self, group_id: str) -> None:
        """Delete a server group; one that is gone already is no error."""
        ...


class Placement(Protocol):
    """Placement. Raises as Compute does."""

    def provider(self, name: str) -> Provider | None:
        """Return the provider of this name, with its traits and its inventories."""
        ...

    def ensure_reservation_provider(self, hypervisor_hostname: str) -> None:
        """Make the provider ``blazar_<hypervisor_hostname>`` below the compute node's, unless it is there."""
        ...

    def remove_reservation_provider(self, hypervisor_hostname: str) -> bool:
        """Remove the provider; false where there is none. Raises CloudRefused where it is in use.

        For operators only: nova-compute remembers the providers below its own for ``[compute]
        resource_provider_association_refresh`` seconds (300 by default), asks Placement at each boot for the
        allocations of each, and fails the boot where one is gone. So a provider stays with its host, empty,
        also when the host is deregistered. Inventories may come and go: Nova does not ask for them at a boot.
        Nor do Nova's aggregates matter, for the providers of reservations are in none of Placement's."""
        ...

    def reservation_providers(self) -> Sequence[str]:
        """Return the hypervisor_hostname of each compute node that has a provider ``blazar_<its name>``
        below its own: one request, however many there are."""
        ...

    def reserved_slots(self, hypervisor_hostname: str) -> Mapping[str, int]:
        """Return the totals of the provider ``blazar_<hypervisor_hostname>`` by resource class; none where
        there is no such provider."""
        ...

    def resource_classes(self) -> Sequence[str]:
        """Return the names of all resource classes."""
        ...

    def ensure_resource_class(self, name: str) -> None:
        """Make the resource class, unless it is there."""
        ...

    def remove_resource_class(self, name: str) -> None:
        """Remove a resource class; one that is gone already is no error. Raises CloudUnavailable while a
        provider has an inventory of it."""
        ...

    def set_reserved_slots(self, hypervisor_hostname: str, resource_class: str, total: int) -> None:
        """Make ``total`` the inventory of the class on that provider, which is made where it is not there;
        with 0 the inventory is removed. Raises CloudUnavailable where it is to be removed and still in
        use."""
        ...


@dataclass(frozen=True, slots=True)
class Segment:
    """What a network lies on, of which there is one in the cloud: a VLAN of a physical network, or a tunnel
    with a number of its own."""

    network_type: str
    physical_network: str | None
    segmentation_id: int


@dataclass(frozen=True, slots=True)
class CloudNetwork:
    """A Neutron network. Its ``segment`` is shown to administrators only."""

    id: str
    name: str
    is_external: bool
    project_id: str = ""
    description: str = ""
    tags: frozenset[str] = frozenset()
    segment: Segment | None = None


@dataclass(frozen=True, slots=True)
class NetworkPort:
    """A port of a network; ``owner`` is Neutron's word for what it serves, such as
    ``network:router_interface``, and ``device_id`` names that."""

    id: str
    network_id: str
    owner: str = ""
    device_id: str = ""
    project_id: str = ""
    created_at: datetime | None = None
    """None where Neutron does not tell."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """A range of addresses on a network; ``pools`` are the parts, first and last address, that Neutron gives
    out itself."""

    id: str
    cidr: str
    gateway: str | None
    pools: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FloatingIP:
    """A floating IP that a project has; ``port_id`` is the port that it leads to."""

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
        """Return the network; None where there is none that these credentials may see."""
        ...

    def networks_on(
        self, network_type: str, physical_network: str | None, segmentation_id: int | None = None
    ) -> Sequence[CloudNetwork]:
        """Return the networks of this type, of all projects, that lie on the physical network: on this
        segment, or where it is None on any one."""
        ...

    def create_network(self, segment: Segment, name: str, project_id: str, description: str) -> CloudNetwork:
        """Make a network on the segment, for the project. Raises CloudRefused where one is on it already."""
        ...

    def set_network_tags(self, network_id: str, tags: Sequence[str]) -> None:
        """Replace all tags; a network that is gone is no error."""
        ...

    def ports(self, network_id: str) -> Sequence[NetworkPort]:
        """Return all ports of a network; none of one that is not there."""
        ...

    def ports_of(self, project_id: str) -> Sequence[NetworkPort]:
        """Return all ports of a project, on whichever networks."""
        ...

    def port_limit(self, project_id: str) -> int:
        """Return how many ports a project may have, -1 for any number; all of ``ports_of`` count."""
        ...

    def set_port_limit(self, project_id: str, limit: int) -> None:
        """Set how many ports a project may have, -1 for any number; it may be less than it has."""
        ...

    def delete_port(self, port_id: str) -> None:
        """Delete a port, with a server or not; one that is gone is no error. Raises CloudRefused for one that
        is a router's."""
        ...

    def remove_router_interface(self, port: NetworkPort) -> None:
        """Remove the interface of a router that the port is, and the router's routes over its network; one
        that is gone is no error. Raises CloudRefused where floating IPs need it."""
        ...

    def delete_network(self, network_id: str) -> None:
        """Delete a network with its subnets; one that is gone is no error. Raises CloudRefused where ports
        are in use on it."""
        ...

    def subnets(self, network_id: str) -> Sequence[Subnet]:
        """Return the subnets of a network; none of one that is not there."""
        ...

    def is_address_used(self, network_id: str, address: str) -> bool:
        """Return whether anything on the network has the address: a floating IP, a router, a server."""
        ...

    def floating_ip(self, network_id: str, address: str) -> FloatingIP | None:
        """Return the floating IP at this address, of whichever project; None where there is none."""
        ...

    def floating_ips(self, network_id: str, tags: Sequence[str]) -> Sequence[FloatingIP]:
        """Return the floating IPs on the network that have all of the tags; without tags all of them."""
        ...

    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, description: str
    ) -> FloatingIP:
        """Return the floating IP at this address: one that exists already, of whichever project, or a new
        one. Raises CloudRefused where something else has the address."""
        ...

    def set_floating_ip_tags(self, floating_ip_id: str, tags: Sequence[str]) -> None:
        """Replace all tags; a floating IP that is gone is no error."""
        ...

    def disassociate_floating_ip(self, floating_ip_id: str) -> None:
        """Let it lead to no port any more; one that is gone is no error."""
        ...

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        """Delete a floating IP; one that is gone already is no error."""
        ...


class Images(Protocol):
    """Glance. Raises as Compute does."""

    def image(self, image_id: str) -> Image | None:
        """Return the image; None where there is none that these credentials may see."""
        ...

    def images_with(self, name: str, value: str, project_id: str | None = None) -> Sequence[Image]:
        """Return the images that these credentials may see and whose property of this name has the value.
        With ``project_id`` only those of this project and of the service: any project may give its images
        such a property."""
        ...

    def hand_over(self, image_id: str, project_id: str) -> None:
        """Give an image to the project. Where Glance does not let these credentials change its owner, it is
        shared with the project, which sees it by its id and may accept it. It may be repeated, and an image
        that is gone is no error. Raises CloudRefused where neither is allowed."""
        ...

    def mark_shelved(self, server_id: str) -> None:
        """Mark the images that Nova made when the service's own user had this server shelved, as made so in
        this region. A server that boots from a volume has none. It may be repeated."""
        ...

    def marked_shelved(self) -> Iterator[ShelvedImage]:
        """Yield the images that ``mark_shelved`` has marked in this region and that still are the service's,
        but no protected ones. Two pages of them are in memory at a time, and those that were yielded may be
        deleted."""
        ...

    def delete_image(self, image_id: str) -> None:
        """Delete an image; one that is gone is no error. Raises CloudRefused where it is protected or in
        use."""
        ...


@dataclass(frozen=True, slots=True)
class VolumeType:
    """A volume type of Cinder."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of Cinder; it can be deleted while its status is ``available`` or ``error``."""

    id: str
    volume_type: str
    """The type's name."""
    gigabytes: int
    status: str
    created_at: datetime
    name: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    attached_to: tuple[str, ...] = ()
    """The servers that have it, by id."""


@dataclass(frozen=True, slots=True)
class NewVolume:
    """What a volume is made from; it is empty where there is neither an image nor a snapshot."""

    name: str
    volume_type: str
    """Its id or name."""
    gigabytes: int
    image_id: str | None = None
    snapshot_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeSnapshot:
    """A snapshot of a volume. The volume is not deleted while there is one."""

    id: str
    volume_id: str
    gigabytes: int
    status: str
    metadata: Mapping[str, str] = field(default_factory=dict)


class Storage(Protocol):
    """Cinder. Raises as Compute does."""

    def volume_types(self) -> Sequence[VolumeType]:
        """Return the volume types that these credentials may see."""
        ...

    def volume_quota(self, project_id: str) -> Mapping[str, int]:
        """Return the limits of a project by Cinder's names for them: ``gigabytes`` is for all volumes,
        ``gigabytes_fast`` for those of the volume type ``fast``. -1 is no limit."""
        ...

    def set_volume_quota(self, project_id: str, limits: Mapping[str, int]) -> None:
        """Set these limits of a project; the others stay.

        Raises CloudRefused for a name that Cinder does not know, and for less than the project uses where it
        has a limit of its own already; it sets none then."""
        ...

    def volume_usage(self, project_id: str) -> Mapping[str, int]:
        """Return what a project uses, by the names of its limits. Cinder counts a volume until a moment after
        it is gone."""
        ...

    def volumes(self, project_id: str) -> Sequence[Volume]:
        """Return the volumes of a project, newest first."""
        ...

    def volumes_with(self, project_id: str, key: str, value: str) -> Sequence[Volume]:
        """Return the volumes of a project in whose metadata the key has the value, newest first."""
        ...

    def create_volume(self, new: NewVolume) -> str:
        """Have Cinder make a volume in the project of these credentials, which takes time. Return its id;
        from then on it is listed. It must not be repeated unseen: each request makes one.

        Raises CloudRefused also where the quota is exhausted."""
        ...

    def volume_fault(self, volume_id: str) -> str | None:
        """Return what Cinder tells these credentials of the last failure of a volume of their project; None
        where it tells nothing."""
        ...

    def delete_volume(self, volume_id: str) -> None:
        """Have Cinder delete a volume, which takes time; one that is gone is no error. Raises CloudRefused
        where it is in use, or has snapshots."""
        ...

    def snapshot(self, snapshot_id: str) -> VolumeSnapshot | None:
        """Return a snapshot; None where these credentials see none of this id."""
        ...

    def snapshots_of(self, volume_id: str) -> Sequence[VolumeSnapshot]:
        """Return the snapshots of a volume in the project of these credentials."""
        ...

    def create_snapshot(self, volume_id: str, name: str, metadata: Mapping[str, str]) -> None:
        """Have Cinder make a snapshot of a volume, also of one in use, which takes time; from then on it is
        listed. It must not be repeated unseen. Raises CloudRefused also where the quota is exhausted."""
        ...


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack of Heat. Its status says what Heat does or has done, such as ``CREATE_IN_PROGRESS``."""

    id: str
    name: str
    status: str
    reason: str = ""
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NewStack:
    """What a stack is made from: a template, or the address of one. Any of it may be secret."""

    name: str
    template: Mapping[str, Any] | None = field(default=None, repr=False)
    template_url: str | None = field(default=None, repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    environment: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_minutes: int | None = None
    tags: tuple[str, ...] = ()


class Orchestration(Protocol):
    """Heat. Raises as Compute does. All but ``is_offered`` is for users, and sees the stacks of their project
    only."""

    def is_offered(self) -> bool:
        """Return whether the cloud has a Heat, as far as the catalog tells."""
        ...

    def check_template(self, new: NewStack, project_id: str) -> None:
        """Have Heat look at the template and the environment, with a user's token for the project. Raises
        CloudRefused with what Heat has against them."""
        ...

    def stack(self, name: str) -> Stack | None:
        """Return the stack of this name; None where there is none, or it is deleted."""
        ...

    def create_stack(self, new: NewStack) -> str:
        """Have Heat make a stack, which takes time. Return its id. Raises CloudRefused where the project has
        one of this name."""
        ...

    def delete_stack(self, stack: Stack) -> None:
        """Have Heat delete a stack, which takes time; one that is gone is no error. One whose deletion has
        failed is tried again."""
        ...


@dataclass(frozen=True, slots=True)
class UnifiedLimits:
    """What Keystone keeps of the limits of a service, by their names; -1 for none."""

    registered: Mapping[str, int]
    """Of all projects that have none of their own."""
    own: Mapping[str, Mapping[str, int]]
    """By project."""


class Identity(Protocol):
    """Keystone. Raises as Compute does."""

    def endpoint(self) -> str:
        """Return Keystone's own address, as the catalog has it."""
        ...

    def own_token(self) -> str:
        """Return a token of these credentials. It is a secret."""
        ...

    def create_trust(
        self,
        trustor_id: str,
        project_id: str,
        roles: Sequence[str],
        expires_at: datetime,
        may_be_passed_on: bool = False,
    ) -> str:
        """Create a trust of these credentials' user to the service, which may then act as the user in the
        project with the roles (names), until ``expires_at`` or up to a day longer. Return its id.

        Where it ``may_be_passed_on``, another service that is called by it may make a trust of its own from
        it, as Heat does, if Keystone is configured so."""
        ...

    def is_trust_valid(self, trust_id: str) -> bool:
        """Return whether the service can act by the trust now: false where it, its user or one of the roles
        is gone."""
        ...

    def unified_limits(self, project_id: str | None = None) -> UnifiedLimits:
        """Return the limits of the reservation service in this region: the registered ones, and those of the
        project, or with None of all projects.

        Raises CloudUnavailable also where the service is not in the catalog, CloudRefused where its user has
        no role in the system scope."""
        ...

    def email(self, user_id: str) -> str | None:
        """Return the address that Keystone has of a user, as it is written there; None where there is none,
        or the user is disabled or gone. Raises CloudRefused where the service may not read users."""
        ...

    def delete_trust(self, trust_id: str) -> None:
        """Delete a trust; one that is gone already, or dead, is no error."""
        ...


class Cloud(Protocol):
    """The facets of one OpenStack cloud, on kept sessions; with the service's own credentials unless said
    otherwise."""

    @property
    def compute(self) -> Compute: ...
    @property
    def placement(self) -> Placement: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def network(self) -> Network: ...
    @property
    def images(self) -> Images: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def orchestration(self) -> Orchestration: ...

    @property
    def regions(self) -> Sequence[str]:
        """Return the names of its regions, the first one first; none where there is but one, without a
        name."""
        ...

    def in_region(self, region: str | None) -> Cloud:
        """Return the same cloud with the services of another region; None is the first one. Raises
        CloudUnavailable for a region that the operator does not name."""
        ...

    def as_user(self, token: str) -> Cloud:
        """Return the same cloud with the rights of a user's token. What these rights don't allow is
        CloudRefused."""
        ...

    def as_trustee(self, trust_id: str) -> Cloud:
        """Return the same cloud, acting as the user who made the trust. A trust that is no longer valid is
        CloudRefused at the first request."""
        ...

    def fenced(self, check: Callable[[], None]) -> Cloud:
        """Return the same cloud, where ``check`` is called before each request and may raise to prevent it: a
        manager that was asleep for longer than its claim must not act on it."""
        ...

    def for_request(self, seconds_left: Callable[[], float]) -> Cloud:
        """Return the same cloud, for a request whose caller waits for ``seconds_left``, which is asked at
        each call.

        No call takes longer, and all requests share a bounded number of calls to each service.
        Raises TooLate where no time is left, CloudUnavailable if the service does not answer in time or too
        many calls wait for it."""
        ...
