"""What becomes of upstream's hosts and floating IPs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from blazar.domain.address import canonical_address
from blazar.domain.errors import BlazarError
from blazar.domain.resource import Inventory, Registration
from blazar.kinds.floatingip.names import (
    ADDRESS,
    NETWORK_ID,
    SUBNET_ID,
    floating_ip_id,
    floating_ip_name,
)
from blazar.kinds.floatingip.names import POOL as FLOATING_IPS
from blazar.kinds.registered_hosts.bodies import MAX_VALUE, is_key
from blazar.kinds.registered_hosts.pool import POOL as HOSTS
from blazar.kinds.registered_hosts.replies import FACTS
from blazar.kinds.registered_hosts.sizes import FACTS as SIZES
from blazar.upstream.source import HostRows

NOT_RESERVABLE = (
    "upstream's monitor had taken it out of service; here it is in service until enable_polling_monitor "
    "sees that it fails"
)


class Refusal(Exception):
    """Something cannot be taken; the message says why."""


def host_of(rows: HostRows) -> tuple[Registration, list[str]]:
    """Return the host with its number as its id, and what is different. Its cloud_id is stored later, by the
    monitor or the upkeep. Raises Refusal."""
    row, notes = rows.host, []
    if not row.hypervisor_hostname or not row.service_name:
        raise Refusal("it has no name")
    capabilities = {name: value for name, value in rows.capabilities if is_key(name)}
    odd = sorted({name for name, _ in rows.capabilities} - capabilities.keys())
    if odd:
        notes.append(f"without the properties {', '.join(map(ascii, odd))}, whose names are not allowed")
    long = sorted(name for name, value in capabilities.items() if len(value) > MAX_VALUE)
    if long:
        notes.append(f"without the properties {', '.join(map(ascii, long))}, which are too long")
    if not row.reservable:
        notes.append(NOT_RESERVABLE)
    host = Registration(
        id=row.id,
        pool=HOSTS,
        name=row.hypervisor_hostname,
        facts={name: getattr(row, name) for name in FACTS},
        capabilities={name: value for name, value in capabilities.items() if name not in long},
        traits=frozenset(rows.traits),
        inventory={each.resource_class: _inventory(each) for each in rows.inventories} or _sizes(row),
    )
    return host, notes


def _inventory(row: Any) -> Inventory:
    capacity = max(0, math.floor((row.total - row.reserved) * row.allocation_ratio))
    return Inventory(capacity, min(row.max_unit, capacity))


def _sizes(row: Any) -> Mapping[str, Inventory]:
    """Return what the host's own numbers say. Hosts that upstream registered before its release 17 have no
    inventory."""
    return {name: Inventory(getattr(row, fact), getattr(row, fact)) for name, fact in SIZES.items()}


def floatingip_of(row: Any) -> tuple[Registration, list[str]]:
    """Return the floating IP with the id that its address has here, and what is different. Raises
    Refusal."""
    try:
        address = canonical_address(row.floating_ip_address)
    except BlazarError as error:
        raise Refusal(error.message) from error
    floatingip = Registration(
        id=floating_ip_id(row.floating_network_id, address),
        pool=FLOATING_IPS,
        name=floating_ip_name(row.floating_network_id, address),
        facts={NETWORK_ID: row.floating_network_id, SUBNET_ID: row.subnet_id, ADDRESS: address},
    )
    return floatingip, [f"its id is {floatingip.id}"]
