"""The verbs of reserved addresses: they become floating IPs of the user's project, and stop being so.

Each verb compares what Neutron has with what the reservation's allocations say, and does only what is
missing, so that it may be repeated at any time. A floating IP is made with the reservation's mark as its
description, then tagged: whenever this process dies, what it made is known by one or the other. Later on its
id is remembered, for both are the user's to change."""

from __future__ import annotations

from collections.abc import Mapping

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, Outcome
from blazar.kinds.floatingip.errors import FloatingIPInUse
from blazar.kinds.floatingip.names import ADDRESS, SUBNET_ID
from blazar.service.ports import FloatingIP, Network
from blazar.service.ports.kind import Work

FLOATING_IPS = "floating_ips"
"""In what a reservation remembers: Neutron's id of the floating IP at each address."""
TAG = "blazar"


def activate(work: Work, network_id: str, network: Network) -> Outcome:
    """Give every allocated address to the lease's project: all of them, or none where the lease has not
    started yet."""
    try:
        return Done({FLOATING_IPS: _give(work, network_id, network)})
    except (CloudRefused, FloatingIPInUse) as refusal:
        if work.reservation.status is ReservationStatus.PENDING:
            deactivate(work, network_id, network)
        return GiveUp(refusal.message)


def deactivate(work: Work, network_id: str, network: Network) -> Outcome:
    """Take every floating IP of the reservation back, from whatever port it leads to."""
    tagged = _tagged(work, network_id, network)
    for address in sorted({*_subnets(work), *_remembered(work)}):
        floating_ip = tagged.get(address) or network.floating_ip(network_id, address)
        if floating_ip is None or not is_ours(floating_ip, work):
            continue
        if floating_ip.port_id is not None:
            network.disassociate_floating_ip(floating_ip.id)
        network.delete_floating_ip(floating_ip.id)
    return Done()


def used(work: Work, network_id: str, network: Network) -> int:
    """Return how many of the reservation's floating IPs lead to a port."""
    tagged = _tagged(work, network_id, network)
    addresses = sorted({*_subnets(work), *_remembered(work)})
    found = (tagged.get(each) or network.floating_ip(network_id, each) for each in addresses)
    return sum(f is not None and is_ours(f, work) and f.port_id is not None for f in found)


def _give(work: Work, network_id: str, network: Network) -> Mapping[str, str]:
    """Return Neutron's ids by address. Raises FloatingIPInUse where another project has one of the
    addresses."""
    mark, project_id = _mark(work), work.lease.project_id
    tagged = _tagged(work, network_id, network)
    ids = {}
    for address, subnet_id in _subnets(work).items():
        floating_ip = tagged.get(address) or network.create_floating_ip(
            network_id, subnet_id, address, project_id, mark
        )
        if not is_ours(floating_ip, work):
            raise FloatingIPInUse(floatingip=address)
        if not floating_ip.tags >= {TAG, mark}:
            network.set_floating_ip_tags(floating_ip.id, [TAG, mark, *sorted(floating_ip.tags - {TAG, mark})])
        ids[address] = floating_ip.id
    return ids


def mark_of(reservation_id: str) -> str:
    """Return the text that marks a floating IP as the reservation's."""
    return f"reservation:{reservation_id}"


def _mark(work: Work) -> str:
    return mark_of(work.reservation.id)


def _subnets(work: Work) -> Mapping[str, str]:
    """Return the subnet of each allocated address."""
    return {str(r.facts[ADDRESS]): str(r.facts[SUBNET_ID]) for r in work.resources.values()}


def _remembered(work: Work) -> Mapping[str, str]:
    ids: Mapping[str, str] = work.reservation.cloud_state.get(FLOATING_IPS, {})
    return ids


def _tagged(work: Work, network_id: str, network: Network) -> Mapping[str, FloatingIP]:
    """Return the floating IPs that have the reservation's tag already, by address."""
    found = network.floating_ips(network_id, [_mark(work)])
    return {f.address: f for f in found if is_ours(f, work)}


def is_ours(floating_ip: FloatingIP, work: Work) -> bool:
    """Return whether it was made for the reservation, and not by another user who was faster."""
    is_marked = _mark(work) in floating_ip.tags or floating_ip.description == _mark(work)
    is_remembered = _remembered(work).get(floating_ip.address) == floating_ip.id
    return floating_ip.project_id == work.lease.project_id and (is_marked or is_remembered)
