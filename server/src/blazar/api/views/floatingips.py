"""How floating IPs look in answers."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypedDict

from blazar.api.views.dates import stamp, stamp_with_t
from blazar.domain.floatingip import ADDRESS, NETWORK_ID, SUBNET_ID
from blazar.domain.resource import Registration


class FloatingIPView(TypedDict):
    """A registered floating IP."""

    id: str
    floating_network_id: str
    subnet_id: str
    floating_ip_address: str
    reservable: bool
    created_at: str | None
    updated_at: str | None


class FloatingIPReply(TypedDict):
    floatingip: FloatingIPView


class FloatingIPsReply(TypedDict):
    floatingips: list[FloatingIPView]


def floatingip_reply(floatingip: Registration) -> FloatingIPReply:
    return {"floatingip": _view(floatingip)}


def floatingips_reply(floatingips: Iterable[Registration]) -> FloatingIPsReply:
    return {"floatingips": [_view(each) for each in floatingips]}


def made_reply(floatingip: Registration) -> FloatingIPReply:
    """Of one that was registered just now the moments are written with a ``T``."""
    moments = {
        "created_at": stamp_with_t(floatingip.created_at),
        "updated_at": stamp_with_t(floatingip.updated_at),
    }
    return {"floatingip": {**_view(floatingip), **moments}}  # type: ignore[typeddict-item]  # two of its own fields


def _view(floatingip: Registration) -> FloatingIPView:
    return {
        "id": floatingip.id,
        "floating_network_id": str(floatingip.facts[NETWORK_ID]),
        "subnet_id": str(floatingip.facts[SUBNET_ID]),
        "floating_ip_address": str(floatingip.facts[ADDRESS]),
        "reservable": floatingip.reservable,
        "created_at": stamp(floatingip.created_at),
        "updated_at": stamp(floatingip.updated_at),
    }
