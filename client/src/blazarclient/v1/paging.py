"""Lists that are read page by page from a service with microversion 1.1, and at once from an older one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from blazarclient.exception import BlazarClientException
from blazarclient.transport import VERSION_HEADER, Transport, version_header

Row = dict[str, Any]
PAGES = "1.1"
"""The version that lists are asked for in."""
NOT_ACCEPTABLE = 406
MAX_LIMIT = 1000
"""The most rows of a page."""


class Listed:
    """The rows of a list. `is_filtered` is whether the service has filtered, sorted and limited them; it is
    known when the first row has been read."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        key: str,
        query: Mapping[str, str] | None = None,
        limit: int | None = None,
        version: str = PAGES,
    ) -> None:
        """`version` is the version of the API that is asked for: an older service is asked again without one
        only where that of pages would do."""
        self.is_filtered = False
        self._transport = transport
        self._path = path
        self._key = key
        self._query = dict(query or {})
        self._limit = limit
        self._version = version

    def rows(self) -> Iterator[Row]:
        """Yield the rows. The service is asked for the next page when it is needed."""
        query, left = self._query, self._limit
        while True:
            if left is not None:
                query = {**query, "limit": str(min(left, MAX_LIMIT))}
            body = self._page(query)
            yield from body[self._key]
            if left is not None and self.is_filtered:
                left -= len(body[self._key])
            following = next_query(body, self._key)
            if following is None or left == 0:
                return
            query = following

    def _page(self, query: Mapping[str, str]) -> Any:
        url = self._path + (f"?{urlencode(query)}" if query else "")
        try:
            response, body = self._transport.get(url, version=self._version)
        except BlazarClientException as error:
            if error.kwargs.get("code") != NOT_ACCEPTABLE or self._version != PAGES:
                raise
            return self._transport.get(self._path)[1]
        self.is_filtered = response.headers.get(VERSION_HEADER) == version_header(self._version)
        return body


def next_query(body: Mapping[str, Any], key: str) -> dict[str, str] | None:
    """Return the query of the link to the next page; None on the last page.

    The address of the link is not used: behind a proxy, it may not be the one that leads to the service."""
    for link in body.get(f"{key}_links") or ():
        if link.get("rel") == "next":
            return dict(parse_qsl(urlsplit(link["href"]).query))
    return None
