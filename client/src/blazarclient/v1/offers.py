"""The calls of the v1 client for offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.claim_by import version_of, with_claim_by
from blazarclient.v1.explanations import explained
from blazarclient.v1.ordering import sort_rows

MICROVERSION = "1.4"
"""The version of the API that brought these calls."""


class Offers:
    """What is held for the caller's project until it is claimed or expires, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        reservations: Sequence[dict[str, Any]],
        start: str = "now",
        end: str | None = None,
        *,
        duration: int | None = None,
        latest_end: str | None = None,
        hold: int | None = None,
    ) -> dict[str, Any]:
        """Hold what a lease needs for `hold` minutes, and return the offer.

        The lease has an `end`, or a `duration` in minutes. With a duration, `start` may be ``earliest``: as
        soon as there is enough; `latest_end` tells when it has to be over then. Without `hold` the service
        chooses. The error of a shortage is that of `create_since_1_3` of leases."""
        body = {
            "start_date": start,
            "end_date": end,
            "duration": duration,
            "latest_end": latest_end,
            "reservations": reservations,
            "hold": hold,
        }
        return self._offer(
            explained(
                self.request_manager,
                "/leases",
                "POST",
                {**body, "name": "offer"},
                lambda: self._request("/offers", "POST", body),
            )
        )

    def get(self, offer_id: str) -> dict[str, Any]:
        """Return one offer."""
        return self._offer(self._request(f"/offers/{offer_id}", "GET"))

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the offers of the caller's project that have not expired."""
        return sort_rows(self._request("/offers", "GET")["offers"], sort_by)

    def delete(self, offer_id: str) -> None:
        """Give back what the offer holds."""
        self._request(f"/offers/{offer_id}", "DELETE")

    def claim(
        self,
        offer_id: str,
        name: str,
        before_end: str | None = None,
        claim_by: int | str | None = None,
    ) -> dict[str, Any]:
        """Make the offer a lease of this name, and return the lease, which has the id of the offer.
        `claim_by` is as at `create_since_1_3` of leases."""
        body = with_claim_by({"name": name, "offer": offer_id, "before_end_date": before_end}, claim_by)
        version = version_of(body) or MICROVERSION
        lease: dict[str, Any] = self.request_manager.request("/leases", "POST", body=body, version=version)[
            1
        ]["lease"]
        return lease

    def _request(self, path: str, method: str, body: dict[str, Any] | None = None) -> Any:
        return self.request_manager.request(path, method, body=body, version=MICROVERSION)[1]

    @staticmethod
    def _offer(answer: Any) -> dict[str, Any]:
        offer: dict[str, Any] = answer["offer"]
        return offer
