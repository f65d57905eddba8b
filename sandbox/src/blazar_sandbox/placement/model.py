"""What are the things that Placement knows?"""

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
    """How much of one resource class a provider has."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2**31 - 1
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> float:
        """How much may be allocated in all."""
        return (self.total - self.reserved) * self.allocation_ratio

    def admits(self, amount: int, used: int) -> bool:
        """Tell whether ``amount`` more may be allocated when ``used`` is."""
        return (
            self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0 and used + amount <= self.capacity
        )


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider with all that is said about it."""

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
    """Somebody who has taken resources: by provider, by resource class."""

    uuid: str
    project_id: str
    user_id: str
    allocations: Mapping[str, Mapping[str, int]]
    generation: int = 1
    type: str = "unknown"


@dataclass(frozen=True, slots=True)
class Name:
    """A resource class or a trait of the operator's making."""

    name: str


@dataclass(frozen=True, slots=True)
class TraitQuery:
    """Which traits must be there, which must not, and of which sets at least one must be."""

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    any_of: tuple[frozenset[str], ...] = ()

    def admits(self, traits: frozenset[str]) -> bool:
        """Tell whether these traits fulfil the query."""
        return (
            self.required <= traits and not self.forbidden & traits and all(choice & traits for choice in self.any_of)
        )


NO_TRAITS = TraitQuery()
