"""Nova's HTTP routes of flavors."""

from dataclasses import replace

from blazar_sandbox import fields
from blazar_sandbox.api.compute.paging import page
from blazar_sandbox.compute.flavors import visible
from blazar_sandbox.compute.model import Flavor
from blazar_sandbox.errors import bad_request, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response


def _links(row: Flavor, request: Request) -> list[Json]:
    return [
        {"rel": "self", "href": f"{request.origin}/compute/v2.1/flavors/{row.id}"},
        {"rel": "bookmark", "href": f"{request.origin}/compute/flavors/{row.id}"},
    ]


def _summary(row: Flavor, request: Request) -> Json:
    body: Json = {"id": row.id, "name": row.name, "links": _links(row, request)}
    return body | ({"description": row.description} if request.version >= (2, 55) else {})


def _detail(row: Flavor, request: Request) -> Json:
    body = _summary(row, request) | {
        "vcpus": row.vcpus,
        "ram": row.ram,
        "disk": row.disk,
        "swap": row.swap if row.swap or request.version >= (2, 75) else "",
        "rxtx_factor": row.rxtx_factor,
        "OS-FLV-EXT-DATA:ephemeral": row.ephemeral,
        "OS-FLV-DISABLED:disabled": False,
        "os-flavor-access:is_public": row.is_public,
    }
    return body | ({"extra_specs": dict(row.extra_specs)} if request.version >= (2, 61) else {})


def _selected(request: Request) -> list[Flavor]:
    """Return the flavors that pass the filters.

    Only administrators may set ``is_public``; without it they see the public flavors.
    """
    rows = list(request.cloud.compute.flavors.table)
    caller = request.caller
    if not caller.is_admin:
        rows = [row for row in rows if visible(row, caller)]
    else:
        choice = (request.param("is_public") or "true").lower()
        if choice not in ("none", "null"):
            public = fields.parse_boolean(choice, "is_public")
            mine = caller.project_id
            rows = [row for row in rows if row.is_public == public or (public and mine in row.access)]
    least_ram, least_disk = _least(request, "minRam"), _least(request, "minDisk")
    return [row for row in rows if row.ram >= least_ram and row.disk >= least_disk]


def _least(request: Request, name: str) -> int:
    return fields.integer({name: request.param(name) or 0}, name)


def _listed(request: Request, *, detail: bool) -> Response:
    path = "flavors" + ("/detail" if detail else "")
    rows, links = page(request, _selected(request), lambda row: (row.id,), path)
    answer: Json = {"flavors": [_detail(row, request) if detail else _summary(row, request) for row in rows]}
    if links:
        answer["flavors_links"] = links
    return Response(200, answer)


def index(request: Request) -> Response:
    """List flavors."""
    return _listed(request, detail=False)


def detail(request: Request) -> Response:
    """List flavors in full."""
    return _listed(request, detail=True)


def _found(request: Request) -> Flavor:
    return request.cloud.compute.flavors.flavor(request.args["id"], request.caller)


def show(request: Request) -> Response:
    """Show a flavor."""
    return Response(200, {"flavor": _detail(_found(request), request)})


def create(request: Request) -> Response:
    """Create a flavor."""
    request.caller.must_be_admin("os_compute_api:os-flavor-manage:create")
    body = fields.json_object(request.json, "flavor")
    given = body.get("id") or body.get("flavorid") or ""
    factor = body.get("rxtx_factor", 1.0)
    if not isinstance(given, str | int) or not isinstance(factor, int | float):
        raise bad_request("Invalid input for field/attribute flavor.")
    row = Flavor(
        id=str(given),
        name=fields.string(body, "name"),
        vcpus=fields.integer(body, "vcpus", minimum=1),
        ram=fields.integer(body, "ram", minimum=1),
        disk=fields.integer(body, "disk"),
        ephemeral=fields.integer(body, "OS-FLV-EXT-DATA:ephemeral", default=0),
        swap=fields.integer(body, "swap", default=0),
        rxtx_factor=float(factor),
        is_public=fields.boolean(body, "os-flavor-access:is_public", default=True),
        description=fields.string_or_none(body, "description"),
    )
    return Response(200, {"flavor": _detail(request.cloud.compute.flavors.create(row), request)})


