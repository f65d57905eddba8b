"""The calls of the v1 client for subscriptions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import requests

from blazarclient.exception import BlazarClientException
from blazarclient.transport import Transport
from blazarclient.v1.event_stream import StreamEvent, follow
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import NOT_ACCEPTABLE, next_query

MICROVERSION = "1.11"
"""The version of the API that brought these calls."""
PAGES_MICROVERSION = "1.14"
"""The version that brought pages."""
EVENTS_MICROVERSION = "1.41"
"""The version that brought the last events: what names events, or asks for all, is sent with it."""
STREAMS_MICROVERSION = "1.16"
"""The version that brought subscriptions without a url."""
MEDIA_TYPE = "text/event-stream"


class Subscriptions:
    """Who is told what becomes of leases, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        url: str | None = None,
        events: Sequence[str] | None = None,
        *,
        name: str | None = None,
        lease_id: str | None = None,
        resource_type: str | None = None,
        project_id: str | None = None,
        all_projects: bool = False,
        capacity: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Have what becomes of leases sent to an address. All events are told where none is named.

        Without `url` they are kept, for `watch`; that needs version 1.16 of the API. With `capacity`, such as
        `{"below": 5, "days": 7}`, it is told when less is available, and when there is enough again.

        The answer has the `secret` with which the messages are signed. It is not shown again."""
        filters = {"lease_id": lease_id, "resource_type": resource_type, "project_id": project_id}
        optional: dict[str, Any] = {**filters, "name": name, "events": list(events) if events else None}
        optional["capacity"] = dict(capacity) if capacity else None
        named = {"url": url, **optional, "all_projects": all_projects or None}
        body = {key: value for key, value in named.items() if value is not None}
        return self._one("/subscriptions", "POST", body, EVENTS_MICROVERSION)

    def get(self, subscription_id: str) -> dict[str, Any]:
        """Return one subscription: how many messages wait, and why the last one was not taken."""
        return self._one(f"/subscriptions/{subscription_id}", "GET")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the subscriptions of the project; administrators get those of all projects."""
        return sort_rows(list(self._rows()), sort_by)

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield the subscriptions page by page; all at once from a service that has no pages of them."""
        query: Mapping[str, str] | None = {}
        while query is not None:
            path = "/subscriptions" + (f"?{urlencode(query)}" if query else "")
            try:
                body = self.request_manager.request(path, "GET", version=PAGES_MICROVERSION)[1]
            except BlazarClientException as error:
                if query or error.kwargs.get("code") != NOT_ACCEPTABLE:
                    raise
                body = self._request(path, "GET")
            yield from body["subscriptions"]
            query = next_query(body, "subscriptions")

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

    def watch(
        self,
        subscription_id: str,
        last_event_id: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Iterator[StreamEvent]:
        """Yield what a subscription without a url tells, as it happens and for ever: first all that is kept,
        or what follows the event with this id.

        Where events were missed that are no longer kept, the event `missed` comes in their place. A service
        that is away is asked again, once it has answered."""

        def open_stream(last_id: str | None) -> requests.Response:
            headers = {"Accept": MEDIA_TYPE, **({"Last-Event-ID": last_id} if last_id else {})}
            path = f"/subscriptions/{subscription_id}/events"
            return self.request_manager.stream(path, version=STREAMS_MICROVERSION, headers=headers)

        return follow(open_stream, sleep, last_event_id)

    def delete(self, subscription_id: str) -> None:
        """Delete a subscription. What is not under way yet is not sent any more."""
        self._request(f"/subscriptions/{subscription_id}", "DELETE")

    def _one(
        self, path: str, method: str, body: dict[str, Any] | None = None, version: str | None = None
    ) -> dict[str, Any]:
        found: dict[str, Any] = self._request(path, method, body, version)["subscription"]
        return found

    def _request(
        self, path: str, method: str, body: dict[str, Any] | None = None, version: str | None = None
    ) -> Any:
        version = version or (MICROVERSION if body is None else EVENTS_MICROVERSION)
        return self.request_manager.request(path, method, body=body, version=version)[1]
