"""The view of a lease in answers, with its reservations and events."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from blazar.api.views.dates import stamp, wire_date
from blazar.domain.lease.lease import Lease
from blazar.service.context import Caller
from blazar.service.documents import DateFormats, lease_document
from blazar.service.ports.kind import Kinds

DATES = DateFormats(wire_date, stamp)


class EventView(TypedDict):
    """A moment of a lease."""

    id: Annotated[str, Field(description="UUID of the event.")]
    lease_id: Annotated[str, Field(description="UUID of its lease.")]
    event_type: Annotated[str, Field(description="`start_lease`, `before_end_lease` or `end_lease`.")]
    time: Annotated[str, Field(description="When it is due, in UTC: `2050-01-01T10:00:00.000000`.")]
    status: Annotated[str, Field(description="`UNDONE`, `IN_PROGRESS`, `DONE` or `ERROR`.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


@with_config(ConfigDict(extra="allow"))
class ReservationView(TypedDict):
    """A reservation; further keys are those of its kind."""

    id: Annotated[str, Field(description="UUID of the reservation.")]
    lease_id: Annotated[str, Field(description="UUID of its lease.")]
    resource_id: Annotated[
        str,
        Field(description="UUID by which the kind knows the reservation."),
    ]
    resource_type: Annotated[
        str,
        Field(description="The kind of reservation, for example `physical:host`."),
    ]
    status: Annotated[str, Field(description="`pending`, `active`, `deleted` or `error`.")]
    status_reason: NotRequired[
        Annotated[str, Field(description="Why it is in its status, where there is something to say.")]
    ]
    missing_resources: Annotated[bool, Field(description="Whether it has less than was promised.")]
    resources_changed: Annotated[bool, Field(description="Whether other resources serve it than at first.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class LeaseView(TypedDict):
    """A lease. `trust_id` is shown to administrators only."""

    id: Annotated[str, Field(description="UUID of the lease.")]
    name: Annotated[str, Field(description="Its user's name for it; need not be unique.")]
    user_id: Annotated[str, Field(description="Who made it.")]
    project_id: Annotated[str, Field(description="The project that may use what is reserved.")]
    start_date: Annotated[str, Field(description="When it starts, in UTC: `2050-01-01T10:00:00.000000`.")]
    end_date: Annotated[str, Field(description="When it ends, in UTC: `2050-01-01T10:00:00.000000`.")]
    trust_id: Annotated[
        str | None,
        Field(description="The trust of the user; administrators only are shown it."),
    ]
    status: Annotated[
        str,
        Field(description="What it does now, for example `PENDING` or `ACTIVE`."),
    ]
    status_reason: NotRequired[
        Annotated[str, Field(description="Why it is in its status, where there is something to say.")]
    ]
    degraded: Annotated[
        bool, Field(description="Whether a reservation misses resources, or has others than at first.")
    ]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]
    reservations: Annotated[
        list[ReservationView], Field(description="Its reservations, in the order of the request.")
    ]
    events: Annotated[
        list[EventView], Field(description="Its start, its end and the warning before the end.")
    ]


class LeaseReply(TypedDict):
    lease: Annotated[LeaseView, Field(description="The lease.")]


class LeasesReply(TypedDict):
    leases: Annotated[
        list[LeaseView], Field(description="All leases that the caller may see, the oldest first.")
    ]


def lease_reply(lease: Lease, caller: Caller, kinds: Kinds) -> LeaseReply:
    return {"lease": lease_view(lease, caller, kinds)}


def lease_view(lease: Lease, caller: Caller, kinds: Kinds) -> LeaseView:
    document = lease_document(lease, kinds, DATES)
    shown = document if caller.is_admin else {**document, "trust_id": None}
    return cast(LeaseView, shown)  # a kind's own keys are not ours to name
