"""Nova's HTTP routes of host aggregates."""

from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.compute.services import moment
from blazar_sandbox.compute.model import Aggregate
from blazar_sandbox.errors import bad_request
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response


def _render(row: Aggregate, request: Request) -> Json:
    body: Json = {
        "id": row.id,
        "name": row.name,
        "availability_zone": row.zone,
        "hosts": request.cloud.compute.aggregates.hosts_in(row),
        "metadata": dict(row.metadata),
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "deleted": False,
        "deleted_at": None,
    }
    return body | ({"uuid": row.uuid} if request.version >= (2, 41) else {})


def _answer(row: Aggregate, request: Request) -> Response:
    return Response(200, {"aggregate": _render(row, request)})


def _found(request: Request, rule: str) -> Aggregate:
    request.caller.must_be_admin(f"os_compute_api:os-aggregates:{rule}")
    return request.cloud.compute.aggregates.aggregate(request.args["id"])


def index(request: Request) -> Response:
    """List aggregates."""
    request.caller.must_be_admin("os_compute_api:os-aggregates:index")
    rows = sorted(request.cloud.compute.aggregates.table, key=lambda row: row.id)
    return Response(200, {"aggregates": [_render(row, request) for row in rows]})


def create(request: Request) -> Response:
    """Create an aggregate; as in Nova, the response has neither hosts nor metadata."""
    request.caller.must_be_admin("os_compute_api:os-aggregates:create")
    body = fields.json_object(request.json, "aggregate")
    name = fields.string(body, "name").strip()
    row = request.cloud.compute.aggregates.create(name, _zone(body))
    rendered = _render(row, request)
    del rendered["hosts"], rendered["metadata"]
    return Response(200, {"aggregate": rendered})


def _zone(body: Json) -> str | None:
    if body.get("availability_zone") is None:
        return None
    zone = fields.string(body, "availability_zone")
    if ":" in zone:
        raise bad_request(
            f"Invalid input for field/attribute availability_zone. Value: {zone}. It has a colon."
        )
    return zone


def show(request: Request) -> Response:
    """Show an aggregate."""
    return _answer(_found(request, "show"), request)


def update(request: Request) -> Response:
    """Change name or zone."""
    row, body = _found(request, "update"), fields.json_object(request.json, "aggregate")
    name = fields.string(body, "name").strip() if "name" in body else None
    row = request.cloud.compute.aggregates.update(
        row, name, _zone(body), change_zone="availability_zone" in body
    )
    return _answer(row, request)


def delete(request: Request) -> Response:
    """Delete an aggregate."""
    request.cloud.compute.aggregates.delete(_found(request, "delete"))
    return Response(200)


def action(request: Request) -> Response:
    """Add or remove a host, or set metadata."""
    body = request.json
    verb = next(iter(body), "")
    detail: Any = body.get(verb)
    if (
        len(body) != 1
        or verb not in ("add_host", "remove_host", "set_metadata")
        or not isinstance(detail, dict)
    ):
        raise bad_request(f"There is no such action: {verb}")
    row, aggregates = _found(request, verb), request.cloud.compute.aggregates
    if verb == "add_host":
        row = aggregates.add_host(row, fields.string(detail, "host"))
    elif verb == "remove_host":
        row = aggregates.remove_host(row, fields.string(detail, "host"))
    else:
        row = aggregates.set_metadata(row, _metadata(fields.json_object(detail, "metadata")))
    return _answer(row, request)


def _metadata(body: Json) -> dict[str, str | None]:
    for key, value in body.items():
        if value is not None and not isinstance(value, str):
            raise bad_request(
                f"Invalid input for field/attribute {key}. Value: {value}. {value} is not of type "
                "'string', 'null'"
            )
        if len(key) > 255 or len(value or "") > 255:
            raise bad_request(f"Invalid input for field/attribute {key}. It is too long.")
    return body
