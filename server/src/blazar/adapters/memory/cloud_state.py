"""The contents of the cloud in memory, and the rights of its users."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from blazar.service.ports import (
    Aggregate,
    CloudNetwork,
    Flavor,
    FloatingIP,
    Hypervisor,
    Image,
    NetworkPort,
    NewVolume,
    Provider,
    Server,
    ServerGroup,
    Stack,
    Subnet,
    Volume,
    VolumeSnapshot,
    VolumeType,
)

USERS_MAY = frozenset(
    {
        "flavor",
        "create_server_group",
        "delete_server_group",
        "snapshot_server",
        "server",
        "delete_server",
        "shelve_server",
        "lock_server",
        "unlock_server",
        "suspend_server",
        "stop_server",
        "create_image",
        "set_server_metadata",
        "remove_server_metadata",
        "boot_server",
        "image",
        "images_with",
        "hand_over",
        "create_trust",
        "is_trust_valid",
        "delete_trust",
        "network",
        "subnets",
        "volume_types",
        "create_volume",
        "volume_fault",
        "delete_volume",
        "snapshot",
        "snapshots_of",
        "create_snapshot",
        "attach_volume",
        "detach_volume",
        "is_offered",
        "check_template",
        "stack",
        "create_stack",
        "delete_stack",
    }
)
"""The requests that need no administrator."""


@dataclass(frozen=True, slots=True)
class Actor:
    """A user other than the service."""

    user_id: str
    project_id: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trust:
    trustor: Actor
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Task:
    """What Nova is doing to a server: its task_state, and what the server is afterwards."""

    state: str
    after: Server


@dataclass(frozen=True, slots=True)
class MadeImage:
    image: Image
    properties: Mapping[str, str]
    project_id: str | None
    """None of the service's."""
    server_id: str = ""
    """The server that was shelved when Nova made it; empty where it was asked for."""
    is_marked: bool = False
    is_protected: bool = False
    members: frozenset[str] = frozenset()
    """The projects that it is shared with."""


@dataclass(frozen=True, slots=True)
class MadeStack:
    """A stack of Heat, and the parameters that it was made with."""

    stack: Stack
    project_id: str
    parameters: Mapping[str, Any]


