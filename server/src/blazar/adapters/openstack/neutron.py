"""Neutron: networks, their subnets, and floating IPs, as the Network port wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.address import canonical_address
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.ports import CloudNetwork, FloatingIP, Subnet

BASE = "/v2.0"
"""The catalog tells where Neutron is, not where its API's one version is."""


class NeutronNetwork:
    """The Network port over Neutron's HTTP API.

    Everything is looked up by filter: an id that is none can then lead nowhere but to an empty list."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def network(self, network_id: str) -> CloudNetwork | None:
        found = self._list("networks", id=network_id)
        return _network(found[0]) if found else None

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
        path = f"{BASE}/floatingips/{floating_ip_id}/tags"
        # For one that is gone some releases of Neutron answer 500.
        is_set = self._api.put(path, {"tags": list(tags)}, absent=(404, 500)) is not None
        if not is_set and self._list("floatingips", id=floating_ip_id):
            raise CloudUnavailable(
                service="Neutron", reason=f"floating IP {floating_ip_id} was given no tags"
            )

    def disassociate_floating_ip(self, floating_ip_id: str) -> None:
        self._api.put(
            f"{BASE}/floatingips/{floating_ip_id}", {"floatingip": {"port_id": None}}, absent=(404,)
        )

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        self._api.delete(f"{BASE}/floatingips/{floating_ip_id}")

    def _list(self, noun: str, **conditions: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self._api.get(f"{BASE}/{noun}", **conditions)[noun]
        return found


def _network(raw: Mapping[str, Any]) -> CloudNetwork:
    return CloudNetwork(str(raw["id"]), str(raw.get("name") or ""), bool(raw.get("router:external", False)))


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
        project_id=str(raw.get("project_id") or raw.get("tenant_id") or ""),
        port_id=raw.get("port_id"),
        description=str(raw.get("description") or ""),
        tags=frozenset(map(str, raw.get("tags") or ())),
    )
