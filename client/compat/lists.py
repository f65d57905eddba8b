"""Lists, which our client asks for in version 1.1 of the API, page by page and with filters.

A service of API 1.0 answers as it does to client 4.6, so only these requests may differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LISTS = ("/leases", "/os-hosts", "/os-hosts/allocations", "/floatingips")
VERSION = "openstack-api-version"
FOR_THE_NEAREST_NAME = [["sort", "created_at:desc"], ["limit", "1000"]]


def as_of_1_0(requests: Sequence[list[Any]]) -> list[list[Any]]:
    """Return recorded requests, each ``[method, path, query, body, headers]``, with those for lists as client
    4.6 sends them. The further one for a name that is not found, by which the nearest name is found, is left
    out."""
    found: list[list[Any]] = []
    for method, path, query, body, headers in requests:
        if query == FOR_THE_NEAREST_NAME:
            continue
        if method == "GET" and path in LISTS and headers.get(VERSION) == "reservation 1.1":
            headers = {name: value for name, value in headers.items() if name != VERSION}
            query = []
        found.append([method, path, query, body, headers])
    return found
