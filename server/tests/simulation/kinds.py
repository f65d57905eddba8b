"""What users do with each resource kind, and what an active reservation of it has in the cloud.

A new kind is one class here and one entry in ``DRAWN``: the actions of users, the rules and the search for
what is left behind take it from there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Lease, Reservation
from blazar.kinds.network.names import segment_of
from blazar.service.commands import ReservationRequest
from blazar.service.ports import NetworkPort

from .site import ADDRESSES, CAPACITY, PHYSICAL, PUBLIC, Site

ON_SSD = '["=", "$ssd", "yes"]'
"""A requirement that only some hosts meet: operators change the property."""


class KindOfUse(ABC):
    """How one resource kind is used."""

    resource_type: str

    @abstractmethod
    def parameters(self, random: Random) -> Mapping[str, Any]:
        """Return the parameters of a new reservation."""

    @abstractmethod
    def change(self, random: Random, reservation: Reservation) -> Mapping[str, Any]:
        """Return new values of some parameters: more, or fewer."""

    def boot(self, site: Site, lease: Lease, reservation: Reservation, server_id: str) -> str | None:
        """Boot a server in the active reservation as its user would. Return its host; None where none can be
        had."""
        return None

    @abstractmethod
    def used(self, reservation: Reservation) -> Mapping[str, int]:
        """Return what the reservation takes of the quota."""

    @abstractmethod
    def amiss(self, site: Site, lease: Lease, reservation: Reservation) -> Iterable[str]:
        """Yield what the cloud lacks or has too much of, for a reservation that is active and settled."""

    def request(self, random: Random) -> ReservationRequest:
        return ReservationRequest(self.resource_type, self.parameters(random))


class Hosts(KindOfUse):
    resource_type = "physical:host"

    def parameters(self, random: Random) -> Mapping[str, Any]:
        fewest = random.choice((1, 1, 2, 2, 4))
        return {
            "min": fewest,
            "max": fewest + random.choice((0, 0, 1)),
            "hypervisor_properties": "",
            "resource_properties": random.choice(("", "", "", "", ON_SSD)),
            "before_end": random.choice(("", "snapshot")),
            **random.choice(({}, {}, {"match": "open"})),
        }

    def change(self, random: Random, reservation: Reservation) -> Mapping[str, Any]:
        if random.random() < 0.2:
            return {"resource_properties": ON_SSD}
        if random.random() < 0.2:
            return {"match": "open"}
        has = len(reservation.allocations)
        fewest = max(1, has + random.choice((-1, 1, 1, 2)))
        return {"min": fewest, "max": fewest}

    def boot(self, site: Site, lease: Lease, reservation: Reservation, server_id: str) -> str | None:
        hosts = sorted(site.members(reservation.id))
        if not hosts:
            return None
        host = site.world.dice.choice(hosts)
        site.cloud.boot(server_id, host, lease.project_id)
        return host

    def used(self, reservation: Reservation) -> Mapping[str, int]:
        return {"hosts": len(reservation.allocations)}

    def amiss(self, site: Site, lease: Lease, reservation: Reservation) -> Iterable[str]:
        wanted = {site.host_of(a.resource_id) for a in reservation.allocations}
        if site.members(reservation.id) != wanted:
            yield f"its aggregate has {sorted(site.members(reservation.id))} instead of {sorted(wanted)}"
        if both := wanted & site.in_freepool():
            yield f"{sorted(both)} are in the freepool as well"
        metadata = [a.metadata for a in site.cloud.state.aggregates.values() if a.name == reservation.id]
        found = {each.get("blazar:match", "explicit") for each in metadata}
        if found != {reservation.parameters.get("match", "explicit")}:
            yield f"its aggregate says {sorted(found)} of ordinary servers"


class Slots(KindOfUse):
    """What virtual:instance and flavor:instance have alike."""

    def change(self, random: Random, reservation: Reservation) -> Mapping[str, Any]:
        if random.random() < 0.2:
            return {"affinity": random.choice((True, False, None))}
        return {"amount": reservation.parameters["amount"] + random.choice((-1, 1, 1, 2, 4))}

    def boot(self, site: Site, lease: Lease, reservation: Reservation, server_id: str) -> str | None:
        try:
            return site.cloud.boot_reserved(server_id, reservation.id, lease.project_id)
        except CloudRefused:
            return None

    def used(self, reservation: Reservation) -> Mapping[str, int]:
        return {"instances": int(reservation.parameters["amount"])}

    def amiss(self, site: Site, lease: Lease, reservation: Reservation) -> Iterable[str]:
        state = site.cloud.state
        wanted: dict[str, int] = {}
        for allocation in reservation.allocations:
            host = site.host_of(allocation.resource_id)
            wanted[host] = wanted.get(host, 0) + allocation.slots
        name = f"CUSTOM_RESERVATION_{reservation.id.upper().replace('-', '_')}"
        slots = {host: total for (host, found), total in state.slots.items() if found == name}
        if site.members(reservation.id) != set(wanted):
            yield f"its aggregate has {sorted(site.members(reservation.id))} instead of {sorted(wanted)}"
        if slots != wanted:
            yield f"its inventory is {slots} instead of {wanted}"
        if reservation.id not in state.flavors:
            yield "its flavor is gone"
        elif lease.project_id not in state.access[reservation.id]:
            yield "its project may not use the flavor"
        group = reservation.cloud_state.get("server_group_id")
        if group is not None and group not in state.groups:
            yield f"its server group {group} is gone"
        flavor = state.flavors.get(reservation.id)
        if group is not None and flavor and flavor.extra_specs.get("affinity_id") != group:
            named = flavor.extra_specs.get("affinity_id")
            yield f"its flavor names the server group {named} instead of {group}"


class Instances(Slots):
    resource_type = "virtual:instance"

    def parameters(self, random: Random) -> Mapping[str, Any]:
        return {
            "vcpus": random.choice((1, 2, 4)),
            "memory_mb": 1024,
            "disk_gb": 10,
            "amount": random.choice((1, 2, 4)),
            "affinity": random.choice((None, None, True, False)),
            "resource_properties": "",
            "before_end": random.choice(("", "snapshot")),
        }


class Flavors(Slots):
    resource_type = "flavor:instance"

    def parameters(self, random: Random) -> Mapping[str, Any]:
        return {
            "flavor_id": "small",
            "amount": random.choice((1, 3, 6)),
            "affinity": random.choice((None, None, True, False)),
        }


class FloatingIPs(KindOfUse):
    resource_type = "virtual:floatingip"

    def parameters(self, random: Random) -> Mapping[str, Any]:
        amount = random.choice((1, 1, 2))
        required = random.choice(((), (), ADDRESSES[:1]))
        return {"network_id": PUBLIC, "amount": amount, "required_floatingips": list(required)}

    def change(self, random: Random, reservation: Reservation) -> Mapping[str, Any]:
        amount = max(1, reservation.parameters["amount"] + random.choice((-1, 1, 1)))
        return {"amount": amount, "required_floatingips": []}

    def used(self, reservation: Reservation) -> Mapping[str, int]:
        return {"floating_ips": int(reservation.parameters["amount"])}

    def amiss(self, site: Site, lease: Lease, reservation: Reservation) -> Iterable[str]:
        registrations = site.registrations()
        wanted = {
            str(registrations[a.resource_id].facts["floating_ip_address"]) for a in reservation.allocations
        }
        has = {f.address for f in site.cloud.state.floating_ips.values() if f.project_id == lease.project_id}
        if not wanted <= has:
            yield f"the project lacks the floating IPs {sorted(wanted - has)}"


class Networks(KindOfUse):
    """Networks on segments, to which users attach servers and routers."""

    resource_type = "network"

    def parameters(self, random: Random) -> Mapping[str, Any]:
        network_type = random.choice((None, None, "vlan"))
        physical_network = PHYSICAL if network_type and random.random() < 0.5 else None
        return {
            "amount": random.choice((1, 1, 2)),
            "network_type": network_type,
            "physical_network": physical_network,
        }

    def change(self, random: Random, reservation: Reservation) -> Mapping[str, Any]:
        if random.random() < 0.2:
            return {"network_name": f"name{random.randrange(100)}"}
        return {"amount": max(1, reservation.parameters["amount"] + random.choice((-1, 1, 1)))}

    def boot(self, site: Site, lease: Lease, reservation: Reservation, server_id: str) -> str | None:
        """Attach a port of a server or of a router to one of the networks, now or a while later, when the
        lease may be at its end. Some users describe the network in words of their own."""
        dice, networks = site.world.dice, site.cloud.state.networks
        ids = sorted(i for i in _networks(reservation).values() if i in networks)
        if not ids:
            return None
        port = NetworkPort(f"port{len(site.attached) + 1}", dice.choice(ids), dice.choice(OWNERS))
        site.attached[port.id] = port.network_id

        def attach() -> None:
            if port.network_id in networks:
                site.world.tell(f"attach {port.id}", f"{port.owner} to {port.network_id}", actor="cloud")
                site.cloud.state.ports[port.id] = port

        if dice.random() < 0.2:
            networks[port.network_id] = replace(networks[port.network_id], description="", tags=frozenset())
        if dice.random() < 0.5:
            attach()
        else:
            site.world.scheduler.after(60 * dice.random(), attach)
        return None

    def used(self, reservation: Reservation) -> Mapping[str, int]:
        return {"network_segments": int(reservation.parameters["amount"])}

    def amiss(self, site: Site, lease: Lease, reservation: Reservation) -> Iterable[str]:
        registrations, has = site.registrations(), _networks(reservation)
        wanted = {a.resource_id for a in reservation.allocations}
        if has.keys() != wanted:
            yield f"it says that it has networks on {sorted(has)} instead of {sorted(wanted)}"
        for resource_id, network_id in has.items():
            found = site.cloud.state.networks.get(network_id)
            if found is None or found.project_id != lease.project_id:
                yield f"network {network_id} is not its project's: {found}"
            elif found.segment != (segment := segment_of(registrations[resource_id])):
                yield f"network {network_id} is on {found.segment} instead of {segment}"


def _networks(reservation: Reservation) -> Mapping[str, str]:
    """Return the ids of its networks, as users see them, by the segments."""
    return dict(reservation.cloud_state.get("networks") or {})


class Servers(KindOfUse):
    """A server that exists, which its user names: see ``servers.py``."""

    resource_type = "instance:server"

    def parameters(self, random: Random) -> Mapping[str, Any]:
        return {"on_end": random.choice(ON_END), "resource_properties": random.choice(("", "", "", ON_SSD))}

    def change(self, random: Random, reservation: Reservation) -> Mapping[str, Any]:
        return {"on_end": random.choice(ON_END)}

    def used(self, reservation: Reservation) -> Mapping[str, int]:
        return {"instances": 1}

    def amiss(self, site: Site, lease: Lease, reservation: Reservation) -> Iterable[str]:
        host = site.host_of(reservation.allocations[0].resource_id)
        server = site.cloud.state.servers.get(reservation.parameters["server_id"])
        if server is None:
            yield "its server is gone"
        elif (server.status, server.host) != ("ACTIVE", host):
            yield f"its server is {server.status} on {server.host} instead of {host}"
        if site.members(reservation.id) != {host}:
            yield f"its aggregate has {sorted(site.members(reservation.id))} instead of {host}"


OWNERS = (
    "compute:nova",
    "compute:nova",
    "network:router_interface",
    "network:ha_router_replicated_interface",
)
"""What users attach to their networks."""
ON_END = (["shelve"], ["delete"], ["create_image", "delete"], ["create_image", "shelve"])
DRAWN: Mapping[str, KindOfUse] = {
    kind.resource_type: kind for kind in (Hosts(), Instances(), Flavors(), FloatingIPs(), Networks())
}
"""The kinds of which a seed draws one or two."""
KINDS: Mapping[str, KindOfUse] = {**DRAWN, Servers.resource_type: Servers()}


def overused(site: Site, host: str) -> str | None:
    """Say which class of the host's capacity its servers use up beyond what there is."""
    state = site.cloud.state
    used = dict.fromkeys(CAPACITY, 0)
    for server in state.servers.values():
        flavor = state.flavors.get(state.flavor_of.get(server.id, ""))
        if server.host == host and flavor:
            used["VCPU"] += flavor.vcpus
            used["MEMORY_MB"] += flavor.ram
            used["DISK_GB"] += flavor.disk
    over = [name for name, amount in used.items() if amount > CAPACITY[name]]
    return f"{over[0]}: {used[over[0]]} of {CAPACITY[over[0]]}" if over else None
