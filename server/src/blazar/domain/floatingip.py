"""What a floating IP is called: the one spelling of its address, the facts of its registration, and its id."""

from __future__ import annotations

import ipaddress
from uuid import UUID, uuid5

from blazar.domain.errors import InvalidIPFormat

NETWORK_ID = "floating_network_id"
SUBNET_ID = "subnet_id"
ADDRESS = "floating_ip_address"

_NAMESPACE = UUID("b1a2a700-5e5e-4a7e-9f00-000000000002")


def canonical_address(text: object) -> str:
    """The one spelling of an IPv4 or IPv6 address. Raises InvalidIPFormat."""
    if not isinstance(text, str) or "%" in text:  # a zone means something on one machine only
        raise InvalidIPFormat(ip=str(text)[:100])
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InvalidIPFormat(ip=text[:100]) from None


def floating_ip_name(network_id: str, address: str) -> str:
    """What the registration of a canonical address is called: two networks may have the same address."""
    return f"{network_id}/{address}"


def floating_ip_id(network_id: str, address: str) -> str:
    """The id of the registration of a canonical address on a network.

    It follows from what it names, so that a reservation can ask for an address without looking it up, and two
    registrations of one address are one too many by themselves."""
    return str(uuid5(_NAMESPACE, floating_ip_name(network_id, address)))
