"""The view of the waitlist in answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import wire_date
from blazar.api.views.leases import waiting_view
from blazar.service.waitlist import WaitingLease


class PlaceView(TypedDict):
    """A lease that waits, and where it stands."""

    lease_id: Annotated[str, Field(description="UUID of the lease.")]
    name: Annotated[str, Field(description="Its user's name for it.")]
    user_id: Annotated[str, Field(description="Who asked for it.")]
    project_id: Annotated[str, Field(description="The project that would have it.")]
    start_date: Annotated[str, Field(description="The start that was asked for, in UTC.")]
    end_date: Annotated[str, Field(description="The end that was asked for, in UTC.")]
    position: Annotated[int, Field(description="Its position among all that wait, from 1 on.")]
    since: Annotated[str, Field(description="Since when it waits, in UTC: `2050-01-01T10:00:00.000000`.")]
    until: Annotated[str, Field(description="When it gives up, in UTC.")]
    expected_start: Annotated[
        str | None,
        Field(
            description="The first start that would have done when it began to wait, in UTC, by what was "
            "reserved then; null where that is not known."
        ),
    ]


class WaitlistReply(TypedDict):
    waitlist: Annotated[list[PlaceView], Field(description="The leases that wait, the next one first.")]


def waitlist_reply(found: Sequence[WaitingLease]) -> WaitlistReply:
    return {"waitlist": [_place(each) for each in found]}


def _place(found: WaitingLease) -> PlaceView:
    lease, shown = found.lease, waiting_view(found.lease, found.position)
    return {
        "lease_id": lease.id,
        "name": lease.name,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "start_date": wire_date(lease.interval.start),
        "end_date": wire_date(lease.interval.end),
        "position": found.position,
        "since": shown["since"],
        "until": shown["until"],
        "expected_start": shown["expected_start"],
    }
