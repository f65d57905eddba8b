"""Neutron: networks, their subnets and ports, and floating IPs, as the Network port wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Any

from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.address import canonical_address
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.ports import CloudNetwork, FloatingIP, NetworkPort, Segment, Subnet

BASE = "/v2.0"
"""The catalog tells where Neutron is, not where its API's one version is."""

TYPE, PHYSICAL, NUMBER = (
    f"provider:{part}" for part in ("network_type", "physical_network", "segmentation_id")
)


class NeutronNetwork:
    """The Network port over Neutron's HTTP API.

    Everything is looked up by filter: an id that is none can then lead nowhere but to an empty list."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def network(self, network_id: str) -> CloudNetwork | None:
        found = self._list("networks", id=network_id)
        return _network(found[0]) if found else None

    def networks_on(
        self, network_type: str, physical_network: str | None, segmentation_id: int | None = None
    ) -> Sequence[CloudNetwork]:
        wanted = {TYPE: network_type, PHYSICAL: physical_network, NUMBER: segmentation_id}
        given = {name: str(value) for name, value in wanted.items() if value is not None}
        found = map(_network, self._list("networks", **given))
        # Not every plugin of Neutron filters by each of these.
        return [
            each
            for each in found
            if each.segment is not None
            and (each.segment.network_type, each.segment.physical_network) == (network_type, physical_network)
            and segmentation_id in (None, each.segment.segmentation_id)
        ]

    def create_network(self, segment: Segment, name: str, project_id: str, description: str) -> CloudNetwork:
        body: dict[str, Any] = {
            "name": name,
            "project_id": project_id,
            "description": description,
            TYPE: segment.network_type,
            NUMBER: segment.segmentation_id,
        }
        if segment.physical_network is not None:
            body[PHYSICAL] = segment.physical_network
        answer = self._api.post(f"{BASE}/networks", {"network": body})
        return _network((answer or {})["network"])

    def set_network_tags(self, network_id: str, tags: Sequence[str]) -> None:
        self._set_tags("networks", network_id, tags)

    def ports(self, network_id: str) -> Sequence[NetworkPort]:
        return [_port(raw) for raw in self._list("ports", network_id=network_id)]

    def ports_of(self, project_id: str) -> Sequence[NetworkPort]:
        return [_port(raw) for raw in self._list("ports", project_id=project_id)]

    def port_limit(self, project_id: str) -> int:
        return int(self._api.get(f"{BASE}/quotas/{project_id}")["quota"]["port"])

    def set_port_limit(self, project_id: str, limit: int) -> None:
        path = f"{BASE}/quotas/{project_id}"
        try:
            self._api.put(path, {"quota": {"port": limit}})
        except CloudRefused:
            # Since 2025.1 Neutron sets less than is used only by force. Before it knows no such word.
            self._api.put(path, {"quota": {"port": limit, "force": True}})

    def delete_port(self, port_id: str) -> None:
        self._api.delete(f"{BASE}/ports/{port_id}")

    def remove_router_interface(self, port: NetworkPort) -> None:
        path, body = f"{BASE}/routers/{port.device_id}", {"port_id": port.id}
        try:
            self._api.put(f"{path}/remove_router_interface", body, absent=(404,))
        except CloudRefused:
            if not self._remove_routes(path, port.network_id):
                raise
            self._api.put(f"{path}/remove_router_interface", body, absent=(404,))

    def _remove_routes(self, path: str, network_id: str) -> bool:
        """Remove the routes of a router that lead over the network; return whether there were any."""
        ranges = [ip_network(subnet.cidr) for subnet in self.subnets(network_id)]
        routes = ((self._api.find(path) or {}).get("router") or {}).get("routes") or []
        kept = [r for r in routes if not any(ip_address(r["nexthop"]) in each for each in ranges)]
        if len(kept) == len(routes):
            return False
        self._api.put(path, {"router": {"routes": kept}}, absent=(404,))
        return True

    def delete_network(self, network_id: str) -> None:
        self._api.delete(f"{BASE}/networks/{network_id}")

    def subnets(self, network_id: str) -> Sequence[Subnet]:
        return [_subnet(raw) for raw in self._list("subnets", network_id=network_id)]

    def is_address_used(self, network_id: str, address: str) -> bool:
        on_port = self._list("ports", network_id=network_id, fixed_ips=f"ip_address={address}")
        return bool(on_port) or self.floating_ip(network_id, address) is not None

    def floating_ip(self, network_id: str, address: str) -> FloatingIP | None:
        found = self._list("floatingips", floating_network_id=network_id, floating_ip_address=address)
        return _floating_ip(found[0]) if found else None

    def floating_ips(self, network_id: str, tags: Sequence[str]) -> Sequence[FloatingIP]:
        tagged = {"tags": ",".join(tags)} if tags else {}
        found = self._list("floatingips", floating_network_id=network_id, **tagged)
        return [_floating_ip(raw) for raw in found]

    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, description: str
    ) -> FloatingIP:
        body = {
            "floating_network_id": network_id,
            "subnet_id": subnet_id,
            "floating_ip_address": address,
            "project_id": project_id,
            "description": description,
        }
        try:
            answer = self._api.post(f"{BASE}/floatingips", {"floatingip": body})
        except CloudRefused:
            # Perhaps because it exists already; what Neutron answers then, it answers in other cases as well.
            existing = self.floating_ip(network_id, address)
            if existing is None:
                raise
            return existing
        return _floating_ip((answer or {})["floatingip"])

    def set_floating_ip_tags(self, floating_ip_id: str, tags: Sequence[str]) -> None:
        self._set_tags("floatingips", floating_ip_id, tags)

    def disassociate_floating_ip(self, floating_ip_id: str) -> None:
        self._api.put(
            f"{BASE}/floatingips/{floating_ip_id}", {"floatingip": {"port_id": None}}, absent=(404,)
        )

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        self._api.delete(f"{BASE}/floatingips/{floating_ip_id}")

    def _set_tags(self, noun: str, id_: str, tags: Sequence[str]) -> None:
        # For what is gone some releases of Neutron answer 500.
        is_set = (
            self._api.put(f"{BASE}/{noun}/{id_}/tags", {"tags": list(tags)}, absent=(404, 500)) is not None
        )
        if not is_set and self._list(noun, id=id_):
            raise CloudUnavailable(service="Neutron", reason=f"{id_} of {noun} was given no tags")

    def _list(self, noun: str, **conditions: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self._api.get(f"{BASE}/{noun}", **conditions)[noun]
        return found


def _network(raw: Mapping[str, Any]) -> CloudNetwork:
    return CloudNetwork(
        id=str(raw["id"]),
        name=str(raw.get("name") or ""),
        is_external=bool(raw.get("router:external", False)),
        project_id=_project_of(raw),
        description=str(raw.get("description") or ""),
        tags=frozenset(map(str, raw.get("tags") or ())),
        segment=_segment(raw),
    )


def _segment(raw: Mapping[str, Any]) -> Segment | None:
    if raw.get(TYPE) is None or raw.get(NUMBER) is None:
        return None
    physical_network = raw.get(PHYSICAL)
    return Segment(
        str(raw[TYPE]), None if physical_network is None else str(physical_network), int(raw[NUMBER])
    )


def _project_of(raw: Mapping[str, Any]) -> str:
    return str(raw.get("project_id") or raw.get("tenant_id") or "")


def _port(raw: Mapping[str, Any]) -> NetworkPort:
    return NetworkPort(
        id=str(raw["id"]),
        network_id=str(raw["network_id"]),
        owner=str(raw.get("device_owner") or ""),
        device_id=str(raw.get("device_id") or ""),
        project_id=_project_of(raw),
        created_at=datetime.fromisoformat(str(raw["created_at"])) if raw.get("created_at") else None,
    )


def _subnet(raw: Mapping[str, Any]) -> Subnet:
    return Subnet(
        id=str(raw["id"]),
        cidr=str(raw["cidr"]),
        gateway=raw.get("gateway_ip"),
        pools=tuple((str(pool["start"]), str(pool["end"])) for pool in raw.get("allocation_pools") or ()),
    )


def _floating_ip(raw: Mapping[str, Any]) -> FloatingIP:
    return FloatingIP(
        id=str(raw["id"]),
        network_id=str(raw["floating_network_id"]),
        address=canonical_address(raw["floating_ip_address"]),
        project_id=_project_of(raw),
        port_id=raw.get("port_id"),
        description=str(raw.get("description") or ""),
        tags=frozenset(map(str, raw.get("tags") or ())),
    )