@dataclass
class CloudState:
    """The state of the whole cloud. A thread holds ``lock`` while it changes it."""

    hypervisors: dict[str, Hypervisor] = field(default_factory=dict)
    """By hypervisor_hostname."""
    providers: dict[str, Provider] = field(default_factory=dict)
    aggregates: dict[int, Aggregate] = field(default_factory=dict)
    servers: dict[str, Server] = field(default_factory=dict)
    flavor_of: dict[str, str] = field(default_factory=dict)
    """The flavor's id by the server's."""
    undying: set[str] = field(default_factory=set)
    """Servers whose deletion has no effect."""
    hanging: set[str] = field(default_factory=set)
    immovable: set[str] = field(default_factory=set)
    """The servers whose live migration fails."""
    """Servers whose deletion is accepted, and then hangs."""
    slow: set[str] = field(default_factory=set)
    """Servers to which Nova does something only when ``MemoryCloud.settle`` is called."""
    tasks: dict[str, Task] = field(default_factory=dict)
    """What Nova is doing, by server."""
    server_metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    without_offload: bool = False
    """Nova leaves shelved servers on their hosts."""
    boot_fails: str | None = None
    """Why servers that are booted come into status ERROR; None where they don't."""
    hints: dict[str, dict[str, Sequence[str]]] = field(default_factory=dict)
    """By server."""
    changed: dict[str, datetime] = field(default_factory=dict)
    """When servers have changed."""
    deleted_servers: list[str] = field(default_factory=list)
    tags: dict[str, set[str]] = field(default_factory=dict)
    """By server."""
    image_of: dict[str, str] = field(default_factory=dict)
    """The image's id by the server's."""
    from_volume: set[str] = field(default_factory=set)
    """Servers whose disk is a volume."""
    user_data: dict[str, str | None] = field(default_factory=dict)
    """By server."""
    faults: dict[str, str] = field(default_factory=dict)
    """Why servers are in status ERROR."""
    without_server_quota: set[str] = field(default_factory=set)
    """The projects that can have no more servers."""
    public_images: dict[str, Image] = field(default_factory=dict)
    """Those that all may boot from, by id."""
    made_images: list[MadeImage] = field(default_factory=list)
    """Those that were asked for with properties; they are in ``images`` as well."""
    shelved_images: list[MadeImage] = field(default_factory=list)
    """Those of servers that were shelved."""
    keeps_owners: bool = False
    """Glance does not let the service give images to other projects: it can only share them."""
    images: list[str] = field(default_factory=list)
    snapshots_by: list[str | None] = field(default_factory=list)
    """Who made the images; None is the service."""
    flavors: dict[str, Flavor] = field(default_factory=dict)
    access: dict[str, set[str]] = field(default_factory=dict)
    """The projects that may use a private flavor, by its id."""
    groups: dict[str, ServerGroup] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    slots: dict[tuple[str, str], int] = field(default_factory=dict)
    """Totals by hypervisor_hostname and resource class."""
    networks: dict[str, CloudNetwork] = field(default_factory=dict)
    ports: dict[str, NetworkPort] = field(default_factory=dict)
    port_quotas: dict[str, int] = field(default_factory=dict)
    """The limits of projects that were set, by project."""
    checks_port_quotas: bool = False
    """Neutron takes no limit below what is used."""
    subnets: dict[str, list[Subnet]] = field(default_factory=dict)
    """By network."""
    floating_ips: dict[str, FloatingIP] = field(default_factory=dict)
    used_addresses: set[tuple[str, str]] = field(default_factory=set)
    """Network and address of whatever is no floating IP: routers, servers."""
    volume_types: list[VolumeType] = field(default_factory=list)
    volumes: dict[str, dict[str, Volume]] = field(default_factory=dict)
    """By project and id."""
    volume_quotas: dict[str, dict[str, int]] = field(default_factory=dict)
    """The limits of projects that were set, by project."""
    new_volumes: dict[str, NewVolume] = field(default_factory=dict)
    """What volumes were asked for as, by id."""
    volume_faults: dict[str, str] = field(default_factory=dict)
    """What Cinder tells of volumes that failed, by id."""
    volume_failures: list[str] = field(default_factory=list)
    """Why the next volumes that are made come into status error, one reason for each."""
    slow_volumes: bool = False
    """Cinder and Nova do with volumes what they were asked for only when ``MemoryCloud.settle_volumes`` is
    called."""
    attaching_fails: bool = False
    """Volumes that Nova attaches are available again soon after."""
    stuck_volumes: bool = False
    """Volumes never leave a server."""
    volume_snapshots: dict[str, VolumeSnapshot] = field(default_factory=dict)
    snapshot_fails: bool = False
    """Snapshots that are made come into status error."""
    stacks: dict[str, MadeStack] = field(default_factory=dict)
    without_heat: bool = False
    slow_stacks: bool = False
    """Heat does what it was asked for only when ``MemoryCloud.settle_stacks`` is called."""
    stack_fails: str | None = None
    """Why stacks that are made come into status CREATE_FAILED; None where they don't."""
    stack_stays: str | None = None
    """Why stacks that are deleted come into status DELETE_FAILED; None where they don't."""
    without_quota: set[str] = field(default_factory=set)
    """The projects that can have no more floating IPs and networks."""
    tokens: dict[str, Actor] = field(default_factory=dict)
    trusts: dict[str, Trust] = field(default_factory=dict)
    registered_limits: dict[str, int] = field(default_factory=dict)
    """Keystone's unified limits."""
    project_limits: dict[str, dict[str, int]] = field(default_factory=dict)
    gone_users: set[str] = field(default_factory=set)
    emails: dict[str, str | None] = field(default_factory=dict)  # by user
    last_id: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def servers_with(self, flavor_id: str) -> list[Server]:
        return [server for server in self.servers.values() if self.flavor_of.get(server.id) == flavor_id]

    def slots_in_use(self, host: str, resource_class: str) -> int:
        """Return how many servers on the host take one of the class."""
        key = f"resources:{resource_class}"
        flavors = (
            self.flavors.get(self.flavor_of.get(s.id, "")) for s in self.servers.values() if s.host == host
        )
        return sum(1 for flavor in flavors if flavor and flavor.extra_specs.get(key) == "1")


Called = Callable[[str], Actor | None]
"""Told of each request before it is carried out; who sends it. Raises where it must fail."""
