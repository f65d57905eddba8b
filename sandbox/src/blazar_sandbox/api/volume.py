"""Cinder's HTTP routes."""

import ast
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from blazar_sandbox import fields
from blazar_sandbox.errors import ApiError, bad_request, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.volume.state import DEFAULT_CLASS, Message, NewVolume, Snapshot, Volume, VolumeType
from blazar_sandbox.wsgi.microversion import Microversions, dotted
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

MICROVERSIONS = Microversions("volume", (3, 0), (3, 71))
_ACCESS = "os-volume-type-access:is_public"


def _version(request: Request) -> Json:
    return {
        "id": "v3.0",
        "status": "CURRENT",
        "version": dotted(MICROVERSIONS.highest),
        "min_version": dotted(MICROVERSIONS.lowest),
        "updated": "2023-08-31T00:00:00Z",
        "links": [{"rel": "self", "href": f"{request.origin}/volume/v3/"}],
        "media-types": [
            {"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}
        ],
    }


def list_versions(request: Request) -> Response:
    """List the only version of the API."""
    return Response(300, {"versions": [_version(request)]})


def show_version(request: Request) -> Response:
    """Show the only version of the API."""
    return Response(200, {"versions": [_version(request)]})


def extensions(_request: Request) -> Response:
    """List no extensions: all of them are built in."""
    return Response(200, {"extensions": []})


# --- types


def _render_type(row: VolumeType, request: Request) -> Json:
    body: Json = {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "is_public": row.is_public,
        _ACCESS: row.is_public,
        "extra_specs": dict(row.extra_specs),
    }
    return body | {"qos_specs_id": None} if request.caller.is_admin else body


def _answer_type(row: VolumeType, request: Request) -> Response:
    return Response(200, {"volume_type": _render_type(row, request)})


def list_types(request: Request) -> Response:
    """List the public types. An administrator gets the private ones with ``is_public`` false or none."""
    asked = (request.param("is_public") or "true") if request.caller.is_admin else "true"
    shown = {True, False} if asked.lower() == "none" else {fields.parse_boolean(asked, "is_public")}
    types = [row for row in request.cloud.volumes.types if row.is_public in shown]
    return Response(200, {"volume_types": _paged(request, [_render_type(row, request) for row in types])})


def show_type(request: Request) -> Response:
    """Show a type; the id ``default`` is that of the default type."""
    if request.args["id"] == "default":
        return _answer_type(_default_type(request), request)
    return _answer_type(request.cloud.volumes.type(request.args["id"], request.caller), request)


def _default_type(request: Request) -> VolumeType:
    found = next(iter(request.cloud.volumes.types), None)
    if found is None:
        raise not_found("Default volume type can not be found.")
    return found


def create_type(request: Request) -> Response:
    """Create a type."""
    request.caller.must_be_admin("volume_extension:type_create")
    body = fields.json_object(request.json, "volume_type")
    row = VolumeType(
        str(uuid.uuid4()),
        fields.string(body, "name"),
        fields.string_or_none(body, "description"),
        fields.boolean(body, _ACCESS, default=True),
        fields.string_map(body, "extra_specs"),
    )
    return _answer_type(request.cloud.volumes.put_type(row), request)


def update_type(request: Request) -> Response:
    """Change the name, the description or the visibility of a type."""
    request.caller.must_be_admin("volume_extension:type_update")
    row = request.cloud.volumes.type(request.args["id"], request.caller)
    body = fields.json_object(request.json, "volume_type")
    if body.get("name") is not None:
        row = replace(row, name=fields.string(body, "name"))
    if "description" in body:
        row = replace(row, description=fields.string_or_none(body, "description"))
    row = replace(row, is_public=fields.boolean(body, "is_public", default=row.is_public))
    return _answer_type(request.cloud.volumes.put_type(row), request)


def delete_type(request: Request) -> Response:
    """Delete a type without volumes."""
    request.caller.must_be_admin("volume_extension:type_delete")
    volumes = request.cloud.volumes
    volumes.delete_type(volumes.type(request.args["id"], request.caller))
    return Response(202)


# --- quotas


def show_quota(request: Request) -> Response:
    """Show the quota of a project, with ``usage`` also what it uses."""
    project_id, volumes = request.args["id"], request.cloud.volumes
    if not request.caller.owns(project_id):
        raise forbidden("Policy doesn't allow volume_extension:quotas:show to be performed.")
    limits = volumes.limits(project_id)
    if not fields.parse_boolean(request.param("usage") or "false", "usage"):
        return Response(200, {"quota_set": {"id": project_id, **limits}})
    used = volumes.in_use(project_id)
    told = {name: {"limit": limits[name], "in_use": used[name], "reserved": 0} for name in limits}
    return Response(200, {"quota_set": {"id": project_id, **told}})


def show_defaults(request: Request) -> Response:
    """Show the quota of a project that has none of its own."""
    return Response(200, {"quota_set": {"id": request.args["id"], **request.cloud.volumes.defaults()}})


def update_quota(request: Request) -> Response:
    """Set limits of a project."""
    request.caller.must_be_admin("volume_extension:quotas:update")
    _set_limits(request, request.args["id"], "quota_set")
    return Response(200, {"quota_set": request.cloud.volumes.limits(request.args["id"])})


def _set_limits(request: Request, key: str, noun: str) -> None:
    body = fields.json_object(request.json, noun)
    names = body.keys() - {"id", "tenant_id", "class_name"}
    request.cloud.volumes.set_limits(key, {name: fields.integer(body, name, minimum=-1) for name in names})


def delete_quota(request: Request) -> Response:
    """Let a project have the default limits again."""
    request.caller.must_be_admin("volume_extension:quotas:delete")
    request.cloud.volumes.quotas.drop(request.args["id"])
    return Response(200)


def show_class(request: Request) -> Response:
    """Show the default limits."""
    request.caller.must_be_admin("volume_extension:quota_classes")
    body = {"id": request.args["id"], **request.cloud.volumes.defaults()}
    return Response(200, {"quota_class_set": body})


def update_class(request: Request) -> Response:
    """Set default limits."""
    request.caller.must_be_admin("volume_extension:quota_classes")
    if request.args["id"] != DEFAULT_CLASS:
        raise bad_request("Only the class default is there.")
    _set_limits(request, DEFAULT_CLASS, "quota_class_set")
    return Response(200, {"quota_class_set": request.cloud.volumes.defaults()})


def show_limits(request: Request) -> Response:
    """Show the caller's own total limits, and what he uses."""
    project_id, volumes = request.caller.project_id, request.cloud.volumes
    limits, used = volumes.limits(project_id), volumes.in_use(project_id)
    absolute = {
        "maxTotalVolumes": limits["volumes"],
        "maxTotalVolumeGigabytes": limits["gigabytes"],
        "maxTotalSnapshots": limits["snapshots"],
        "maxTotalBackups": limits["backups"],
        "maxTotalBackupGigabytes": limits["backup_gigabytes"],
        "totalVolumesUsed": used["volumes"],
        "totalGigabytesUsed": used["gigabytes"],
        "totalSnapshotsUsed": used["snapshots"],
        "totalBackupsUsed": 0,
        "totalBackupGigabytesUsed": 0,
    }
    return Response(200, {"limits": {"rate": [], "absolute": absolute}})


# --- volumes


def _render(row: Volume, request: Request) -> Json:
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "status": row.status,
        "size": row.size,
        "volume_type": request.cloud.volumes.types[row.type_id].name,
        "os-vol-tenant-attr:tenant_id": row.project_id,
        "user_id": row.user_id,
        "availability_zone": "nova",
        "bootable": str(row.image_id is not None).lower(),
        "encrypted": False,
        "multiattach": False,
        "attachments": [
            {
                "id": row.id,
                "attachment_id": each.id,
                "volume_id": row.id,
                "server_id": each.server_id,
                "host_name": None,
                "device": "/dev/vdb",
                "attached_at": _moment(each.attached_at),
            }
            for each in row.attachments
        ],
        "metadata": dict(row.metadata),
        "snapshot_id": row.snapshot_id,
        "source_volid": None,
        "consistencygroup_id": None,
        "replication_status": None,
        "created_at": _moment(row.created_at),
        "updated_at": _moment(row.updated_at) if row.updated_at else None,
        "links": [{"rel": "self", "href": f"{request.origin}/volume/v3/volumes/{row.id}"}],
    }


