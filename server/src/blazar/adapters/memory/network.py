"""Neutron in memory: networks with their ports, and the floating IPs of projects."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import replace

from blazar.adapters.memory.cloud_state import Called, CloudState
from blazar.domain.errors import CloudRefused
from blazar.service.ports import CloudNetwork, FloatingIP, NetworkPort, Segment, Subnet

INTERFACE = "network:router_interface"
UNLIMITED = -1
PORTS = 500
"""The number of ports that a project may have until it is given another one."""


class MemoryNetwork:
    """The Network port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def network(self, network_id: str) -> CloudNetwork | None:
        self._called("network")
        return self._state.networks.get(network_id)

    def networks_on(
        self, network_type: str, physical_network: str | None, segmentation_id: int | None = None
    ) -> Sequence[CloudNetwork]:
        self._called("networks_on")
        return [
            each
            for each in list(self._state.networks.values())
            if each.segment is not None
            and (each.segment.network_type, each.segment.physical_network) == (network_type, physical_network)
            and segmentation_id in (None, each.segment.segmentation_id)
        ]

    def create_network(self, segment: Segment, name: str, project_id: str, description: str) -> CloudNetwork:
        self._called("create_network")
        state = self._state
        with state.lock:
            if any(each.segment == segment for each in state.networks.values()):
                raise _refused(
                    f"Unable to create the network. Segment {segment.segmentation_id} is in use. (HTTP 409)"
                )
            if project_id in state.without_quota:
                raise _refused("Quota exceeded for resources: ['network']. (HTTP 409)")
            made = CloudNetwork(
                f"net-{state.next_id()}", name, False, project_id, description, segment=segment
            )
            state.networks[made.id] = made
            return made

    def set_network_tags(self, network_id: str, tags: Sequence[str]) -> None:
        self._called("set_network_tags")
        with self._state.lock:
            known = self._state.networks.get(network_id)
            if known is not None:
                self._state.networks[network_id] = replace(known, tags=frozenset(tags))

    def ports(self, network_id: str) -> Sequence[NetworkPort]:
        self._called("ports")
        return [each for each in list(self._state.ports.values()) if each.network_id == network_id]

    def ports_of(self, project_id: str) -> Sequence[NetworkPort]:
        self._called("ports_of")
        return self._ports_of(project_id)

    def port_limit(self, project_id: str) -> int:
        self._called("port_limit")
        return self._state.port_quotas.get(project_id, PORTS)

    def set_port_limit(self, project_id: str, limit: int) -> None:
        self._called("set_port_limit")
        if limit < UNLIMITED:
            raise _refused(f"Invalid input for port: {limit}. (HTTP 400)")
        if self._state.checks_port_quotas and 0 <= limit < len(self._ports_of(project_id)):
            raise _refused(f"Quota limit {limit} for port must not be less than is used. (HTTP 400)")
        self._state.port_quotas[project_id] = limit

    def _ports_of(self, project_id: str) -> Sequence[NetworkPort]:
        return [each for each in list(self._state.ports.values()) if each.project_id == project_id]

    def delete_port(self, port_id: str) -> None:
        self._called("delete_port")
        known = self._state.ports.get(port_id)
        if known is not None and known.owner == INTERFACE:
            raise _refused(f"Port {port_id} cannot be deleted directly via the port API. (HTTP 409)")
        self._state.ports.pop(port_id, None)

    def remove_router_interface(self, port: NetworkPort) -> None:
        self._called("remove_router_interface")
        self._state.ports.pop(port.id, None)

    def delete_network(self, network_id: str) -> None:
        self._called("delete_network")
        with self._state.lock:
            if any(each.network_id == network_id for each in self._state.ports.values()):
                raise _refused(f"Unable to complete operation on network {network_id}. (HTTP 409)")
            self._state.networks.pop(network_id, None)
            self._state.subnets.pop(network_id, None)

    def subnets(self, network_id: str) -> Sequence[Subnet]:
        self._called("subnets")
        return list(self._state.subnets.get(network_id, ()))

    def is_address_used(self, network_id: str, address: str) -> bool:
        self._called("is_address_used")
        return (network_id, address) in self._state.used_addresses or bool(self._at(network_id, address))

    def floating_ip(self, network_id: str, address: str) -> FloatingIP | None:
        self._called("floating_ip")
        return self._at(network_id, address)

    def floating_ips(self, network_id: str, tags: Sequence[str]) -> Sequence[FloatingIP]:
        self._called("floating_ips")
        on_network = [f for f in self._state.floating_ips.values() if f.network_id == network_id]
        return [f for f in on_network if f.tags >= set(tags)]

    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, description: str
    ) -> FloatingIP:
        self._called("create_floating_ip")
        state = self._state
        with state.lock:
            existing = self._at(network_id, address)
            if existing is not None:
                return existing
            subnet = next((s for s in state.subnets.get(network_id, ()) if s.id == subnet_id), None)
            if subnet is None or ipaddress.ip_address(address) not in ipaddress.ip_network(subnet.cidr):
                raise CloudRefused(
                    service="Neutron", reason=f"{address} is not valid on {network_id}. (HTTP 400)"
                )
            if (network_id, address) in state.used_addresses:
                raise CloudRefused(
                    service="Neutron", reason=f"IP address {address} already allocated. (HTTP 409)"
                )
            if project_id in state.without_quota:
                raise CloudRefused(
                    service="Neutron", reason="Quota exceeded for resources: ['floatingip']. (HTTP 409)"
                )
            made = FloatingIP(
                f"fip-{state.next_id()}", network_id, address, project_id, description=description
            )
            state.floating_ips[made.id] = made
            return made

    def set_floating_ip_tags(self, floating_ip_id: str, tags: Sequence[str]) -> None:
        self._called("set_floating_ip_tags")
        self._change(floating_ip_id, tags=frozenset(tags))

    def disassociate_floating_ip(self, floating_ip_id: str) -> None:
        self._called("disassociate_floating_ip")
        self._change(floating_ip_id, port_id=None)

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        self._called("delete_floating_ip")
        self._state.floating_ips.pop(floating_ip_id, None)

    def _at(self, network_id: str, address: str) -> FloatingIP | None:
        everyone = self._state.floating_ips.values()
        return next((f for f in everyone if (f.network_id, f.address) == (network_id, address)), None)

    def _change(self, floating_ip_id: str, **changes: object) -> None:
        with self._state.lock:
            known = self._state.floating_ips.get(floating_ip_id)
            if known is not None:
                self._state.floating_ips[floating_ip_id] = replace(known, **changes)  # type: ignore[arg-type]  # its own fields


def _refused(reason: str) -> CloudRefused:
    return CloudRefused(service="Neutron", reason=reason)
