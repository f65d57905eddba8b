"""The clouds on which the ports are held to their contract, each with what tests need to do behind the ports'
back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache, cached_property  # noqa: TID251 - of one thread only
from typing import Any, Protocol
from uuid import uuid4

import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.config import OpenStackConfig
from openstack.connection import Connection

from blazar.adapters.clock import SystemClock
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.memory.network import INTERFACE
from blazar.adapters.openstack.cloud import connect
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.kinds.slots.actuator import RESERVATION_SPEC
from blazar.service.ports import Cloud, Flavor, Image, NetworkPort, Server, Subnet, Volume, VolumeType
from blazar_sandbox.cloud import Cloud as Sandbox
from blazar_sandbox.server import SandboxServer

PASSWORD = "sandbox"
GUEST_PASSWORD = "passing-through"
LABEL = "contract"
"""What the names of all things begin with that tests make, and by which they are found and removed."""
ADDRESSES = ("203.0.113.220", "203.0.113.221")
SECONDS = 60
BYTES = {"Content-Type": "application/octet-stream"}


class Place(Protocol):
    """A cloud with two hosts, an external network of one subnet and two projects."""

    cloud: Cloud
    """With the credentials of the service itself."""
    hosts: tuple[str, str]
    """Two compute hosts without servers, in no aggregate but, perhaps, the freepool."""
    external: str
    internal: str
    addresses: tuple[str, str]
    """Two that are free on the external network."""
    project: str
    user: str
    """A member of the project who is there for this test only."""
    token: str
    """The user's."""
    other_token: str
    """That of a member of another project."""
    other_project: str

    def occupy(self, address: str) -> None:
        """Let something that is no floating IP have an address."""

    def bind(self, floating_ip_id: str) -> None:
        """Let a floating IP lead to a port."""

    def add_flavor(self, **specs: str) -> str:
        """A small public flavor with these extra specs: its id."""

    def boot(self, name: str, flavor: str, host: str) -> Server:
        """An administrator's server on a host; ACTIVE."""

    def boot_reserved(self, name: str, flavor: str) -> Server | None:
        """The user's server of a reservation's flavor, wherever it fits; None where it fits nowhere."""

    def images(self) -> set[str]:
        """Names of all images."""

    def boot_hinted(self, name: str, flavor: str, hints: dict[str, str]) -> str:
        """A server of the user's with scheduler hints: its id."""

    def attach(self, network_id: str) -> str:
        """Put a subnet, a port, and a router with a route over its interface on a network: the port's id."""

    def add_port(self) -> str:
        """A port of the user's project: its id."""

    def add_volume_type(self, is_public: bool = False) -> str:
        """A volume type with a name of its own: its name."""

    def rename_volume_type(self, name: str) -> str:
        """Give a volume type another name: that one."""

    def add_volume(self, volume_type: str, gigabytes: int) -> str:
        """A volume of the user's project: its id."""

    def use_volume(self, volume_id: str) -> None:
        """Let a server have the volume."""

    def add_image(self) -> str:
        """An image that all may boot from: its id."""

    def fill_image(self, image_id: str) -> None:
        """Let the hypervisor have stored the image of a server; the lab's hypervisors store none."""

    def remove_user(self) -> None:
        """The user is deleted in Keystone."""

    def change_user(self, is_enabled: bool, email: str | None) -> None:
        """Have Keystone keep these of the user."""

    def set_service(self, host: str, is_up: bool = True, is_enabled: bool = True) -> None:
        """Let a host's nova-compute be up or not, and enabled or not, as Nova sees it."""

    def register_limit(self, name: str, number: int) -> None:
        """Have Keystone register a limit of the reservation service for all projects."""

    def limit(self, name: str, number: int) -> None:
        """Have Keystone keep another limit for the project."""


def spelled(specs: Mapping[str, str]) -> dict[str, str]:
    """Return extra specs by their names, in which two underscores stand for a colon."""
    return {name.replace("__", ":"): value for name, value in specs.items()}