def _moment(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f")


def _answer(row: Volume, request: Request, status: int = 200) -> Response:
    return Response(status, {"volume": _render(row, request)})


def list_volumes(request: Request) -> Response:
    """List the volumes of the caller's project, or of all projects, newest first."""
    volumes = request.cloud.volumes
    is_of_all = request.caller.is_admin and fields.parse_boolean(
        request.param("all_tenants") or "false", "all_tenants"
    )
    rows = list(volumes.table) if is_of_all else volumes.of_project.rows(request.caller.project_id)
    bodies = [_render(row, request) for row in reversed(rows)]
    for name, key in (("name", "name"), ("status", "status"), ("project_id", "os-vol-tenant-attr:tenant_id")):
        wanted = request.param(name)
        bodies = [body for body in bodies if wanted in (None, body[key])]
    marks = _metadata_asked_for(request)
    bodies = [body for body in bodies if marks.items() <= body["metadata"].items()]
    bodies = _paged(request, bodies, lambda marker: not_found(f"Volume {marker} could not be found."))
    if not request.path.endswith("/detail"):
        bodies = [{name: body[name] for name in ("id", "name", "links")} for body in bodies]
    return Response(200, {"volumes": bodies})


def _metadata_asked_for(request: Request) -> Json:
    """Return the metadata that are asked for; Cinder reads a dictionary as Python writes it."""
    try:
        found = ast.literal_eval(request.param("metadata") or "{}")
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, dict):
        raise bad_request("Invalid filter: metadata")
    return found


