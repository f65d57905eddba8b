"""The verbs of reserved slots: the objects in Nova and Placement, and in which order
they come.

Each verb compares what the cloud has with what the reservation's allocations say, and does only what is
missing, so that it may be repeated at any time. A host has an inventory of the reservation's class only while
it is in its aggregate, so from the aggregate all inventories are found again. The hosts stay in the freepool.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.lease.surplus import surplus_slots
from blazar.kinds.aggregates import AGGREGATE_ID, existing_aggregate, known_aggregate, service_name
from blazar.kinds.deletions import Deletions, being_deleted
from blazar.kinds.for_each import Failure, Results, for_each, unfinished
from blazar.kinds.preemptibles import Preemptibles, making_way
from blazar.kinds.slots.affinity import GROUP_ID, group_name, remove_groups
from blazar.kinds.slots.size import SlotSize
from blazar.kinds.snapshots import take_snapshots
from blazar.service.ports import Aggregate, Cloud, Compute, Flavor, Server
from blazar.service.ports.kind import Work

LOG = logging.getLogger(__name__)
HOSTS = "hosts"
"""In what a reservation remembers: the hypervisor_hostname of each compute service host in its aggregate."""
USER_KEY = "filter_tenant_id-"
"""With a project's id behind it, in the metadata of the aggregate: another project that may use the
reservation. Nova's filters read all keys that begin with filter_tenant_id. It is written before the project
gets the flavor and removed after it has lost it, so it tells which projects have it, also after a crash."""
RESERVATION_SPEC = "aggregate_instance_extra_specs:reservation"


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """The names under which the operator's Nova and ours meet."""

    owner_key: str = "blazar:owner"
    image_prefix: str = "reserved_"
    preemptibles_make_way: bool = False
    """Whether servers that may be ended at any time make way for what is reserved."""


def resource_class(reservation_id: str) -> str:
    """Return the class of which each server of the reservation takes one."""
    return f"CUSTOM_RESERVATION_{reservation_id.upper().replace('-', '_')}"


