"""Which HTTP answer an error becomes: the one table, and the two body shapes of API 1.0.

Shape A tells what went wrong inside an operation; shape B what went wrong before one was found. Both carry
``error_message``, the only key that clients read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import falcon

from blazar.api.caller import CALLER
from blazar.domain import errors
from blazar.service.context import Caller
from blazar.service.ports import Stale

LOG = logging.getLogger(__name__)

STATUS: Mapping[type[errors.BlazarError], int] = {
    errors.InvalidInput: 400,
    errors.NotAuthorized: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.NotEnoughFloatingIPs: 400,
    errors.CloudRefused: 409,
    errors.Busy: 503,
    Stale: 503,
    errors.CloudUnavailable: 503,
    errors.BlazarError: 500,
}
"""The nearest class up the error's tree decides."""

RETRY_AFTER = {errors.Busy: 1, Stale: 1, errors.CloudUnavailable: 10}
"""Seconds after which asking again is likely to help."""

INTERNAL_NAME = "INTERNAL_SERVER_ERROR"


def status_of(error: errors.BlazarError) -> int:
    return next(STATUS[cls] for cls in type(error).__mro__ if cls in STATUS)


def shape_a(status: int, message: str, name: str | None = None) -> dict[str, Any]:
    """``error_name`` is the number again where it has no name: clients of API 1.0 know it so."""
    return {"error_code": status, "error_message": message, "error_name": name or status}


def shape_b(status: int, message: str) -> dict[str, Any]:
    return {"error": status, "error_message": message}


def internal_message(request_id: str | None) -> str:
    """Says nothing about the defect, but lets the operator find it in the log."""
    return f"Internal Server Error. The service's log tells more under {request_id or 'this moment'}."


def printable(path: str) -> str:
    """No line break in a path may begin a line of its own in the log."""
    return path if path.isprintable() else ascii(path)


def install(app: falcon.App[falcon.Request, falcon.Response]) -> None:
    """Translate what responders and Falcon raise; the handler of the nearest class wins."""
    app.add_error_handler(Exception, _unforeseen)
    app.add_error_handler(falcon.HTTPError, _http_error)
    app.add_error_handler(errors.BlazarError, _domain_error)


def _domain_error(
    req: falcon.Request, resp: falcon.Response, error: errors.BlazarError, params: dict[str, Any]
) -> None:
    status = status_of(error)
    if status == 500:
        _unforeseen(req, resp, error, params)
        return
    if status == 503:
        LOG.warning("%s %s is answered with 503: %s", req.method, printable(req.path), error.message)
    for cls, seconds in RETRY_AFTER.items():
        if isinstance(error, cls):
            resp.set_header("Retry-After", str(seconds))
    _answer(resp, status, shape_a(status, _told(error, req.env.get(CALLER))))


def _told(error: errors.BlazarError, caller: Caller | None) -> str:
    """Why another service does not answer may name addresses inside the cloud, so only administrators are told."""
    if isinstance(error, errors.CloudUnavailable) and not (caller and caller.is_admin):
        return f"{error.fields.get('service', 'A service')} is not available. Please try again."
    return error.message


def _http_error(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, params: dict[str, Any]) -> None:
    for name, text in dict(error.headers or {}).items():
        resp.set_header(name, text)
    match error:
        case falcon.HTTPMethodNotAllowed():
            message = "The method is not allowed for the requested URL."
        case falcon.HTTPNotFound():
            message = "The requested URL was not found on the server."
        case _:
            message = str(error.description or error.title or error.status)
    _answer(resp, error.status_code, shape_b(error.status_code, message))


def _unforeseen(req: falcon.Request, resp: falcon.Response, error: Exception, params: dict[str, Any]) -> None:
    """The process edge: whatever nobody foresaw is logged with its traceback, and hidden from the caller."""
    request_id = req.env.get("openstack.request_id")
    LOG.error("%s %s failed", req.method, printable(req.path), exc_info=error, extra={"request_id": request_id})
    _answer(resp, 500, shape_a(500, internal_message(request_id), INTERNAL_NAME))


def _answer(resp: falcon.Response, status: int, body: dict[str, Any]) -> None:
    resp.status = falcon.code_to_http_status(status)
    resp.content_type = "application/json"
    resp.data = json.dumps(body).encode()