def create_volume(request: Request) -> Response:
    """Create a volume, which is there at once."""
    _must_be_member(request, "volume:create")
    volumes, body = request.cloud.volumes, fields.json_object(request.json, "volume")
    size = fields.integer(body, "size", minimum=1)
    name, description = (fields.string_or_none(body, key) for key in ("name", "description"))
    image_id, snapshot_id = (fields.string_or_none(body, key) for key in ("imageRef", "snapshot_id"))
    if image_id:
        _must_hold_image(request, image_id, size)
    if snapshot_id:
        _must_hold_snapshot(request, snapshot_id, size)
    new = NewVolume(
        _type_asked_for(request, body), size, name or "", description,
        fields.string_map(body, "metadata"), snapshot_id or None, image_id or None,
    )  # fmt: skip
    return _answer(volumes.create(request.caller, new), request, 202)


def _must_hold_image(request: Request, image_id: str, size: int) -> None:
    try:
        image = request.cloud.images.image(image_id, request.caller)
    except ApiError:
        raise bad_request("Invalid image identifier or unable to access requested image.") from None
    if size < image.min_disk:
        raise bad_request(
            f"Volume size {size}GB cannot be smaller than the image minDisk size {image.min_disk}GB."
        )


def _must_hold_snapshot(request: Request, snapshot_id: str, size: int) -> None:
    snapshot = request.cloud.volumes.snapshot(snapshot_id, request.caller)
    if size < snapshot.size:
        raise bad_request(
            f"Invalid input received: Volume size '{size}'GB cannot be smaller than the snapshot size "
            f"{snapshot.size}GB. They must be >= original snapshot size."
        )


def _type_asked_for(request: Request, body: Json) -> VolumeType:
    wanted = fields.string_or_none(body, "volume_type")
    if not wanted:
        return _default_type(request)
    named = request.cloud.volumes.types_by_name.first(wanted)
    return request.cloud.volumes.type(named.id if named is not None else wanted, request.caller)


def show_volume(request: Request) -> Response:
    """Show a volume."""
    return _answer(request.cloud.volumes.volume(request.args["id"], request.caller), request)


def update_volume(request: Request) -> Response:
    """Change the name or the description of a volume."""
    _must_be_member(request, "volume:update")
    row = request.cloud.volumes.volume(request.args["id"], request.caller)
    body = fields.json_object(request.json, "volume")
    changes = {key: fields.string_or_none(body, key) for key in ("name", "description") if key in body}
    return _answer(request.cloud.volumes.change(row, **changes), request)


