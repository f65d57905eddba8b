"""Glance's HTTP routes."""

import hashlib
import json
import uuid
from dataclasses import replace
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request, conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.image.state import Image, listed
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

_VERSIONS = ("v2.16", "v2.9", "v2.7", "v2.2", "v2.0")
_BASE = frozenset(
    {"id", "name", "owner", "status", "visibility", "disk_format", "container_format", "size", "checksum",
     "min_disk", "min_ram", "protected", "tags", "created_at", "updated_at"}
)  # fmt: skip
_NO_PROPERTIES = frozenset(
    {"limit", "marker", "sort", "sort_key", "sort_dir", "tag", "member_status", "os_hidden", "size_min",
     "size_max"}
)  # fmt: skip
_LARGEST = 25
_STATUSES = ("pending", "accepted", "rejected")


def show_versions(request: Request) -> Response:
    """List the versions of the API."""
    links = [{"rel": "self", "href": f"{request.origin}/image/v2/"}]
    found = [
        {"id": name, "status": "CURRENT" if name == _VERSIONS[0] else "SUPPORTED", "links": links}
        for name in _VERSIONS
    ]
    return Response(300, {"versions": found})


def _render(row: Image) -> Json:
    body: Json = {
        "id": row.id,
        "name": row.name,
        "owner": row.owner,
        "status": row.status,
        "visibility": row.visibility,
        "disk_format": row.disk_format,
        "container_format": row.container_format,
        "size": row.size,
        "virtual_size": None,
        "checksum": row.checksum,
        "min_disk": row.min_disk,
        "min_ram": row.min_ram,
        "protected": row.protected,
        "os_hidden": False,
        "os_hash_algo": None,
        "os_hash_value": None,
        "tags": list(row.tags),
        "created_at": row.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "updated_at": row.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "self": f"/v2/images/{row.id}",
        "file": f"/v2/images/{row.id}/file",
        "schema": "/v2/schemas/image",
    }
    return {**row.properties, **body}


def index(request: Request) -> Response:
    """List the images that the caller sees and that pass the filters, newest first."""
    images = request.cloud.images
    name = request.param("name")
    rows = list(images.table) if name is None or name.startswith("in:") else images.by_name.rows(name)
    member_status = request.param("member_status") or "accepted"
    if member_status not in ("all", *_STATUSES):
        raise bad_request(f"Invalid status: {member_status}")
    bodies = [_render(row) for row in rows if listed(row, request.caller, member_status)]
    for key in ("name", "status", "visibility", "owner", "id", "disk_format", "container_format"):
        wanted = request.param(key)
        if wanted is not None and wanted != "all":
            choices = (
                wanted.removeprefix("in:").replace('"', "").split(",")
                if wanted.startswith("in:")
                else [wanted]
            )
            bodies = [body for body in bodies if body[key] in choices]
    others = request.query.keys() - {*_BASE, *_NO_PROPERTIES}
    bodies = [body for body in bodies if all(body.get(key) == request.param(key) for key in others)]
    tags = set(request.query.get("tag", ()))
    bodies = [body for body in bodies if tags <= set(body["tags"])]
    bodies.sort(key=lambda body: (body["created_at"], body["id"]), reverse=True)
    answer = _page(request, bodies) | {"first": "/v2/images", "schema": "/v2/schemas/images"}
    return Response(200, answer)


def _page(request: Request, bodies: list[Json]) -> Json:
    limit = fields.integer({"limit": request.param("limit") or _LARGEST}, "limit")
    marker = request.param("marker")
    if marker is not None:
        at = next((at for at, body in enumerate(bodies) if body["id"] == marker), None)
        if at is None:
            raise bad_request(f"Invalid marker {marker}")
        bodies = bodies[at + 1 :]
    if len(bodies) <= limit:
        return {"images": bodies}
    cut = bodies[:limit]
    last = cut[-1]["id"] if cut else ""
    return {"images": cut, "next": f"/v2/images?limit={limit}&marker={last}"}


def show(request: Request) -> Response:
    """Show an image."""
    return Response(200, _render(request.cloud.images.image(request.args["id"], request.caller)))


