"""The verbs of reserved slots: the objects in Nova and Placement, and in which order
they come.

Each verb compares what the cloud has with what the reservation's allocations say, and does only what is
missing, so that it may be repeated at any time. A host has an inventory of the reservation's class only while
it is in its aggregate, so from the aggregate all inventories are found again. The hosts stay in the freepool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.kinds.aggregates import AGGREGATE_ID, existing_aggregate, known_aggregate
from blazar.kinds.slots.affinity import GROUP_ID, group_name, remove_groups
from blazar.kinds.slots.size import SlotSize
from blazar.kinds.snapshots import take_snapshots
from blazar.service.ports import Aggregate, Cloud, Compute, Flavor, Server
from blazar.service.ports.kind import Work

HOSTS = "hosts"
"""In what a reservation remembers: the hypervisor_hostname of each compute service host in its aggregate."""
RESERVATION_SPEC = "aggregate_instance_extra_specs:reservation"
CHECK_SERVERS_AFTER = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """The names under which the operator's Nova and ours meet."""

    owner_key: str = "blazar:owner"
    image_prefix: str = "reserved_"


def resource_class(reservation_id: str) -> str:
    """Return the class of which each server of the reservation takes one."""
    return f"CUSTOM_RESERVATION_{reservation_id.upper().replace('-', '_')}"


class SlotActuator:
    """Makes and removes what a reservation of slots has in the cloud."""

    def __init__(self, settings: SlotSettings) -> None:
        self._settings = settings

    def activate(self, work: Work, cloud: Cloud, size: SlotSize) -> Outcome:
        """Have as many slots on each allocated host as are allocated there, for the lease's project
        only."""
        compute, placement = cloud.compute, cloud.placement
        reservation = work.reservation
        class_name = resource_class(reservation.id)
        placement.ensure_resource_class(class_name)
        flavor = expected_flavor(reservation, size)
        _ensure_flavor(compute, flavor)
        aggregate = self._aggregate(work, compute)
        wanted = shares(work)
        hypervisors = {
            **reservation.cloud_state.get(HOSTS, {}),
            **{host: w.hypervisor for host, w in wanted.items()},
        }
        remembered = {AGGREGATE_ID: aggregate.id, HOSTS: hypervisors}
        for host, share in wanted.items():
            if host not in aggregate.hosts:
                compute.add_host(aggregate.id, host)
            placement.set_reserved_slots(share.hypervisor, class_name, share.slots)
        surplus = [host for host in aggregate.hosts if host not in wanted]
        busy = _being_deleted(
            [s for s in compute.servers_of(flavor.id) if s.host in surplus] if surplus else [], compute
        )
        if busy is None:
            for host in surplus:
                placement.set_reserved_slots(hypervisors.get(host, host), class_name, 0)
                compute.remove_host(aggregate.id, host)
        if work.lease.project_id not in compute.flavor_projects(flavor.id):
            compute.grant_flavor(flavor.id, work.lease.project_id)
        return Done(remembered) if busy is None else NotYet(busy, CHECK_SERVERS_AFTER, remembered)

    def snapshot(self, work: Work, cloud: Cloud) -> Outcome:
        """Make an image of each server of the reservation's flavor."""
        servers = cloud.compute.servers_of(work.reservation.id)
        return take_snapshots(work.lease, servers, self._settings.image_prefix, cloud)

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Prevent new servers, delete the servers, then remove what was made for them."""
        compute, placement = cloud.compute, cloud.placement
        reservation = work.reservation
        compute.revoke_flavor(reservation.id, work.lease.project_id)
        busy = _being_deleted(compute.servers_of(reservation.id), compute)
        if busy is not None:
            return NotYet(busy, CHECK_SERVERS_AFTER)
        class_name = resource_class(reservation.id)
        aggregate = existing_aggregate(reservation, compute)
        if aggregate is not None:
            hypervisors = _hypervisors(work)
            for host in aggregate.hosts:
                # Only the inventory goes: nova-compute remembers the provider, and fails boots without it.
                placement.set_reserved_slots(hypervisors.get(host, host), class_name, 0)
                compute.remove_host(aggregate.id, host)
            compute.delete_aggregate(aggregate.id)
        placement.remove_resource_class(class_name)
        # Nova finds a flavor's servers only while the flavor is there, so it goes after them.
        compute.delete_flavor(reservation.id)
        remove_groups(reservation, compute)
        return Done()

    def _aggregate(self, work: Work, compute: Compute) -> Aggregate:
        wanted = expected_metadata(work.lease, work.reservation, self._settings)
        aggregate = known_aggregate(work.reservation, compute)
        if aggregate is not None and wanted.items() <= aggregate.metadata.items():
            return aggregate
        return compute.create_aggregate(work.reservation.id, None, wanted)


def expected_metadata(lease: Lease, reservation: Reservation, settings: SlotSettings) -> dict[str, str]:
    """Return the metadata that the reservation's aggregate should have."""
    return {
        "reservation": reservation.id,
        "filter_tenant_id": lease.project_id,
        settings.owner_key: lease.project_id,
        **_affinity_spec(reservation),
    }