class SlotActuator:
    """Makes and removes what a reservation of slots has in the cloud."""

    def __init__(self, settings: SlotSettings) -> None:
        self._settings = settings
        self._shrinking, self._ending = Deletions(), Deletions()
        self._preemptibles = Preemptibles(settings.preemptibles_make_way)

    def activate(self, work: Work, cloud: Cloud, size: SlotSize) -> Outcome:
        """Have as many slots on each allocated host as are allocated there, for the lease's project only.

        Servers on hosts that no longer serve the reservation are deleted. Where it has given up only some of
        the slots of a host, so are the newest of its servers there that have no slot any more."""
        compute, reservation = cloud.compute, work.reservation
        cloud.placement.ensure_resource_class(resource_class(reservation.id))
        flavor = expected_flavor(reservation, size)
        is_new = _ensure_flavor(compute, flavor)
        aggregate = self._aggregate(work, compute)
        _withdraw(compute, aggregate, [each for each in users_in(aggregate) if each not in work.users])
        wanted = shares(work)
        hypervisors = {
            **reservation.cloud_state.get(HOSTS, {}),
            **{host: w.hypervisor for host, w in wanted.items()},
        }
        remembered = {AGGREGATE_ID: aggregate.id, HOSTS: hypervisors}
        arrived = self._arrived(wanted, aggregate, work, cloud)
        homeless = _homeless(work, aggregate, wanted, compute)
        unwanted = [server for servers in homeless.values() for server in servers]
        self._shrinking.ask(unwanted, compute, work.run_steps)
        surplus = [host for host in aggregate.hosts if host not in wanted and host not in homeless]
        left = _left(surplus, hypervisors, aggregate, work, cloud)
        failures = [*arrived.failures, *left.failures]
        if not failures and not arrived.waiting:
            _ensure_access(compute, flavor.id, work, is_new)
        waiting = [*arrived.waiting, *being_deleted(unwanted)]
        if not failures and not waiting:
            return Done(remembered)
        known = {
            "cloud_state": remembered,
            "serving": _others((a.resource_id for a in reservation.allocations), arrived.missing, work),
            "freed": _others(surplus_slots(reservation), {*homeless, *arrived.missing, *left.missing}, work),
        }
        return unfinished(failures, waiting, **known)

    def snapshot(self, work: Work, cloud: Cloud) -> Outcome:
        """Make an image of each server of the reservation's flavor."""
        servers = cloud.compute.servers_of(work.reservation.id)
        return take_snapshots(work.lease, servers, self._settings.image_prefix, cloud)

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Prevent new servers, delete the servers, then remove what was made for them.

        While Nova is at the deletion of every server that is left, one look at them is all."""
        compute, reservation = cloud.compute, work.reservation
        servers = compute.servers_of(reservation.id)
        if not self._ending.are_under_way(servers):
            for project_id in _projects(work, compute):
                compute.revoke_flavor(reservation.id, project_id)
            servers = compute.servers_of(reservation.id)
            self._ending.ask(servers, compute, work.run_steps)
        if waiting := being_deleted(servers):
            return unfinished([], waiting)
        aggregate = existing_aggregate(reservation, compute)
        if aggregate is not None:
            # Only the inventory goes: nova-compute remembers the provider, and fails boots without it.
            left = _left(aggregate.hosts, _hypervisors(work), aggregate, work, cloud)
            if left.failures:
                return unfinished(left.failures, [])
            compute.delete_aggregate(aggregate.id)
        cloud.placement.remove_resource_class(resource_class(reservation.id))
        # Nova finds a flavor's servers only while the flavor is there, so it goes after them.
        compute.delete_flavor(reservation.id)
        remove_groups(reservation, compute)
        return Done()

    def used(self, work: Work, cloud: Cloud) -> int:
        """Return how many servers of the reservation's flavor there are."""
        return len(cloud.compute.servers_of(work.reservation.id))

    def close(self, work: Work, cloud: Cloud) -> bool:
        """Take the flavor from the projects, which make no new servers of it then."""
        compute, flavor_id = cloud.compute, work.reservation.id
        known = compute.flavor_projects(flavor_id)
        having = [each for each in _projects(work, compute) if each in known]
        for project_id in having:
            compute.revoke_flavor(flavor_id, project_id)
        return bool(having)

    def _arrived(
        self, wanted: Mapping[str, Share], aggregate: Aggregate, work: Work, cloud: Cloud
    ) -> _Arrived:
        """Have each host in the aggregate, and then no preemptible servers on those that arrive."""
        served = _served(wanted, aggregate, work, cloud)
        serving = {service_name(work, a.resource_id) for a in work.reservation.allocations if a.bound}
        arriving = [host for host in wanted if host not in serving]
        preempted = self._preemptibles.leave(arriving, cloud, work.run_steps)
        in_the_way = {host: leaving for host, leaving in preempted.done.items() if leaving}
        return _Arrived(
            {*served.missing, *preempted.missing, *in_the_way},
            [*served.failures, *preempted.failures],
            making_way(in_the_way.values()),
        )

    def _aggregate(self, work: Work, compute: Compute) -> Aggregate:
        wanted = expected_metadata(work.lease, work.reservation, self._settings, work.users)
        aggregate = known_aggregate(work.reservation, compute)
        if aggregate is not None and wanted.items() <= aggregate.metadata.items():
            return aggregate
        return compute.create_aggregate(work.reservation.id, None, wanted)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """What came of bringing hosts into the reservation: those that do not serve it yet, what the cloud said
    of some, and what is waited for on others."""

    missing: Collection[str]
    failures: Sequence[Failure]
    waiting: Sequence[str]


def expected_metadata(
    lease: Lease, reservation: Reservation, settings: SlotSettings, users: Iterable[str] = ()
) -> dict[str, str]:
    """Return the metadata that the reservation's aggregate should have."""
    return {
        "reservation": reservation.id,
        "filter_tenant_id": lease.project_id,
        settings.owner_key: lease.project_id,
        **_affinity_spec(reservation),
        **{USER_KEY + each: each for each in users},
    }


def users_in(aggregate: Aggregate | None) -> Sequence[str]:
    """Return the other projects that the aggregate tells to have the flavor."""
    metadata = aggregate.metadata if aggregate is not None else {}
    # An operator's own key may begin so, too.
    return sorted(value for key, value in metadata.items() if key == USER_KEY + value)


def _projects(work: Work, compute: Compute) -> Sequence[str]:
    """Return all projects that may have the flavor."""
    if not work.lease.access_revision:
        return [work.lease.project_id]
    others = {*work.users, *users_in(existing_aggregate(work.reservation, compute))}
    return [work.lease.project_id, *sorted(others)]


def _withdraw(compute: Compute, aggregate: Aggregate, project_ids: Sequence[str]) -> None:
    """Take the flavor from other projects; their servers stay."""
    for project_id in project_ids:
        compute.revoke_flavor(aggregate.name, project_id)
    if project_ids:
        compute.remove_metadata(aggregate.id, [USER_KEY + each for each in project_ids])


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


