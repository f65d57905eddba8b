"""The call of the v1 client for what leases were promised and have used."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from blazarclient.transport import Transport
from blazarclient.wire_time import to_wire

SINCE = "1.21"
"""The version of the API that has the report."""


class Usage:
    """What leases were promised, and what they have really used."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def report(
        self,
        start_date: datetime | str | None = None,
        end_date: datetime | str | None = None,
        *,
        project_id: str | None = None,
        user_id: str | None = None,
        resource_type: str | None = None,
        group_by: str | None = None,
    ) -> dict[str, Any]:
        """Return the resource-hours from `start_date` (default: 30 days before the end) to `end_date`
        (default: now): the window, and `rows` of them.

        `group_by` is `project`, `user`, `project,user` or `none`: each row is of one kind in any case."""
        dates = {"start_date": start_date, "end_date": end_date}
        named = {
            **{name: to_wire(date) if isinstance(date, datetime) else date for name, date in dates.items()},
            "project_id": project_id,
            "user_id": user_id,
            "resource_type": resource_type,
            "group_by": group_by,
        }
        sent = urlencode({name: value for name, value in named.items() if value is not None})
        found: dict[str, Any] = self.request_manager.get(f"/usage?{sent}", SINCE)[1]["usage"]
        return found
