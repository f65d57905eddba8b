"""How are tokens and trusts asked for over HTTP?"""

from blazar_sandbox.errors import ApiError, forbidden, not_found
from blazar_sandbox.identity import render
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.trusts import create_trust, delete_trust, find_trust, list_trusts
from blazar_sandbox.wsgi import fields
from blazar_sandbox.wsgi.message import Json, Request, Response


def version_document(request: Request) -> Json:
    """Describe the one version of the API."""
    return {
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": f"{request.origin}/v3/"}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    }


def show_version(request: Request) -> Response:
    """Answer GET /v3."""
    return Response(200, {"version": version_document(request)})


def list_versions(request: Request) -> Response:
    """Answer GET / of the whole origin, which is Keystone's."""
    return Response(300, {"versions": {"values": [version_document(request)]}})


def issue_token(request: Request) -> Response:
    """Authenticate."""
    access = request.cloud.tokens.authenticate(fields.section(request.json, "auth"))
    body = render.token(access, request.cloud.identity, request.origin, with_catalog="nocatalog" not in request.query)
    return Response(201, body, (("X-Subject-Token", access.token.id), ("Vary", "X-Auth-Token")))


def validate_token(request: Request) -> Response:
    """Tell a service, or its bearer, what a token stands for."""
    subject = _subject(request)
    body = render.token(subject, request.cloud.identity, request.origin, with_catalog="nocatalog" not in request.query)
    return Response(200, body, (("X-Subject-Token", subject.token.id), ("Vary", "X-Auth-Token")))


def revoke_token(request: Request) -> Response:
    """End a token."""
    subject = _subject(request)
    request.cloud.tokens.revoke(subject.token.id)
    return Response(204)


def _subject(request: Request) -> Access:
    token_id = request.header("X-Subject-Token")
    if token_id is None:
        raise not_found("No token in the request")
    if token_id != request.caller.token.id and not request.caller.has("admin", "service", "reader"):
        raise forbidden("You are not authorized to perform the requested action: identity:validate_token.")
    allow_expired = request.param("allow_expired") not in (None, "0", "false")
    try:
        return request.cloud.tokens.access(token_id, allow_expired=allow_expired)
    except ApiError as refusal:
        raise not_found("Could not find token.") from refusal


def auth_catalog(request: Request) -> Response:
    """Give the catalog of the caller's scope."""
    return Response(
        200,
        {
            "catalog": render.catalog(request.cloud.identity, request.origin),
            "links": {"self": f"{request.origin}/v3/auth/catalog", "next": None, "previous": None},
        },
    )


def auth_projects(request: Request) -> Response:
    """Give the projects that the caller may scope to."""
    rows = request.cloud.identity.projects_of(request.caller.user.id)
    return Response(200, render.listing(request, "projects", [render.project(row, request.origin) for row in rows]))


def auth_domains(request: Request) -> Response:
    """Give the domains that the caller may scope to."""
    return Response(200, render.listing(request, "domains", []))


def auth_system(request: Request) -> Response:
    """Tell whether the caller may scope to the system."""
    return Response(200, render.listing(request, "system", [{"all": True}] if request.caller.is_admin else []))


def create(request: Request) -> Response:
    """Create a trust."""
    identity = request.cloud.identity
    trust = create_trust(identity, request.caller, fields.section(request.json, "trust"))
    return Response(201, {"trust": render.trust(trust, identity, request.origin)})


def show(request: Request) -> Response:
    """Show a trust."""
    identity = request.cloud.identity
    trust = find_trust(identity, request.caller, request.args["trust_id"])
    return Response(200, {"trust": render.trust(trust, identity, request.origin)})


def index(request: Request) -> Response:
    """List trusts."""
    identity = request.cloud.identity
    rows = list_trusts(identity, request.caller, request.param("trustor_user_id"), request.param("trustee_user_id"))
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


def trust_roles(request: Request) -> Response:
    """List the roles that a trust passes on."""
    identity = request.cloud.identity
    trust = find_trust(identity, request.caller, request.args["trust_id"])
    roles = [identity.roles[role_id] for role_id in trust.role_ids if role_id in identity.roles]
    return Response(200, render.listing(request, "roles", [render.role(role, request.origin) for role in roles]))


def trust_role(request: Request) -> Response:
    """Show one role that a trust passes on."""
    identity = request.cloud.identity
    trust = find_trust(identity, request.caller, request.args["trust_id"])
    role = identity.roles.get(request.args["role_id"])
    if role is None or role.id not in trust.role_ids:
        raise not_found(f"Could not find role: {request.args['role_id']}.")
    return Response(200, {"role": render.role(role, request.origin)})
