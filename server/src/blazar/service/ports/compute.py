"""The port to Nova: hypervisors, servers, aggregates, flavors and server groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from blazar.domain.resource import PropertyValue


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
    MIGRATED = "migrated"
    """It is moved to another host while it runs, and shelved where that cannot be done."""


WORDS = {"shelve": MakesWay.SHELVED, "migrate": MakesWay.MIGRATED}
"""The values of ``PREEMPTIBLE_SPEC`` in flavors whose servers are not deleted."""


def makes_way(extra_specs: Mapping[str, str]) -> MakesWay | None:
    """Return how the servers of a flavor with these extra specs make way; None where they are not
    preemptible."""
    word = extra_specs.get(PREEMPTIBLE_SPEC, "").strip().lower()
    return MakesWay.DELETED if word in TRUE_WORDS else WORDS.get(word)


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
        """Return the servers of all projects on a compute service host, without those that are offloaded
        and just leave it."""
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
        deleted or still being built: some of them, where there are very many. ``until`` is later than
        ``since`` then."""
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

    def migrate_server(self, server_id: str) -> None:
        """Ask for the move of a running server to another host, which the scheduler chooses; nothing where it
        does not exist. It is ``MIGRATING`` meanwhile, and where it was, as it was, when the move has failed.
        Raises CloudRefused where its status does not allow it."""
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
