"""The calls of the v1 client for series: leases that recur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from blazarclient.transport import Transport
from blazarclient.v1.claim_by import with_claim_by
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed
from blazarclient.v1.priority import with_priority
from blazarclient.v1.repetition import KEY_HEADER

MICROVERSION = "1.27"
"""The version of the API that brought these calls."""
LATER = "1.33"
"""The version that tells what a create would make, and makes leases that are missing."""
FILTERS = "1.31"
"""The version that finds series by name, and leases by their series."""


class SeriesManager:
    """Leases that recur by a rule, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        name: str,
        reservations: Sequence[dict[str, Any]],
        start: str,
        end: str | None = None,
        *,
        rule: str,
        time_zone: str,
        duration: int | None = None,
        exceptions: Sequence[str] = (),
        on_conflict: str = "refuse",
        key: str | None = None,
        claim_by: int | str | None = None,
        priority: str | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Create a lease for each day of the rule, such as ``FREQ=WEEKLY;BYDAY=MO;COUNT=10``, at the local
        time of `start` in the zone, and return the series.

        The leases have an `end`, of which the local time counts, or a `duration` in minutes. `exceptions` are
        days, as ``2030-12-24``, that are left out. Where not all leases can be had, `on_conflict` says
        whether to ``refuse`` them all or to ``skip`` those. A request with the `key` of an earlier one makes
        no second series. `claim_by` and `priority` are those of each lease, as `lease.create_since_1_3` takes
        them.

        With `dry_run`, which version 1.33 of the API knows, nothing is made: the series is returned as it
        would be, without ids, with `granted` and `reason` for each of its occurrences, and with `granted`
        for the series itself."""
        body = {
            "name": name,
            "start_date": start,
            "end_date": end,
            "duration": duration,
            "reservations": list(reservations),
            "recurrence": {"rule": rule, "time_zone": time_zone, "except": list(exceptions)},
            "on_conflict": on_conflict,
        }
        body = with_priority(with_claim_by(body, claim_by), priority)
        version, headers = MICROVERSION, {KEY_HEADER: key or str(uuid4())}
        if dry_run:
            body, version, headers = {**body, "dry_run": True}, LATER, {}
        _, answer = self.request_manager.request(
            "/series", "POST", body=body, version=version, headers=headers
        )
        made: dict[str, Any] = answer["series"]
        return made

    def get(self, series_id: str) -> dict[str, Any]:
        """Return a series with its occurrences."""
        return self._series(series_id, "GET")

    def list(
        self,
        sort_by: str | None = None,
        *,
        project_id: str | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the series of the project, at most `limit` of them, without their occurrences;
        administrators get those of all, or of the project that they name. With a `name`, which version 1.31
        of the API looks for, only those that are called so."""
        given = {"project_id": project_id, "name": name}
        query = {key: value for key, value in given.items() if value is not None}
        version = MICROVERSION if name is None else FILTERS
        rows = Listed(self.request_manager, "/series", "series", query, limit, version).rows()
        return sort_rows(list(rows), sort_by)

    def skip(
        self, series_id: str, days: Sequence[str] = (), *, cancel_after: str | None = None
    ) -> dict[str, Any]:
        """Cancel the leases of these days, and those of the days after a last one, which have not started.
        Return the series."""
        body: dict[str, Any] = {"except": [*days]}
        if cancel_after is not None:
            body["cancel_after"] = cancel_after
        return self._series(series_id, "PUT", body)

    def restore(self, series_id: str, days: Sequence[str]) -> dict[str, Any]:
        """Make the leases of these days that are not there, for they were skipped, cancelled or deleted: all
        of them or none. Return the series. Needs version 1.33 of the API."""
        return self._series(series_id, "PUT", {"restore": [*days]}, LATER)

    def delete(self, series_id: str, *, keep_started: bool = False) -> None:
        """Delete a series with its leases that are not over; with `keep_started` those that have not
        started."""
        query = "?keep_started=true" if keep_started else ""
        self.request_manager.request(f"/series/{series_id}{query}", "DELETE", version=MICROVERSION)

    def _series(
        self, series_id: str, method: str, body: dict[str, Any] | None = None, version: str = MICROVERSION
    ) -> dict[str, Any]:
        _, answer = self.request_manager.request(f"/series/{series_id}", method, body=body, version=version)
        found: dict[str, Any] = answer["series"]
        return found