def label() -> str:
    """A name that nothing else has."""
    return f"{LABEL}-{uuid4().hex[:8]}"


def room(place: Place) -> str:
    """Make room for one server of the project, as a reservation does: the flavor's id."""
    cloud, host, name = place.cloud, place.hosts[0], label()
    resource_class = f"CUSTOM_{name.upper().replace('-', '_')}"
    cloud.placement.ensure_reservation_provider(host)
    cloud.placement.ensure_resource_class(resource_class)
    cloud.placement.set_reserved_slots(host, resource_class, 1)
    aggregate = cloud.compute.create_aggregate(name, None, {"reservation": name})
    cloud.compute.add_host(aggregate.id, host)
    specs = {RESERVATION_SPEC: name, f"resources:{resource_class}": "1"}
    cloud.compute.create_flavor(Flavor(name, f"{name}-flavor", 1, 512, 1, is_public=False, extra_specs=specs))
    cloud.compute.grant_flavor(name, place.project)
    return name


def until(what: str, look: Callable[[], Any]) -> Any:
    """Look again and again until there is something to see; a service that fails once is asked again, as by
    the engine."""
    end, failure = time.monotonic() + SECONDS, ""
    while True:
        try:
            if seen := look():
                return seen
        except CloudUnavailable as unavailable:
            failure = unavailable.message
        assert time.monotonic() < end, f"not within {SECONDS} s: {what} {failure}"
        time.sleep(0.05)


class MemoryPlace:
    """The cloud in memory."""

    hosts = ("host1", "host2")
    external, internal = "external", "internal"
    addresses = ADDRESSES
    project, user, token, other_token = "demo", "guest", "token-guest", "token-alt"
    other_project = "alt"

    def __init__(self) -> None:
        self.cloud = cloud = MemoryCloud(self.hosts)
        subnet = Subnet("subnet", "203.0.113.0/24", "203.0.113.1", (("203.0.113.10", "203.0.113.99"),))
        cloud.add_network("external", subnet)
        cloud.add_network("internal", is_external=False)
        cloud.state.volume_types.append(VolumeType(str(uuid4()), "standard"))
        cloud.add_token(self.token, self.user, self.project)
        cloud.add_token(self.other_token, "alt", "alt")

    def occupy(self, address: str) -> None:
        self.cloud.state.used_addresses.add((self.external, address))

    def bind(self, floating_ip_id: str) -> None:
        known = self.cloud.state.floating_ips[floating_ip_id]
        self.cloud.state.floating_ips[floating_ip_id] = replace(known, port_id="port")

    def add_flavor(self, **specs: str) -> str:
        name = "-".join(["tiny", *specs.values()])
        self.cloud.add_flavor(Flavor(name, name, 1, 512, 1, extra_specs=spelled(specs)))
        return name

    def boot(self, name: str, flavor: str, host: str) -> Server:
        self.cloud.boot(name, host)
        self.cloud.state.flavor_of[name] = flavor
        return self.cloud.state.servers[name]

    def boot_hinted(self, name: str, flavor: str, hints: dict[str, str]) -> str:
        self.cloud.boot(name, self.hosts[0], self.project)
        self.cloud.state.flavor_of[name] = flavor
        self.cloud.state.hints[name] = {key: [value] for key, value in hints.items()}
        self.cloud.state.changed[name] = SystemClock().now()
        return name

    def attach(self, network_id: str) -> str:
        ports = {owner: NetworkPort(f"{network_id}-{owner}", network_id, owner) for owner in ("", INTERFACE)}
        self.cloud.state.ports |= {each.id: each for each in ports.values()}
        return ports[""].id

    def add_port(self) -> str:
        made = NetworkPort(
            str(uuid4()), self.internal, project_id=self.project, created_at=SystemClock().now()
        )
        self.cloud.state.ports[made.id] = made
        return made.id

    def add_volume_type(self, is_public: bool = False) -> str:
        made = VolumeType(str(uuid4()), label())
        self.cloud.state.volume_types.append(made)
        return made.name

    def rename_volume_type(self, name: str) -> str:
        state, renamed = self.cloud.state, label()
        state.volume_types[:] = [
            replace(t, name=renamed) if t.name == name else t for t in state.volume_types
        ]
        for project, limits in state.volume_quotas.items():
            state.volume_quotas[project] = {
                k.replace(f"_{name}", f"_{renamed}"): v for k, v in limits.items()
            }
        return renamed

    def add_volume(self, volume_type: str, gigabytes: int) -> str:
        made = Volume(str(uuid4()), volume_type, gigabytes, "available", SystemClock().now())
        self.cloud.state.volumes.setdefault(self.project, {})[made.id] = made
        return made.id

    def use_volume(self, volume_id: str) -> None:
        volumes = self.cloud.state.volumes[self.project]
        volumes[volume_id] = replace(volumes[volume_id], status="in-use")

    def add_image(self) -> str:
        image = Image("44444444-4444-4444-8444-444444444444", "dummy", "active")
        self.cloud.state.public_images[image.id] = image
        return image.id

    def boot_reserved(self, name: str, flavor: str) -> Server | None:
        try:
            self.cloud.boot_reserved(name, flavor, self.project)
        except CloudRefused:
            return None
        return self.cloud.state.servers[name]

    def fill_image(self, image_id: str) -> None:
        """It is active at once."""

    def images(self) -> set[str]:
        return set(self.cloud.state.images)

    def remove_user(self) -> None:
        self.cloud.state.gone_users.add(self.user)

    def change_user(self, is_enabled: bool, email: str | None) -> None:
        if is_enabled:
            self.cloud.state.emails[self.user] = email
        else:
            self.cloud.state.gone_users.add(self.user)

    def set_service(self, host: str, is_up: bool = True, is_enabled: bool = True) -> None:
        self.cloud.set_service(host, is_up, is_enabled)

    def register_limit(self, name: str, number: int) -> None:
        self.cloud.state.registered_limits[name] = number

    def limit(self, name: str, number: int) -> None:
        self.cloud.state.project_limits.setdefault(self.project, {})[name] = number


