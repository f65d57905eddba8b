"""The calls of the v1 client that ask when a lease could be had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blazarclient.transport import Transport

MICROVERSION = "1.3"
"""The version of the API that brought these calls."""


class AvailabilityManager:
    """Questions for availability. They make nothing, and hold nothing."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def ask(
        self,
        reservations: Sequence[dict[str, Any]],
        earliest: str,
        duration: int,
        latest: str | None = None,
        minimum: int | None = None,
    ) -> dict[str, Any]:
        """Return the `answers`, the best one first, with the `reason` why it cannot be had as asked for, and
        whether the search was `cut_short`.

        `earliest` and `latest` bound the start: ``YYYY-MM-DD HH:MM`` in UTC, or ``now``. `duration` is in
        minutes, and so is `minimum`, the shortest one that would do.
        """
        body = {
            "lease": {"reservations": reservations},
            "start": {"earliest": earliest, "latest": latest},
            "duration": {"wanted": duration, "minimum": minimum},
        }
        answer = self.request_manager.request("/availability", "POST", body=body, version=MICROVERSION)
        found: dict[str, Any] = answer[1]["availability"]
        return found
