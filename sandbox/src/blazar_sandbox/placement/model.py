"""The values that Placement keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

STANDARD_CLASSES = (
    "VCPU",
    "MEMORY_MB",
    "DISK_GB",
    "PCI_DEVICE",
    "SRIOV_NET_VF",
    "NUMA_SOCKET",
    "NUMA_CORE",
    "NUMA_THREAD",
    "NUMA_MEMORY_MB",
    "IPV4_ADDRESS",
    "VGPU",
    "VGPU_DISPLAY_HEAD",
    "NET_BW_EGR_KILOBIT_PER_SEC",
    "NET_BW_IGR_KILOBIT_PER_SEC",
    "PCPU",
    "MEM_ENCRYPTION_CONTEXT",
    "FPGA",
    "PGPU",
    "NET_PACKET_RATE_KILOPACKET_PER_SEC",
    "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
    "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The amount of one resource class that a provider has."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2**31 - 1
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> float:
        """The amount that may be allocated in total."""
        return (self.total - self.reserved) * self.allocation_ratio

    def admits(self, amount: int, used: int) -> bool:
        """Return whether ``amount`` may be allocated beside ``used``."""
        return (
            self.min_unit <= amount <= self.max_unit
            and amount % self.step_size == 0
            and used + amount <= self.capacity
        )


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider with its inventories, traits and aggregates."""

    uuid: str
    name: str
    root_uuid: str
    parent_uuid: str | None = None
    generation: int = 0
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer with its allocations by provider and resource class."""

    uuid: str
    project_id: str
    user_id: str
    allocations: Mapping[str, Mapping[str, int]]
    generation: int = 1
    type: str = "unknown"


@dataclass(frozen=True, slots=True)
class CustomName:
    """A custom resource class or a custom trait."""

    name: str


@dataclass(frozen=True, slots=True)
class TraitQuery:
    """Traits that are required, traits that are forbidden, and sets of which one trait is required."""

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    any_of: tuple[frozenset[str], ...] = ()

    def admits(self, traits: frozenset[str]) -> bool:
        """Return whether these traits match the query."""
        return (
            self.required <= traits
            and not self.forbidden & traits
            and all(choice & traits for choice in self.any_of)
        )


NO_TRAITS = TraitQuery()
