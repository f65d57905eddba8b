"""Lists of leases in pages, from API 1.1 on: the question to a manager, and the markers of pages."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Protocol

from blazar.api.authorization import Authorizer
from blazar.api.lists import Listing
from blazar.api.schemas.lists import LeaseFilters, LeasesQuery
from blazar.api.schemas.queries import ID
from blazar.domain.errors import InvalidInput, PolicyNotAuthorized
from blazar.domain.lease.lease import Lease
from blazar.policies import leases as rules
from blazar.service.context import Caller
from blazar.service.ports import LeasePage, LeasePlace, LeaseQuery
from blazar.service.ports.lease_lists import lease_place

AT_ONCE = 200
"""Leases that are asked of a manager at once: some hundred kilobytes in one message of the broker."""
MOST_CALLS = 10
"""How often a manager is asked for one page. A page for which much is looked at and little is found ends
there, so that no request costs more than this."""
_MARK = "p_"
"""What a marker begins with that is no lease's id."""


class FindsLeases(Protocol):
    """Where the leases of a list are asked for."""

    def find(self, query: LeaseQuery) -> LeasePage: ...


def question(asked: LeasesQuery, project_id: str | None) -> LeaseQuery:
    """Return the question to a manager about the leases of a project, of all with None."""
    sort, descending = asked.sort
    return replace(filtered(asked, project_id), sort=sort, descending=descending)


def filtered(asked: LeaseFilters, project_id: str | None) -> LeaseQuery:
    """Return the question for the leases that meet the filters, in the usual order."""
    return LeaseQuery(
        AT_ONCE,
        project_id=project_id,
        ids=asked.id,
        name=asked.name,
        statuses=asked.status,
        starts_after=asked.starts_after,
        starts_before=asked.starts_before,
        ends_after=asked.ends_after,
        ends_before=asked.ends_before,
        resource_type=asked.resource_type,
        priority=getattr(asked, "priority", None),
        series_id=getattr(asked, "series_id", None),
    )


def visible_to(authorizer: Authorizer, caller: Caller) -> Callable[[Lease], bool]:
    """Return the question whether the caller may see a lease, which asks once for each owner."""

    @cache
    def visible(project_id: str, user_id: str) -> bool:
        return authorizer.allows(rules.GET, caller, project_id, user_id)

    return lambda lease: visible(lease.project_id, lease.user_id)


def project_of(asked: LeaseFilters, authorizer: Authorizer, caller: Caller) -> str | None:
    """Return the project whose leases are asked for; None for those of all projects. Raises
    PolicyNotAuthorized."""
    if asked.project_id is None:
        return None if caller.is_admin else caller.project_id
    if not authorizer.allows(rules.GET, caller, asked.project_id, caller.user_id):
        raise PolicyNotAuthorized(action=rules.GET)
    return asked.project_id


def listing(
    leases: FindsLeases, query: LeaseQuery, limit: int, is_visible: Callable[[Lease], bool]
) -> Listing[Lease]:
    """Return at most ``limit`` leases. There may be fewer although the list goes on."""

    def items(listing: Listing[Lease]) -> Iterator[Sequence[Lease]]:
        left, place = limit, query.after
        for _ in range(MOST_CALLS):
            page = leases.find(replace(query, limit=min(AT_ONCE, left), after=place))
            # A manager of the version before does not know the condition of the series.
            asked = [each for each in page.leases if query.series_id in (None, each.series_id)]
            shown = [lease for lease in asked if is_visible(lease)]
            left, place = left - len(shown), page.next
            if place is None or not left:
                break
            yield shown
            shown = []
        listing.goes_on = None if place is None else marker_of(query, place)
        yield shown

    return Listing(items)


def marker_of(query: LeaseQuery, place: LeasePlace) -> str:
    """Return the marker of a place in the list."""
    content = [query.sort.value, query.descending, place.text, place.moment.isoformat(), place.id]
    return _MARK + urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def place_at(
    marker: str, query: LeaseQuery, leases: FindsLeases, is_visible: Callable[[Lease], bool]
) -> LeasePlace:
    """Return the place that a marker names: one of a link, or the id of a lease. Raises InvalidInput."""
    if marker.startswith(_MARK):
        return _decoded(marker.removeprefix(_MARK), query)
    found = leases.find(LeaseQuery(1, ids=(marker,), project_id=query.project_id)).leases
    if not found or not is_visible(found[0]):
        raise InvalidInput("Malformed parameter marker: there is no such lease.")
    return lease_place(found[0], query.sort)


def _decoded(text: str, query: LeaseQuery) -> LeasePlace:
    try:
        sort, descending, name, moment, lease_id = json.loads(
            urlsafe_b64decode(text + "=" * (-len(text) % 4))
        )
        place = LeasePlace(name, datetime.fromisoformat(moment).astimezone(UTC), lease_id)
        is_well_formed = name.isprintable() and ID.fullmatch(lease_id)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        is_well_formed = False
    if not is_well_formed:
        raise InvalidInput("Malformed parameter marker: take it from the link to the next page.")
    if (sort, descending) != (query.sort, query.descending):
        raise InvalidInput("Malformed parameter marker: it is that of a list in another order.")
    return place
