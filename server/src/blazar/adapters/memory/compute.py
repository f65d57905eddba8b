"""Nova in memory: hypervisors, servers, aggregates, flavors and server groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from blazar.adapters.memory.cloud_state import Actor, Called, CloudState, MadeImage, Task
from blazar.adapters.memory.storage import settle_volumes
from blazar.domain.errors import CloudRefused, CloudUnavailable, MultipleHostsFound
from blazar.service.ports import (
    LEASE_HINT,
    SHELVED_SUFFIX,
    Aggregate,
    ChangedServer,
    ChangedServers,
    Flavor,
    Hypervisor,
    Image,
    MakesWay,
    NewServer,
    Server,
    ServerDetails,
    ServerGroup,
    Volume,
    makes_way,
)

CLASS = "resources:CUSTOM_"
SMALL = Flavor("", "small", 1, 512, 1)
"""The sizes of servers that were booted without a flavor."""
PAGE = 5
"""Servers that changed are listed so many at once."""
TO_SHELVE = ("ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED")
AGGREGATE_SPEC = "aggregate_instance_extra_specs:reservation"


UNCHANGEABLE = frozenset({"BUILD", "ERROR", "SHELVED", "SHELVED_OFFLOADED"})
"""The statuses in which Nova lets neither metadata nor tags be changed."""


class MemoryCompute:
    """The Compute port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def find_hypervisor(self, reference: str) -> Hypervisor | None:
        self._called("find_hypervisor")
        found = self._state.hypervisors.get(reference) or self._with_number(reference)
        return found and self._in_its_zone(found)

    def hypervisors(self) -> Sequence[Hypervisor]:
        self._called("hypervisors")
        known = self._state.hypervisors.values()
        return [replace(self._in_its_zone(found), number=None) for found in known]

    def _with_number(self, number: str) -> Hypervisor | None:
        found = [each for each in self._state.hypervisors.values() if each.number == number]
        if len(found) > 1:
            names = ", ".join(sorted(each.hypervisor_hostname for each in found))
            raise MultipleHostsFound(host=number, names=names)
        return found[0] if found else None

    def _in_its_zone(self, found: Hypervisor) -> Hypervisor:
        zone = next(iter(self._zones(found.service_name)), None)
        return replace(found, facts={**found.facts, "availability_zone": zone}) if zone else found

    def _zones(self, host: str) -> set[str]:
        """Return the zones that aggregates put the host into."""
        return {
            a.availability_zone
            for a in self._state.aggregates.values()
            if host in a.hosts and a.availability_zone
        }

    # servers

    def servers_on(self, host: str) -> Sequence[Server]:
        self._called("servers_on")
        return [self._listed(s) for s in self._state.servers.values() if s.host == host]

    def preemptible_servers_on(self, host: str) -> Mapping[MakesWay, Sequence[Server]]:
        self._called("preemptible_servers_on")
        there = [each for each in self._state.servers.values() if each.host == host]
        return {way: [self._listed(s) for s in there if self._makes_way(s) is way] for way in MakesWay}

    def bounded_servers_on(self, host: str) -> Sequence[Server]:
        self._called("bounded_servers_on")
        state = self._state
        found = [each for each in state.servers.values() if each.host == host]
        return [self._listed(each) for each in found if LEASE_HINT in state.hints.get(each.id, {})]

    def _makes_way(self, server: Server) -> MakesWay | None:
        flavor = self._state.flavors.get(self._state.flavor_of.get(server.id, ""))
        return None if flavor is None else makes_way(flavor.extra_specs)

    def servers_of(self, flavor_id: str) -> Sequence[Server]:
        self._called("servers_of")
        found = self._state.servers_with(flavor_id) if flavor_id in self._state.flavors else []
        return [self._listed(server) for server in found]

    def _listed(self, server: Server) -> Server:
        return replace(server, metadata=dict(self._state.server_metadata.get(server.id, {})))

    def changed_servers(self, since: datetime) -> ChangedServers:
        self._called("changed_servers")
        state = self._state
        found = [
            each
            for each in state.servers.values()
            if state.changed.get(each.id, since) >= since and each.status != "BUILD"
        ]
        found.sort(key=lambda each: state.changed.get(each.id, since))
        page = found[:PAGE]
        until = state.changed.get(page[-1].id, since) if len(found) > PAGE else since
        if until > since:
            return ChangedServers([self._changed(each) for each in page], until)
        return ChangedServers([self._changed(each) for each in found])

    def deleted_servers(self, since: datetime) -> Sequence[str]:
        self._called("deleted_servers")
        state = self._state
        return [each for each in reversed(state.deleted_servers) if state.changed.get(each, since) >= since]

    def _changed(self, server: Server) -> ChangedServer:
        state = self._state
        flavor = state.flavors.get(state.flavor_of.get(server.id, ""), SMALL)
        return ChangedServer(
            server.id,
            server.name,
            server.status,
            str(server.project_id),
            f"{server.project_id}-user",
            flavor.name,
            state.image_of.get(server.id),
            state.hints.get(server.id, {}),
            dict(state.server_metadata.get(server.id, {})),
            frozenset(state.tags.get(server.id, ())),
            server.host,
        )

    def boot_server(self, new: NewServer) -> str:
        actor, state = self._called("boot_server"), self._state
        project_id = actor.project_id if actor else "service"
        with state.lock:
            if project_id in state.without_server_quota:
                raise CloudRefused(
                    service="Nova", reason="Quota exceeded for instances: Requested 1 (HTTP 403)"
                )
            if new.image_id not in state.public_images:
                raise CloudRefused(
                    service="Nova", reason=f"Image {new.image_id} could not be found. (HTTP 400)"
                )
            server_id = str(UUID(int=state.next_id()))
            fault = state.boot_fails
            try:
                self.boot(server_id, new.flavor_id, project_id)
            except CloudRefused as refusal:
                fault = fault or refusal.message
                state.flavor_of[server_id] = new.flavor_id
            host = None if fault else state.servers[server_id].host
            booted = Server(
                server_id,
                new.name,
                host,
                "ERROR" if fault else "ACTIVE",
                project_id,
                created=f"{state.last_id:09}",
            )
            state.servers[server_id] = booted
            state.server_metadata[server_id] = dict(new.metadata)
            state.user_data[server_id] = new.user_data
            if fault:
                state.faults[server_id] = fault
            elif new.name in state.slow:
                state.servers[server_id] = replace(booted, status="BUILD")
                state.slow.add(server_id)
                state.tasks[server_id] = Task("spawning", booted)
            return server_id

    def delete_server(self, server_id: str) -> None:
        if self._called("delete_server") is not None:
            self._refuse_locked(server_id)
        found = self._state.servers.get(server_id)
        if server_id in self._state.hanging and found is not None:
            self._state.servers[server_id] = replace(found, is_being_deleted=True)
        elif server_id not in self._state.undying:
            self._state.deleted_servers += [server_id] if found is not None else []
            self._state.servers.pop(server_id, None)
            self._state.flavor_of.pop(server_id, None)
            self._state.tasks.pop(server_id, None)
            self._state.server_metadata.pop(server_id, None)
            self._state.tags.pop(server_id, None)
            self._state.locked.discard(server_id)

    def snapshot_server(self, server: Server, image_name: str) -> None:
        actor = self._called("snapshot_server")
        if server.id not in self._state.servers:
            return
        self._state.images.append(image_name)
        self._state.snapshots_by.append(actor.user_id if actor else None)

    def server(self, server_id: str) -> ServerDetails | None:
        actor = self._called("server")
        state = self._state
        found = state.servers.get(server_id)
        if found is None or (actor is not None and actor.project_id != found.project_id):
            return None
        task = state.tasks.get(server_id)
        flavor = state.flavors.get(state.flavor_of.get(server_id, ""), SMALL)
        return ServerDetails(
            id=found.id,
            name=found.name,
            status=found.status,
            flavor=replace(flavor, id="", is_public=True),
            task_state="deleting" if found.is_being_deleted else task.state if task else None,
            host=None if actor else found.host,
            project_id=found.project_id,
            metadata=dict(state.server_metadata.get(server_id, {})),
            is_locked=server_id in state.locked,
            fault=state.faults.get(server_id),
            tags=frozenset(state.tags.get(server_id, ())),
            boots_from_volume=server_id in state.from_volume,
        )

    def is_server_gone(self, server_id: str) -> bool:
        self._called("is_server_gone")
        return server_id not in self._state.servers

    def shelve_server(self, server_id: str) -> None:
        actor = self._called("shelve_server")
        with self._state.lock:
            server = self._changeable(actor, "shelve_server", server_id, *TO_SHELVE)
            if server is None:
                return
            self._keep_image(server, actor)
            if self._state.without_offload:
                self._begin("shelving", replace(server, status="SHELVED"))
            else:
                self._begin("shelving", replace(server, status="SHELVED_OFFLOADED", host=None))

    def offload_server(self, server_id: str) -> None:
        if (server := self._acted_on("offload_server", server_id, "SHELVED")) is not None:
            self._begin("shelving_offloading", replace(server, status="SHELVED_OFFLOADED", host=None))

    def unshelve_server(self, server_id: str, host: str) -> None:
        server = self._acted_on("unshelve_server", server_id, "SHELVED_OFFLOADED")
        if server is None:
            return
        if all(host != known.service_name for known in self._state.hypervisors.values()):
            raise CloudRefused(service="Nova", reason=f"Compute host {host} could not be found.")
        if self._is_let_onto(server, host):
            self._begin("spawning", replace(server, status="ACTIVE", host=host))

    def _is_let_onto(self, server: Server, host: str) -> bool:
        """Return whether the scheduler accepts the host: it is up, and in no pool or kept for the server."""
        there = [a for a in self._state.aggregates.values() if host in a.hosts]
        is_kept = any(a.metadata.get("blazar:server") == server.id for a in there)
        is_pooled = any(a.name == "freepool" or a.availability_zone for a in there)
        up = [h for h in self._state.hypervisors.values() if h.service_name == host]
        return all(h.is_up and h.is_enabled for h in up) and (is_kept or not is_pooled)

    def migrate_server(self, server_id: str) -> None:
        server = self._acted_on("migrate_server", server_id, "ACTIVE", "PAUSED")
        if server is None or server_id in self._state.immovable:
            return
        host = next((each for each in self._free_hosts() if each != server.host), None)
        if host is not None:
            self._begin("migrating", replace(server, host=host))
            if server_id in self._state.tasks:
                self._state.servers[server_id] = replace(server, status="MIGRATING")

    def _free_hosts(self) -> Iterator[str]:
        """Yield the hosts that are up and serve no reservation: the scheduler may choose these."""
        serving = {
            host
            for each in self._state.aggregates.values()
            if each.availability_zone or "reservation" in each.metadata
            for host in each.hosts
        }
        for each in self._state.hypervisors.values():
            if each.is_up and each.is_enabled and each.service_name not in serving:
                yield each.service_name

    def lock_server(self, server_id: str) -> None:
        self._called("lock_server")
        if server_id in self._state.servers:
            self._state.locked.add(server_id)

    def unlock_server(self, server_id: str) -> None:
        self._called("unlock_server")
        self._state.locked.discard(server_id)

    def suspend_server(self, server_id: str) -> None:
        if (server := self._acted_on("suspend_server", server_id, "ACTIVE")) is not None:
            self._begin("suspending", replace(server, status="SUSPENDED"))

    def attach_volume(self, server_id: str, volume_id: str) -> None:
        actor, state = self._called("attach_volume"), self._state
        with state.lock:
            volumes = self._volumes_beside(volume_id, actor)
            if server_id not in state.servers or volume_id not in volumes:
                missing = f"Volume {volume_id}" if server_id in state.servers else f"Instance {server_id}"
                raise CloudRefused(service="Nova", reason=f"{missing} could not be found. (HTTP 404)")
            if volumes[volume_id].status != "available":
                raise CloudRefused(service="Nova", reason=f"Volume {volume_id} is in use. (HTTP 400)")
            if state.attaching_fails:
                return
            volumes[volume_id] = replace(volumes[volume_id], status="attaching", attached_to=(server_id,))
            if not state.slow_volumes:
                settle_volumes(state)

    def detach_volume(self, server_id: str, volume_id: str) -> None:
        actor, state = self._called("detach_volume"), self._state
        with state.lock:
            volumes = self._volumes_beside(volume_id, actor)
            volume = volumes.get(volume_id)
            if volume is None or server_id not in volume.attached_to or state.stuck_volumes:
                return
            volumes[volume_id] = replace(volume, status="detaching")
            if not state.slow_volumes:
                settle_volumes(state)

    def _volumes_beside(self, volume_id: str, actor: Actor | None) -> dict[str, Volume]:
        """Return the volumes of the project that has this one, as far as the actor may see it."""
        for project_id, volumes in self._state.volumes.items():
            if volume_id in volumes and (actor is None or actor.project_id == project_id):
                return volumes
        return {}

    def stop_server(self, server_id: str) -> None:
        if (server := self._acted_on("stop_server", server_id, "ACTIVE", "ERROR")) is not None:
            self._begin("powering-off", replace(server, status="SHUTOFF"))

    def create_image(self, server_id: str, name: str, properties: Mapping[str, str]) -> None:
        actor = self._called("create_image")
        with self._state.lock:
            server = self._in_state(server_id, "createImage", *TO_SHELVE)
            if server is None:
                return
            is_slow = server_id in self._state.slow
            image = Image(f"image-{self._state.next_id()}", name, "saving" if is_slow else "active")
            made = MadeImage(image, dict(properties), actor.project_id if actor else None)
            self._state.made_images.append(made)
            self._state.images.append(name)
            self._state.snapshots_by.append(actor.user_id if actor else None)
            self._begin("image_uploading", server)

    def _keep_image(self, server: Server, actor: Actor | None) -> None:
        """Make the image of a server that is shelved, in the project of who had it shelved."""
        state = self._state
        image = Image(f"image-{state.next_id()}", f"{server.name}{SHELVED_SUFFIX}", "active")
        properties = {"image_type": "snapshot", "instance_uuid": server.id}
        owner = actor.project_id if actor else None
        state.shelved_images.append(MadeImage(image, properties, owner, server.id))

    def set_server_metadata(self, server_id: str, key: str, value: str) -> None:
        self._called("set_server_metadata")
        if self._is_changeable(server_id, "update metadata"):
            self._state.server_metadata.setdefault(server_id, {})[key] = value

    def remove_server_metadata(self, server_id: str, key: str) -> None:
        self._called("remove_server_metadata")
        if self._is_changeable(server_id, "delete metadata"):
            self._state.server_metadata.get(server_id, {}).pop(key, None)

    def _is_changeable(self, server_id: str, verb: str) -> bool:
        """Return whether the server exists. Raises CloudRefused where Nova lets it not be changed."""
        server = self._state.servers.get(server_id)
        if server is not None and server.status in UNCHANGEABLE:
            reason = f"Cannot '{verb}' instance {server_id} while it is {server.status} (HTTP 409)"
            raise CloudRefused(service="Nova", reason=reason)
        return server is not None

    def servers_with_tag(self, tag: str) -> Sequence[Server]:
        self._called("servers_with_tag")
        state = self._state
        return [self._listed(each) for each in state.servers.values() if tag in state.tags.get(each.id, ())]

    def add_server_tag(self, server_id: str, tag: str) -> None:
        self._called("add_server_tag")
        if self._is_changeable(server_id, "add tag"):
            self._state.tags.setdefault(server_id, set()).add(tag)

    def remove_server_tag(self, server_id: str, tag: str) -> None:
        self._called("remove_server_tag")
        self._state.tags.get(server_id, set()).discard(tag)

    def _acted_on(self, call: str, server_id: str, *allowed: str) -> Server | None:
        actor = self._called(call)
        with self._state.lock:
            return self._changeable(actor, call, server_id, *allowed)

    def _changeable(self, actor: Actor | None, call: str, server_id: str, *allowed: str) -> Server | None:
        if actor is not None:
            self._refuse_locked(server_id)
        return self._in_state(server_id, call, *allowed)

    def _refuse_locked(self, server_id: str) -> None:
        if server_id in self._state.locked:
            raise CloudRefused(service="Nova", reason=f"Instance {server_id} is locked (HTTP 409)")

    def _in_state(self, server_id: str, call: str, *allowed: str) -> Server | None:
        server = self._state.servers.get(server_id)
        if server is None:
            return None
        if server.status not in allowed or server_id in self._state.tasks or server.is_being_deleted:
            reason = f"Cannot {call} instance {server_id} while it is {server.status} (HTTP 409)"
            raise CloudRefused(service="Nova", reason=reason)
        return server

    def _begin(self, task_state: str, after: Server) -> None:
        if after.id in self._state.slow:
            self._state.tasks[after.id] = Task(task_state, after)
        else:
            self._state.servers[after.id] = after

    def boot(self, server_id: str, flavor_id: str, project_id: str) -> str:
        """Do what a user and the scheduler do: take a host of the flavor's aggregate that has a slot left."""
        state = self._state
        with state.lock:
            flavor = state.flavors.get(flavor_id)
            if flavor is None or not (flavor.is_public or project_id in state.access.get(flavor_id, ())):
                raise CloudRefused(service="Nova", reason=f"Flavor {flavor_id} could not be found.")
            reservation = flavor.extra_specs.get(AGGREGATE_SPEC)
            wanted = next(
                key.removeprefix("resources:") for key in flavor.extra_specs if key.startswith(CLASS)
            )
            for aggregate in state.aggregates.values():
                for host in aggregate.hosts if aggregate.metadata.get("reservation") == reservation else ():
                    if state.slots_in_use(host, wanted) < state.slots.get((host, wanted), 0):
                        state.servers[server_id] = Server(server_id, server_id, host, "ACTIVE", project_id)
                        state.flavor_of[server_id] = flavor_id
                        return host
        raise CloudRefused(service="Nova", reason="No valid host was found.")

    # aggregates

    def aggregate(self, aggregate_id: int) -> Aggregate | None:
        self._called("aggregate")
        return self._state.aggregates.get(aggregate_id)

    def aggregates(self) -> Sequence[Aggregate]:
        self._called("aggregates")
        return list(self._state.aggregates.values())

    def find_aggregate(self, name: str) -> Aggregate | None:
        return next((a for a in self.aggregates() if a.name == name), None)

    def create_aggregate(
        self, name: str, availability_zone: str | None, metadata: Mapping[str, str]
    ) -> Aggregate:
        self._called("create_aggregate")
        with self._state.lock:
            aggregate = next((a for a in self._state.aggregates.values() if a.name == name), None)
            if aggregate is None:
                aggregate = Aggregate(self._state.next_id(), name, availability_zone, (), {})
            aggregate = replace(aggregate, metadata={**aggregate.metadata, **metadata})
            self._state.aggregates[aggregate.id] = aggregate
            return aggregate

    def remove_metadata(self, aggregate_id: int, keys: Sequence[str]) -> None:
        self._called("remove_metadata")
        with self._state.lock:
            aggregate = self._state.aggregates.get(aggregate_id)
            if aggregate is not None:
                kept = {key: value for key, value in aggregate.metadata.items() if key not in keys}
                self._state.aggregates[aggregate_id] = replace(aggregate, metadata=kept)

    def add_host(self, aggregate_id: int, host: str) -> None:
        self._called("add_host")
        with self._state.lock:
            target = self._existing(aggregate_id)
            if all(host != h.service_name for h in self._state.hypervisors.values()):
                raise CloudRefused(service="Nova", reason=f"Compute host {host} could not be found.")
            if target.availability_zone and self._zones(host) - {target.availability_zone}:
                raise CloudUnavailable(service="Nova", reason=f"host {host} is in another availability zone")
            if host not in target.hosts:
                self._state.aggregates[aggregate_id] = replace(target, hosts=(*target.hosts, host))

    def remove_host(self, aggregate_id: int, host: str) -> None:
        self._called("remove_host")
        with self._state.lock:
            source = self._state.aggregates.get(aggregate_id)
            if source is None or host not in source.hosts:
                return
            if source.availability_zone and any(s.host == host for s in self._state.servers.values()):
                raise CloudRefused(
                    service="Nova", reason=f"Host {host} has servers in the availability zone."
                )
            rest = tuple(h for h in source.hosts if h != host)
            self._state.aggregates[aggregate_id] = replace(source, hosts=rest)

    def refresh_aggregate(self, aggregate: Aggregate) -> None:
        self._called("refresh_aggregate")

    def delete_aggregate(self, aggregate_id: int) -> None:
        self._called("delete_aggregate")
        with self._state.lock:
            if aggregate_id in self._state.aggregates and self._state.aggregates[aggregate_id].hosts:
                raise CloudRefused(service="Nova", reason="Host aggregate is not empty.")
            self._state.aggregates.pop(aggregate_id, None)

    def _existing(self, aggregate_id: int) -> Aggregate:
        found = self._state.aggregates.get(aggregate_id)
        if found is None:
            raise CloudRefused(service="Nova", reason=f"Aggregate {aggregate_id} could not be found.")
        return found

    # flavors

    def flavor(self, flavor_id: str) -> Flavor | None:
        actor = self._called("flavor")
        found = self._state.flavors.get(flavor_id)
        if found and actor and not found.is_public and actor.project_id not in self._state.access[flavor_id]:
            return None
        return found

    def flavors(self) -> Sequence[Flavor]:
        self._called("flavors")
        return list(self._state.flavors.values())

    def create_flavor(self, flavor: Flavor) -> None:
        self._called("create_flavor")
        with self._state.lock:
            known = self._state.flavors.get(flavor.id, flavor)
            extra_specs = {**known.extra_specs, **flavor.extra_specs}
            self._state.flavors[flavor.id] = replace(known, extra_specs=extra_specs)
            self._state.access.setdefault(flavor.id, set())

    def delete_flavor(self, flavor_id: str) -> None:
        self._called("delete_flavor")
        self._state.flavors.pop(flavor_id, None)
        self._state.access.pop(flavor_id, None)

    def flavor_projects(self, flavor_id: str) -> frozenset[str]:
        self._called("flavor_projects")
        return frozenset(self._state.access.get(flavor_id, ()))

    def grant_flavor(self, flavor_id: str, project_id: str) -> None:
        self._called("grant_flavor")
        if flavor_id not in self._state.flavors:
            raise CloudRefused(service="Nova", reason=f"Flavor {flavor_id} could not be found. (HTTP 404)")
        self._state.access[flavor_id].add(project_id)

    def revoke_flavor(self, flavor_id: str, project_id: str) -> None:
        self._called("revoke_flavor")
        self._state.access.get(flavor_id, set()).discard(project_id)

    # server groups

    def create_server_group(self, name: str, policy: str) -> ServerGroup:
        actor = self._called("create_server_group")
        with self._state.lock:
            group_id = f"group-{self._state.next_id()}"
            group = ServerGroup(group_id, name, policy, actor.project_id if actor else "service")
            self._state.groups[group_id] = group
            return group

    def server_groups(self, name: str | None = None) -> Sequence[ServerGroup]:
        self._called("server_groups")
        return [group for group in self._state.groups.values() if name in (None, group.name)]

    def delete_server_group(self, group_id: str) -> None:
        actor = self._called("delete_server_group")
        group = self._state.groups.get(group_id)
        if group and actor and group.project_id != actor.project_id:
            return
        self._state.groups.pop(group_id, None)
