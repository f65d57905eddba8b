"""The values that Nova keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

ZONE_KEY = "availability_zone"
DEFAULT_ZONE = "nova"
INTERNAL_ZONE = "internal"


@dataclass(frozen=True, slots=True)
class Host:
    """A compute host: its hypervisor and its nova-compute service, which have the same name here."""

    name: str
    id: int
    """Number of the hypervisor, which is its id before microversion 2.53."""
    uuid: str
    """Of the hypervisor and of its resource provider."""
    service_uuid: str
    host_ip: str
    vcpus: int
    memory_mb: int
    local_gb: int
    cpu_model: str = "Skylake-Server-IBRS"
    cpu_vendor: str = "Intel"
    cpu_features: tuple[str, ...] = ()
    disabled: bool = False
    disabled_reason: str | None = None
    forced_down: bool = False
    silent: bool = False
    """The service has stopped reporting: it is down without having been forced down."""
    aggregates: tuple[int, ...] = ()
    updated_at: datetime | None = None

    @property
    def is_up(self) -> bool:
        """Return whether the compute service is up."""
        return not (self.forced_down or self.silent)

    @property
    def takes_servers(self) -> bool:
        """Return whether the scheduler may choose the host."""
        return self.is_up and not self.disabled


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A set of hosts with metadata; each host stores the aggregates that it is in."""

    id: int
    uuid: str
    name: str
    metadata: Mapping[str, str]
    created_at: datetime
    updated_at: datetime | None = None

    @property
    def zone(self) -> str | None:
        """The availability zone that the aggregate defines, or None."""
        return self.metadata.get(ZONE_KEY)


@dataclass(frozen=True, slots=True)
class Counter:
    """The last number used; numbers of deleted objects are not used again."""

    last: int


@dataclass(frozen=True, slots=True)
class Flavor:
    """A size of servers."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int = 0
    swap: int = 0
    rxtx_factor: float = 1.0
    is_public: bool = True
    description: str | None = None
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    access: tuple[str, ...] = ()


class Status(StrEnum):
    """The status of a server."""

    BUILD = "BUILD"
    ACTIVE = "ACTIVE"
    ERROR = "ERROR"
    SHUTOFF = "SHUTOFF"
    PAUSED = "PAUSED"
    SUSPENDED = "SUSPENDED"
    SHELVED = "SHELVED"
    SHELVED_OFFLOADED = "SHELVED_OFFLOADED"
    DELETED = "DELETED"


class Pending(StrEnum):
    """The change of a server that is pending."""

    ACTIVE = "active"
    DELETED = "gone"
    SHELVED = "shelved"
    OFFLOADED = "offloaded"
    LEFT = "left"
    MIGRATED = "migrated"


@dataclass(frozen=True, slots=True)
class ServerFault:
    """The reason for a server's status ERROR."""

    code: int
    message: str
    created: datetime
    details: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A virtual machine."""

    id: str
    name: str
    project_id: str
    user_id: str
    flavor: Flavor
    created: datetime
    updated: datetime
    reservation_id: str
    status: Status = Status.BUILD
    task_state: str | None = None
    image_id: str = ""
    host: str = ""
    next_host: str = ""
    """The host that it is moved to."""
    launch_index: int = 0
    launched_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    key_name: str | None = None
    description: str | None = None
    user_data: str | None = None
    config_drive: str = ""
    locked: bool = False
    group_id: str | None = None
    pinned_zone: str | None = None
    security_groups: tuple[str, ...] = ()
    hints: Mapping[str, list[str]] = field(default_factory=dict)
    """The scheduler hints. As Nova does, each is kept as a list, also where one text was sent."""
    fault: ServerFault | None = None
    pending: Pending | None = None
    due: float | None = None
    """Time of the pending change, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Servers that are placed together, or apart."""

    id: str
    name: str
    project_id: str
    user_id: str
    policy: str
    max_per_host: int | None = None


@dataclass(frozen=True, slots=True)
class Keypair:
    """A public key of a user."""

    user_id: str
    name: str
    public_key: str
    fingerprint: str
    created_at: datetime
    type: str = "ssh"


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of a project; -1 means none."""

    project_id: str
    limits: Mapping[str, int]