def create(request: Request) -> Response:
    """Create an image; its content is uploaded later."""
    if not request.caller.has("member", "admin"):
        raise forbidden("You are not authorized to complete add_image action.")
    body, now = request.json, request.cloud.clock.now()
    row = Image(
        id=fields.string_or_none(body, "id") or str(uuid.uuid4()),
        name=fields.string_or_none(body, "name") or "",
        owner=request.caller.project_id,
        created_at=now,
        updated_at=now,
        visibility=_visibility(request, fields.string_or_none(body, "visibility") or "shared"),
        disk_format=fields.string_or_none(body, "disk_format"),
        container_format=fields.string_or_none(body, "container_format"),
        min_disk=fields.integer(body, "min_disk", default=0),
        min_ram=fields.integer(body, "min_ram", default=0),
        protected=fields.boolean(body, "protected"),
        tags=tuple(fields.string_list(body, "tags")),
        properties={key: str(value) for key, value in body.items() if key not in _BASE},
    )
    if row.id in request.cloud.images.table:
        raise conflict(f"Image ID {row.id} already exists!")
    return Response(201, _render(request.cloud.images.put(row)))


def _visibility(request: Request, wanted: str) -> str:
    if wanted not in ("public", "private", "shared", "community"):
        raise bad_request(f"Invalid value '{wanted}' for parameter 'visibility'")
    if wanted == "public" and not request.caller.is_admin:
        raise forbidden("You are not authorized to complete publicize_image action.")
    return wanted


def _mine(request: Request) -> Image:
    row = request.cloud.images.image(request.args["id"], request.caller)
    if not request.caller.owns(row.owner) or not request.caller.has("member", "admin"):
        raise forbidden("You are not permitted to modify this image.")
    return row


def update(request: Request) -> Response:
    """Change an image by a JSON patch of its top-level fields."""
    row: Any = _mine(request)
    try:
        patch = json.loads(request.raw_body)
    except ValueError:
        patch = None
    if not isinstance(patch, list):
        raise bad_request("Request body must be a JSON array of operation objects.")
    for step in patch:
        row = _patched(request, row, step)
    row = replace(row, updated_at=request.cloud.clock.now())
    return Response(200, _render(request.cloud.images.put(row)))


def _patched(request: Request, row: Image, step: Any) -> Image:
    if not isinstance(step, dict) or step.get("op") not in ("add", "replace", "remove"):
        raise bad_request("Operations must be add, replace or remove.")
    name, value = str(step.get("path", "")).lstrip("/"), step.get("value")
    if name == "visibility":
        return replace(row, visibility=_visibility(request, str(value)))
    if name == "owner" and step["op"] == "replace":
        if not request.caller.is_admin:
            raise forbidden("Owner can't be updated by non admin.")
        return replace(row, owner=str(value))
    if name == "tags" and isinstance(value, list):
        return replace(row, tags=tuple(str(tag) for tag in value))
    if name in ("name", "min_disk", "min_ram", "protected", "disk_format", "container_format"):
        change: Json = {name: value}
        return replace(row, **change)
    if name in _BASE:
        raise forbidden(f"Attribute '{name}' is read-only.")
    kept = {key: one for key, one in row.properties.items() if key != name}
    return replace(row, properties=kept if step["op"] == "remove" else {**kept, name: str(value)})


def upload(request: Request) -> Response:
    """Upload the content of an image, of which only size and checksum are stored."""
    row, content = _mine(request), request.raw_body
    if row.status != "queued":
        raise conflict(f"Image status transition from {row.status} to saving is not allowed")
    checksum = hashlib.md5(content, usedforsecurity=False).hexdigest()
    now = request.cloud.clock.now()
    request.cloud.images.put(
        replace(row, status="active", size=len(content), checksum=checksum, updated_at=now)
    )
    return Response(204)


def download(request: Request) -> Response:
    """Answer with no content: it is not stored."""
    request.cloud.images.image(request.args["id"], request.caller)
    return Response(204)


