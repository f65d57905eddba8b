"""The calls of the v1 client for series: leases that recur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed
from blazarclient.v1.repetition import KEY_HEADER

MICROVERSION = "1.27"
"""The version of the API that brought these calls."""


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
    ) -> dict[str, Any]:
        """Create a lease for each day of the rule, such as ``FREQ=WEEKLY;BYDAY=MO;COUNT=10``, at the local
        time of `start` in the zone, and return the series.

        The leases have an `end`, of which the local time counts, or a `duration` in minutes. `exceptions` are
        days, as ``2030-12-24``, that are left out. Where not all leases can be had, `on_conflict` says
        whether to ``refuse`` them all or to ``skip`` those. A request with the `key` of an earlier one makes
        no second series."""
        body = {
            "name": name,
            "start_date": start,
            "end_date": end,
            "duration": duration,
            "reservations": list(reservations),
            "recurrence": {"rule": rule, "time_zone": time_zone, "except": list(exceptions)},
            "on_conflict": on_conflict,
        }
        headers = {KEY_HEADER: key or str(uuid4())}
        _, answer = self.request_manager.request(
            "/series", "POST", body=body, version=MICROVERSION, headers=headers
        )
        made: dict[str, Any] = answer["series"]
        return made

    def get(self, series_id: str) -> dict[str, Any]:
        """Return a series with its occurrences."""
        return self._series(series_id, "GET")

    def list(self, sort_by: str | None = None, *, project_id: str | None = None) -> list[dict[str, Any]]:
        """Return the series of the project, without their occurrences; administrators get those of all, or of
        the project that they name."""
        query = {} if project_id is None else {"project_id": project_id}
        rows = Listed(self.request_manager, "/series", "series", query, version=MICROVERSION).rows()
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

    def delete(self, series_id: str, *, keep_started: bool = False) -> None:
        """Delete a series with its leases that are not over; with `keep_started` those that have not
        started."""
        query = "?keep_started=true" if keep_started else ""
        self.request_manager.request(f"/series/{series_id}{query}", "DELETE", version=MICROVERSION)

    def _series(self, series_id: str, method: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        _, answer = self.request_manager.request(
            f"/series/{series_id}", method, body=body, version=MICROVERSION
        )
        found: dict[str, Any] = answer["series"]
        return found