class RealPlace:
    """A cloud behind HTTP: ``own`` are the service's credentials, ``operator`` an administrator's.

    ``hosts`` names the two hosts to use; the cloud's first two by default."""

    addresses = ADDRESSES

    def __init__(
        self,
        own: Session,
        operator: Session,
        password: str,
        hosts: Sequence[str] = (),
        sandbox: Sandbox | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._admin = admin = Connection(session=operator, interface="public")
        self._password = password
        self._auth_url = operator.auth.auth_url
        self._ports: list[str] = []
        self._changed_services: set[str] = set()
        admin.placement.default_microversion = "1.29"
        self.hosts = tuple(hosts or sorted(h.name for h in admin.compute.hypervisors())[:2])
        self.clear()
        self.cloud = connect(own)
        self.external, self.internal = (admin.network.find_network(name).id for name in ("public", "private"))
        self.project = admin.identity.find_project("demo").id
        self._image = admin.image.find_image("dummy").id
        self._guest: Session | None = None

    @property
    def user(self) -> str:
        return str(self._guests_session().get_user_id())

    @property
    def token(self) -> str:
        return str(self._guests_session().get_token())

    @cached_property
    def other_token(self) -> str:
        return str(self._session("alt", self._password, "alt").get_token())

    @cached_property
    def other_project(self) -> str:
        return str(self._admin.identity.find_project("alt").id)

    def occupy(self, address: str) -> None:
        self._add_port(network_id=self.external, fixed_ips=[{"ip_address": address}])

    def bind(self, floating_ip_id: str) -> None:
        self._admin.network.update_ip(floating_ip_id, port_id=self._add_port(network_id=self.internal))

    def add_flavor(self, **specs: str) -> str:
        flavor = self._admin.compute.create_flavor(name=label(), vcpus=1, ram=512, disk=1)
        if specs:
            self._admin.compute.create_flavor_extra_specs(flavor, spelled(specs))
        return str(flavor.id)

    def boot(self, name: str, flavor: str, host: str) -> Server:
        server = self._settled(self._admin, name, flavor, availability_zone=f"{self._zone(host)}:{host}")
        assert server.status == "ACTIVE", server.fault
        return Server(
            server.id, name, server.compute_host, server.status, server.project_id, created=server.created_at
        )

    def boot_reserved(self, name: str, flavor: str) -> Server | None:
        server = self._settled(Connection(session=self._guests_session(), interface="public"), name, flavor)
        if server.status != "ACTIVE":
            return None
        host = self._admin.compute.get_server(server.id).compute_host
        return Server(server.id, name, host, server.status, server.project_id, created=server.created_at)

    def boot_hinted(self, name: str, flavor: str, hints: dict[str, str]) -> str:
        theirs = Connection(session=self._guests_session(), interface="public")
        made = theirs.compute.create_server(
            name=name, image_id=self._image, flavor_id=flavor, networks="none", scheduler_hints=hints
        )
        return str(made.id)

    def attach(self, network_id: str) -> str:
        network = self._admin.network
        subnet = network.create_subnet(network_id=network_id, ip_version=4, cidr="192.0.2.0/24")
        router = network.create_router(name=label())
        network.add_interface_to_router(router, subnet_id=subnet.id)
        network.update_router(router, routes=[{"destination": "198.51.100.0/24", "nexthop": "192.0.2.9"}])
        return str(network.create_port(network_id=network_id).id)

    def add_port(self) -> str:
        return self._add_port(network_id=self.internal, project_id=self.project)

    def add_volume_type(self, is_public: bool = False) -> str:
        return str(self._admin.block_storage.create_type(name=label(), is_public=is_public).name)

    def rename_volume_type(self, name: str) -> str:
        storage = self._admin.block_storage
        return str(storage.update_type(storage.find_type(name), name=label()).name)

    def add_volume(self, volume_type: str, gigabytes: int) -> str:
        theirs = Connection(session=self._guests_session(), interface="public").block_storage
        made = theirs.create_volume(name=label(), size=gigabytes, volume_type=volume_type)
        self._volume_is(made.id, "available")
        return str(made.id)

    def use_volume(self, volume_id: str) -> None:
        server = self.boot(label(), self.add_flavor(), self.hosts[0])
        self._admin.compute.create_volume_attachment(server.id, volume_id=volume_id)
        self._volume_is(volume_id, "in-use")

    def _volume_is(self, volume_id: str, status: str) -> None:
        storage = self._admin.block_storage
        until(f"the volume {status}", lambda: storage.get_volume(volume_id).status == status)

    def add_image(self) -> str:
        return str(self._image)

    def fill_image(self, image_id: str) -> None:
        images = self._admin.image
        if images.get_image(image_id).status == "queued":
            images.update_image(image_id, container_format="bare", disk_format="raw")
            stored = images.put(f"/images/{image_id}/file", data=b"disk", headers=BYTES)
            assert stored.status_code == 204, stored.text

    def images(self) -> set[str]:
        return {image.name for image in self._admin.image.images()}

    def remove_user(self) -> None:
        self._admin.identity.delete_user(self.user)

    def change_user(self, is_enabled: bool, email: str | None) -> None:
        changed = {"user": {"enabled": is_enabled, "email": email}}
        self._admin.identity.patch(f"/users/{self.user}", json=changed).raise_for_status()

    def set_service(self, host: str, is_up: bool = True, is_enabled: bool = True) -> None:
        (service,) = self._admin.compute.services(binary="nova-compute", host=host)
        changed = {"status": "enabled" if is_enabled else "disabled", "forced_down": not is_up}
        path, version = f"/os-services/{service.id}", {"OpenStack-API-Version": "compute 2.53"}
        self._admin.compute.put(path, json=changed, headers=version).raise_for_status()
        self._changed_services.add(host)

    def register_limit(self, name: str, number: int) -> None:
        self._system.create_registered_limit(**self._limited(name), default_limit=number)

    def limit(self, name: str, number: int) -> None:
        where = self._limited(name)
        self._system.create_limit(**where, project_id=self.project, resource_limit=number)

    def _limited(self, name: str) -> dict[str, str]:
        (service,) = self._system.services(type="reservation")
        return {"service_id": service.id, "resource_name": name}

    @cached_property
    def _system(self) -> Any:
        """Keystone as an administrator of the whole system, who sees the limits of all projects."""
        domain = {"user_domain_id": "default"}
        auth = Password(
            self._auth_url, username="admin", password=self._password, system_scope="all", **domain
        )
        return Connection(session=Session(auth), interface="public").identity

    def _clear_limits(self) -> None:
        for remove, listed in (
            (self._system.delete_limit, self._system.limits),
            (self._system.delete_registered_limit, self._system.registered_limits),
        ):
            for found in listed():
                if found.resource_name.startswith(LABEL):
                    remove(found)

    def _settled(self, who: Connection, name: str, flavor: str, **more: Any) -> Any:
        made = who.compute.create_server(
            name=name, image_id=self._image, flavor_id=flavor, networks="none", **more
        )

        def settled() -> Any:
            server = who.compute.get_server(made.id)
            return server if server.status in ("ACTIVE", "ERROR") else None

        return until("the server's fate", settled)

    def _zone(self, host: str) -> str:
        services = self._admin.compute.services(binary="nova-compute", host=host)
        return str(next(iter(services)).availability_zone)

    def _add_port(self, **fields: Any) -> str:
        port = self._admin.network.create_port(**fields)
        self._ports.append(port.id)
        return str(port.id)

    def _guests_session(self) -> Session:
        """Users are made for those tests only that want one: Keystone takes its time to hash a password."""
        if self._guest is None:
            name = label()
            keystone = self._admin.identity
            guest = keystone.create_user(name=name, password=GUEST_PASSWORD, domain_id="default")
            keystone.assign_project_role_to_user(self.project, guest, keystone.find_role("member"))
            self._guest = self._session(name, GUEST_PASSWORD, "demo")
        return self._guest

    def _session(self, user: str, password: str, project: str) -> Session:
        return Session(password_of(self._auth_url, user, password, project))

    def clear(self) -> None:
        """Remove what a test made, this one or one that was interrupted."""
        admin = self._admin

        def servers() -> list[Any]:
            return [s for s in admin.compute.servers(all_projects=True) if s.name.startswith(LABEL)]

        for server in servers():
            admin.compute.delete_server(server)
        until("no servers", lambda: not servers())
        self._clear_volumes()
        for image in admin.image.images():
            if image.name.startswith(LABEL):
                admin.image.delete_image(image)
        for aggregate in admin.compute.aggregates():
            if aggregate.name.startswith(LABEL):
                for host in aggregate.hosts or ():
                    admin.compute.remove_host_from_aggregate(aggregate, host)
                admin.compute.delete_aggregate(aggregate)
        for flavor in admin.compute.flavors(is_public=None):
            if flavor.name.startswith(LABEL):
                admin.compute.delete_flavor(flavor)
        for group in admin.compute.server_groups(all_projects=True):
            if group.name.startswith(LABEL):
                admin.compute.delete_server_group(group)
        for floating_ip in admin.network.ips():
            if floating_ip.floating_ip_address in ADDRESSES:
                admin.network.delete_ip(floating_ip)
        for router in admin.network.routers():
            if router.name.startswith(LABEL):
                admin.network.delete_router(router)
        for host in sorted(self._changed_services):
            self.set_service(host)
        self._changed_services.clear()
        while self._ports:
            admin.network.delete_port(self._ports.pop())
        for user in admin.identity.users():
            if user.name.startswith(LABEL):
                # Keystone deletes the trusts of a user together with the user.
                admin.identity.delete_user(user)
        self._guest = None
        self._clear_placement()
        if "_system" in vars(self):
            self._clear_limits()

    def _clear_volumes(self) -> None:
        storage = self._admin.block_storage

        def volumes() -> list[Any]:
            return [v for v in storage.volumes(all_projects=True) if v.name.startswith(LABEL)]

        def snapshots() -> list[Any]:
            return [s for s in storage.snapshots(all_projects=True) if s.name.startswith(LABEL)]

        def free() -> bool:
            return all(volume.status in ("available", "error") for volume in volumes())

        until("volumes free", free)  # their servers are gone
        for snapshot in snapshots():
            storage.delete_snapshot(snapshot)
        until("no snapshots", lambda: not snapshots())
        for volume in volumes():
            storage.delete_volume(volume)
        until("no volumes", lambda: not volumes())
        for volume_type in storage.types(is_public="None"):
            if volume_type.name.startswith(LABEL):
                storage.delete_type(volume_type)

    def _clear_placement(self) -> None:
        placement = self._admin.placement
        # Other tests may be at work on other hosts of the same cloud.
        made = {f"blazar_{host}" for host in self.hosts}
        for provider in placement.resource_providers():
            if provider.name in made:
                # Not the provider: nova-compute remembers it for minutes, and fails boots without it.
                emptied = placement.delete(f"/resource_providers/{provider.id}/inventories")
                emptied.raise_for_status()
        for resource_class in placement.resource_classes():
            if resource_class.name.startswith(f"CUSTOM_{LABEL.upper()}"):
                placement.delete_resource_class(resource_class)


@contextmanager
def memory() -> Iterator[Place]:
    yield MemoryPlace()


@contextmanager
def memory_of_two_cells() -> Iterator[Place]:
    """The cloud in memory with its two hosts in two cells, which both count from 1."""
    place = MemoryPlace()
    first, second = (place.cloud.state.hypervisors[name] for name in place.hosts)
    place.cloud.state.hypervisors[second.hypervisor_hostname] = replace(second, number=first.number)
    yield place


@contextmanager
def sandbox_of_two_cells() -> Iterator[Place]:
    """The sandbox with its two hosts in two cells, which both count from 1."""
    state = Sandbox(hosts=2, password=PASSWORD)
    first, second = state.compute.hosts.table
    state.compute.hosts.table.put(second.name, replace(second, id=first.id))
    with sandbox(state) as place:
        yield place


@contextmanager
def sandbox(state: Sandbox | None = None) -> Iterator[Place]:
    state = state or Sandbox(hosts=2, password=PASSWORD)
    with requests.Session() as http, SandboxServer(state) as server:

        def session(user: str, project: str) -> Session:
            return Session(password_of(server.auth_url, user, PASSWORD, project), session=http)

        yield RealPlace(session("blazar", "service"), session("admin", "admin"), PASSWORD, sandbox=state)


def lab(clouds_yaml: str) -> Callable[[], AbstractContextManager[Place]]:
    """A real cloud: the administrator ``lab-admin`` of a clouds.yaml, and the service's user ``blazar``."""

    @cache
    def opened() -> RealPlace:
        region = OpenStackConfig(config_files=[clouds_yaml], load_envvars=False).get_one("lab-admin")
        url, password = region.config["auth"]["auth_url"], region.config["auth"]["password"]
        own, operator = (
            Session(password_of(url, user, password, project))
            for user, project in (("blazar", "service"), ("admin", "admin"))
        )
        hosts = os.environ.get("BLAZAR_TEST_HOSTS", "")
        return RealPlace(own, operator, password, hosts.split(",") if hosts else ())

    @contextmanager
    def place() -> Iterator[Place]:
        try:
            yield opened()
        finally:
            opened().clear()

    return place


def password_of(auth_url: str, user: str, password: str, project: str) -> Password:
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    return Password(auth_url, username=user, password=password, project_name=project, **domains)