def delete(request: Request) -> Response:
    """Delete an image."""
    row = _mine(request)
    if row.protected:
        raise forbidden(f"Image {row.id} is protected and cannot be deleted.")
    request.cloud.images.table.drop(row.id)
    return Response(204)


def _shared(request: Request) -> Image:
    row = request.cloud.images.image(request.args["id"], request.caller)
    if row.visibility != "shared":
        raise forbidden("Only shared images have members.")
    return row


def _render_member(row: Image, member: str) -> Json:
    moment = row.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "image_id": row.id,
        "member_id": member,
        "status": row.members[member],
        "created_at": moment,
        "updated_at": moment,
        "schema": "/v2/schemas/member",
    }


def _member_of(request: Request, row: Image) -> str:
    """Return the member that is asked for; raise 404 if the caller sees none."""
    member = request.args["member"]
    if member not in row.members or not (request.caller.owns(row.owner) or request.caller.owns(member)):
        raise not_found(f"{member} not found in the member list of the image {row.id}.")
    return member


def list_members(request: Request) -> Response:
    """List the projects that an image is shared with: all to its owner, to any other its own."""
    row, caller = _shared(request), request.caller
    seen = [member for member in row.members if caller.owns(row.owner) or caller.owns(member)]
    members = [_render_member(row, member) for member in seen]
    return Response(200, {"members": members, "schema": "/v2/schemas/members"})


def show_member(request: Request) -> Response:
    """Show a project that an image is shared with."""
    row = _shared(request)
    return Response(200, _render_member(row, _member_of(request, row)))


def add_member(request: Request) -> Response:
    """Share an image with a project, which has yet to accept it."""
    row, member = _shared(request), fields.string(request.json, "member")
    if not request.caller.owns(row.owner):
        raise forbidden("You are not permitted to create image members for the image.")
    if member in row.members:
        raise conflict(f"Member {member} is duplicated for image {row.id}")
    row = replace(row, members={**row.members, member: "pending"})
    return Response(200, _render_member(request.cloud.images.put(row), member))


def update_member(request: Request) -> Response:
    """Accept or reject an image that is shared with the caller's project."""
    row = _shared(request)
    member, caller = _member_of(request, row), request.caller
    if not caller.owns(member):
        raise forbidden("You are not permitted to modify 'status' on this image member.")
    status = fields.string(request.json, "status")
    if status not in _STATUSES:
        raise bad_request(f"Status not in {', '.join(_STATUSES)}")
    row = replace(row, members={**row.members, member: status})
    return Response(200, _render_member(request.cloud.images.put(row), member))


def remove_member(request: Request) -> Response:
    """Share an image with a project no longer."""
    row = _shared(request)
    member = _member_of(request, row)
    if not request.caller.owns(row.owner):
        raise forbidden("You cannot delete image member.")
    left = {key: status for key, status in row.members.items() if key != member}
    request.cloud.images.put(replace(row, members=left))
    return Response(204)


def schema(request: Request) -> Response:
    """Show a JSON schema."""
    names = sorted(_BASE)
    return Response(
        200, {"name": request.args["name"], "properties": {name: {"type": "string"} for name in names}}
    )


ROUTES = [
    Route("GET", "/", show_versions, needs_token=False),
    Route("GET", "/versions", show_versions, needs_token=False),
    Route("GET", "/v2/images", index),
    Route("POST", "/v2/images", create),
    Route("GET", "/v2/images/{id}", show),
    Route("PATCH", "/v2/images/{id}", update),
    Route("DELETE", "/v2/images/{id}", delete),
    Route("PUT", "/v2/images/{id}/file", upload),
    Route("GET", "/v2/images/{id}/file", download),
    Route("GET", "/v2/images/{id}/members", list_members),
    Route("POST", "/v2/images/{id}/members", add_member),
    Route("GET", "/v2/images/{id}/members/{member}", show_member),
    Route("PUT", "/v2/images/{id}/members/{member}", update_member),
    Route("DELETE", "/v2/images/{id}/members/{member}", remove_member),
    Route("GET", "/v2/schemas/{name}", schema),
]
