"""Keystone's HTTP routes of role assignments, implied roles and a user's own data."""

from blazar_sandbox.api.identity import render
from blazar_sandbox.errors import ApiError, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.model import Assignment, Role, Scope, ScopeKind
from blazar_sandbox.identity.state import IMPLIED, Identity
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route


def _must_be_admin(request: Request, rule: str) -> None:
    if not request.caller.is_admin:
        raise forbidden(f"You are not authorized to perform the requested action: identity:{rule}.")


def _grant(request: Request) -> tuple[str, str, Scope]:
    """Return the user's id, the role's id and the scope that the path names.

    The user is not checked: a role of a deleted user may be removed.
    """
    identity, args = request.cloud.identity, request.args
    if "project_id" in args:
        scope = Scope(ScopeKind.PROJECT, args["project_id"])
        known = scope.id in identity.projects
    elif "domain_id" in args:
        scope = Scope(ScopeKind.DOMAIN, args["domain_id"])
        known = scope.id in identity.domains
    else:
        scope, known = Scope(ScopeKind.SYSTEM, "all"), True
    if not known:
        raise not_found(f"Could not find {scope.kind}: {scope.id}.")
    role_id = args.get("role_id", "")
    if role_id and role_id not in identity.roles:
        raise not_found(f"Could not find role: {role_id}.")
    return args["user_id"], role_id, scope


def assign(request: Request) -> Response:
    """Assign a role."""
    _must_be_admin(request, "create_grant")
    user_id, role_id, scope = _grant(request)
    if user_id not in request.cloud.identity.users:
        raise not_found(f"Could not find user: {user_id}.")
    request.cloud.identity.assign(user_id, role_id, scope)
    return Response(204)


def unassign(request: Request) -> Response:
    """Remove a role assignment."""
    _must_be_admin(request, "revoke_grant")
    request.cloud.identity.unassign(*_grant(request))
    return Response(204)


def check(request: Request) -> Response:
    """Check a role assignment."""
    _must_be_admin(request, "check_grant")
    user_id, role_id, scope = _grant(request)
    if Assignment(user_id, role_id, scope).key not in request.cloud.identity.assignments:
        raise not_found("Could not find role assignment.")
    return Response(204)


def granted(request: Request) -> Response:
    """List the roles of a user in a scope."""
    _must_be_admin(request, "list_grants")
    user_id, _role_id, scope = _grant(request)
    roles = request.cloud.identity.direct_roles(user_id, scope)
    return Response(
        200, render.listing(request, "roles", [render.role(role, request.origin) for role in roles])
    )


def user_projects(request: Request) -> Response:
    """List the projects of a user."""
    user_id = request.args["user_id"]
    if user_id != request.caller.user.id:
        _must_be_admin(request, "list_user_projects")
    rows = request.cloud.identity.projects_of(user_id)
    return Response(
        200, render.listing(request, "projects", [render.project(row, request.origin) for row in rows])
    )


def change_password(request: Request) -> Response:
    """Change the caller's own password."""
    identity = request.cloud.identity
    user = identity.users.get(request.args["user_id"])
    body = request.json.get("user")
    old, new = (
        (body.get("original_password"), body.get("password")) if isinstance(body, dict) else (None, None)
    )
    if user is None or not isinstance(old, str) or not isinstance(new, str) or not user.has_password(old):
        raise ApiError(401, "The request you have made requires authentication.")
    identity.set_password(user, new)
    return Response(204)


def role_assignments(request: Request) -> Response:
    """List role assignments, with ``effective`` the implied ones too."""
    _must_be_admin(request, "list_role_assignments")
    identity = request.cloud.identity
    effective, names = _switch(request, "effective"), _switch(request, "include_names")
    bodies: list[Json] = []
    seen: set[tuple[str, Scope, str]] = set()
    for row in identity.assignments:
        if not _wanted(request, row):
            continue
        role = identity.roles[row.role_id]
        for one in identity.with_implied([role]) if effective else (role,):
            if request.param("role.id") not in (None, one.id) or (row.user_id, row.scope, one.id) in seen:
                continue
            seen.add((row.user_id, row.scope, one.id))
            bodies.append(render.assignment(row, identity, one, names=names, origin=request.origin))
    return Response(200, render.listing(request, "role_assignments", bodies))


def _switch(request: Request, name: str) -> bool:
    return name in request.query and request.param(name) not in ("0", "false", "False")


def _wanted(request: Request, row: Assignment) -> bool:
    wanted = {
        "user.id": row.user_id,
        "scope.project.id": row.scope.id if row.scope.kind is ScopeKind.PROJECT else "",
        "scope.domain.id": row.scope.id if row.scope.kind is ScopeKind.DOMAIN else "",
        "scope.system": "all" if row.scope.kind is ScopeKind.SYSTEM else "",
    }
    if request.param("group.id") is not None:
        return False
    return all(request.param(name) in (None, value) for name, value in wanted.items())


def implied(request: Request) -> Response:
    """List the roles that one role implies."""
    identity = request.cloud.identity
    prior = identity.roles.get(request.args["role_id"])
    if prior is None:
        raise not_found(f"Could not find role: {request.args['role_id']}.")
    body = {"prior_role": _named(prior), "implies": [_named(role) for role in _implied_by(identity, prior)]}
    return Response(200, render.listing(request, "role_inference", body))


def inferences(request: Request) -> Response:
    """List all roles that imply others."""
    identity = request.cloud.identity
    rows = [
        {"prior_role": _named(role), "implies": [_named(one) for one in _implied_by(identity, role)]}
        for role in identity.roles
        if role.name in IMPLIED
    ]
    return Response(200, render.listing(request, "role_inferences", rows))


def _implied_by(identity: Identity, role: Role) -> list[Role]:
    found = [identity.role_named(name) for name in IMPLIED.get(role.name, ())]
    return [role for role in found if role is not None]


def _named(role: Role) -> Json:
    return {"id": role.id, "name": role.name}


def no_groups(request: Request) -> Response:
    """List no groups: there are none."""
    return Response(200, render.listing(request, "groups", []))


def _grant_routes(base: str) -> list[Route]:
    one = base + "/{role_id}"
    return [
        Route("GET", base, granted),
        Route("PUT", one, assign),
        Route("GET", one, check),
        Route("HEAD", one, check),
        Route("DELETE", one, unassign),
    ]


ROUTES = [
    *_grant_routes("/projects/{project_id}/users/{user_id}/roles"),
    *_grant_routes("/domains/{domain_id}/users/{user_id}/roles"),
    *_grant_routes("/system/users/{user_id}/roles"),
    Route("GET", "/role_assignments", role_assignments),
    Route("GET", "/role_inferences", inferences),
    Route("GET", "/roles/{role_id}/implies", implied),
    Route("GET", "/users/{user_id}/projects", user_projects),
    Route("GET", "/users/{user_id}/groups", no_groups),
    Route("POST", "/users/{user_id}/password", change_password, needs_token=False),
    Route("GET", "/groups", no_groups),
]
