"""Nova: hypervisors, servers and host aggregates, as the Compute port wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.errors import CloudUnavailable
from blazar.domain.resource import PropertyValue
from blazar.service.ports import Aggregate, Flavor, Hypervisor, Server, ServerGroup

HYPERVISOR_FACTS = (
    "vcpus",
    "memory_mb",
    "local_gb",
    "cpu_info",
    "hypervisor_type",
    "hypervisor_version",
    "hypervisor_hostname",
)
NUMERIC_IDS = "2.1"
"""Up to 2.52 a hypervisor's id is Nova's integer, which API 1.0 shows, and up to 2.87 its sizes are told."""
WITH_EXTRA_SPECS = "2.61"
"""From here on a flavor is shown with its extra specs."""
ONE_POLICY = "2.64"
"""From here on a server group has one policy."""
PAGE = 1000
NOT_IN_A_PATH = frozenset({"", ".", ".."})
"""What quoting does not keep from leading somewhere else."""


class NovaCompute:
    """The Compute port over Nova's HTTP API."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def fenced(self, check: Callable[[], None]) -> NovaCompute:
        return NovaCompute(self._api.fenced(check))

    # hypervisors

    def find_hypervisor(self, reference: str) -> Hypervisor | None:
        number = self._hypervisor_number(reference) or (reference if reference.isdigit() else None)
        answer = self._api.find(f"/os-hypervisors/{number}", NUMERIC_IDS) if number else None
        if answer is None:
            return None
        found = answer["hypervisor"]
        host = str(found["service"]["host"])
        facts: dict[str, PropertyValue] = {name: found.get(name) for name in HYPERVISOR_FACTS}
        facts |= {"service_name": host, "availability_zone": self._availability_zone(host)}
        return Hypervisor(str(found["id"]), str(found["hypervisor_hostname"]), host, facts)

    def _hypervisor_number(self, hostname: str) -> str | None:
        # Nova searches by pattern, so compute-1 finds compute-10 as well: only the exact name counts.
        answer = self._api.find(f"/os-hypervisors/{quote(hostname, safe='')}/search", NUMERIC_IDS)
        exact = [h for h in (answer or {}).get("hypervisors", ()) if h["hypervisor_hostname"] == hostname]
        return str(exact[0]["id"]) if exact else None

    def _availability_zone(self, host: str) -> str:
        services = self._api.get("/os-services", NUMERIC_IDS, host=host, binary="nova-compute")["services"]
        return str(services[0]["zone"]) if services else ""

    # servers

    def servers_on(self, host: str) -> Sequence[Server]:
        return self._servers(host=host)

    def servers_of(self, flavor_id: str) -> Sequence[Server]:
        return self._servers(flavor=flavor_id)

    def _servers(self, **conditions: str) -> Sequence[Server]:
        servers: list[Server] = []
        marker: dict[str, str] = {}
        while True:
            page = self._api.get("/servers/detail", all_tenants=1, limit=PAGE, **conditions, **marker)["servers"]
            servers += [_server(raw) for raw in page]
            if len(page) < PAGE:
                return servers
            marker = {"marker": servers[-1].id}

    def delete_server(self, server_id: str) -> None:
        self._api.delete(f"/servers/{server_id}")

    def snapshot_server(self, server: Server, image_name: str) -> None:
        self._api.post(f"/servers/{server.id}/action", {"createImage": {"name": image_name}}, absent=(404,))

    # aggregates

    def aggregate(self, aggregate_id: int) -> Aggregate | None:
        answer = self._api.find(f"/os-aggregates/{aggregate_id}")
        return None if answer is None else _aggregate(answer["aggregate"])

    def aggregates(self) -> Sequence[Aggregate]:
        return [_aggregate(raw) for raw in self._api.get("/os-aggregates")["aggregates"]]

    def find_aggregate(self, name: str) -> Aggregate | None:
        return next((a for a in self.aggregates() if a.name == name), None)

    def create_aggregate(self, name: str, availability_zone: str | None, metadata: Mapping[str, str]) -> Aggregate:
        body = {"aggregate": {"name": name, "availability_zone": availability_zone}}
        answer = self._api.post("/os-aggregates", body, absent=(409,))
        aggregate = self.find_aggregate(name) if answer is None else _aggregate(answer["aggregate"])
        if aggregate is None:
            raise CloudUnavailable(service="Nova", reason=f"aggregate {name} vanished while it was being made")
        if any(aggregate.metadata.get(key) != value for key, value in metadata.items()):
            changed = self._api.post(
                f"/os-aggregates/{aggregate.id}/action", {"set_metadata": {"metadata": dict(metadata)}}
            )
            aggregate = _aggregate((changed or {})["aggregate"])
        return aggregate

    def add_host(self, aggregate_id: int, host: str) -> None:
        path = f"/os-aggregates/{aggregate_id}/action"
        if self._api.post(path, {"add_host": {"host": host}}, absent=(409,)) is not None:
            return
        # Nova says 409 both for a host that is in already and for one that it will not put in.
        aggregate = self.aggregate(aggregate_id)
        if aggregate is None or host not in aggregate.hosts:
            raise CloudUnavailable(service="Nova", reason=f"host {host} cannot join aggregate {aggregate_id} yet")

    def remove_host(self, aggregate_id: int, host: str) -> None:
        self._api.post(f"/os-aggregates/{aggregate_id}/action", {"remove_host": {"host": host}}, absent=(404,))

    def delete_aggregate(self, aggregate_id: int) -> None:
        self._api.delete(f"/os-aggregates/{aggregate_id}")

    # flavors

    def flavor(self, flavor_id: str) -> Flavor | None:
        if flavor_id in NOT_IN_A_PATH:
            return None
        answer = self._api.find(f"/flavors/{quote(flavor_id, safe='')}", WITH_EXTRA_SPECS)
        return None if answer is None else _flavor(answer["flavor"])

    def create_flavor(self, flavor: Flavor) -> None:
        body = {
            "id": flavor.id,
            "name": flavor.name,
            "vcpus": flavor.vcpus,
            "ram": flavor.ram,
            "disk": flavor.disk,
            "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral,
            "swap": flavor.swap,
            "os-flavor-access:is_public": flavor.is_public,
        }
        self._api.post("/flavors", {"flavor": body}, absent=(409,))
        if flavor.extra_specs:
            self._api.post(f"/flavors/{flavor.id}/os-extra_specs", {"extra_specs": dict(flavor.extra_specs)})

    def delete_flavor(self, flavor_id: str) -> None:
        self._api.delete(f"/flavors/{flavor_id}")

    def flavor_projects(self, flavor_id: str) -> frozenset[str]:
        answer = self._api.find(f"/flavors/{quote(flavor_id, safe='')}/os-flavor-access") or {}
        return frozenset(str(each["tenant_id"]) for each in answer.get("flavor_access", ()))

    def grant_flavor(self, flavor_id: str, project_id: str) -> None:
        self._api.post(f"/flavors/{flavor_id}/action", {"addTenantAccess": {"tenant": project_id}}, absent=(409,))

    def revoke_flavor(self, flavor_id: str, project_id: str) -> None:
        body = {"removeTenantAccess": {"tenant": project_id}}
        self._api.post(f"/flavors/{flavor_id}/action", body, absent=(404,))

    # server groups

    def create_server_group(self, name: str, policy: str) -> ServerGroup:
        body = {"server_group": {"name": name, "policy": policy}}
        answer = self._api.post("/os-server-groups", body, ONE_POLICY)
        return _server_group((answer or {})["server_group"])

    def server_groups(self, name: str) -> Sequence[ServerGroup]:
        found: list[ServerGroup] = []
        seen = 0
        while True:
            page = self._api.get("/os-server-groups", ONE_POLICY, all_projects="True", limit=PAGE, offset=seen)
            groups = page["server_groups"]
            found += [_server_group(raw) for raw in groups if raw["name"] == name]
            seen += len(groups)
            if len(groups) < PAGE:
                return found

    def delete_server_group(self, group_id: str) -> None:
        self._api.delete(f"/os-server-groups/{group_id}")