@dataclass(frozen=True, slots=True)
class Share:
    """The share of one host in the reservation."""

    hypervisor: str
    slots: int


def shares(work: Work) -> dict[str, Share]:
    """Return the share of each compute service host."""
    wanted: dict[str, Share] = {}
    for allocation in work.reservation.allocations:
        registration = work.resources.get(allocation.resource_id)
        if registration is not None:
            host = str(registration.facts["service_name"])
            before = wanted[host].slots if host in wanted else 0
            wanted[host] = Share(registration.name, before + allocation.slots)
    return wanted


def _hypervisors(work: Work) -> Mapping[str, str]:
    """Return the hypervisor_hostname by compute service host, of all hosts that may serve the reservation."""
    remembered: Mapping[str, str] = work.reservation.cloud_state.get(HOSTS, {})
    return {**remembered, **{str(r.facts["service_name"]): r.name for r in work.resources.values()}}


def expected_flavor(reservation: Reservation, size: SlotSize) -> Flavor:
    """Return the flavor that the reservation should have."""
    own = {
        RESERVATION_SPEC: reservation.id,
        f"resources:{resource_class(reservation.id)}": "1",
        **_affinity_spec(reservation),
    }
    return Flavor(
        id=reservation.id,
        name=group_name(reservation.id),
        vcpus=size.vcpus,
        ram=size.ram,
        disk=size.disk,
        ephemeral=size.ephemeral,
        swap=size.swap,
        is_public=False,
        extra_specs={**size.extra_specs, **own},
    )


def _affinity_spec(reservation: Reservation) -> dict[str, str]:
    return (
        {"affinity_id": str(reservation.cloud_state[GROUP_ID])} if GROUP_ID in reservation.cloud_state else {}
    )


def _ensure_flavor(compute: Compute, wanted: Flavor) -> None:
    known = compute.flavor(wanted.id)
    if known is None or not wanted.extra_specs.items() <= known.extra_specs.items():
        compute.create_flavor(wanted)


def _being_deleted(servers: Sequence[Server], compute: Compute) -> str | None:
    """Ask for the deletion of the servers; what is waited for, None where there is nothing to wait for."""
    for server in servers:
        compute.delete_server(server.id)
    names = ", ".join(server.name for server in servers[:5]) + (", ..." if len(servers) > 5 else "")
    return f"{len(servers)} servers are being deleted: {names}" if servers else None


def rendered(reservation: Reservation) -> dict[str, Any]:
    """Return the fields that tell what a reservation has in the cloud; the flavor's id is known before there
    is the flavor."""
    return {
        "flavor_id": reservation.id,
        "aggregate_id": reservation.cloud_state.get(AGGREGATE_ID),
        "server_group_id": reservation.cloud_state.get(GROUP_ID),
    }
