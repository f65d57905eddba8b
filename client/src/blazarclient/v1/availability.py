"""The calls of the v1 client that ask when a lease could be had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blazarclient.exception import BlazarClientException
from blazarclient.transport import Transport
from blazarclient.v1.paging import NOT_ACCEPTABLE

MICROVERSION = "1.3"
"""The version of the API that brought these calls."""
ALTERNATIVES = "1.6"
"""The version of the API that brought other requirements and flavors, and answers that are held."""


class AvailabilityManager:
    """Questions for availability. They make nothing, and hold nothing unless told so."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def ask(
        self,
        reservations: Sequence[dict[str, Any]],
        earliest: str,
        duration: int,
        latest: str | None = None,
        minimum: int | None = None,
        hold: int | None = None,
    ) -> dict[str, Any]:
        """Return the `answers`, the best one first, with the `reason` why it cannot be had as asked for, and
        whether the search was `cut_short`.

        `earliest` and `latest` bound the start: ``YYYY-MM-DD HH:MM`` in UTC, or ``now``. `duration` is in
        minutes, and so is `minimum`, the shortest one that would do.

        With version 1.6 of the API the answers may have another requirement or another flavor, and are held
        for `hold` minutes as far as they can be: each has an `offer_id`, or tells why it is `not_held`. With
        an older service the answers are without these; where `hold` is given, it refuses with 406.
        """
        body: dict[str, Any] = {
            "lease": {"reservations": reservations},
            "start": {"earliest": earliest, "latest": latest},
            "duration": {"wanted": duration, "minimum": minimum},
        }
        if hold is not None:
            body["hold"] = hold
        try:
            answer = self._ask(body, ALTERNATIVES)
        except BlazarClientException as error:
            if error.code != NOT_ACCEPTABLE or hold is not None:
                raise
            answer = self._ask(body, MICROVERSION)
        found: dict[str, Any] = answer["availability"]
        return found

    def _ask(self, body: dict[str, Any], version: str) -> Any:
        return self.request_manager.request("/availability", "POST", body=body, version=version)[1]
