"""The form of an error body in each service."""

from typing import Any

from blazar_sandbox.errors import NO_ROUTE, ApiError
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import REASONS

_NOVA_KEYS = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    429: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
}


def _title(refusal: ApiError) -> str:
    return REASONS.get(refusal.status, "Error")


def keystone(refusal: ApiError, _request: Request) -> Any:
    """Return the error body of Keystone."""
    return {"error": {"code": refusal.status, "message": refusal.message, "title": _title(refusal)}}


def nova(refusal: ApiError, _request: Request) -> Any:
    """Return the error body of Nova, or with 401 that of the token middleware in front of it."""
    if refusal.status == 401:
        return keystone(refusal, _request)
    if refusal.code == NO_ROUTE:
        return {"code": refusal.status, "title": _title(refusal), "message": refusal.message}
    key = _NOVA_KEYS.get(refusal.status, "computeFault")
    return {key: {"code": refusal.status, "message": refusal.message}}


_PLACEMENT_DETAILS = {
    400: "The server could not comply with the request since it is either malformed or otherwise incorrect.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    409: "There was a conflict when trying to complete your request.",
}


def placement(refusal: ApiError, request: Request) -> Any:
    """Return the error body of Placement, which has a code from 1.23 on."""
    opening = _PLACEMENT_DETAILS.get(refusal.status)
    error: Json = {
        "status": refusal.status,
        "title": _title(refusal),
        "detail": f"{opening}\n\n {refusal.message}  " if opening else refusal.message,
        "request_id": request.request_id,
    }
    if request.version >= (1, 23):
        error["code"] = refusal.code if "." in refusal.code else "placement.undefined_code"
    return {"errors": [error]}


def neutron(refusal: ApiError, _request: Request) -> Any:
    """Return the error body of Neutron."""
    kind = refusal.code or {404: "HTTPNotFound", 403: "PolicyNotAuthorized"}.get(
        refusal.status, "HTTPBadRequest"
    )
    return {"NeutronError": {"type": kind, "message": refusal.message, "detail": ""}}


def glance(refusal: ApiError, _request: Request) -> Any:
    """Return the error body of Glance."""
    return {"code": refusal.status, "title": _title(refusal), "message": refusal.message}
