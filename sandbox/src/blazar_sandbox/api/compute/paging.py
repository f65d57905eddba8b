"""Paging of Nova's lists."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request

MOST = 1000
Row = TypeVar("Row")


def page(
    request: Request, rows: Sequence[Row], names: Callable[[Row], tuple[str, ...]], path: str
) -> tuple[list[Row], list[Json]]:
    """Return the page after ``marker``, and the link to the next page if there is one."""
    asked = request.param("limit")
    limit = min(fields.integer({"limit": asked}, "limit"), MOST) if asked is not None else MOST
    marker = request.param("marker")
    start = 0
    if marker is not None:
        start = 1 + next((at for at, row in enumerate(rows) if marker in names(row)), len(rows))
        if start > len(rows):
            raise bad_request(f"marker [{marker}] not found")
    cut = list(rows[start : start + limit])
    # A page that ends with the last row has no link.
    if limit == 0 or start + limit >= len(rows):
        return cut, []
    query = {key: values[-1] for key, values in request.query.items()} | {"marker": names(cut[-1])[0]}
    href = f"{request.origin}/compute/v2.1/{path}?{urlencode(query)}"
    return cut, [{"rel": "next", "href": href}]
