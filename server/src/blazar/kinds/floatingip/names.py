"""The names of a floating IP: the facts of its registration, its name and its id."""

from __future__ import annotations

from ipaddress import ip_address
from uuid import UUID, uuid5

from blazar.domain.resource import Pool, Registration

POOL = Pool("floatingip")
NETWORK_ID = "floating_network_id"
SUBNET_ID = "subnet_id"
ADDRESS = "floating_ip_address"

_NAMESPACE = UUID("b1a2a700-5e5e-4a7e-9f00-000000000002")


def floating_ip_name(network_id: str, address: str) -> str:
    """Return the name of the registration of a canonical address: two networks may have the same address."""
    return f"{network_id}/{address}"


def floating_ip_id(network_id: str, address: str) -> str:
    """Return the id of the registration of a canonical address on a network.

    It follows from what it names, so that a reservation can ask for an address without looking it up, and two
    registrations of one address are one too many by themselves."""
    return str(uuid5(_NAMESPACE, floating_ip_name(network_id, address)))


def network_and_number(floatingip: Registration) -> tuple[str, int, int]:
    """Return the place of a floating IP in lists."""
    number = ip_address(str(floatingip.facts[ADDRESS]))
    return str(floatingip.facts[NETWORK_ID]), number.version, int(number)