def update(request: Request) -> Response:
    """Change the description."""
    request.caller.must_be_admin("os_compute_api:os-flavor-manage:update")
    body = fields.json_object(request.json, "flavor")
    row = replace(_found(request), description=fields.string_or_none(body, "description"))
    request.cloud.compute.flavors.put(row)
    return Response(200, {"flavor": _detail(row, request)})


def delete(request: Request) -> Response:
    """Delete a flavor; servers keep their copy of it."""
    request.caller.must_be_admin("os_compute_api:os-flavor-manage:delete")
    request.cloud.compute.flavors.table.drop(_found(request).id)
    return Response(202)


def action(request: Request) -> Response:
    """Grant a project access to a private flavor, or revoke it."""
    body, flavors = request.json, request.cloud.compute.flavors
    if "addTenantAccess" in body:
        request.caller.must_be_admin("os_compute_api:os-flavor-access:add_tenant_access")
        project_id = _tenant(request, body, "addTenantAccess")
        row = flavors.add_access(_found(request), project_id)
    elif "removeTenantAccess" in body:
        request.caller.must_be_admin("os_compute_api:os-flavor-access:remove_tenant_access")
        row = flavors.remove_access(
            _found(request), fields.string(fields.json_object(body, "removeTenantAccess"), "tenant")
        )
    else:
        raise bad_request("There is no such action.")
    return Response(200, _access_body(row))


def _tenant(request: Request, body: Json, verb: str) -> str:
    project_id = fields.string(fields.json_object(body, verb), "tenant")
    if project_id not in request.cloud.identity.projects:
        raise bad_request(f"Project ID {project_id} is not a valid project.")
    return project_id


def _access_body(row: Flavor) -> Json:
    return {"flavor_access": [{"flavor_id": row.id, "tenant_id": project_id} for project_id in row.access]}


def access(request: Request) -> Response:
    """List the projects that may use a private flavor."""
    request.caller.must_be_admin("os_compute_api:os-flavor-access")
    row = _found(request)
    if row.is_public:
        raise not_found("Access list not available for public flavors.")
    return Response(200, _access_body(row))


def specs(request: Request) -> Response:
    """List extra specs."""
    return Response(200, {"extra_specs": dict(_found(request).extra_specs)})


def add_specs(request: Request) -> Response:
    """Add extra specs."""
    request.caller.must_be_admin("os_compute_api:os-flavor-extra-specs:create")
    wanted = fields.string_map(request.json, "extra_specs")
    row = request.cloud.compute.flavors.set_specs(_found(request), wanted)
    return Response(200, {"extra_specs": {key: row.extra_specs[key] for key in wanted}})


def show_spec(request: Request) -> Response:
    """Show one extra spec."""
    row, key = _found(request), request.args["key"]
    if key not in row.extra_specs:
        raise not_found(f"Flavor {row.id} has no extra specs with key {key}.")
    return Response(200, {key: row.extra_specs[key]})


def put_spec(request: Request) -> Response:
    """Set one extra spec."""
    request.caller.must_be_admin("os_compute_api:os-flavor-extra-specs:update")
    key = request.args["key"]
    value = fields.string_map({"body": request.json}, "body").get(key)
    if value is None or len(request.json) != 1:
        raise bad_request("Request body and URI mismatch")
    request.cloud.compute.flavors.set_specs(_found(request), {key: value})
    return Response(200, {key: value})


def delete_spec(request: Request) -> Response:
    """Remove one extra spec."""
    request.caller.must_be_admin("os_compute_api:os-flavor-extra-specs:delete")
    request.cloud.compute.flavors.delete_spec(_found(request), request.args["key"])
    return Response(200)
