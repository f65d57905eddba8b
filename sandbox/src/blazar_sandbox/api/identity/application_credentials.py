"""Keystone's HTTP routes of application credentials."""

from blazar_sandbox import fields
from blazar_sandbox.api.identity import render
from blazar_sandbox.identity.application_credentials import (
    create_application_credential,
    delete_application_credential,
    find_application_credential,
    list_application_credentials,
)
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route


def create(request: Request) -> Response:
    """Create an application credential; only this response shows the secret."""
    identity = request.cloud.identity
    wanted = fields.json_object(request.json, "application_credential")
    row, secret = create_application_credential(identity, request.caller, request.args["user_id"], wanted)
    body = render.application_credential(row, identity, request.origin) | {"secret": secret}
    return Response(201, {"application_credential": body})


def index(request: Request) -> Response:
    """List the application credentials of a user."""
    identity, user_id = request.cloud.identity, request.args["user_id"]
    rows = list_application_credentials(identity, request.caller, user_id, request.param("name"))
    bodies = [render.application_credential(row, identity, request.origin) for row in rows]
    return Response(200, render.listing(request, "application_credentials", bodies))


def show(request: Request) -> Response:
    """Show an application credential."""
    user_id, credential_id = request.args["user_id"], request.args["id"]
    identity = request.cloud.identity
    row = find_application_credential(identity, request.caller, user_id, credential_id)
    body = render.application_credential(row, identity, request.origin)
    return Response(200, {"application_credential": body})


def delete(request: Request) -> Response:
    """Delete an application credential."""
    user_id, credential_id = request.args["user_id"], request.args["id"]
    delete_application_credential(request.cloud.identity, request.caller, user_id, credential_id)
    return Response(204)


_ALL = "/users/{user_id}/application_credentials"
_ONE = _ALL + "/{id}"

ROUTES = [
    Route("GET", _ALL, index),
    Route("POST", _ALL, create),
    Route("GET", _ONE, show),
    Route("DELETE", _ONE, delete),
]
