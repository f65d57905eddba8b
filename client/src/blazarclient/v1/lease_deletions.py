"""The deletion of leases by what they have in common, which version 1.18 of the API can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from blazarclient.transport import Transport

MICROVERSION = "1.18"
Row = dict[str, Any]


def delete_leases(transport: Transport, filters: Mapping[str, str], dry_run: bool) -> Iterator[Row]:
    """Delete the leases that meet the filters, with one request after another. Yield what became of each."""
    query = {**filters, "dry_run": "true"} if dry_run else dict(filters)
    while True:
        body = transport.request(f"/leases?{urlencode(query)}", "DELETE", version=MICROVERSION)[1]
        yield from body["leases"]
        if body["marker"] is None:
            return
        query["marker"] = body["marker"]
