"""The calls of the v1 client for leases that wait until there is enough for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blazarclient.exception import BlazarClientException
from blazarclient.transport import Transport
from blazarclient.v1.claim_by import with_claim_by
from blazarclient.v1.explanations import explained
from blazarclient.v1.on_start import version_of, with_on_start
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.priority import with_displacement, with_priority
from blazarclient.v1.repetition import create_lease

MICROVERSION = "1.7"
"""The version of the API that brought these calls."""
WAITING = "WAITING"
"""The status of a lease that waits."""


class Waitlist:
    """Leases that did not fit and wait in line, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        name: str,
        reservations: Sequence[dict[str, Any]],
        wait_until: str,
        start: str = "now",
        end: str | None = None,
        *,
        duration: int | None = None,
        latest_end: str | None = None,
        before_end: str | None = None,
        repeats: int = 2,
        key: str | None = None,
        claim_by: int | str | None = None,
        priority: str | None = None,
        displace: bool = False,
        on_start: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Create a lease that waits up to `wait_until` where there is not enough, and return it.

        Its status is ``WAITING`` then, and `waiting` tells how it waits; else the lease is made as any other.
        All else is as at `create_since_1_3` of leases."""
        body = {
            "name": name,
            "start_date": start,
            "end_date": end,
            "duration": duration,
            "latest_end": latest_end,
            "before_end_date": before_end,
            "reservations": reservations,
            "on_shortage": {"wait_until": wait_until},
        }
        body = with_displacement(with_priority(with_claim_by(body, claim_by), priority), displace)
        body = with_on_start(body, on_start)
        version = version_of(body) or MICROVERSION
        transport = self.request_manager
        return self._lease(
            explained(
                transport,
                "/leases",
                "POST",
                body,
                lambda: create_lease(transport, body, repeats, key, version=version),
            )
        )

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the leases of the caller's project that wait, of all projects for an administrator, the next
        one first."""
        answer = self.request_manager.request("/waitlist", "GET", version=MICROVERSION)[1]
        return sort_rows(answer["waitlist"], sort_by)

    def update(self, lease_id: str, wait_until: str) -> dict[str, Any]:
        """Have a waiting lease wait up to this moment, and return it."""
        body = {"on_shortage": {"wait_until": wait_until}}
        path = f"/leases/{lease_id}"
        return self._lease(self.request_manager.request(path, "PUT", body=body, version=MICROVERSION)[1])

    def delete(self, lease_id: str) -> None:
        """Delete a lease that waits. One that has been promoted meanwhile is not deleted: the error has the
        code 409 or 412."""
        path, transport = f"/leases/{lease_id}", self.request_manager
        response, body = transport.request(path, "GET", version=MICROVERSION)
        status = self._lease(body)["status"]
        if status != WAITING:
            raise BlazarClientException(f"The lease does not wait: it is {status}.", code=409)
        tag = {"If-Match": response.headers["ETag"]}
        transport.request(path, "DELETE", version=MICROVERSION, headers=tag)

    @staticmethod
    def _lease(answer: Any) -> dict[str, Any]:
        lease: dict[str, Any] = answer["lease"]
        return lease
