"""The answers that show floating IPs."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.lists import PageLink
from blazar.api.views.dates import stamp, stamp_with_t
from blazar.domain.resource import Registration
from blazar.kinds.floatingip.names import ADDRESS, NETWORK_ID, SUBNET_ID


class FloatingIPView(TypedDict):
    """A registered floating IP."""

    id: Annotated[str, Field(description="UUID of the floating IP in the reservation service.")]
    floating_network_id: Annotated[str, Field(description="The external network.")]
    subnet_id: Annotated[str, Field(description="The subnet that the address is in.")]
    floating_ip_address: Annotated[str, Field(description="The address.")]
    reservable: Annotated[bool, Field(description="Whether reservations may get it.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class FloatingIPReply(TypedDict):
    floatingip: Annotated[FloatingIPView, Field(description="The floating IP.")]


class FloatingIPsReply(TypedDict):
    floatingips: Annotated[
        list[FloatingIPView],
        Field(
            description="The registered floating IPs: all of them by network and number; from 1.1 on a page, "
            "in the order of their ids."
        ),
    ]
    floatingips_links: NotRequired[
        Annotated[
            list[PageLink],
            Field(description="The link `next` to the next page, where there is one. From 1.1 on."),
        ]
    ]


def floatingip_reply(floatingip: Registration) -> FloatingIPReply:
    return {"floatingip": floatingip_view(floatingip)}


def made_reply(floatingip: Registration) -> FloatingIPReply:
    """Of one that was registered just now the moments are written with a ``T``."""
    moments = {
        "created_at": stamp_with_t(floatingip.created_at),
        "updated_at": stamp_with_t(floatingip.updated_at),
    }
    return {"floatingip": {**floatingip_view(floatingip), **moments}}  # type: ignore[typeddict-item]  # two of its own fields


def floatingip_view(floatingip: Registration) -> FloatingIPView:
    return {
        "id": floatingip.id,
        "floating_network_id": str(floatingip.facts[NETWORK_ID]),
        "subnet_id": str(floatingip.facts[SUBNET_ID]),
        "floating_ip_address": str(floatingip.facts[ADDRESS]),
        "reservable": floatingip.reservable,
        "created_at": stamp(floatingip.created_at),
        "updated_at": stamp(floatingip.updated_at),
    }
