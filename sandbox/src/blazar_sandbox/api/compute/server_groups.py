"""Nova's HTTP routes of server groups."""

import uuid
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.compute.model import ServerGroup
from blazar_sandbox.errors import bad_request, forbidden
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

_POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
_ONE_POLICY = (2, 64)
"""From this microversion on, a group has one policy with rules instead of a list of policies."""


def _render(row: ServerGroup, request: Request) -> Json:
    members = request.cloud.compute.server_table.in_group.keys(row.id)
    body: Json = {"id": row.id, "name": row.name, "members": members}
    if request.version >= (2, 13):
        body |= {"project_id": row.project_id, "user_id": row.user_id}
    if request.version >= _ONE_POLICY:
        rules = {"max_server_per_host": row.max_per_host} if row.max_per_host is not None else {}
        return body | {"policy": row.policy, "rules": rules}
    return body | {"policies": [row.policy], "metadata": {}}


def index(request: Request) -> Response:
    """List the server groups of the project; administrators may ask for those of all projects."""
    compute = request.cloud.compute
    if request.caller.is_admin and "all_projects" in request.query:
        rows = list(compute.groups)
    else:
        rows = compute.groups_of.rows(request.caller.project_id)
    return Response(200, {"server_groups": [_render(row, request) for row in rows]})


def create(request: Request) -> Response:
    """Create a server group."""
    if not request.caller.has("member", "admin"):
        raise forbidden("Policy doesn't allow os_compute_api:os-server-groups:create to be performed.")
    body = fields.json_object(request.json, "server_group")
    policy, most = _policy(request, body)
    row = ServerGroup(
        str(uuid.uuid4()),
        fields.string(body, "name"),
        request.caller.project_id,
        request.caller.user.id,
        policy,
        most,
    )
    return Response(200, {"server_group": _render(request.cloud.compute.create_group(row), request)})


def _policy(request: Request, body: Json) -> tuple[str, int | None]:
    most = None
    if request.version >= _ONE_POLICY:
        policy: Any = body.get("policy")
        rules = body.get("rules") or {}
        if isinstance(rules, dict) and "max_server_per_host" in rules:
            most = fields.integer(rules, "max_server_per_host", minimum=1)
    else:
        policies = body.get("policies")
        policy = policies[0] if isinstance(policies, list) and len(policies) == 1 else None
    if policy not in _POLICIES or ("soft" in policy and request.version < (2, 15)):
        raise bad_request(f"Invalid input for field/attribute policy. Value: {policy}.")
    return policy, most


def _found(request: Request) -> ServerGroup:
    project_id = None if request.caller.is_admin else request.caller.project_id
    return request.cloud.compute.group(request.args["id"], project_id)


def show(request: Request) -> Response:
    """Show a server group."""
    return Response(200, {"server_group": _render(_found(request), request)})


def delete(request: Request) -> Response:
    """Delete a server group but not its servers."""
    request.cloud.compute.groups.drop(_found(request).id)
    return Response(204)
