"""Which resource does a name or an id refer to?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from blazarclient import exception
from blazarclient.reading.errors import nearest

_UUID = re.compile(r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_NUMBER = re.compile(r"^[0-9]+$")
Row = dict[str, Any]


def lease_id(reference: str, list_leases: Callable[[], Sequence[Row]]) -> str:
    """The id of a lease: a UUID is one; everything else is a name, looked up in the list."""
    return _find(reference, _UUID, "lease", "name", list_leases)


def host_id(reference: str, list_hosts: Callable[[], Sequence[Row]]) -> str:
    """The id of a host: digits are one; everything else is a hypervisor hostname, looked up in the list."""
    return _find(reference, _NUMBER, "host", "hypervisor_hostname", list_hosts)


def floatingip_id(reference: str, list_floatingips: Callable[[], Sequence[Row]]) -> str:
    """The id of a floating IP: a UUID is one; everything else is an address, looked up in the list."""
    return _find(reference, _UUID, "floatingip", "floating_ip_address", list_floatingips)


def _find(reference: str, pattern: re.Pattern[str], noun: str, key: str, rows: Callable[[], Sequence[Row]]) -> str:
    if pattern.match(reference):
        return reference
    candidates = rows()
    found = [row for row in candidates if row.get(key) == reference]
    if len(found) > 1:
        raise exception.NoUniqueMatch(
            f"There are more than one appropriate resources for the name '{reference}' and type '{noun}'"
        )
    if not found:
        guess = nearest(reference, {str(row.get(key)): None for row in candidates})
        hint = f": did you mean '{guess}'?" if guess else ""
        raise exception.BlazarClientException(
            f"Unable to find resource with name '{reference}'{hint}", code=404, noun=noun
        )
    return str(found[0]["id"])
