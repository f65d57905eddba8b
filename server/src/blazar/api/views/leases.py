"""The view of a lease in answers, with its reservations and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from blazar.api.lists import PageLink
from blazar.api.views.dates import stamp, wire_date
from blazar.api.views.on_start import OnStartView
from blazar.domain.lease.displacement import DisplacedLease
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.share import ShareRight
from blazar.domain.lease.unclaimed import released_from
from blazar.domain.lease.utilization import QuantityUse, Utilization, units_of
from blazar.domain.time import MINUTE
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


class QuantityUseView(TypedDict):
    """What of a quantity is used."""

    name: Annotated[str, Field(description="The quantity, such as `volume_gigabytes`.")]
    used: Annotated[int, Field(description="How much of it is used.")]
    left: Annotated[int, Field(description="How much is not.")]


class ReservationUse(TypedDict):
    """What of an active reservation was used when the cloud was asked last; null where it was not asked yet,
    or cannot tell."""

    used: Annotated[int | None, Field(description="How many hosts, servers, addresses or ports are used.")]
    left: Annotated[int | None, Field(description="How many are not.")]
    looked_at: Annotated[str | None, Field(description="When the cloud was asked, in UTC.")]
    quantities: NotRequired[
        Annotated[
            list[QuantityUseView],
            Field(
                description="Since 1.42: what of the gigabytes and volumes is used, of reservations of "
                "volumes; empty where the units tell it."
            ),
        ]
    ]


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
    units: NotRequired[
        Annotated[int, Field(description="Since 1.19: its hosts, servers, addresses or ports; not in lists.")]
    ]
    resources: NotRequired[
        Annotated[
            list[str],
            Field(description="Since 1.19: their ids, for administrators; not in lists."),
        ]
    ]
    bound: NotRequired[
        Annotated[
            bool,
            Field(
                description="Since 1.23: whether the cloud serves it from its resources. Until then they are "
                "planned, and may be others later; not in lists."
            ),
        ]
    ]
    region: NotRequired[
        Annotated[
            str | None,
            Field(description="Since 1.26: the region that it lies in; null is the first one."),
        ]
    ]
    use: NotRequired[
        Annotated[
            ReservationUse,
            Field(description="Since 1.22, where an active lease is shown by itself: what of them is used."),
        ]
    ]


class WaitingView(TypedDict):
    """How a lease waits in line."""

    position: NotRequired[
        Annotated[int, Field(description="Its position among all that wait, from 1 on; not in lists.")]
    ]
    since: Annotated[str, Field(description="Since when it waits, in UTC: `2050-01-01T10:00:00.000000`.")]
    until: Annotated[str, Field(description="When it gives up, in UTC.")]
    expected_start: Annotated[
        str | None,
        Field(description="The first start that would have done when it began to wait, in UTC, if known."),
    ]


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
    waiting: NotRequired[
        Annotated[WaitingView, Field(description="Since 1.7, of a lease that waits: how it does.")]
    ]
    claim_by: NotRequired[
        Annotated[
            int | None,
            Field(
                description="Since 1.9: how soon after its start it has to be used, in minutes; null "
                "where it need not be."
            ),
        ]
    ]
    claim_by_date: NotRequired[
        Annotated[
            str | None,
            Field(
                description="Since 1.9: when it is released unless it is used by then, in UTC; null "
                "where it need not be, any more."
            ),
        ]
    ]
    priority: NotRequired[
        Annotated[str, Field(description="Since 1.13: its class, `low`, `normal` or `high`.")]
    ]
    series_id: NotRequired[
        Annotated[
            str | None,
            Field(
                description="Since 1.27: the series that has made it, which may be deleted since, or null."
            ),
        ]
    ]
    on_start: NotRequired[
        Annotated[
            OnStartView | None,
            Field(description="Since 1.37: what is started with it; null where nothing is."),
        ]
    ]
    shared_right: NotRequired[
        Annotated[
            str,
            Field(
                description="Since 1.34, of a lease of another project: what the caller's may do with it, "
                "`read` or `change`. Since 1.36 also `use` and `use_and_change`, since 1.38 `take_over`."
            ),
        ]
    ]


class LeaseReply(TypedDict):
    lease: Annotated[LeaseView, Field(description="The lease.")]


class AllocatedView(TypedDict):
    """What a reservation has, or would get."""

    units: Annotated[int, Field(description="How many hosts, servers or addresses.")]
    resources: NotRequired[
        Annotated[list[str], Field(description="The ids of the resources; for administrators.")]
    ]


class PlannedView(AllocatedView):
    """What a reservation would get."""

    resource_type: Annotated[str, Field(description="The kind of reservation.")]


class DisplacedLeaseView(TypedDict):
    """A lease that would give way. What the caller may not know of it is null."""

    lease_id: Annotated[str | None, Field(description="Its UUID.")]
    name: Annotated[str | None, Field(description="Its name.")]
    project_id: Annotated[str | None, Field(description="The project that has it.")]
    user_id: Annotated[str | None, Field(description="Who asked for it.")]
    priority: Annotated[str, Field(description="Its class.")]
    start_date: Annotated[str, Field(description="When it starts, in UTC.")]
    end_date: Annotated[str, Field(description="When it ends, in UTC.")]
    effect: Annotated[
        str,
        Field(description="`moves`, to other resources at the same time, or `waits`, in line."),
    ]


@with_config(ConfigDict(extra="allow"))
class PreviewLease(TypedDict):
    """A lease as it would be; further keys are those of a lease, but for ids of what is not made."""

    name: Annotated[str, Field(description="Its user's name for it.")]
    start_date: Annotated[str, Field(description="When it would start, in UTC.")]
    end_date: Annotated[str, Field(description="When it would end, in UTC.")]
    planned: Annotated[list[PlannedView], Field(description="What each reservation would get.")]
    displaced: NotRequired[
        Annotated[
            list[DisplacedLeaseView],
            Field(description="Since 1.13, where `displace` was asked for: the leases that would give way."),
        ]
    ]


class PreviewReply(TypedDict):
    lease: Annotated[PreviewLease, Field(description="The lease as it would be.")]


class LeasesReply(TypedDict):
    leases: Annotated[
        list[LeaseView | dict[str, Any]],
        Field(
            description="All leases that the caller may see, the oldest first. From 1.1 on, a page of those "
            "that were asked for, with the fields that were asked for."
        ),
    ]
    leases_links: NotRequired[
        Annotated[
            list[PageLink],
            Field(description="The link `next` to the next page, where there is one. From 1.1 on."),
        ]
    ]


def lease_reply(lease: Lease, caller: Caller, kinds: Kinds) -> LeaseReply:
    return {"lease": lease_view(lease, caller, kinds)}


def waiting_view(lease: Lease, position: int | None = None) -> WaitingView:
    """Return how a waiting lease waits."""
    waiting = lease.waiting
    assert waiting is not None  # noqa: S101 - it waits
    expected = waiting.expected
    shown: WaitingView = {
        "since": wire_date(waiting.since),
        "until": wire_date(waiting.until),
        "expected_start": None if expected is None else wire_date(expected),
    }
    return shown if position is None else {"position": position, **shown}


def claim_by_view(lease: Lease) -> dict[str, Any]:
    """Return how soon a lease has to be used."""
    minutes = lease.claim_by.after // MINUTE if lease.claim_by else None
    released = released_from(lease)
    return {"claim_by": minutes, "claim_by_date": wire_date(released) if released else None}


def lease_view(lease: Lease, caller: Caller, kinds: Kinds) -> LeaseView:
    document = lease_document(lease, kinds, DATES)
    shown = document if caller.is_admin else {**document, "trust_id": None}
    return cast(LeaseView, shown)  # a kind's own keys are not ours to name


def shared_view(shown: Mapping[str, Any], right: ShareRight | None) -> dict[str, Any]:
    """Return a lease as it is shown to a project that it is shared with: without what points to other things
    of its own project, and with the right where it is told."""
    hidden = {name: None for name in ("series_id", "on_start") if name in shown}
    told = {"shared_right": right.value} if right is not None else {}
    return {**shown, **hidden, **told}


IDS = frozenset({"id", "lease_id", "resource_id"})
"""The keys of ids, which are drawn anew for what is made."""


def dry_run_reply(
    lease: Lease, caller: Caller, kinds: Kinds, more: Mapping[str, Any] | None = None
) -> PreviewReply:
    """Return the lease as it would be, without the ids of what would be made; ``more`` are the fields that
    only the version of the request has."""
    shown = {**lease_view(lease, caller, kinds), **(more or {})}
    for name in ("reservations", "events"):
        parts = cast(list[dict[str, Any]], shown[name])
        shown[name] = [{key: value for key, value in part.items() if key not in IDS} for part in parts]
    del shown["id"]
    shown["planned"] = [planned_view(each, caller) for each in lease.reservations]
    return cast(PreviewReply, {"lease": shown})


def displaced_views(
    displaced: Sequence[DisplacedLease], may_see: Callable[[Lease], bool]
) -> list[DisplacedLeaseView]:
    """Return the leases that would give way, for a caller who may see some of them."""
    return [_displaced_view(each, may_see(each.old)) for each in displaced]


def _displaced_view(displaced: DisplacedLease, is_seen: bool) -> DisplacedLeaseView:
    lease = displaced.old
    return {
        "lease_id": lease.id if is_seen else None,
        "name": lease.name if is_seen else None,
        "project_id": lease.project_id if is_seen else None,
        "user_id": lease.user_id if is_seen else None,
        "priority": lease.priority.value,
        "start_date": wire_date(lease.interval.start),
        "end_date": wire_date(lease.interval.end),
        "effect": displaced.effect.value,
    }


def planned_view(reservation: Reservation, caller: Caller) -> PlannedView:
    return {"resource_type": reservation.resource_type, **allocated_view(reservation, caller)}


def allocated_views(lease: Lease, caller: Caller, view: LeaseView) -> list[ReservationView]:
    """Return the reservations of the lease's view, with what they have."""
    return [
        {**shown, **allocated_view(each, caller)}
        for shown, each in zip(view["reservations"], lease.reservations, strict=True)
    ]


