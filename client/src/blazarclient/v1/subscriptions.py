"""The calls of the v1 client for subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows

MICROVERSION = "1.11"
"""The version of the API that brought these calls."""


class Subscriptions:
    """Who is told what becomes of leases, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        url: str,
        events: Sequence[str] | None = None,
        *,
        name: str | None = None,
        lease_id: str | None = None,
        resource_type: str | None = None,
        project_id: str | None = None,
        all_projects: bool = False,
    ) -> dict[str, Any]:
        """Have what becomes of leases sent to an address. All events are told where none is named.

        The answer has the `secret` with which the messages are signed. It is not shown again."""
        filters = {"lease_id": lease_id, "resource_type": resource_type, "project_id": project_id}
        optional = {**filters, "name": name, "events": list(events) if events else None}
        body = {"url": url, **{key: value for key, value in optional.items() if value is not None}}
        return self._one("/subscriptions", "POST", {**body, "all_projects": True} if all_projects else body)

    def get(self, subscription_id: str) -> dict[str, Any]:
        """Return one subscription: how many messages wait, and why the last one was not taken."""
        return self._one(f"/subscriptions/{subscription_id}", "GET")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the subscriptions of the project; administrators get those of all projects."""
        return sort_rows(self._request("/subscriptions", "GET")["subscriptions"], sort_by)

    def update(
        self,
        subscription_id: str,
        *,
        name: str | None = None,
        url: str | None = None,
        events: Sequence[str] | None = None,
        resume: bool = False,
        renew_secret: bool = False,
    ) -> dict[str, Any]:
        """Change a subscription; what is not given stays. With `resume` what waits is sent at once, also
        where it is suspended; with `renew_secret` the answer has a new `secret`."""
        changes = {"name": name, "url": url, "events": list(events) if events else None}
        orders = {"resume": resume or None, "renew_secret": renew_secret or None}
        body = {key: value for key, value in {**changes, **orders}.items() if value is not None}
        return self._one(f"/subscriptions/{subscription_id}", "PUT", body)

    def delete(self, subscription_id: str) -> None:
        """Delete a subscription. What was not sent yet is not sent any more."""
        self._request(f"/subscriptions/{subscription_id}", "DELETE")

    def _one(self, path: str, method: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._request(path, method, body)["subscription"]
        return found

    def _request(self, path: str, method: str, body: dict[str, Any] | None = None) -> Any:
        return self.request_manager.request(path, method, body=body, version=MICROVERSION)[1]