def delete_volume(request: Request) -> Response:
    """Delete a volume that is not in use; it is gone at once."""
    _must_be_member(request, "volume:delete")
    volumes = request.cloud.volumes
    volumes.delete(volumes.volume(request.args["id"], request.caller))
    return Response(202)


def add_metadata(request: Request) -> Response:
    """Add metadata to a volume."""
    _must_be_member(request, "volume:create_volume_metadata")
    volumes = request.cloud.volumes
    row = volumes.volume(request.args["id"], request.caller)
    row = volumes.change(row, metadata={**row.metadata, **fields.string_map(request.json, "metadata")})
    return Response(200, {"metadata": dict(row.metadata)})


def delete_metadata(request: Request) -> Response:
    """Remove one metadata key of a volume."""
    _must_be_member(request, "volume:delete_volume_metadata")
    volumes, key = request.cloud.volumes, request.args["key"]
    row = volumes.volume(request.args["id"], request.caller)
    if key not in row.metadata:
        raise not_found(f"Volume {row.id} has no metadata with key {key}.")
    volumes.change(row, metadata={name: value for name, value in row.metadata.items() if name != key})
    return Response(200)


def act(request: Request) -> Response:
    """Run the one action on a volume that there is here: make it larger."""
    _must_be_member(request, "volume:extend")
    volumes = request.cloud.volumes
    row = volumes.volume(request.args["id"], request.caller)
    volumes.extend(row, fields.integer(fields.json_object(request.json, "os-extend"), "new_size", minimum=1))
    return Response(202)


# --- snapshots


def _render_snapshot(row: Snapshot) -> Json:
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "volume_id": row.volume_id,
        "status": row.status,
        "size": row.size,
        "metadata": dict(row.metadata),
        "created_at": _moment(row.created_at),
        "updated_at": None,
        "os-extended-snapshot-attributes:project_id": row.project_id,
        "os-extended-snapshot-attributes:progress": "100%",
    }


def list_snapshots(request: Request) -> Response:
    """List the snapshots of the caller's project, or of all projects, newest first."""
    volumes = request.cloud.volumes
    is_of_all = request.caller.is_admin and fields.parse_boolean(
        request.param("all_tenants") or "false", "all_tenants"
    )
    rows = list(volumes.snapshots) if is_of_all else volumes.snapshots_in.rows(request.caller.project_id)
    bodies = [_render_snapshot(row) for row in reversed(rows)]
    project = "os-extended-snapshot-attributes:project_id"
    asked = ("name", "name"), ("status", "status"), ("volume_id", "volume_id"), ("project_id", project)
    for name, key in asked:
        wanted = request.param(name)
        bodies = [body for body in bodies if wanted in (None, body[key])]
    return Response(200, {"snapshots": _paged(request, bodies)})


def create_snapshot(request: Request) -> Response:
    """Create a snapshot, which is there at once; by force also of a volume that is in use."""
    _must_be_member(request, "volume:create_snapshot")
    volumes, body = request.cloud.volumes, fields.json_object(request.json, "snapshot")
    row = volumes.volume(fields.string(body, "volume_id"), request.caller)
    allowed = ("available", "in-use") if fields.boolean(body, "force") else ("available",)
    if row.status not in allowed:
        raise bad_request(
            f"Invalid volume: Volume {row.id} status must be {' or '.join(allowed)}, but current status is: "
            f"{row.status}."
        )
    name, description = (fields.string_or_none(body, key) for key in ("name", "description"))
    metadata = fields.string_map(body, "metadata")
    made = volumes.create_snapshot(request.caller, row, name or "", description, metadata)
    return Response(202, {"snapshot": _render_snapshot(made)})


def show_snapshot(request: Request) -> Response:
    """Show a snapshot."""
    row = request.cloud.volumes.snapshot(request.args["id"], request.caller)
    return Response(200, {"snapshot": _render_snapshot(row)})