def _server(raw: Mapping[str, Any]) -> Server:
    return Server(
        id=str(raw["id"]),
        name=str(raw["name"]),
        host=raw.get("OS-EXT-SRV-ATTR:host"),
        status=str(raw["status"]),
        project_id=raw.get("tenant_id"),
    )


def _aggregate(raw: Mapping[str, Any]) -> Aggregate:
    return Aggregate(
        id=int(raw["id"]),
        name=str(raw["name"]),
        availability_zone=raw.get("availability_zone"),
        hosts=tuple(raw.get("hosts") or ()),
        metadata=dict(raw.get("metadata") or {}),
    )


def _flavor(raw: Mapping[str, Any]) -> Flavor:
    return Flavor(
        id=str(raw["id"]),
        name=str(raw["name"]),
        vcpus=int(raw["vcpus"]),
        ram=int(raw["ram"]),
        disk=int(raw["disk"]),
        ephemeral=int(raw.get("OS-FLV-EXT-DATA:ephemeral") or 0),
        swap=int(raw.get("swap") or 0),
        is_public=bool(raw.get("os-flavor-access:is_public", True)),
        extra_specs={str(key): str(value) for key, value in (raw.get("extra_specs") or {}).items()},
    )


def _server_group(raw: Mapping[str, Any]) -> ServerGroup:
    return ServerGroup(str(raw["id"]), str(raw["name"]), str(raw["policy"]), raw.get("project_id"))
