"""The views of a maintenance and of its impact in answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import stamp, wire_date
from blazar.domain.lease.maintenance import Effect, LeaseImpact, Maintenance, Move


class MaintenanceView(TypedDict):
    """Hosts that are taken away for a time."""

    id: Annotated[str, Field(description="UUID of the maintenance.")]
    name: Annotated[str, Field(description="Its name.")]
    reason: Annotated[str | None, Field(description="Why, for other operators.")]
    user_id: Annotated[str, Field(description="Who has made it.")]
    hosts: Annotated[list[str], Field(description="The ids of the hosts.")]
    start_date: Annotated[
        str, Field(description="When the hosts are taken away, in UTC: `2050-01-01T10:00:00.000000`.")
    ]
    end_date: Annotated[str, Field(description="When they are back, in UTC.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]


_MoveView = TypedDict(
    "_MoveView",
    {
        "reservation_id": Annotated[str, Field(description="UUID of the reservation.")],
        "from": Annotated[list[str], Field(description="The ids of the hosts that it leaves.")],
        "to": Annotated[list[str], Field(description="The ids of the hosts that it gets.")],
    },
)


class LeaseImpactView(TypedDict):
    """What becomes of one lease. Of an offer only the id and the time are told."""

    lease_id: Annotated[str, Field(description="UUID of the lease, or of the offer.")]
    name: Annotated[str | None, Field(description="Its name.")]
    project_id: Annotated[str | None, Field(description="The project that has it.")]
    user_id: Annotated[str | None, Field(description="The user who made it.")]
    status: Annotated[str | None, Field(description="Its status.")]
    start_date: Annotated[str, Field(description="Its start, in UTC.")]
    end_date: Annotated[str, Field(description="Its end, in UTC.")]
    effect: Annotated[
        str, Field(description="`moves` to other hosts, `breaks`, or `stays`, for it is not touched.")
    ]
    reason: Annotated[
        str | None,
        Field(
            description="Why it breaks (`nothing_suits`, `has_begun`, `not_now`) or stays (`ends_before`, "
            "`is_ending`)."
        ),
    ]
    hosts: Annotated[list[str], Field(description="The ids of the hosts of the maintenance that it has.")]
    moves: Annotated[list[_MoveView], Field(description="What its reservations get instead.")]


class ImpactView(TypedDict):
    """What a maintenance does to leases."""

    moves: Annotated[int, Field(description="How many leases move.")]
    breaks: Annotated[int, Field(description="How many leases break.")]
    stays: Annotated[int, Field(description="How many are there and are not touched.")]
    leases: Annotated[list[LeaseImpactView], Field(description="The leases, those first that start first.")]


class MaintenanceReply(TypedDict):
    maintenance: Annotated[MaintenanceView, Field(description="The maintenance.")]
    impact: NotRequired[Annotated[ImpactView, Field(description="What it has done to leases.")]]


class ImpactReply(TypedDict):
    impact: Annotated[ImpactView, Field(description="What the maintenance would do to leases.")]


class MaintenancesReply(TypedDict):
    maintenances: Annotated[
        list[MaintenanceView], Field(description="Those that are planned or under way, by their start.")
    ]


def maintenance_view(maintenance: Maintenance) -> MaintenanceView:
    return {
        "id": maintenance.id,
        "name": maintenance.name,
        "reason": maintenance.reason,
        "user_id": maintenance.user_id,
        "hosts": list(maintenance.resource_ids),
        "start_date": wire_date(maintenance.interval.start),
        "end_date": wire_date(maintenance.interval.end),
        "created_at": stamp(maintenance.created_at),
    }


def impact_view(impacts: Sequence[LeaseImpact]) -> ImpactView:
    return {
        "moves": _count(impacts, Effect.MOVES),
        "breaks": _count(impacts, Effect.BREAKS),
        "stays": _count(impacts, Effect.STAYS),
        "leases": [_lease(each) for each in impacts],
    }


def _count(impacts: Iterable[LeaseImpact], effect: Effect) -> int:
    return sum(each.effect is effect for each in impacts)


def _lease(impact: LeaseImpact) -> LeaseImpactView:
    return {
        "lease_id": impact.lease_id,
        "name": impact.name,
        "project_id": impact.project_id,
        "user_id": impact.user_id,
        "status": impact.status,
        "start_date": wire_date(impact.interval.start),
        "end_date": wire_date(impact.interval.end),
        "effect": impact.effect,
        "reason": impact.reason,
        "hosts": list(impact.resource_ids),
        "moves": [_move(each) for each in impact.moves],
    }


def _move(move: Move) -> _MoveView:
    return {"reservation_id": move.reservation_id, "from": list(move.left), "to": list(move.taken)}
