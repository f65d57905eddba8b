"""Nova: hypervisors, servers and host aggregates, as the Compute port wants them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.errors import CloudUnavailable, MultipleHostsFound
from blazar.domain.resource import PropertyValue
from blazar.service.ports import (
    LEASE_HINT,
    Aggregate,
    ChangedServer,
    ChangedServers,
    Flavor,
    Hypervisor,
    MakesWay,
    NewServer,
    Server,
    ServerDetails,
    ServerGroup,
    makes_way,
)

OFFLOADED = "SHELVED_OFFLOADED"
BUILT = (
    *("ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "ERROR", "VERIFY_RESIZE", "SHELVED"),
    OFFLOADED,
)
"""The statuses in all states of a server but ``building``: Nova takes each for the states that have it."""
HYPERVISOR_FACTS = (
    "vcpus",
    "memory_mb",
    "local_gb",
    "cpu_info",
    "hypervisor_type",
    "hypervisor_version",
    "hypervisor_hostname",
)
NUMBERS = "2.1"
"""Up to 2.52 a hypervisor's id is a number, which API 1.0 shows. Each cell counts its own hypervisors."""
UUIDS = "2.53"
"""From here on a hypervisor's id is a UUID, which is unique, and up to 2.87 its sizes are told."""
WITH_EXTRA_SPECS = "2.61"
"""From here on a flavor is shown with its extra specs."""
ONE_POLICY = "2.64"
"""From here on a server group has one policy."""
WITH_SIZES = "2.47"
"""From here on a server is shown with the sizes that it has."""
ALSO_SHELVED = "2.20"
"""From here on servers that are shelved get volumes and lose them, too."""
WITH_TAGS = "2.26"
"""From here on a server has tags."""
WITH_ANY_NETWORK = "2.37"
"""From here on a server is booted with networks that Nova chooses, or with none."""
WITH_HINTS = "2.100"
"""From here on a server is shown with its scheduler hints."""
ONTO_A_HOST = "2.91"
"""From here on a server is unshelved onto a host, and out of the zone that it was in."""
CHECKED_LATER = "2.34"
"""From here on Nova chooses the host of a live migration after its answer."""
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
        if reference in NOT_IN_A_PATH:
            return None
        numbered = self._with_name(reference) or self._with_number(reference)
        if numbered is None:
            return None
        name = str(numbered["hypervisor_hostname"])
        answer = self._api.find("/os-hypervisors/detail", UUIDS, hypervisor_hostname_pattern=name)
        found = _with_exact_name(answer, name)
        if found is None:
            return None
        zone = self._availability_zone(str(found["service"]["host"]))
        return replace(_hypervisor(found, zone), number=str(numbered["id"]))

    def hypervisors(self) -> Sequence[Hypervisor]:
        zones = {str(s["host"]): str(s["zone"]) for s in self._services()}
        found: list[Mapping[str, Any]] = []
        marker: dict[str, str] = {}
        while True:
            # By UUID also because a number as marker leads to the wrong page where two cells have it.
            answer = self._api.get("/os-hypervisors/detail", UUIDS, limit=PAGE, **marker)
            page = answer["hypervisors"]
            found += page
            if not page or not answer.get("hypervisors_links"):
                break
            marker = {"marker": str(page[-1]["id"])}
        return [_hypervisor(raw, zones.get(str(raw["service"]["host"]), "")) for raw in found]

    def _with_name(self, hostname: str) -> Mapping[str, Any] | None:
        answer = self._api.find(f"/os-hypervisors/{quote(hostname, safe='')}/search", NUMBERS)
        return _with_exact_name(answer, hostname)

    def _with_number(self, reference: str) -> Mapping[str, Any] | None:
        """Look through all hypervisors: asked for one number, Nova shows the first that has it."""
        if not (reference.isascii() and reference.isdigit()):
            return None
        listed = self._api.get("/os-hypervisors", NUMBERS)["hypervisors"]
        found = [each for each in listed if each["id"] == int(reference)]
        if len(found) > 1:
            names = ", ".join(sorted(str(each["hypervisor_hostname"]) for each in found))
            raise MultipleHostsFound(host=reference, names=names)
        return found[0] if found else None

    def _availability_zone(self, host: str) -> str:
        services = self._services(host=host)
        return str(services[0]["zone"]) if services else ""

    def _services(self, **conditions: str) -> Sequence[Mapping[str, Any]]:
        answer = self._api.get("/os-services", NUMBERS, binary="nova-compute", **conditions)
        found: Sequence[Mapping[str, Any]] = answer["services"]
        return found

    # servers

    def servers_on(self, host: str) -> Sequence[Server]:
        return [_server(raw) for raw in self._pages_of_host(host)]

    def preemptible_servers_on(self, host: str) -> Mapping[MakesWay, Sequence[Server]]:
        found: dict[MakesWay, list[Server]] = {way: [] for way in MakesWay}
        for raw in self._pages_of_host(host, WITH_SIZES):
            if way := makes_way(raw["flavor"].get("extra_specs", {})):
                found[way].append(_server(raw))
        return found

    def bounded_servers_on(self, host: str) -> Sequence[Server]:
        found = self._pages_of_host(host, WITH_HINTS)
        return [_server(raw) for raw in found if LEASE_HINT in (raw.get("scheduler_hints") or {})]

    def servers_of(self, flavor_id: str) -> Sequence[Server]:
        return self._servers(flavor=flavor_id)

    def _servers(self, **conditions: str) -> Sequence[Server]:
        return [_server(raw) for raw in self._pages(**conditions)]

    def _pages_of_host(self, host: str, version: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Nova lists a server shortly before it leaves its host although it is offloaded: it is left out, for
        it must not be taken for one that has to leave."""
        found = self._pages(version, host=host)
        return (raw for raw in found if raw["status"] != OFFLOADED)

    def _pages(self, version: str | None = None, **conditions: str) -> Iterator[Mapping[str, Any]]:
        # Nova may answer fewer than are asked for ([api] max_limit): only the absence of a link tells the
        # last page.
        marker: dict[str, str] = {}
        while True:
            where = {"all_tenants": 1, "limit": PAGE, **conditions, **marker}
            # Administrators are shown user data, in the versions that tell hints.
            get = self._api.get_secret if version == WITH_HINTS else self._api.get
            answer = get("/servers/detail", version, **where)
            yield from answer["servers"]
            if not answer["servers"] or not answer.get("servers_links"):
                return
            marker = {"marker": str(answer["servers"][-1]["id"])}

    def changed_servers(self, since: datetime) -> ChangedServers:
        found: list[ChangedServer] = []
        marker: dict[str, str] = {}
        while True:
            # Administrators are shown user data.
            answer = self._api.get_secret(
                "/servers/detail",
                WITH_HINTS,
                all_tenants=1,
                limit=PAGE,
                sort_key="updated_at",
                sort_dir="asc",
                # With changes-since Nova lists also what is deleted, unless it is told not to.
                deleted="false",
                # Nova fails to sort two servers that it has not changed yet, as new ones are.
                status=BUILT,
                **{"changes-since": _moment(since)},
                **marker,
            )
            page = answer["servers"]
            found += [_changed(raw) for raw in page]
            if not page or not answer.get("servers_links"):
                return ChangedServers(found)
            # A page ends within a second, which is looked at again: so it must not be the first one.
            until = datetime.fromisoformat(page[-1]["updated"])
            if until > since:
                return ChangedServers(found, until)
            marker = {"marker": str(page[-1]["id"])}

    def deleted_servers(self, since: datetime) -> Sequence[str]:
        answer = self._api.get_secret(
            "/servers/detail",
            all_tenants=1,
            limit=PAGE,
            sort_key="updated_at",
            sort_dir="desc",
            deleted="true",
            **{"changes-since": _moment(since)},
        )
        # Others are kept for a time, and may be restored.
        return [str(raw["id"]) for raw in answer["servers"] if raw["status"] == "DELETED"]

    def boot_server(self, new: NewServer) -> str:
        networks = new.networks if isinstance(new.networks, str) else [{"uuid": i} for i in new.networks]
        groups = [{"name": name} for name in new.security_groups]
        chosen = {"key_name": new.key_name, "user_data": new.user_data, "security_groups": groups}
        body = {
            "name": new.name,
            "imageRef": new.image_id,
            "flavorRef": new.flavor_id,
            "networks": networks,
            "metadata": dict(new.metadata),
            **{name: value for name, value in chosen.items() if value},
        }
        answer = self._api.post("/servers", {"server": body}, WITH_ANY_NETWORK, is_secret=True)
        return str((answer or {})["server"]["id"])

    def delete_server(self, server_id: str) -> None:
        self._api.delete(f"/servers/{server_id}")

    def snapshot_server(self, server: Server, image_name: str) -> None:
        self._api.post(f"/servers/{server.id}/action", {"createImage": {"name": image_name}}, absent=(404,))

    def server(self, server_id: str) -> ServerDetails | None:
        if server_id in NOT_IN_A_PATH:
            return None
        # Administrators are shown its user data.
        found = _one(self._api.find(_server_path(server_id), WITH_SIZES, is_secret=True), "server")
        return None if found is None else _details(found)

    def is_server_gone(self, server_id: str) -> bool:
        if self.server(server_id) is not None:
            return False
        # Without the rights of an administrator Nova says the same of the servers of others as of none. To
        # list those of all projects it refuses then.
        listed = self._api.get("/servers", all_tenants="1", uuid=server_id)["servers"]
        return all(each["id"] != server_id for each in listed)

    def shelve_server(self, server_id: str) -> None:
        self._act(server_id, {"shelve": None})

    def offload_server(self, server_id: str) -> None:
        self._act(server_id, {"shelveOffload": None})

    def unshelve_server(self, server_id: str, host: str) -> None:
        # Without the zone that it was in: Nova would refuse a host of another one.
        self._act(server_id, {"unshelve": {"availability_zone": None, "host": host}}, ONTO_A_HOST)

    def migrate_server(self, server_id: str) -> None:
        self._act(server_id, {"os-migrateLive": {"host": None, "block_migration": "auto"}}, CHECKED_LATER)

    def lock_server(self, server_id: str) -> None:
        self._act(server_id, {"lock": None})

    def unlock_server(self, server_id: str) -> None:
        self._act(server_id, {"unlock": None})

    def suspend_server(self, server_id: str) -> None:
        self._act(server_id, {"suspend": None})

    def attach_volume(self, server_id: str, volume_id: str) -> None:
        body = {"volumeAttachment": {"volumeId": volume_id}}
        self._api.post(f"{_server_path(server_id)}/os-volume_attachments", body, ALSO_SHELVED)

    def detach_volume(self, server_id: str, volume_id: str) -> None:
        path = f"{_server_path(server_id)}/os-volume_attachments/{quote(volume_id, safe='')}"
        self._api.delete(path, ALSO_SHELVED)

    def stop_server(self, server_id: str) -> None:
        self._act(server_id, {"os-stop": None})

    def create_image(self, server_id: str, name: str, properties: Mapping[str, str]) -> None:
        self._act(server_id, {"createImage": {"name": name, "metadata": dict(properties)}})

    def set_server_metadata(self, server_id: str, key: str, value: str) -> None:
        self._api.post(f"{_server_path(server_id)}/metadata", {"metadata": {key: value}}, absent=(404,))

    def remove_server_metadata(self, server_id: str, key: str) -> None:
        self._api.delete(f"{_server_path(server_id)}/metadata/{quote(key, safe='')}")

    def servers_with_tag(self, tag: str) -> Sequence[Server]:
        return [_server(raw) for raw in self._pages(WITH_TAGS, tags=tag)]

    def add_server_tag(self, server_id: str, tag: str) -> None:
        self._api.put(_tag_path(server_id, tag), None, WITH_TAGS, absent=(404,))

    def remove_server_tag(self, server_id: str, tag: str) -> None:
        self._api.delete(_tag_path(server_id, tag), WITH_TAGS)

    def _act(self, server_id: str, body: Mapping[str, Any], version: str | None = None) -> None:
        self._api.post(f"{_server_path(server_id)}/action", body, version, absent=(404,))

    # aggregates

    def aggregate(self, aggregate_id: int) -> Aggregate | None:
        answer = self._api.find(f"/os-aggregates/{aggregate_id}")
        return None if answer is None else _aggregate(answer["aggregate"])

    def aggregates(self) -> Sequence[Aggregate]:
        return [_aggregate(raw) for raw in self._api.get("/os-aggregates")["aggregates"]]

    def find_aggregate(self, name: str) -> Aggregate | None:
        return next((a for a in self.aggregates() if a.name == name), None)

    def create_aggregate(
        self, name: str, availability_zone: str | None, metadata: Mapping[str, str]
    ) -> Aggregate:
        body = {"aggregate": {"name": name, "availability_zone": availability_zone}}
        answer = self._api.post("/os-aggregates", body, absent=(409,))
        aggregate = self.find_aggregate(name) if answer is None else _aggregate(answer["aggregate"])
        if aggregate is None:
            raise CloudUnavailable(
                service="Nova", reason=f"aggregate {name} vanished while it was being made"
            )
        if any(aggregate.metadata.get(key) != value for key, value in metadata.items()):
            changed = self._api.post(
                f"/os-aggregates/{aggregate.id}/action", {"set_metadata": {"metadata": dict(metadata)}}
            )
            aggregate = _aggregate((changed or {})["aggregate"])
        return aggregate

    def remove_metadata(self, aggregate_id: int, keys: Sequence[str]) -> None:
        body = {"set_metadata": {"metadata": dict.fromkeys(keys)}}
        self._api.post(f"/os-aggregates/{aggregate_id}/action", body, absent=(404,))

    def add_host(self, aggregate_id: int, host: str) -> None:
        path = f"/os-aggregates/{aggregate_id}/action"
        if self._api.post(path, {"add_host": {"host": host}}, absent=(409,)) is not None:
            return
        # Nova says 409 both for a host that is in already and for one that it will not put in.
        aggregate = self.aggregate(aggregate_id)
        if aggregate is None or host not in aggregate.hosts:
            raise CloudUnavailable(
                service="Nova", reason=f"host {host} cannot join aggregate {aggregate_id} yet"
            )

    def remove_host(self, aggregate_id: int, host: str) -> None:
        self._api.post(
            f"/os-aggregates/{aggregate_id}/action", {"remove_host": {"host": host}}, absent=(404,)
        )

    def refresh_aggregate(self, aggregate: Aggregate) -> None:
        # Any change of it will do.
        path = f"/os-aggregates/{aggregate.id}"
        self._api.put(path, {"aggregate": {"name": aggregate.name}}, absent=(404,))

    def delete_aggregate(self, aggregate_id: int) -> None:
        self._api.delete(f"/os-aggregates/{aggregate_id}")

    # flavors

    def flavor(self, flavor_id: str) -> Flavor | None:
        if flavor_id in NOT_IN_A_PATH:
            return None
        # There are flavors behind /flavors/detail, too, but that is no flavor's id.
        found = _one(self._api.find(_flavor_path(flavor_id), WITH_EXTRA_SPECS), "flavor")
        return None if found is None else _flavor(found)

    def flavors(self) -> Sequence[Flavor]:
        found: list[Flavor] = []
        marker: dict[str, str] = {}
        while True:
            # None is Nova's word for public and private.
            answer = self._api.get(
                "/flavors/detail", WITH_EXTRA_SPECS, is_public="None", limit=PAGE, **marker
            )
            page = [_flavor(raw) for raw in answer["flavors"]]
            found += page
            if not page or not answer.get("flavors_links"):
                return found
            marker = {"marker": page[-1].id}

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
            self._api.post(
                f"{_flavor_path(flavor.id)}/os-extra_specs", {"extra_specs": dict(flavor.extra_specs)}
            )

    def delete_flavor(self, flavor_id: str) -> None:
        self._api.delete(_flavor_path(flavor_id))

    def flavor_projects(self, flavor_id: str) -> frozenset[str]:
        answer = self._api.find(f"{_flavor_path(flavor_id)}/os-flavor-access") or {}
        return frozenset(str(each["tenant_id"]) for each in answer.get("flavor_access", ()))

    def grant_flavor(self, flavor_id: str, project_id: str) -> None:
        self._api.post(
            f"{_flavor_path(flavor_id)}/action", {"addTenantAccess": {"tenant": project_id}}, absent=(409,)
        )

    def revoke_flavor(self, flavor_id: str, project_id: str) -> None:
        body = {"removeTenantAccess": {"tenant": project_id}}
        self._api.post(f"{_flavor_path(flavor_id)}/action", body, absent=(404,))

    # server groups

    def create_server_group(self, name: str, policy: str) -> ServerGroup:
        body = {"server_group": {"name": name, "policy": policy}}
        answer = self._api.post("/os-server-groups", body, ONE_POLICY)
        return _server_group((answer or {})["server_group"])

    def server_groups(self, name: str | None = None) -> Sequence[ServerGroup]:
        # There are no links here, and a page may be shorter than what was asked for ([api] max_limit): the
        # list ends with a page that brings nothing new.
        found: dict[str, ServerGroup] = {}
        while True:
            page = self._api.get(
                "/os-server-groups", ONE_POLICY, all_projects="True", limit=PAGE, offset=len(found)
            )["server_groups"]
            new = {str(raw["id"]): _server_group(raw) for raw in page if str(raw["id"]) not in found}
            if not new:
                return [group for group in found.values() if name in (None, group.name)]
            found |= new

    def delete_server_group(self, group_id: str) -> None:
        self._api.delete(f"/os-server-groups/{group_id}")


def _flavor_path(flavor_id: str) -> str:
    return f"/flavors/{quote(flavor_id, safe='')}"


def _server_path(server_id: str) -> str:
    return f"/servers/{quote(server_id, safe='')}"


def _tag_path(server_id: str, tag: str) -> str:
    return f"{_server_path(server_id)}/tags/{quote(tag, safe='')}"


def _with_exact_name(answer: Any, hostname: str) -> Mapping[str, Any] | None:
    """Return the hypervisor of this name. Nova finds by pattern, so compute-1 finds compute-10 as well."""
    listed = (answer or {}).get("hypervisors", ())
    return next((each for each in listed if each["hypervisor_hostname"] == hostname), None)


def _hypervisor(raw: Mapping[str, Any], availability_zone: str) -> Hypervisor:
    host = str(raw["service"]["host"])
    facts: dict[str, PropertyValue] = {name: raw.get(name) for name in HYPERVISOR_FACTS}
    if isinstance(facts["cpu_info"], dict):  # it is an object from 2.28 on, and text before
        facts["cpu_info"] = json.dumps(facts["cpu_info"])
    return Hypervisor(
        uuid=str(raw["id"]),
        number=None,
        hypervisor_hostname=str(raw["hypervisor_hostname"]),
        service_name=host,
        facts={**facts, "service_name": host, "availability_zone": availability_zone},
        is_up=raw.get("state") != "down",
        is_enabled=raw.get("status") != "disabled",
    )


def _one(answer: Any, key: str) -> Mapping[str, Any] | None:
    """Return the object in an answer; None where the answer is about something else, such as a list."""
    found = answer.get(key) if isinstance(answer, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _server(raw: Mapping[str, Any]) -> Server:
    return Server(
        id=str(raw["id"]),
        name=str(raw["name"]),
        host=raw.get("OS-EXT-SRV-ATTR:host"),
        status=str(raw["status"]),
        project_id=raw.get("tenant_id"),
        is_being_deleted=raw.get("OS-EXT-STS:task_state") == "deleting",
        created=raw.get("created"),
        metadata=_metadata(raw),
    )


def _moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _changed(raw: Mapping[str, Any]) -> ChangedServer:
    return ChangedServer(
        id=str(raw["id"]),
        name=str(raw["name"]),
        status=str(raw["status"]),
        project_id=str(raw["tenant_id"]),
        user_id=str(raw["user_id"]),
        flavor=str(raw["flavor"].get("original_name") or ""),
        image_id=str(raw["image"]["id"]) if raw.get("image") else None,
        hints=dict(raw.get("scheduler_hints") or {}),
        metadata=_metadata(raw),
        tags=frozenset(raw.get("tags") or ()),
        host=raw.get("OS-EXT-SRV-ATTR:host") or None,
    )


def _metadata(raw: Mapping[str, Any]) -> Mapping[str, str]:
    return {str(key): str(value) for key, value in (raw.get("metadata") or {}).items()}


def _details(raw: Mapping[str, Any]) -> ServerDetails:
    size = raw["flavor"]
    flavor = Flavor(
        id="",
        name=str(size.get("original_name") or ""),
        vcpus=int(size["vcpus"]),
        ram=int(size["ram"]),
        disk=int(size["disk"]),
        ephemeral=int(size.get("ephemeral") or 0),
        swap=int(size.get("swap") or 0),
        extra_specs={str(key): str(value) for key, value in (size.get("extra_specs") or {}).items()},
    )
    status, task_state = str(raw["status"]), raw.get("OS-EXT-STS:task_state")
    host = raw.get("OS-EXT-SRV-ATTR:host") or None
    if status == OFFLOADED and host is not None:
        # Nova says so shortly before the server has left its host.
        status, task_state = "SHELVED", task_state or "shelving_offloading"
    return ServerDetails(
        id=str(raw["id"]),
        name=str(raw["name"]),
        status=status,
        flavor=flavor,
        task_state=task_state,
        host=host,
        project_id=raw.get("tenant_id"),
        metadata=_metadata(raw),
        is_locked=bool(raw.get("locked")),
        fault=(raw.get("fault") or {}).get("message"),
        tags=frozenset(raw.get("tags") or ()),
        boots_from_volume=not raw.get("image"),
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
