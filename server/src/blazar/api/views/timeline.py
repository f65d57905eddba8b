"""The view of the timeline in answers: rows, bars and occupants as columns, for there may be thousands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import wire_date
from blazar.domain.lease.share import ShareRight
from blazar.domain.time import MINUTE
from blazar.service.timeline import Occupant, Timeline, TimelineGroup


class TimelineGroupView(TypedDict):
    """Rows that follow each other and have a value in common."""

    resource_types: Annotated[list[str], Field(description="The kinds of reservations that take of them.")]
    value: Annotated[str, Field(description="The value of the property; empty for none.")]
    first: Annotated[int, Field(description="Number of the first row.")]
    rows: Annotated[int, Field(description="How many rows.")]


class RowColumns(TypedDict):
    """Each list has one item for each row."""

    id: Annotated[list[str], Field(description="The id of the resource.")]
    name: Annotated[list[str], Field(description="Its name, such as that of a host.")]
    trouble: Annotated[
        list[str], Field(description="Why no lease may get it at this moment; empty where one may.")
    ]
    capacity: Annotated[list[dict[str, int]], Field(description="What it has of each resource class.")]


class BarColumns(TypedDict):
    """Each list has one item for each bar."""

    row: Annotated[list[int], Field(description="The place of its row in `rows`.")]
    occupant: Annotated[list[int], Field(description="The place of what it is in `occupants`.")]
    start: Annotated[list[int], Field(description="Where it begins: minutes after `start_date`.")]
    end: Annotated[list[int], Field(description="Where it ends: minutes after `start_date`.")]
    slots: Annotated[
        list[int], Field(description="How many units are there; 0 where it takes the whole resource.")
    ]


class OccupantColumns(TypedDict):
    """Each list has one item for each occupant. Of a lease that the caller may not see, and of an offer, all
    but the type is empty."""

    type: Annotated[list[str], Field(description="`lease`, `maintenance` or `held` (an offer).")]
    id: Annotated[list[str], Field(description="UUID of the lease or the maintenance.")]
    name: Annotated[list[str], Field(description="Its name.")]
    status: Annotated[list[str], Field(description="The status of the lease.")]
    project_id: Annotated[list[str], Field(description="The project of the lease.")]
    user_id: Annotated[list[str], Field(description="Who made the lease.")]
    shared_right: NotRequired[
        Annotated[
            list[str],
            Field(
                description="Since 1.40: of a lease of another project that is shared with the caller's, "
                "what that one may do with it; empty for all else."
            ),
        ]
    ]


class TimelineView(TypedDict):
    """A part of the timeline."""

    start_date: Annotated[str, Field(description="Where the window begins, in UTC.")]
    end_date: Annotated[str, Field(description="Where it ends, in UTC.")]
    total: Annotated[int, Field(description="How many rows there are.")]
    first: Annotated[int, Field(description="Number of the first row of this answer.")]
    groups: Annotated[list[TimelineGroupView], Field(description="The groups of all rows, in order.")]
    rows: Annotated[RowColumns, Field(description="The rows of this answer.")]
    bars: Annotated[BarColumns, Field(description="What occupies them in the window.")]
    occupants: Annotated[OccupantColumns, Field(description="What the bars are.")]
    left_out: Annotated[
        int, Field(description="How many of the shortest bars an answer has no room for: ask for fewer rows.")
    ]


class TimelineReply(TypedDict):
    timeline: Annotated[TimelineView, Field(description="The part that was asked for.")]


def timeline_reply(
    timeline: Timeline, may_see: Callable[[Occupant], bool], tells_rights: bool = False
) -> TimelineReply:
    """Return the body; without names and ids of what the caller may not see. ``tells_rights``: with what the
    caller's project may do with leases that are shared with it."""
    rows, bars = timeline.rows, timeline.bars
    shown = [each if may_see(each) else Occupant(each.type, "") for each in timeline.occupants]

    def minutes(moment: datetime) -> int:
        return (moment - timeline.start) // MINUTE

    return {
        "timeline": {
            "start_date": wire_date(timeline.start),
            "end_date": wire_date(timeline.end),
            "total": timeline.total,
            "first": timeline.first,
            "groups": [_group(each) for each in timeline.groups],
            "rows": {
                "id": [row.id for row in rows],
                "name": [row.name for row in rows],
                "trouble": [row.trouble for row in rows],
                "capacity": [dict(row.capacity) for row in rows],
            },
            "bars": {
                "row": [bar.row for bar in bars],
                "occupant": [bar.occupant for bar in bars],
                "start": [minutes(bar.start) for bar in bars],
                "end": [minutes(bar.end) for bar in bars],
                "slots": [bar.slots for bar in bars],
            },
            "occupants": _occupants(shown, tells_rights),
            "left_out": timeline.left_out,
        }
    }


def _occupants(shown: Sequence[Occupant], tells_rights: bool) -> OccupantColumns:
    columns: OccupantColumns = {
        "type": [each.type.value for each in shown],
        "id": [each.id for each in shown],
        "name": [each.name for each in shown],
        "status": [each.status for each in shown],
        "project_id": [each.project_id for each in shown],
        "user_id": [each.user_id for each in shown],
    }
    if tells_rights:
        columns["shared_right"] = [_right(each) for each in shown]
    return columns


def _right(occupant: Occupant) -> str:
    """Return what the caller's project may do with a shared lease: see it, where a manager of the version
    before does not tell."""
    if not occupant.is_shared:
        return ""
    return (occupant.right or ShareRight.READ).value


def _group(group: TimelineGroup) -> TimelineGroupView:
    return {
        "resource_types": list(group.resource_types),
        "value": group.value,
        "first": group.first,
        "rows": group.rows,
    }
