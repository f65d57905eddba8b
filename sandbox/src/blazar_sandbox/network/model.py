"""The values that Neutron keeps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Net:
    """A network."""

    id: str
    name: str
    project_id: str
    created_at: datetime
    external: bool = False
    shared: bool = False
    description: str = ""
    tags: tuple[str, ...] = ()
    network_type: str = "vxlan"
    physical_network: str | None = None
    segmentation_id: int | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """A range of addresses that Neutron assigns by itself."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Subnet:
    """A range of addresses of a network."""

    id: str
    name: str
    network_id: str
    project_id: str
    cidr: str
    created_at: datetime
    gateway_ip: str | None = None
    pools: tuple[Pool, ...] = ()
    enable_dhcp: bool = True
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FixedIp:
    """An address of a port."""

    subnet_id: str
    ip_address: str


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a network."""

    id: str
    network_id: str
    project_id: str
    mac_address: str
    created_at: datetime
    name: str = ""
    device_id: str = ""
    device_owner: str = ""
    host: str = ""
    fixed_ips: tuple[FixedIp, ...] = ()
    security_groups: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Router:
    """A router, whose interfaces are ports; it routes nothing here."""

    id: str
    name: str
    project_id: str
    created_at: datetime
    description: str = ""
    routes: tuple[Mapping[str, str], ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FloatingIp:
    """An external address that can be moved between ports."""

    id: str
    project_id: str
    floating_network_id: str
    floating_ip_address: str
    port_of_address: str
    """The port in the external network that holds the address."""
    created_at: datetime
    updated_at: datetime
    port_id: str | None = None
    fixed_ip_address: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class SecurityGroup:
    """A security group, which has no rules here."""

    id: str
    name: str
    project_id: str
    created_at: datetime
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkQuota:
    """The limits that were set for a project, by name; -1 means none."""

    limits: Mapping[str, int]
