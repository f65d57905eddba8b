"""The verbs of reserved segments: each has a network of the user's project, and is empty again at the end.

A network is made with the reservation's mark as its description, then tagged; later on its id is remembered,
for description and tags are the user's to change. It is looked for on its segment, of which Neutron has one
at most: whenever this process dies, and however late a request arrives, no second network can be made.

At the end all goes that is on the network: ports, which detaches servers, then the interfaces of routers. So
a floating IP of a server is in no interface's way. What users attach meanwhile is found by the next
attempt."""

from __future__ import annotations

from collections.abc import Mapping

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, Outcome
from blazar.kinds.for_each import for_each, unfinished
from blazar.kinds.network.names import name_of, segment_of
from blazar.service.ports import CloudNetwork, Network, NetworkPort, Segment
from blazar.service.ports.kind import Work

NETWORKS = "networks"
"""In what a reservation remembers: Neutron's id of the network on each segment, by the segment's id."""
TAG = "blazar"
NEUTRONS_OWN = "network:"
"""How the owners of those ports begin that are no users', but Neutron's."""
INTERFACES = frozenset(
    {
        "network:router_interface",
        "network:router_interface_distributed",
        "network:ha_router_replicated_interface",
    }
)


def activate(work: Work, network_name: str | None, network: Network) -> Outcome:
    """Make a network on every allocated segment: on all of them, or on none where the lease has not started
    yet."""
    segments = allocated(work)
    name = network_name or work.lease.name

    def make(resource_id: str) -> str:
        segment = segments[resource_id]
        called = name if len(segments) == 1 else f"{name}-{segment.segmentation_id}"
        return _made(work, segment, called, network).id

    made = for_each(sorted(segments), make, work.run_steps)
    if not made.failures:
        return Done({NETWORKS: {**remembered(work), **made.done}})
    outcome = unfinished(made.failures, ())
    if isinstance(outcome, GiveUp) and work.reservation.status is ReservationStatus.PENDING:
        deactivate(work, network)
    return outcome


def deactivate(work: Work, network: Network) -> Outcome:
    """Remove every network of the reservation, with all that is on it."""
    segments = {i: segment_of(each) for i, each in work.resources.items()}
    there = for_each(sorted(segments), lambda i: _on(segments[i], network), work.run_steps)
    ids = {each.id for each in there.done.values() if each is not None and is_ours(each, work)}
    ids |= set(remembered(work).values())
    removed = for_each(sorted(ids), lambda each: _is_removed(each, network), work.run_steps)
    waiting = [f"network {each} is still there" for each, is_gone in removed.done.items() if not is_gone]
    failures = [*there.failures, *removed.failures]
    if failures or waiting:
        return unfinished(failures, waiting)
    return Done({NETWORKS: {}})


def used(work: Work, network: Network) -> int:
    """Return how many of the reservation's networks have ports of users, or a router's."""
    found = for_each(sorted(remembered(work).values()), network.ports, work.run_steps).require()
    return sum(any(map(_is_attached, ports)) for ports in found.values())


def mark_of(reservation_id: str) -> str:
    """Return the text that marks a network as the reservation's."""
    return f"reservation:{reservation_id}"


def remembered(work: Work) -> Mapping[str, str]:
    """Return the ids of the networks by the ids of their segments."""
    ids: Mapping[str, str] = work.reservation.cloud_state.get(NETWORKS) or {}
    return ids


def is_ours(found: CloudNetwork, work: Work) -> bool:
    """Return whether it was made for the reservation."""
    mark = mark_of(work.reservation.id)
    is_marked = mark in found.tags or found.description == mark
    return found.project_id == work.lease.project_id and (is_marked or found.id in remembered(work).values())


def clear(network_id: str, network: Network) -> None:
    """Detach and delete all that keeps a network from being deleted."""
    ports = network.ports(network_id)
    for port in ports:
        if not port.owner.startswith(NEUTRONS_OWN):
            network.delete_port(port.id)
    for port in ports:
        if port.owner in INTERFACES:
            network.remove_router_interface(port)


def _is_removed(network_id: str, network: Network) -> bool:
    """Remove the network; return whether it is gone. Raises CloudRefused, CloudUnavailable."""
    clear(network_id, network)
    network.delete_network(network_id)
    return network.network(network_id) is None


def _made(work: Work, segment: Segment, name: str, network: Network) -> CloudNetwork:
    """Return the network on the segment. Raises CloudRefused where another one is on it."""
    mark = mark_of(work.reservation.id)
    found = _on(segment, network)
    if found is None:
        found = network.create_network(segment, name, work.lease.project_id, mark)
    elif not is_ours(found, work):
        reason = f"network {found.id} is on segment {name_of(segment)}, and is no reservation's of this lease"
        raise CloudRefused(service="Neutron", reason=reason)
    if not found.tags >= {TAG, mark}:
        network.set_network_tags(found.id, [TAG, mark, *sorted(found.tags - {TAG, mark})])
    return found


def _on(segment: Segment, network: Network) -> CloudNetwork | None:
    """Return the network on the segment, whosever it is."""
    found = network.networks_on(segment.network_type, segment.physical_network, segment.segmentation_id)
    return found[0] if found else None


def allocated(work: Work) -> Mapping[str, Segment]:
    """Return the segments that the reservation is to have, by their ids."""
    ids = {each.resource_id for each in work.reservation.allocations} & work.resources.keys()
    return {each: segment_of(work.resources[each]) for each in ids}


def _is_attached(port: NetworkPort) -> bool:
    return port.owner in INTERFACES or not port.owner.startswith(NEUTRONS_OWN)
