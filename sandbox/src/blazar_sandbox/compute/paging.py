"""Which page of a long list is asked for?"""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from blazar_sandbox.errors import bad_request
from blazar_sandbox.wsgi import fields
from blazar_sandbox.wsgi.message import Json, Request

MOST = 1000
Row = TypeVar("Row")


def page(
    request: Request, rows: Sequence[Row], names: Callable[[Row], tuple[str, ...]], path: str
) -> tuple[list[Row], list[Json]]:
    """Cut out the page after ``marker``; give it with the link to the next one, if there is more."""
    asked = request.param("limit")
    limit = min(fields.number({"limit": asked}, "limit"), MOST) if asked is not None else MOST
    marker = request.param("marker")
    start = 0
    if marker is not None:
        start = 1 + next((at for at, row in enumerate(rows) if marker in names(row)), len(rows))
        if start > len(rows):
            raise bad_request(f"marker [{marker}] not found")
    cut = list(rows[start : start + limit])
    # The last page has a link too if it was cut just there and there is more.
    if limit == 0 or start + limit >= len(rows):
        return cut, []
    query = {key: values[-1] for key, values in request.query.items()} | {"marker": names(cut[-1])[0]}
    href = f"{request.origin}/compute/v2.1/{path}?{urlencode(query)}"
    return cut, [{"rel": "next", "href": href}]
