"""The calls of the v1 client for leases."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from blazarclient import exception
from blazarclient.transport import Body, Response, Transport
from blazarclient.v1.availability import MICROVERSION
from blazarclient.v1.bound import MICROVERSION as BOUND
from blazarclient.v1.claim_by import MICROVERSION as CLAIMS
from blazarclient.v1.claim_by import with_claim_by
from blazarclient.v1.explanations import explained
from blazarclient.v1.lease_deletions import delete_leases
from blazarclient.v1.lease_filters import LeaseFilters
from blazarclient.v1.lending import MICROVERSION as LENDING
from blazarclient.v1.made_volumes import MICROVERSION as MADE_VOLUMES
from blazarclient.v1.match import MICROVERSION as MATCHES
from blazarclient.v1.members import MICROVERSION as MEMBERS
from blazarclient.v1.members import version_of_update, with_members
from blazarclient.v1.on_start import MICROVERSION as STARTS
from blazarclient.v1.on_start import version_of, with_on_start
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import PAGES, Listed
from blazarclient.v1.priority import MICROVERSION as PRIORITIES
from blazarclient.v1.priority import with_displacement, with_priority
from blazarclient.v1.repetition import KEYS, create_lease
from blazarclient.v1.series import FILTERS
from blazarclient.v1.shares import (
    list_shares,
    share_lease,
    take_lease_over,
    unshare_lease,
    with_all_rights,
)
from blazarclient.v1.split import split_lease
from blazarclient.v1.units import MICROVERSION as UNITS
from blazarclient.v1.use import MICROVERSION as USE
from blazarclient.v1.use import QUANTITIES_MICROVERSION as QUANTITIES
from blazarclient.wire_time import INPUT_FORMAT, OUTPUT_FORMAT

LATEST_END = "1.35"
"""The version of the API that lets a lease last as long as can be."""
Rows = list[dict[str, Any]]
NOTHING_TO_UPDATE = "No values to update passed."
_DURATION = re.compile(r"^(\d+)([smhd])$")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Leases:
    """The leases that the caller may see, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport
        self._explains = False

    def explaining(self) -> Leases:
        """Return the same calls, where the error of a shortage at `create` or `update` has `reasons`,
        `suggestions` and `blocking`. That takes one more request."""
        leases = Leases(self.request_manager)
        leases._explains = True
        return leases

    def create(
        self,
        name: str,
        start: str,
        end: str,
        reservations: Sequence[dict[str, Any]],
        events: Sequence[dict[str, Any]],
        before_end: str | None = None,
        before_end_date: str | None = None,
    ) -> dict[str, Any]:
        """Create a lease and return it. Dates are ``YYYY-MM-DD HH:MM`` in UTC, or ``now``.

        `before_end_date` is another name of `before_end`, which Heat uses.
        """
        body = {
            "name": name,
            "start_date": start,
            "end_date": end,
            "reservations": reservations,
            "events": events,
            "before_end_date": before_end or before_end_date,
        }
        created = self._explained("/leases", "POST", body, self.request_manager.post)
        return self._lease(created[1])

    def create_since_1_3(
        self,
        name: str,
        reservations: Sequence[dict[str, Any]],
        start: str = "now",
        end: str | None = None,
        *,
        duration: int | None = None,
        latest_end: str | None = None,
        before_end: str | None = None,
        dry_run: bool = False,
        repeats: int = 2,
        key: str | None = None,
        claim_by: int | str | None = None,
        priority: str | None = None,
        displace: bool = False,
        on_start: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Create a lease as version 1.3 of the API can, and return it.

        It has an `end`, or a `duration` in minutes. With a duration, `start` may be ``earliest``: as soon as
        there is enough; `latest_end` tells when it has to be over then. With `dry_run` nothing is made: the
        lease is returned as it would be, without ids. `claim_by`, of version 1.9, is how many minutes after
        its start it has to be used: it is released if it is not. `priority`, of version 1.13, is its class:
        ``low``, ``normal`` or ``high``. With `displace`, leases of lower classes that have not
        started give way where there is not enough; a dry run has them as `displaced`. `on_start`, of version
        1.37, is started with the lease: see `blazarclient.v1.on_start`.

        Where the answer is lost, a service with version 1.5 is asked again, at most `repeats` times, and
        makes one lease all the same. A program that keeps a `key` of its own for the lease may ask again by
        itself, also after it was started anew; a service without version 1.5 then refuses with 406.

        The error of a shortage has `reasons`, and `suggestions` and `blocking` where the service tells them.
        """
        body = {
            "name": name,
            "start_date": start,
            "end_date": end,
            "duration": duration,
            "latest_end": latest_end,
            "before_end_date": before_end,
            "reservations": reservations,
            "dry_run": dry_run,
        }
        body = with_displacement(with_priority(with_claim_by(body, claim_by), priority), displace)
        body = with_on_start(body, on_start)
        return self._lease(
            explained(
                self.request_manager,
                "/leases",
                "POST",
                body,
                lambda: create_lease(self.request_manager, body, repeats, key, version=version_of(body)),
            )
        )

    def get_tagged(self, lease_id: str) -> tuple[dict[str, Any], str]:
        """Return one lease, and its ETag, which names its state. Version 1.5 of the API has it."""
        response, body = self.request_manager.request(f"/leases/{lease_id}", "GET", version=KEYS)
        return self._lease(body), response.headers["ETag"]

    def get_since_1_9(self, lease_id: str) -> dict[str, Any]:
        """Return one lease with `claim_by` and `claim_by_date`, until when it has to be used. Version 1.9 of
        the API has them."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=CLAIMS)[1])

    def get_since_1_13(self, lease_id: str) -> dict[str, Any]:
        """Return one lease with `priority`, which version 1.13 of the API has, and all that
        `get_since_1_9` returns."""
        answer = self.request_manager.request(f"/leases/{lease_id}", "GET", version=PRIORITIES)
        return self._lease(answer[1])

    def get_since_1_19(self, lease_id: str) -> dict[str, Any]:
        """Return one lease whose reservations have `units`: how many hosts, servers or addresses they have.
        Version 1.19 of the API has them. It returns all that `get_since_1_13` returns, too."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=UNITS)[1])

    def get_since_1_22(self, lease_id: str) -> dict[str, Any]:
        """Return one lease. While it is active, its reservations have `use`: what of them is `used` and
        `left`, and when that was `looked_at`. Version 1.22 of the API has it. It returns all that
        `get_since_1_19` does."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=USE)[1])

    def get_since_1_23(self, lease_id: str) -> dict[str, Any]:
        """Return one lease whose reservations have `bound`: whether the cloud serves them from their
        resources, which are planned otherwise. Version 1.23 of the API has it. It returns all that
        `get_since_1_22` returns, too."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=BOUND)[1])

    def get_since_1_29(self, lease_id: str) -> dict[str, Any]:
        """Return one lease, whose reservations of hosts have `match`, which version 1.29 of the API has, and
        all that `get_since_1_23` returns."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=MATCHES)[1])

    def get_since_1_34(self, lease_id: str) -> dict[str, Any]:
        """Return one lease. One of another project has `shared_right`, which version 1.34 of the API has,
        1.36 the right to use them, and 1.38 all rights. It returns all that `get_since_1_29` does."""
        path, request = f"/leases/{lease_id}", self.request_manager.request
        return self._lease(with_all_rights(lambda version: request(path, "GET", version=version))[1])

    def get_since_1_37(self, lease_id: str) -> dict[str, Any]:
        """Return one lease with `on_start`: what is started with it, and how far that is. Version 1.37 of the
        API has it. It returns all that `get_since_1_34` does."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=STARTS)[1])

    def get_since_1_39(self, lease_id: str) -> dict[str, Any]:
        """Return one lease, whose reservations of volumes have `made_volumes`: those that were made at the
        start. Version 1.39 of the API has it. It returns all that `get_since_1_37` does."""
        path = f"/leases/{lease_id}"
        return self._lease(self.request_manager.request(path, "GET", version=MADE_VOLUMES)[1])

    def get_since_1_42(self, lease_id: str) -> dict[str, Any]:
        """Return one lease. While it is active, the `use` of its reservations of volumes has `quantities`:
        the `name` of each, and what of it is `used` and `left`. Version 1.42 of the API has them. It returns
        all that `get_since_1_39` does."""
        path = f"/leases/{lease_id}"
        return self._lease(self.request_manager.request(path, "GET", version=QUANTITIES)[1])

    def get_since_1_43(self, lease_id: str) -> dict[str, Any]:
        """Return one lease, whose reservations of hosts have `lend` and `keep_free`: whether they lend the
        hosts that they do not use, and how many of these they keep. Version 1.43 of the API has them. It
        returns all that `get_since_1_42` does."""
        return self._lease(self.request_manager.request(f"/leases/{lease_id}", "GET", version=LENDING)[1])

    def get(self, lease_id: str) -> dict[str, Any]:
        """Return one lease."""
        return self._lease(self.request_manager.get(f"/leases/{lease_id}")[1])

    def update(
        self,
        lease_id: str,
        name: str | None = None,
        prolong_for: str | None = None,
        reduce_by: str | None = None,
        end_date: str | None = None,
        advance_by: str | None = None,
        defer_by: str | None = None,
        start_date: str | None = None,
        reservations: Sequence[dict[str, Any]] | None = None,
    ) -> dict[str, Any] | str:
        """Change a lease and return it, or return a sentence if there is nothing to change.

        Durations are a number with s, m, h or d. They are relative to the dates of the lease, which take one
        more GET. A date takes precedence over `prolong_for` and `defer_by`, and those over `reduce_by` and
        `advance_by`.
        """
        values = self._values(
            lease_id, name, prolong_for, reduce_by, end_date, advance_by, defer_by, start_date, reservations
        )
        if not values:
            return NOTHING_TO_UPDATE
        path = f"/leases/{lease_id}"
        return self._lease(self._explained(path, "PUT", values, self.request_manager.put)[1])

    def update_since_1_9(self, lease_id: str, claim_by: int | str, **changes: Any) -> dict[str, Any]:
        """Change a lease as `update` does, and how many minutes after its start it has to be used: 0 for
        never, ``default`` for what the operator has set. Return the lease."""
        path, transport = f"/leases/{lease_id}", self.request_manager
        body = self._values(lease_id, claim_by=claim_by, **changes)
        answer = self._explained(
            path, "PUT", body, lambda path, body: transport.request(path, "PUT", body=body, version=CLAIMS)
        )
        return self._lease(answer[1])

    def update_since_1_12(
        self,
        lease_id: str,
        *,
        add: Sequence[dict[str, Any]] = (),
        remove: Sequence[str] = (),
        tag: str | None = None,
        **changes: Any,
    ) -> dict[str, Any]:
        """Change a lease as `update` and `update_since_1_9` do, `add` reservations to it, and `remove` those
        of these ids: all together, or nothing. Return the lease.

        Where the lease has begun, servers in what is removed are deleted. With `tag`, it is changed only if
        its ETag is still this one, as `get_tagged` has returned it. A program that asks again after a lost
        answer needs that: else what it adds may be there twice.
        """
        path, transport = f"/leases/{lease_id}", self.request_manager
        body = self._values(lease_id, add=add, remove=remove, **changes)
        headers = {} if tag is None else {"If-Match": tag}
        answer = self._explained(
            path,
            "PUT",
            body,
            lambda path, body: transport.request(path, "PUT", body=body, version=MEMBERS, headers=headers),
        )
        return self._lease(answer[1])

    def update_since_1_13(self, lease_id: str, priority: str, **changes: Any) -> dict[str, Any]:
        """Change the priority of a lease, and what else `update_since_1_12` changes, without a tag. Return
        the lease."""
        path, request = f"/leases/{lease_id}", self.request_manager.request
        body = self._values(lease_id, priority=priority, **changes)
        answer = self._explained(
            path,
            "PUT",
            body,
            lambda path, body: request(path, "PUT", body=body, version=PRIORITIES),
        )
        return self._lease(answer[1])

    def extend(self, lease_id: str, latest_end: str, dry_run: bool = False) -> dict[str, Any]:
        """Have a lease last as long as can be, until `latest_end`, formed like the dates of `update`, at the
        latest. Return the lease; with `dry_run`, nothing is changed, and its `end_date` tells until when it
        could last. Version 1.35 of the API can do this."""
        body = {"latest_end": latest_end, **({"dry_run": True} if dry_run else {})}
        path, request = f"/leases/{lease_id}", self.request_manager.request
        answer = self._explained(
            path, "PUT", body, lambda path, body: request(path, "PUT", body=body, version=LATEST_END)
        )
        return self._lease(answer[1])

    def preview_update(self, lease_id: str, **changes: Any) -> dict[str, Any] | str:
        """Return the lease as `update` with the same arguments would leave it, without ids, and change
        nothing. Version 1.3 of the API can do this."""
        values = self._values(lease_id, **changes)
        if not values:
            return NOTHING_TO_UPDATE
        body = {**values, "dry_run": True}
        path, transport = f"/leases/{lease_id}", self.request_manager
        answer = explained(
            transport,
            path,
            "PUT",
            body,
            lambda: transport.request(
                path, "PUT", body=body, version=version_of_update(body) or MICROVERSION
            ),
        )
        return self._lease(answer[1])

    def _values(
        self,
        lease_id: str,
        name: str | None = None,
        prolong_for: str | None = None,
        reduce_by: str | None = None,
        end_date: str | None = None,
        advance_by: str | None = None,
        defer_by: str | None = None,
        start_date: str | None = None,
        reservations: Sequence[dict[str, Any]] | None = None,
        claim_by: int | str | None = None,
        add: Sequence[dict[str, Any]] = (),
        remove: Sequence[str] = (),
        priority: str | None = None,
    ) -> dict[str, Any]:
        """Return the body of an update."""
        values: dict[str, Any] = {}
        if name:
            values["name"] = name
        if any((prolong_for, reduce_by, end_date, advance_by, defer_by, start_date)):
            lease = self.get(lease_id)
            values |= _date("end_date", lease, end_date, later=prolong_for, earlier=reduce_by)
            values |= _date("start_date", lease, start_date, later=defer_by, earlier=advance_by)
        if reservations or add or remove:
            values["reservations"] = with_members(reservations, add, remove)
        return with_priority(with_claim_by(values, claim_by), priority)

    def delete(self, lease_id: str) -> None:
        """Delete a lease. If it is active, its servers are deleted too."""
        self.request_manager.delete(f"/leases/{lease_id}")

    def delete_matching(
        self, *, dry_run: bool = False, priority: str | None = None, **conditions: Any
    ) -> list[dict[str, Any]]:
        """Delete the leases that meet all conditions, which are those of `list`, and return what became of
        each: its `id`, `name` and `outcome`, which is ``deleted``, ``deleting`` or ``refused``. With
        `dry_run` nothing is deleted, and the outcome is ``found``.

        Leases that are over stay, unless an `id` or a `status` is given. A deletion is not waited for.
        Version 1.18 of the API can do this.
        """
        query = with_priority(LeaseFilters(**conditions).query(), priority)
        return [*delete_leases(self.request_manager, query, dry_run)]

    def share(self, lease_id: str, project_id: str, right: str = "read") -> dict[str, Any]:
        """Share a lease with another project, or change what that one may do: see the lease (``read``), or
        put servers onto what it reserves besides (``use``, of version 1.36), change its name and its dates
        besides (``change``), or both (``use_and_change``), or make it its own before it starts
        (``take_over``, of version 1.38). Return the share. Version 1.34 of the API can do this."""
        return share_lease(self.request_manager, lease_id, project_id, right)

    def unshare(self, lease_id: str, project_id: str) -> None:
        """Share a lease with a project no longer. The caller's own project may be named for a lease that is
        shared with it."""
        unshare_lease(self.request_manager, lease_id, project_id)

    def take_over(self, lease_id: str) -> dict[str, Any]:
        """Make a lease that another project offers the caller's own, and return it. Version 1.38 of the API
        can do this."""
        return take_lease_over(self.request_manager, lease_id)

    def split(self, lease_id: str, name: str, reservations: Mapping[str, int | None]) -> dict[str, Any]:
        """Make another lease of some of what a lease reserves, at the same dates, and return it.

        `reservations` are those that go, by id: all of each with None, or so many of its hosts, servers or
        addresses. Version 1.40 of the API can do this."""
        return split_lease(self.request_manager, lease_id, name, reservations)

    def shares(self, lease_id: str, sort_by: str | None = None) -> Rows:
        """Return the projects that a lease is shared with, each with its `right`."""
        return sort_rows(list_shares(self.request_manager, lease_id), sort_by)

    def update_unchanged(self, lease_id: str, tag: str, **changes: Any) -> dict[str, Any] | str:
        """Change a lease as `update` does, if its ETag is still `tag`, which `get_tagged` has returned.

        If the lease has changed since, BlazarClientException has the code 412, and nothing is changed.
        """
        values = self._values(lease_id, **changes)
        if not values:
            return NOTHING_TO_UPDATE
        return self._lease(self._send_if(tag, lease_id, "PUT", values))

    def delete_unchanged(self, lease_id: str, tag: str) -> None:
        """Delete a lease, if its ETag is still `tag`, as `update_unchanged` changes it."""
        self._send_if(tag, lease_id, "DELETE")

    def _send_if(self, tag: str, lease_id: str, method: str, body: dict[str, Any] | None = None) -> Any:
        path, headers = f"/leases/{lease_id}", {"If-Match": tag}
        version = version_of_update(body or {}) or KEYS
        return self.request_manager.request(path, method, body=body, version=version, headers=headers)[1]

    def list(
        self,
        sort_by: str | None = None,
        *,
        status: str | Sequence[str] | None = None,
        name: str | None = None,
        project_id: str | None = None,
        id: str | Sequence[str] | None = None,
        resource_type: str | None = None,
        starts_after: str | None = None,
        starts_before: str | None = None,
        ends_after: str | None = None,
        ends_before: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        priority: str | None = None,
        series_id: str | None = None,
        shared: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the visible leases that meet all conditions, at most `limit` of them.

        The service sorts by `sort`: ``created_at`` (the default), ``start_date``, ``end_date`` or ``name``,
        with ``:desc`` behind it for the last first. `sort_by` names a key to sort the result by, on the
        client's side. Times are ``YYYY-MM-DD HH:MM`` in UTC. From a service without microversion 1.1, all
        leases are fetched, and selected here; one without version 1.13 is not asked for a `priority`, and
        one without 1.31 not for those of a series.

        With `shared`, the leases of other projects that are shared with the caller's, sorted by
        ``created_at``: each has `shared_right`. A service without version 1.34 is not asked for them.
        """
        filters = LeaseFilters(
            status,
            name,
            project_id,
            id,
            resource_type,
            starts_after,
            starts_before,
            ends_after,
            ends_before,
            sort,
        )
        return self._listed(filters, priority, series_id, limit, sort_by, PAGES, shared)

    def list_since_1_9(
        self,
        sort_by: str | None = None,
        *,
        limit: int | None = None,
        priority: str | None = None,
        series_id: str | None = None,
        shared: bool = False,
        **conditions: Any,
    ) -> Rows:
        """Return the leases as `list` does, by its conditions, with `claim_by` and `claim_by_date`."""
        filters = LeaseFilters(**conditions)
        return self._listed(filters, priority, series_id, limit, sort_by, CLAIMS, shared)

    def _listed(
        self,
        filters: LeaseFilters,
        priority: str | None,
        series_id: str | None,
        limit: int | None,
        sort_by: str | None,
        version: str,
        shared: bool,
    ) -> Rows:
        query, version = with_priority(filters.query(), priority), PRIORITIES if priority else version
        if series_id is not None:
            query, version = {**query, "series_id": series_id}, FILTERS
        if shared:
            query["shared"] = "true"

        def ask(version: str) -> Rows:
            listed = Listed(self.request_manager, "/leases", "leases", query, limit, version)
            rows = [*listed.rows()]
            return rows if listed.is_filtered else filters.select(rows)[:limit]

        return sort_rows(with_all_rights(ask) if shared else ask(version), sort_by)

    def _explained(
        self, path: str, method: str, body: dict[str, Any], send: Callable[[str, Body], Response]
    ) -> Response:
        if not self._explains:
            return send(path, body)
        return explained(self.request_manager, path, method, body, lambda: send(path, body))

    @staticmethod
    def _lease(body: Any) -> dict[str, Any]:
        lease: dict[str, Any] = body["lease"]
        return lease


def _date(
    key: str, lease: dict[str, Any], given: str | None, *, later: str | None, earlier: str | None
) -> dict[str, str]:
    """Return the changed date under its key, or an empty dictionary."""
    if given:
        if given == "now":
            return {key: given}
        return {key: _minutes(datetime.strptime(given, INPUT_FORMAT))}  # noqa: DTZ007 (UTC on the wire)
    if not later and not earlier:
        return {}
    current = datetime.strptime(lease[key], OUTPUT_FORMAT)  # noqa: DTZ007 (UTC on the wire)
    return {key: _minutes(current + _duration(later) if later else current - _duration(earlier))}


def _minutes(when: datetime) -> str:
    return when.strftime(INPUT_FORMAT)


def _duration(text: str | None) -> timedelta:
    match = _DURATION.match(text or "")
    if match is None:
        raise exception.BlazarClientException("Invalid time format for option.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
