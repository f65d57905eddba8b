"""The comparison of reserved slots with Nova and Placement: flavors, aggregates, classes, inventories and
server groups, and those of them that no lease has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from blazar.kinds.aggregates import (
    SERVER,
    aggregates_by_name,
    all_aggregates,
    differing_metadata,
    named,
    still_used,
    told,
)
from blazar.kinds.slots.actuator import (
    RESERVATION_SPEC,
    SlotSettings,
    expected_flavor,
    expected_metadata,
    resource_class,
    shares,
    users_in,
)
from blazar.kinds.slots.affinity import GROUP_ID, group_name
from blazar.kinds.slots.size import SlotSize
from blazar.service.ports import (
    Aggregate,
    Cloud,
    Difference,
    Flavor,
    Look,
    MarkedObject,
    ServerGroup,
    is_reservation_id,
)
from blazar.service.ports.kind import Work

AGGREGATE, CLASS, FLAVOR = "aggregate", "resource class", "flavor"
INVENTORY, GROUP = "inventory", "server group"
GROUP_ADVICE = "only the lease's owner can have it made: by an update to another affinity and back"
SIZE_ADVICE = "Nova cannot change it: delete the flavor, and it is made anew"
CLASS_PREFIX = resource_class("")
GROUP_PREFIX = group_name("")


# what an active reservation should have


def differences(work: Work, look: Look, size: SlotSize, settings: SlotSettings) -> Iterator[Difference]:
    """Compare all that an active reservation has with its allocations."""
    yield from _of_placement(work, look)
    yield from _of_flavor(work, look, expected_flavor(work.reservation, size))
    yield from _of_aggregate(
        work, look, expected_metadata(work.lease, work.reservation, settings, work.users)
    )
    group_id = work.reservation.cloud_state.get(GROUP_ID)
    if group_id is not None and str(group_id) not in _groups(look):
        yield Difference(GROUP, f"server group {group_id}", "there", "missing", advice=GROUP_ADVICE)


def _of_placement(work: Work, look: Look) -> Iterator[Difference]:
    name = resource_class(work.reservation.id)
    if name not in _classes(look):
        yield Difference(CLASS, f"resource class {name}", "there", "missing")
    for share in shares(work).values():
        total = _totals(look, share.hypervisor).get(name, 0)
        if total != share.slots:
            subject = f"inventory of {name} on blazar_{share.hypervisor}"
            yield Difference(INVENTORY, subject, str(share.slots), str(total))


def _of_flavor(work: Work, look: Look, wanted: Flavor) -> Iterator[Difference]:
    subject = f"flavor {wanted.id}"
    known = _flavors(look).get(wanted.id)
    if known is None:
        yield Difference(FLAVOR, subject, "there", "missing")
        return
    if not wanted.extra_specs.items() <= known.extra_specs.items():
        specs = {key: known.extra_specs[key] for key in wanted.extra_specs if key in known.extra_specs}
        yield Difference("extra specs", f"extra specs of {subject}", told(wanted.extra_specs), told(specs))
    if _size(known) != _size(wanted):
        yield Difference(FLAVOR, f"size of {subject}", _size(wanted), _size(known), advice=SIZE_ADVICE)
    projects = look.cloud.compute.flavor_projects(wanted.id)
    allowed = {work.lease.project_id, *work.users}
    if not allowed <= projects:
        found = ", ".join(sorted(projects)) or "none"
        yield Difference("access", f"projects of {subject}", ", ".join(sorted(allowed)), found)


def _of_aggregate(work: Work, look: Look, metadata: Mapping[str, str]) -> Iterator[Difference]:
    name = work.reservation.id
    subject, wanted = f"aggregate {name}", named(list(shares(work)))
    aggregate = aggregates_by_name(look).get(name)
    if aggregate is None:
        yield Difference(AGGREGATE, subject, wanted, "no such aggregate")
        return
    if named(aggregate.hosts) != wanted:
        yield Difference(AGGREGATE, subject, wanted, named(aggregate.hosts))
    yield from differing_metadata(aggregate, metadata)
    if (users := users_in(aggregate)) != sorted(work.users):
        wanted = ", ".join(sorted(work.users)) or "none"
        yield Difference("access", f"other projects of {subject}", wanted, ", ".join(users) or "none")


# what carries the mark of a reservation


def marked(look: Look) -> Iterator[MarkedObject]:
    """Return what has names as the actuator writes them. The kinds that reserve slots have it together."""
    for hypervisor in look.once("providers", look.cloud.placement.reservation_providers):
        for name in _totals(look, hypervisor):
            if reservation_id := _reservation_of(name):
                subject = f"inventory of {name} on blazar_{hypervisor}"
                remove = partial(_remove_inventory, hypervisor, name)
                yield MarkedObject(reservation_id, INVENTORY, subject, remove)
    for aggregate in all_aggregates(look):
        if _is_marked_aggregate(aggregate):
            remove = partial(_remove_aggregate, aggregate)
            yield MarkedObject(aggregate.name, AGGREGATE, f"aggregate {aggregate.name}", remove)
    for name in sorted(_classes(look)):
        if reservation_id := _reservation_of(name):
            yield MarkedObject(reservation_id, CLASS, f"resource class {name}", partial(_remove_class, name))
    for flavor in _flavors(look).values():
        if _is_marked_flavor(flavor):
            yield MarkedObject(flavor.id, FLAVOR, f"flavor {flavor.id}", partial(_remove_flavor, flavor.id))
    for group in _groups(look).values():
        reservation_id = group.name.removeprefix(GROUP_PREFIX)
        if group.name != reservation_id and is_reservation_id(reservation_id):
            subject = f"server group {group.id}"
            yield MarkedObject(reservation_id, GROUP, subject, partial(_remove_group, group.id))


def _is_marked_aggregate(aggregate: Aggregate) -> bool:
    metadata = aggregate.metadata
    is_marked = metadata.get("reservation") == aggregate.name and "filter_tenant_id" in metadata
    is_of_slots = SERVER not in metadata and aggregate.availability_zone is None
    return is_marked and is_of_slots and is_reservation_id(aggregate.name)


def _is_marked_flavor(flavor: Flavor) -> bool:
    is_named = is_reservation_id(flavor.id) and flavor.name == group_name(flavor.id)
    return is_named and not flavor.is_public and flavor.extra_specs.get(RESERVATION_SPEC) == flavor.id


def _reservation_of(class_name: str) -> str | None:
    """Return the id of the reservation that a resource class is named after, if it is."""
    reservation_id = class_name.removeprefix(CLASS_PREFIX).lower().replace("_", "-")
    is_marked = class_name.startswith(CLASS_PREFIX) and is_reservation_id(reservation_id)
    return reservation_id if is_marked else None


# each returns why it stays


def _remove_inventory(hypervisor: str, class_name: str, cloud: Cloud) -> str | None:
    cloud.placement.set_reserved_slots(hypervisor, class_name, 0)
    return None


def _remove_aggregate(seen: Aggregate, cloud: Cloud) -> str | None:
    compute = cloud.compute
    if reason := _servers_of(seen.name, cloud):
        return reason
    aggregate = compute.aggregate(seen.id)
    if aggregate is not None and aggregate.name == seen.name:
        for host in aggregate.hosts:
            compute.remove_host(aggregate.id, host)
        compute.delete_aggregate(aggregate.id)
    return None


def _remove_class(name: str, cloud: Cloud) -> str | None:
    cloud.placement.remove_resource_class(name)
    return None


def _remove_flavor(flavor_id: str, cloud: Cloud) -> str | None:
    if reason := _servers_of(flavor_id, cloud):
        return reason
    cloud.compute.delete_flavor(flavor_id)
    return None


def _remove_group(group_id: str, cloud: Cloud) -> str | None:
    cloud.compute.delete_server_group(group_id)
    return None


def _servers_of(reservation_id: str, cloud: Cloud) -> str | None:
    return still_used(cloud.compute.servers_of(reservation_id), f"are of flavor {reservation_id}")


# what a look asks for once


def _classes(look: Look) -> Collection[str]:
    return look.once("classes", lambda: frozenset(look.cloud.placement.resource_classes()))


def _totals(look: Look, hypervisor: str) -> Mapping[str, int]:
    return look.once(f"slots {hypervisor}", lambda: look.cloud.placement.reserved_slots(hypervisor))


def _flavors(look: Look) -> Mapping[str, Flavor]:
    return look.once("flavors", lambda: {each.id: each for each in look.cloud.compute.flavors()})


def _groups(look: Look) -> Mapping[str, ServerGroup]:
    return look.once("groups", lambda: {each.id: each for each in look.cloud.compute.server_groups()})


def _size(flavor: Flavor) -> str:
    return (
        f"{flavor.vcpus} VCPU, {flavor.ram} MiB, {flavor.disk} GiB, {flavor.ephemeral} GiB ephemeral, "
        f"{flavor.swap} MiB swap, {'public' if flavor.is_public else 'private'}"
    )
