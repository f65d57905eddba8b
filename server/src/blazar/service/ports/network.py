"""The port to Neutron: networks, segments, ports, subnets and floating IPs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


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
