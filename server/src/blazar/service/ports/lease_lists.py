"""The questions to the database for lists of leases: filters, an order, and the place where a page begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from blazar.domain.lease.lease import BEGINNING, Lease, LeaseKey, LeaseStatus
from blazar.domain.lease.priority import Priority


@dataclass(frozen=True, slots=True)
class ListPage:
    """A part of a list: at most ``limit`` leases, which come after ``after``; the first ones where it is
    None."""

    limit: int
    after: LeaseKey | None = None


class LeaseSort(StrEnum):
    """What a list of leases is sorted by. Leases that have it in common are sorted by their ids; those of one
    name by created_at first."""

    CREATED_AT = "created_at"
    START_DATE = "start_date"
    END_DATE = "end_date"
    NAME = "name"


@dataclass(frozen=True, slots=True, order=True)
class LeasePlace:
    """The place of a lease in a list: what it is sorted by, and its id. Unlike a number of leases to leave
    out, it stays right where other leases come and go, its own included."""

    text: str
    """The name where the list is sorted by names; empty otherwise."""
    moment: datetime
    """The moment that the list is sorted by; created_at where it is sorted by names."""
    id: str


LONGEST_SCAN = 1000
"""How many leases one question looks at, for filters that no index answers."""


@dataclass(frozen=True, slots=True)
class LeaseQuery:
    """The question for a page of a list of leases: at most ``limit`` of those that meet all conditions.

    None is no condition. A lease starts at ``starts_after`` or later, and before ``starts_before``; it ends
    after ``ends_after``, and at ``ends_before`` or earlier: so the leases of an interval are those that start
    before its end and end after its start."""

    limit: int
    sort: LeaseSort = LeaseSort.CREATED_AT
    descending: bool = False
    after: LeasePlace | None = None
    project_id: str | None = None
    ids: tuple[str, ...] | None = None
    name: str | None = None
    statuses: tuple[LeaseStatus, ...] | None = None
    starts_after: datetime | None = None
    starts_before: datetime | None = None
    ends_after: datetime | None = None
    ends_before: datetime | None = None
    resource_type: str | None = None
    priority: Priority | None = None
    series_id: str | None = None
    shared_with: str | None = None
    """Only leases that are shared with this project. They are sorted by created_at only."""
    scan: int = LONGEST_SCAN


@dataclass(frozen=True, slots=True)
class LeasePage:
    """The leases of a page, without their allocations, and the place from which the list goes on; None at its
    end.

    A page may have fewer leases than were asked for, or none, and the list goes on: what is looked at for one
    page is limited."""

    leases: Sequence[Lease]
    next: LeasePlace | None = None


def lease_place(lease: Lease, sort: LeaseSort) -> LeasePlace:
    """Return the place of the lease in a list that is sorted so."""
    created_at = lease.created_at or BEGINNING
    match sort:
        case LeaseSort.CREATED_AT:
            return LeasePlace("", created_at, lease.id)
        case LeaseSort.START_DATE:
            return LeasePlace("", lease.interval.start, lease.id)
        case LeaseSort.END_DATE:
            return LeasePlace("", lease.interval.end, lease.id)
        case LeaseSort.NAME:
            return LeasePlace(lease.name, created_at, lease.id)


def is_asked_for(lease: Lease, query: LeaseQuery) -> bool:
    """Return whether the lease meets all conditions."""
    start, end = lease.interval.start, lease.interval.end
    return (
        query.project_id in (None, lease.project_id)
        and query.priority in (None, lease.priority)
        and query.series_id in (None, lease.series_id)
        and (query.ids is None or lease.id in query.ids)
        and query.name in (None, lease.name)
        and (query.statuses is None or lease.status in query.statuses)
        and (query.starts_after is None or query.starts_after <= start)
        and (query.starts_before is None or start < query.starts_before)
        and (query.ends_after is None or query.ends_after < end)
        and (query.ends_before is None or end <= query.ends_before)
        and query.resource_type in (None, *(r.resource_type for r in (*lease.reservations, *lease.leaving)))
    )
