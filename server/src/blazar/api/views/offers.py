"""The view of an offer in answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from blazar.api.views.dates import stamp, wire_date
from blazar.api.views.leases import PlannedView, lease_view, planned_view
from blazar.domain.lease.offer import Offer
from blazar.service.context import Caller
from blazar.service.ports.kind import Kinds

OF_LEASES = frozenset(
    {
        *("id", "lease_id", "resource_id", "status", "status_reason"),
        *("missing_resources", "resources_changed", "created_at", "updated_at"),
    }
)
"""The keys of a reservation that say nothing before there is a lease."""


@with_config(ConfigDict(extra="allow"))
class OfferedReservation(TypedDict):
    """A reservation; further keys are those of its kind."""

    resource_type: Annotated[str, Field(description="The kind of reservation.")]


class OfferView(TypedDict):
    """What is held, for whom, and until when."""

    id: Annotated[str, Field(description="UUID of the offer, and of the lease that it becomes.")]
    user_id: Annotated[str, Field(description="Who asked for it.")]
    project_id: Annotated[str, Field(description="The project that may claim it.")]
    start_date: Annotated[
        str, Field(description="When the lease would start, in UTC: `2050-01-01T10:00:00.000000`.")
    ]
    end_date: Annotated[str, Field(description="When the lease would end, in UTC.")]
    expires_at: Annotated[str, Field(description="Until when it is held, in UTC.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    reservations: Annotated[
        list[OfferedReservation], Field(description="The reservations of the lease, as they were asked for.")
    ]
    planned: Annotated[list[PlannedView], Field(description="What each reservation would get.")]


class OfferReply(TypedDict):
    offer: Annotated[OfferView, Field(description="The offer.")]


class OffersReply(TypedDict):
    offers: Annotated[
        list[OfferView], Field(description="The offers of the project that have not expired, oldest first.")
    ]


def offer_reply(offer: Offer, caller: Caller, kinds: Kinds) -> OfferReply:
    return {"offer": offer_view(offer, caller, kinds)}


def offer_view(offer: Offer, caller: Caller, kinds: Kinds) -> OfferView:
    lease, shown = offer.lease, lease_view(offer.lease, caller, kinds)
    return {
        "id": offer.id,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "start_date": shown["start_date"],
        "end_date": shown["end_date"],
        "expires_at": wire_date(offer.expires_at),
        "created_at": stamp(lease.created_at),
        "reservations": [_reservation(dict(each)) for each in shown["reservations"]],
        "planned": [planned_view(each, caller) for each in lease.reservations],
    }


def _reservation(shown: dict[str, Any]) -> OfferedReservation:
    found = {name: value for name, value in shown.items() if name not in OF_LEASES}
    return {**found, "resource_type": str(shown["resource_type"])}  # type: ignore[typeddict-item]
