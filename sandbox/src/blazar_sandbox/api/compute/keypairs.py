"""Nova's HTTP routes of key pairs."""

from blazar_sandbox import fields
from blazar_sandbox.compute.model import Keypair
from blazar_sandbox.errors import not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response


def _render(row: Keypair, request: Request) -> Json:
    body: Json = {"name": row.name, "public_key": row.public_key, "fingerprint": row.fingerprint}
    return {"keypair": body | ({"type": row.type} if request.version >= (2, 2) else {})}


def index(request: Request) -> Response:
    """List the caller's key pairs."""
    mine = [row for row in request.cloud.compute.keypairs if row.user_id == request.caller.user.id]
    return Response(200, {"keypairs": [_render(row, request) for row in mine]})


def create(request: Request) -> Response:
    """Create or import a key pair."""
    body = fields.json_object(request.json, "keypair")
    given = fields.string_or_none(body, "public_key")
    row = request.cloud.compute.create_keypair(request.caller.user.id, fields.string(body, "name"), given)
    answer = _render(row, request)
    answer["keypair"]["user_id"] = row.user_id
    if given is None:
        answer["keypair"]["private_key"] = "-----BEGIN SANDBOX KEY-----\n-----END SANDBOX KEY-----\n"
    return Response(200 if request.version < (2, 2) else 201, answer)


def show(request: Request) -> Response:
    """Show a key pair."""
    answer = _render(_found(request), request)
    row = _found(request)
    answer["keypair"] |= {
        "user_id": row.user_id,
        "id": 1,
        "created_at": row.created_at.strftime("%Y-%m-%dT%H:%M:%S.%f"),
        "updated_at": None,
        "deleted": False,
        "deleted_at": None,
    }
    return Response(200, answer)


def _found(request: Request) -> Keypair:
    row = request.cloud.compute.keypairs.get(f"{request.caller.user.id}/{request.args['name']}")
    if row is None:
        raise not_found(f"Keypair {request.args['name']} not found for user {request.caller.user.id}")
    return row


def delete(request: Request) -> Response:
    """Delete a key pair."""
    row = _found(request)
    request.cloud.compute.keypairs.drop(f"{row.user_id}/{row.name}")
    return Response(204 if request.version >= (2, 2) else 202)
