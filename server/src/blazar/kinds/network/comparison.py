"""The comparison of reserved networks with Neutron: those of active reservations, and those that no lease
has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from blazar.kinds.network.actuator import TAG, allocated, clear, is_ours, mark_of
from blazar.kinds.network.names import POOL, name_of, segment_of
from blazar.service.ports import (
    Cloud,
    CloudNetwork,
    Difference,
    Look,
    MarkedObject,
    Segment,
    is_reservation_id,
)
from blazar.service.ports.kind import Work

SORT = "network"
MARK = mark_of("")


def differences(work: Work, look: Look) -> Iterator[Difference]:
    """Compare the networks on the allocated segments with what the reservation should have."""
    marks = {TAG, mark_of(work.reservation.id)}
    for segment in sorted(allocated(work).values(), key=name_of):
        found = _like(segment, look).get(segment)
        subject, wanted = f"network on {name_of(segment)}", f"of project {work.lease.project_id}"
        if found is None:
            yield Difference(SORT, subject, wanted, "missing")
        elif not is_ours(found, work):
            other = f"another one, {found.id} of project {found.project_id}"
            yield Difference(SORT, subject, wanted, other, advice="Remove it from the reserved segment.")
        elif not found.tags >= marks:
            tags = ", ".join(sorted(found.tags)) or "none"
            yield Difference("tags", f"tags of {subject}", ", ".join(sorted(marks)), tags)


def marked(look: Look) -> Iterator[MarkedObject]:
    """Return the networks on registered segments that carry a reservation's mark, as their description or as
    one of their tags."""
    for segment in sorted(map(segment_of, look.registered(POOL)), key=name_of):
        found = _like(segment, look).get(segment)
        reservation_id = _reservation_of(found) if found else None
        if found and reservation_id:
            remove = partial(_remove, found, reservation_id)
            yield MarkedObject(reservation_id, SORT, f"network {found.id} on {name_of(segment)}", remove)


def _like(segment: Segment, look: Look) -> Mapping[Segment, CloudNetwork]:
    """Return the networks on all segments of the same type and physical network: they are asked for once."""
    where = segment.network_type, segment.physical_network
    return look.once(
        f"networks on {where}",
        lambda: {each.segment: each for each in look.cloud.network.networks_on(*where) if each.segment},
    )


def _reservation_of(network: CloudNetwork) -> str | None:
    """Return the id of the one reservation whose mark it carries."""
    tags = network.tags if TAG in network.tags else frozenset()
    found = {text.removeprefix(MARK) for text in (network.description, *tags) if text.startswith(MARK)}
    ids = [each for each in found if is_reservation_id(each)]
    return ids[0] if len(ids) == 1 else None


def _remove(seen: CloudNetwork, reservation_id: str, cloud: Cloud) -> str | None:
    """Delete the network with all that is on it, if it still carries the mark."""
    network = cloud.network
    found = network.network(seen.id)
    if found is None:
        return None
    if _reservation_of(found) != reservation_id:
        return "it carries the mark no longer"
    clear(found.id, network)
    network.delete_network(found.id)
    return None
