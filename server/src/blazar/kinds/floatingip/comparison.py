"""The comparison of reserved floating IPs with Neutron: those of active reservations, and those that no lease
has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from blazar.kinds.floatingip.actuator import TAG, is_ours, mark_of
from blazar.kinds.floatingip.names import ADDRESS, NETWORK_ID, POOL
from blazar.service.ports import Cloud, Difference, FloatingIP, Look, MarkedObject, is_reservation_id
from blazar.service.ports.kind import Work

SORT = "floating IP"
MARK = mark_of("")


def differences(work: Work, network_id: str, look: Look) -> Iterator[Difference]:
    """Compare the floating IPs at the allocated addresses with what the reservation should have."""
    known, marks = _on(network_id, look), {TAG, mark_of(work.reservation.id)}
    for address in sorted(str(r.facts[ADDRESS]) for r in work.resources.values()):
        floating_ip = known.get(address)
        subject, wanted = f"floating IP {address}", f"of project {work.lease.project_id}"
        if floating_ip is None:
            yield Difference(SORT, subject, wanted, "missing")
        elif not is_ours(floating_ip, work):
            yield Difference(SORT, subject, wanted, f"another one, of project {floating_ip.project_id}")
        elif not floating_ip.tags >= marks:
            found = ", ".join(sorted(floating_ip.tags)) or "none"
            yield Difference("tags", f"tags of {subject}", ", ".join(sorted(marks)), found)


def marked(look: Look) -> Iterator[MarkedObject]:
    """Return the floating IPs at registered addresses that carry a reservation's mark, as their description
    or as one of their tags."""
    registered = look.registered(POOL)
    addresses = {(str(each.facts[NETWORK_ID]), str(each.facts[ADDRESS])) for each in registered}
    for network_id in sorted({network_id for network_id, _ in addresses}):
        for address, floating_ip in sorted(_on(network_id, look).items()):
            reservation_id = _reservation_of(floating_ip)
            if reservation_id and (network_id, address) in addresses:
                remove = partial(_remove, floating_ip, reservation_id)
                yield MarkedObject(reservation_id, SORT, f"floating IP {address}", remove)


def _on(network_id: str, look: Look) -> Mapping[str, FloatingIP]:
    return look.once(
        f"floating IPs {network_id}",
        lambda: {each.address: each for each in look.cloud.network.floating_ips(network_id, ())},
    )


def _reservation_of(floating_ip: FloatingIP) -> str | None:
    """Return the id of the one reservation whose mark it carries."""
    tags = floating_ip.tags if TAG in floating_ip.tags else frozenset()
    found = {text.removeprefix(MARK) for text in (floating_ip.description, *tags) if text.startswith(MARK)}
    ids = [each for each in found if is_reservation_id(each)]
    return ids[0] if len(ids) == 1 else None


def _remove(seen: FloatingIP, reservation_id: str, cloud: Cloud) -> str | None:
    """Delete the floating IP, from whatever port it leads to, if it still carries the mark."""
    network = cloud.network
    floating_ip = network.floating_ip(seen.network_id, seen.address)
    if floating_ip is None or floating_ip.id != seen.id:
        return None
    if _reservation_of(floating_ip) != reservation_id:
        return "it carries the mark no longer"
    if floating_ip.port_id is not None:
        network.disassociate_floating_ip(floating_ip.id)
    network.delete_floating_ip(floating_ip.id)
    return None