def delete_snapshot(request: Request) -> Response:
    """Delete a snapshot; it is gone at once."""
    _must_be_member(request, "volume:delete_snapshot")
    volumes = request.cloud.volumes
    volumes.snapshots.drop(volumes.snapshot(request.args["id"], request.caller).id)
    return Response(202)


# --- messages


def list_messages(request: Request) -> Response:
    """List what Cinder tells the caller's project of failures, newest first."""
    if request.version < (3, 3):
        raise not_found("The resource could not be found.")
    rows = [row for row in request.cloud.volumes.messages if request.caller.project_id == row.project_id]
    wanted = request.param("resource_uuid") if request.version >= (3, 5) else None
    bodies = [_render_message(row) for row in reversed(rows) if wanted in (None, row.resource_id)]
    return Response(200, {"messages": _paged(request, bodies)})


def _render_message(row: Message) -> Json:
    return {
        "id": row.id,
        "event_id": "VOLUME_VOLUME_001_001",
        "user_message": row.text,
        "message_level": "ERROR",
        "resource_type": "VOLUME",
        "resource_uuid": row.resource_id,
        "created_at": _moment(row.created_at),
        "guaranteed_until": _moment(row.created_at),
    }


def _must_be_member(request: Request, rule: str) -> None:
    if not request.caller.has("member", "admin"):
        raise forbidden(f"Policy doesn't allow {rule} to be performed.")


def _unknown(marker: str) -> ApiError:
    return bad_request(f"marker [{marker}] not found")


def _paged(request: Request, bodies: list[Json], unknown: Callable[[str], ApiError] = _unknown) -> list[Json]:
    """Return the part of a list that the caller asks for by limit, marker and offset."""
    marker, limit = request.param("marker"), request.param("limit")
    if marker is not None:
        at = next((at for at, body in enumerate(bodies) if body["id"] == marker), None)
        if at is None:
            raise unknown(marker)
        bodies = bodies[at + 1 :]
    bodies = bodies[fields.integer({"offset": request.param("offset") or 0}, "offset") :]
    return bodies if limit is None else bodies[: fields.integer({"limit": limit}, "limit")]


def _routes(*rows: tuple[str, str, Callable[[Request], Response]]) -> list[Route]:
    """Return the routes, each also below the id of a project, as older catalogs have it."""
    below = ("/v3", "/v3/{project_id}")
    return [Route(method, base + path, responder) for base in below for method, path, responder in rows]


ROUTES = [
    Route("GET", "/", list_versions, needs_token=False),
    Route("GET", "/v3", show_version, needs_token=False),
    *_routes(
        ("GET", "/extensions", extensions),
        ("GET", "/limits", show_limits),
        ("GET", "/types", list_types),
        ("POST", "/types", create_type),
        ("GET", "/types/{id}", show_type),
        ("PUT", "/types/{id}", update_type),
        ("DELETE", "/types/{id}", delete_type),
        ("GET", "/os-quota-sets/{id}", show_quota),
        ("PUT", "/os-quota-sets/{id}", update_quota),
        ("DELETE", "/os-quota-sets/{id}", delete_quota),
        ("GET", "/os-quota-sets/{id}/defaults", show_defaults),
        ("GET", "/os-quota-class-sets/{id}", show_class),
        ("PUT", "/os-quota-class-sets/{id}", update_class),
        ("GET", "/volumes", list_volumes),
        ("GET", "/volumes/detail", list_volumes),
        ("POST", "/volumes", create_volume),
        ("GET", "/volumes/{id}", show_volume),
        ("PUT", "/volumes/{id}", update_volume),
        ("DELETE", "/volumes/{id}", delete_volume),
        ("POST", "/volumes/{id}/action", act),
        ("POST", "/volumes/{id}/metadata", add_metadata),
        ("DELETE", "/volumes/{id}/metadata/{key}", delete_metadata),
        ("GET", "/snapshots", list_snapshots),
        ("GET", "/snapshots/detail", list_snapshots),
        ("POST", "/snapshots", create_snapshot),
        ("GET", "/snapshots/{id}", show_snapshot),
        ("DELETE", "/snapshots/{id}", delete_snapshot),
        ("GET", "/messages", list_messages),
    ),
]