def bound_views(lease: Lease, view: LeaseView) -> list[ReservationView]:
    """Return the reservations of the lease's view, with whether the cloud serves all that they have."""
    return [
        {**shown, "bound": bool(each.allocations) and all(row.bound for row in each.allocations)}
        for shown, each in zip(view["reservations"], lease.reservations, strict=True)
    ]


def regional_views(lease: Lease, view: LeaseView) -> list[ReservationView]:
    """Return the reservations of the lease's view, with the regions that they lie in."""
    return [
        {**shown, "region": each.region}
        for shown, each in zip(view["reservations"], lease.reservations, strict=True)
    ]


def used_views(
    lease: Lease, view: LeaseView, found: Sequence[Utilization], with_quantities: bool
) -> list[ReservationView]:
    """Return the reservations of an active lease's view, with what of them is used; from version 1.42 on also
    of their quantities."""
    known = {each.reservation_id: each for each in found}
    return [
        {**shown, "use": _use(each, known.get(each.id), with_quantities)}
        for shown, each in zip(view["reservations"], lease.reservations, strict=True)
    ]


def _use(reservation: Reservation, known: Utilization | None, with_quantities: bool) -> ReservationUse:
    told: ReservationUse = {"used": None, "left": None, "looked_at": None}
    quantities: Mapping[str, QuantityUse] = {}
    if known is not None and known.used_now is not None and known.looked_at is not None:
        units, quantities = units_of(reservation), known.quantities_now
        used = min(known.used_now, units)
        told = {"used": used, "left": units - used, "looked_at": wire_date(known.looked_at)}
    if with_quantities:
        told["quantities"] = [
            {"name": name, "used": each.used, "left": each.left} for name, each in sorted(quantities.items())
        ]
    return told


def allocated_view(reservation: Reservation, caller: Caller) -> AllocatedView:
    found: AllocatedView = {"units": units_of(reservation)}
    if caller.is_admin:
        found["resources"] = sorted({allocation.resource_id for allocation in reservation.allocations})
    return found
