"""The HTTP answer to each error: one table of statuses, and the two body shapes of API 1.0.

Shape A tells what went wrong inside an operation; shape B what went wrong before one was found. Both carry
``error_message``, the only key that clients read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import falcon

from blazar.api.caller import CALLER
from blazar.api.microversion import MINIMUM, VERSION, Version, newest
from blazar.api.views.dates import wire_date
from blazar.domain import errors
from blazar.service.context import Caller

LOG = logging.getLogger(__name__)

FIRST: Mapping[type[errors.BlazarError], int] = {
    errors.InvalidInput: 400,
    errors.KeyReused: 422,
    errors.NotAuthorized: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.LeaseChanged: 412,
    errors.NotEnoughResources: 400,
    errors.CloudRefused: 409,
    errors.Busy: 503,
    errors.Stale: 503,
    errors.CloudUnavailable: 503,
    errors.BlazarError: 500,
}
"""The statuses of API 1.0. The nearest class up the error's tree decides."""

SINCE: Mapping[Version, Mapping[type[errors.BlazarError], int]] = {
    (1, 1): {errors.NotEnoughResources: 409},
}
"""The statuses that a later version changes. API 1.0 keeps 400 for a shortage: its clients end their attempt
at 400, and repeat what is answered with 409 for ever."""

REASONS: Version = (1, 3)
"""The version since which a refusal tells its reasons to programs as well."""

EXPLANATION = "blazar.explanation"
"""The key of the WSGI environ under which ``api.explanations`` puts what else a refusal tells."""

RETRY_AFTER = {errors.Busy: 1, errors.Stale: 1, errors.CloudUnavailable: 10}
"""The Retry-After header of errors that are likely to pass, in seconds."""

INTERNAL_NAME = "INTERNAL_SERVER_ERROR"


@cache
def statuses(version: Version) -> Mapping[type[BaseException], int]:
    """Return the status of each class of error in this version of the API."""
    changes = [SINCE[since] for since in sorted(SINCE) if since <= version]
    return {cls: status for table in (FIRST, *changes) for cls, status in table.items()}


def status_of(error: errors.BlazarError, version: Version) -> int:
    table = statuses(version)
    return next(table[cls] for cls in type(error).__mro__ if cls in table)


def shape_a(status: int, message: str, name: str | None = None) -> dict[str, Any]:
    """``error_name`` is the number again where it has no name: clients of API 1.0 know it so.

    The message comes first, for there are clients that show the first value of an error's body."""
    return {"error_message": message, "error_code": status, "error_name": name or status}


def shape_b(status: int, message: str) -> dict[str, Any]:
    return {"error_message": message, "error": status}


def internal_message(request_id: str | None) -> str:
    """Return a sentence that tells nothing about the defect, but lets the operator find it in the log."""
    return f"Internal Server Error. The service's log tells more under {request_id or 'this moment'}."


MAX_LOGGED = 300
"""The most characters of a client's text that a line of the log repeats."""


def printable(text: str) -> str:
    """Return the text for a line of the log: no line break may begin a line of its own, and long text is
    cut."""
    shown = text[:MAX_LOGGED] if text.isprintable() else ascii(text[:MAX_LOGGED])
    return shown if len(text) <= MAX_LOGGED else f"{shown}..."


def install(app: falcon.App[falcon.Request, falcon.Response], tells_shortages: bool) -> None:
    """Translate what responders and Falcon raise; the handler of the nearest class wins.

    ``tells_shortages``: callers who are not administrators are told the numbers and dates of a shortage."""

    def domain_error(
        req: falcon.Request, resp: falcon.Response, error: errors.BlazarError, params: dict[str, Any]
    ) -> None:
        _domain_error(req, resp, error, params, tells_shortages)

    app.add_error_handler(Exception, _unforeseen)
    app.add_error_handler(falcon.HTTPError, _http_error)
    app.add_error_handler(errors.BlazarError, domain_error)


def _domain_error(
    req: falcon.Request,
    resp: falcon.Response,
    error: errors.BlazarError,
    params: dict[str, Any],
    tells_shortages: bool,
) -> None:
    status = status_of(error, req.env.get(VERSION, MINIMUM))
    if status == 500:
        _unforeseen(req, resp, error, params)
        return
    if status == 503:
        LOG.warning("%s %s is answered with 503: %s", req.method, printable(req.path), error.message)
    for cls, seconds in RETRY_AFTER.items():
        if isinstance(error, cls):
            resp.set_header("Retry-After", str(seconds))
    caller, version = req.env.get(CALLER), req.env.get(VERSION, MINIMUM)
    reasons = _reasons(error, caller, tells_shortages, version) if version >= REASONS else {}
    reasons |= req.env.get(EXPLANATION, {})
    _answer(resp, status, {**shape_a(status, told(error, caller, tells_shortages)), **reasons})


def _reasons(
    error: errors.BlazarError, caller: Caller | None, tells_shortages: bool, version: Version
) -> dict[str, Any]:
    """Return what a program can make of a shortage, or of an exceeded quota; nothing of other errors, and
    nothing that the sentence does not tell this caller."""
    quota = {name: error.fields.get(name) for name in ("limit_name", "limit", "used", "asked")}
    if quota["limit_name"] is not None:
        return {"reasons": [{"reason": "quota", **quota}]}
    is_told = tells_shortages or (caller is not None and caller.is_admin)
    if not isinstance(error, errors.NotEnoughResources) or not is_told or "cause" not in error.fields:
        return {}
    shown = {name: error.fields.get(name) for name in newest(SHORTAGE, version)}
    start = error.fields.get("first_possible_start")
    first = wire_date(datetime.fromisoformat(start)) if isinstance(start, str) else None
    return {"reasons": [{"reason": "shortage", **shown}], "first_possible_start": first}


_SHORTAGE = (
    "cause", "resource_type", "wanted", "matched", "free", "unknown_properties", "parts", "cut_short",
)  # fmt: skip
SHORTAGE = {REASONS: _SHORTAGE, (1, 15): (*_SHORTAGE, "buffered")}
"""What is told of a shortage, by the version since which."""


def told(error: errors.BlazarError, caller: Caller | None, tells_shortages: bool) -> str:
    """Return the sentence for the caller.

    Only administrators are told why another service does not answer, for that may name addresses inside the
    cloud, and, where the operator wants it so, how much is in use."""
    if caller and caller.is_admin:
        return error.message
    if isinstance(error, errors.CloudUnavailable):
        return f"{error.fields.get('service', 'A service')} is not available. Please try again."
    if isinstance(error, errors.NotEnoughResources) and not tells_shortages:
        return f"Not enough {error.fields.get('noun', 'resources')} available."
    return error.message


def _http_error(
    req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, params: dict[str, Any]
) -> None:
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
    """Log an unexpected error with its traceback, and hide it from the caller: this is the process edge."""
    request_id = req.env.get("openstack.request_id")
    LOG.error(
        "%s %s failed", req.method, printable(req.path), exc_info=error, extra={"request_id": request_id}
    )
    _answer(resp, 500, shape_a(500, internal_message(request_id), INTERNAL_NAME))


def _answer(resp: falcon.Response, status: int, body: dict[str, Any]) -> None:
    resp.status = falcon.code_to_http_status(status)
    resp.content_type = "application/json"
    resp.data = json.dumps(body).encode()
