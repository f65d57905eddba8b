"""Keystone's HTTP routes of versions, tokens and the caller's own scopes."""

from blazar_sandbox import fields
from blazar_sandbox.api.identity import render
from blazar_sandbox.errors import ApiError, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response


def version_document(request: Request) -> Json:
    """Return the JSON body of the only version of the API."""
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
    """Authenticate and issue a token."""
    access = request.cloud.tokens.authenticate(fields.json_object(request.json, "auth"))
    body = render.token(
        access, request.cloud.identity, request.origin, with_catalog="nocatalog" not in request.query
    )
    return Response(201, body, (("X-Subject-Token", access.token.id), ("Vary", "X-Auth-Token")))


def validate_token(request: Request) -> Response:
    """Show a token to its bearer or to a service."""
    subject = _subject(request)
    body = render.token(
        subject, request.cloud.identity, request.origin, with_catalog="nocatalog" not in request.query
    )
    return Response(200, body, (("X-Subject-Token", subject.token.id), ("Vary", "X-Auth-Token")))


def revoke_token(request: Request) -> Response:
    """Revoke a token."""
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
    """Show the catalog of the caller's scope."""
    return Response(
        200,
        {
            "catalog": render.catalog(request.cloud.identity, request.origin),
            "links": {"self": f"{request.origin}/v3/auth/catalog", "next": None, "previous": None},
        },
    )


def auth_projects(request: Request) -> Response:
    """List the projects that the caller may scope to."""
    rows = request.cloud.identity.projects_of(request.caller.user.id)
    return Response(
        200, render.listing(request, "projects", [render.project(row, request.origin) for row in rows])
    )


def auth_domains(request: Request) -> Response:
    """List the domains that the caller may scope to."""
    return Response(200, render.listing(request, "domains", []))


def auth_system(request: Request) -> Response:
    """Show whether the caller may scope to the system."""
    return Response(
        200, render.listing(request, "system", [{"all": True}] if request.caller.is_admin else [])
    )
