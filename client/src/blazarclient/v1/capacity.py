"""The call of the v1 client for the capacity over time."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from blazarclient.transport import Transport
from blazarclient.wire_time import to_wire

SINCE = "1.2"
"""The version of the API that has the capacity."""


class Capacity:
    """How much there is, and how much of it can be reserved when."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def show(
        self,
        start_date: datetime | str | None = None,
        end_date: datetime | str | None = None,
        **query: str | int | None,
    ) -> dict[str, Any]:
        """Return the capacity from `start_date` (default: now) to `end_date` (default: a week later).

        The other parameters are those of the API: `quantity`, `resource_type`, `resource_properties`,
        `traits`, `availability_zone`, `step`, `flavor_id`, `vcpus`, `memory_mb` and `disk_gb`."""
        dates = {"start_date": start_date, "end_date": end_date}
        named = {
            **{name: to_wire(date) if isinstance(date, datetime) else date for name, date in dates.items()},
            **query,
        }
        sent = urlencode({name: value for name, value in named.items() if value is not None})
        found: dict[str, Any] = self.request_manager.get(f"/capacity?{sent}", SINCE)[1]["capacity"]
        return found