def _served(
    wanted: Mapping[str, Share], aggregate: Aggregate, work: Work, cloud: Cloud
) -> Results[str, None]:
    """Have each host in the aggregate, with an inventory of its slots."""
    compute, class_name = cloud.compute, resource_class(work.reservation.id)
    arriving = wanted.keys() - set(aggregate.hosts)

    def serve(host: str) -> None:
        if host in arriving:
            compute.add_host(aggregate.id, host)
        cloud.placement.set_reserved_slots(wanted[host].hypervisor, class_name, wanted[host].slots)

    served = for_each(wanted, serve, work.run_steps)
    # Schedulers learn of each host by itself, and may forget one for another that comes at once. A crash may
    # have come before this, so it is done until all allocations are bound.
    if len(wanted) > 1 and (arriving or not all(a.bound for a in work.reservation.allocations)):
        compute.refresh_aggregate(aggregate)
    return served


def _left(
    hosts: Sequence[str], hypervisors: Mapping[str, str], aggregate: Aggregate, work: Work, cloud: Cloud
) -> Results[str, None]:
    """Take inventories and membership from the hosts."""
    class_name = resource_class(work.reservation.id)

    def leave(host: str) -> None:
        cloud.placement.set_reserved_slots(hypervisors.get(host, host), class_name, 0)
        cloud.compute.remove_host(aggregate.id, host)

    return for_each(hosts, leave, work.run_steps)


def _others(resource_ids: Iterable[str], hosts: Collection[str], work: Work) -> frozenset[str]:
    """Return the resources that are not these hosts."""
    return frozenset(each for each in resource_ids if service_name(work, each) not in hosts)


def _homeless(
    work: Work, aggregate: Aggregate, wanted: Mapping[str, Share], compute: Compute
) -> Mapping[str, Sequence[Server]]:
    """Return the servers that no slot is left for, by host.

    No more servers are taken from a host that serves the reservation than it has given up slots there: an
    operator may have brought others."""
    given_up = {service_name(work, i): slots for i, slots in surplus_slots(work.reservation).items()}
    most = {host: given_up.get(host, 0) for host in wanted if host in given_up}
    gone = [host for host in aggregate.hosts if host not in wanted]
    if not most and not gone:
        return {}
    on_host: dict[str | None, list[Server]] = defaultdict(list)
    for server in compute.servers_of(work.reservation.id):
        on_host[server.host].append(server)
    homeless: dict[str, Sequence[Server]] = {host: on_host[host] for host in gone}
    for host, slots in most.items():
        too_many = min(len(on_host[host]) - wanted[host].slots, slots)
        homeless[host] = _newest(on_host[host])[: max(too_many, 0)]
    return {host: servers for host, servers in homeless.items() if servers}


def _newest(servers: Sequence[Server]) -> Sequence[Server]:
    """Return the newest server first, but for those that are on their way out before it."""
    by_age = sorted(servers, key=lambda server: server.created or "", reverse=True)
    return sorted(by_age, key=lambda server: not server.is_being_deleted)


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


def _ensure_flavor(compute: Compute, wanted: Flavor) -> bool:
    """Return whether there was none: then no project may use it yet."""
    known = compute.flavor(wanted.id)
    if known is None or not wanted.extra_specs.items() <= known.extra_specs.items():
        compute.create_flavor(wanted)
    return known is None


def _ensure_access(compute: Compute, flavor_id: str, work: Work, is_new: bool) -> None:
    """Let the lease's project, and those that may use it, have the flavor. A new one has no projects, so none
    are looked for."""
    known = frozenset() if is_new else compute.flavor_projects(flavor_id)
    if work.lease.project_id not in known:
        compute.grant_flavor(flavor_id, work.lease.project_id)
    for project_id in work.users:
        if project_id not in known:
            _grant_to_other(compute, flavor_id, project_id)


def _grant_to_other(compute: Compute, flavor_id: str, project_id: str) -> None:
    """Let another project have the flavor. Nova refuses one that Keystone does not know: a user has named it,
    which is no reason for the lease not to start."""
    try:
        compute.grant_flavor(flavor_id, project_id)
    except CloudRefused as refusal:
        LOG.warning("Project %s does not get the flavor %s: %s", project_id, flavor_id, refusal.message)


def rendered(reservation: Reservation) -> dict[str, Any]:
    """Return the fields that tell what a reservation has in the cloud; the flavor's id is known before there
    is the flavor."""
    return {
        "flavor_id": reservation.id,
        "aggregate_id": reservation.cloud_state.get(AGGREGATE_ID),
        "server_group_id": reservation.cloud_state.get(GROUP_ID),
    }
