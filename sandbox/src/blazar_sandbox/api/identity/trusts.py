"""Keystone's HTTP routes of trusts."""

from blazar_sandbox import fields
from blazar_sandbox.api.identity import render
from blazar_sandbox.errors import not_found
from blazar_sandbox.identity.trusts import create_trust, delete_trust, find_trust, list_trusts
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response


def create(request: Request) -> Response:
    """Create a trust."""
    identity = request.cloud.identity
    trust = create_trust(identity, request.caller, fields.json_object(request.json, "trust"))
    return Response(201, {"trust": render.trust(trust, identity, request.origin)})


def show(request: Request) -> Response:
    """Show a trust."""
    identity = request.cloud.identity
    trust = find_trust(identity, request.caller, request.args["trust_id"])
    return Response(200, {"trust": render.trust(trust, identity, request.origin)})


def index(request: Request) -> Response:
    """List trusts."""
    identity = request.cloud.identity
    rows = list_trusts(
        identity, request.caller, request.param("trustor_user_id"), request.param("trustee_user_id")
    )
    bodies = []
    for row in rows:
        body = render.trust(row, identity, request.origin)
        del body["roles"]
        bodies.append(body)
    return Response(200, render.listing(request, "trusts", bodies))


def delete(request: Request) -> Response:
    """Delete a trust."""
    delete_trust(request.cloud.identity, request.caller, request.args["trust_id"])
    return Response(204)


def list_roles(request: Request) -> Response:
    """List the roles that a trust delegates."""
    identity = request.cloud.identity
    trust = find_trust(identity, request.caller, request.args["trust_id"])
    roles = [identity.roles[role_id] for role_id in trust.role_ids if role_id in identity.roles]
    return Response(
        200, render.listing(request, "roles", [render.role(role, request.origin) for role in roles])
    )


def show_role(request: Request) -> Response:
    """Show one role that a trust delegates."""
    identity = request.cloud.identity
    trust = find_trust(identity, request.caller, request.args["trust_id"])
    role = identity.roles.get(request.args["role_id"])
    if role is None or role.id not in trust.role_ids:
        raise not_found(f"Could not find role: {request.args['role_id']}.")
    return Response(200, {"role": render.role(role, request.origin)})
