"""The affinity of a reservation, whether its servers run on one host or on different ones, and the server
group that says so to Nova.

The group is made in the user's project with the user's own rights, so it is made within the user's
request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazar.domain.errors import MalformedParameter
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.planning.demand import Grouping
from blazar.service.ports import Cloud, Compute
from blazar.service.ports.kind import RequestContext

GROUP_ID = "server_group_id"
SEARCH = "search_server_groups"
"""In what a reservation remembers: there may be groups of its name that it does not know the ids of."""

_YES = frozenset({"true", "yes", "on", "1", "t", "y"})
_NO = frozenset({"false", "no", "off", "0", "f", "n"})
_NEITHER = frozenset({"none", ""})
_POLICIES = {True: "affinity", False: "anti-affinity"}
_GROUPINGS = {True: Grouping.TOGETHER, False: Grouping.APART, None: Grouping.ANY}


def parse_affinity(value: object) -> bool | None:
    """Parse the wish: all on one host, all on different ones, or either (None); words for these are accepted
    as well.

    Raises MalformedParameter."""
    if value is None or isinstance(value, bool):
        return value
    word = str(value).lower() if isinstance(value, str | int) else "?"
    if word in _NEITHER:
        return None
    if word not in _YES | _NO:
        raise MalformedParameter(param="affinity (must be a bool value or None)")
    return word in _YES


def grouping(affinity: bool | None) -> Grouping:
    return _GROUPINGS[affinity]


def group_name(reservation_id: str) -> str:
    return f"reservation:{reservation_id}"


def preparing(before: bool | None, after: bool | None) -> Mapping[str, Any] | None:
    """Return the mark of a reservation that is about to get another group, or none instead of one; None where
    it keeps what it has."""
    return None if before == after else {SEARCH: True}


def make_group(
    lease: Lease, reservation: Reservation, affinity: bool | None, request: RequestContext
) -> Mapping[str, Any]:
    """Make the group in the lease's project; what the reservation has to remember."""
    if affinity is None:
        return {GROUP_ID: None}
    compute = request.own_cloud(lease.project_id).compute
    group = compute.create_server_group(group_name(reservation.id), _POLICIES[affinity])
    # Of a new lease this is the only group; after an update, there may be the one before yet.
    return {GROUP_ID: group.id, SEARCH: None if lease.status is LeaseStatus.CREATING else True}


def remove_group(remembered: Mapping[str, Any], cloud: Cloud) -> None:
    """Remove the group that is remembered, if there is one."""
    if GROUP_ID in remembered:
        cloud.compute.delete_server_group(str(remembered[GROUP_ID]))


def remove_groups(reservation: Reservation, compute: Compute) -> None:
    """Remove all groups that may have been made for the reservation."""
    known = {str(reservation.cloud_state[GROUP_ID])} if GROUP_ID in reservation.cloud_state else set()
    if SEARCH in reservation.cloud_state:
        known |= {group.id for group in compute.server_groups(group_name(reservation.id))}
    for group_id in sorted(known):
        compute.delete_server_group(group_id)
