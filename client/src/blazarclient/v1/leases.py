"""How does a program create, read, change and delete leases?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from blazarclient import exception
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.transport import Transport
from blazarclient.wire_time import INPUT_FORMAT, OUTPUT_FORMAT

NOTHING_TO_UPDATE = "No values to update passed."
_DURATION = re.compile(r"^(\d+)([smhd])$")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Leases:
    """The leases that the caller may see, as dictionaries of the service."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

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
        """Create a lease; dates are ``YYYY-MM-DD HH:MM`` in UTC, or ``now``. Returns it as the service made it.

        `before_end_date` is another name of `before_end`: Heat's leases call it so.
        """
        body = {
            "name": name,
            "start_date": start,
            "end_date": end,
            "reservations": reservations,
            "events": events,
            "before_end_date": before_end or before_end_date,
        }
        return self._lease(self.request_manager.post("/leases", body)[1])

    def get(self, lease_id: str) -> dict[str, Any]:
        """One lease."""
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
        """Change a lease. Returns it as the service answers, or a sentence when there was nothing to change.

        Durations are a number with s, m, h or d and count from the lease's present dates, which cost one more GET.
        Of several ways to say the same date, a date goes before a longer time, and that before a shorter one.
        """
        values: dict[str, Any] = {}
        if name:
            values["name"] = name
        if any((prolong_for, reduce_by, end_date, advance_by, defer_by, start_date)):
            lease = self.get(lease_id)
            values |= _date("end_date", lease, end_date, later=prolong_for, earlier=reduce_by)
            values |= _date("start_date", lease, start_date, later=defer_by, earlier=advance_by)
        if reservations:
            values["reservations"] = reservations
        if not values:
            return NOTHING_TO_UPDATE
        return self._lease(self.request_manager.put(f"/leases/{lease_id}", values)[1])

    def delete(self, lease_id: str) -> None:
        """Delete a lease, with the servers that run in it when it is active."""
        self.request_manager.delete(f"/leases/{lease_id}")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """All leases in sight; `sort_by` names a key to sort by, here and not in the service."""
        return sort_rows(self.request_manager.get("/leases")[1]["leases"], sort_by)

    @staticmethod
    def _lease(body: Any) -> dict[str, Any]:
        lease: dict[str, Any] = body["lease"]
        return lease


def _date(
    key: str, lease: dict[str, Any], given: str | None, *, later: str | None, earlier: str | None
) -> dict[str, str]:
    """The changed date under its key, or nothing."""
    if given:
        if given == "now":
            return {key: given}
        return {key: _minutes(datetime.strptime(given, INPUT_FORMAT))}  # noqa: DTZ007 (UTC on the wire)
    if not later and not earlier:
        return {}
    present = datetime.strptime(lease[key], OUTPUT_FORMAT)  # noqa: DTZ007 (UTC on the wire)
    return {key: _minutes(present + _duration(later) if later else present - _duration(earlier))}


def _minutes(moment: datetime) -> str:
    return moment.strftime(INPUT_FORMAT)


def _duration(text: str | None) -> timedelta:
    match = _DURATION.match(text or "")
    if match is None:
        raise exception.BlazarClientException("Invalid time format for option.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
