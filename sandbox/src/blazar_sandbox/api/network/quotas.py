"""Neutron's HTTP routes of quotas."""

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request, forbidden, not_found
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

FORCE, CHECK = "force", "check_limit"
"""The second asks for what is done anyway since 2025.1."""


def show(request: Request) -> Response:
    """Show the quota of a project."""
    return Response(200, {"quota": request.cloud.network.limits(_visible(request))})


def show_default(request: Request) -> Response:
    """Show the quota of a project that has none of its own."""
    _visible(request)
    return Response(200, {"quota": request.cloud.network.defaults()})


def show_details(request: Request) -> Response:
    """Show the quota of a project with what it uses."""
    project_id, network = _visible(request), request.cloud.network
    used = network.in_use(project_id)
    told = {
        name: {"limit": limit, "used": used[name], "reserved": 0}
        for name, limit in network.limits(project_id).items()
    }
    return Response(200, {"quota": told})


def update(request: Request) -> Response:
    """Set limits of a project: none to less than it uses, unless with ``force``."""
    _must_be_admin(request, "update_quota")
    body, project_id = dict(fields.json_object(request.json, "quota")), request.args["id"]
    network = request.cloud.network
    is_forced = fields.boolean(body, FORCE)
    wanted = {name: fields.integer(body, name, minimum=-1) for name in body if name not in (FORCE, CHECK)}
    used = network.in_use(project_id)
    for name, limit in wanted.items():
        if not is_forced and -1 < limit < used.get(name, 0):
            raise bad_request(
                f"Quota limit {limit} for {name} must be greater than or equal to already used {used[name]}",
                "HTTPBadRequest",
            )
    network.set_limits(project_id, wanted)
    return Response(200, {"quota": network.limits(project_id)})


def delete(request: Request) -> Response:
    """Let a project have the default quota again."""
    _must_be_admin(request, "delete_quota")
    project_id, quotas = request.args["id"], request.cloud.network.quotas
    if project_id not in quotas:
        raise not_found(f"Quota for tenant {project_id} could not be found.", "TenantQuotaNotFound")
    quotas.drop(project_id)
    return Response(204)


def _visible(request: Request) -> str:
    """Return the project of the path, if the caller may see its quota."""
    project_id = request.args["id"]
    if project_id != request.caller.project_id:
        _must_be_admin(request, "get_quota")
    return project_id


def _must_be_admin(request: Request, rule: str) -> None:
    if not request.caller.is_admin:
        raise forbidden(f"rule:{rule} is disallowed by policy", "PolicyNotAuthorized")
