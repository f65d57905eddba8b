"""The caller of a request, as the authentication layer describes it in the WSGI environ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import falcon

from blazar.api.authorization import Authorizer
from blazar.service import log_context
from blazar.service.context import Caller

CALLER = "blazar.caller"
"""The key of the caller in the WSGI environ; the request log reads it."""

Identify = Callable[[Mapping[str, Any]], Caller]


def identify_with(authorizer: Authorizer) -> Identify:
    def identify(environ: Mapping[str, Any]) -> Caller:
        return caller_of(environ, authorizer)

    return identify


def caller_of(environ: Mapping[str, Any], authorizer: Authorizer) -> Caller:
    """Return the authenticated caller. Raises falcon.HTTPUnauthorized where the token is not confirmed."""
    user_id = _text(environ, "HTTP_X_USER_ID")
    if environ.get("HTTP_X_IDENTITY_STATUS") != "Confirmed" or not user_id:
        raise falcon.HTTPUnauthorized(description="The request you have made requires authentication.")
    caller = Caller(
        user_id=user_id,
        project_id=_text(environ, "HTTP_X_PROJECT_ID"),
        roles=tuple(role for role in (_text(environ, "HTTP_X_ROLES") or "").split(",") if role),
        system_scope=_text(environ, "HTTP_OPENSTACK_SYSTEM_SCOPE"),
        user_name=_text(environ, "HTTP_X_USER_NAME"),
        request_id=environ.get("openstack.request_id"),
        global_request_id=environ.get("openstack.global_request_id"),
        token=_text(environ, "HTTP_X_AUTH_TOKEN"),
    )
    log_context.bind(caller)
    return authorizer.with_rights(caller)


def _text(environ: Mapping[str, Any], name: str) -> str | None:
    value = environ.get(name)
    return str(value) if value else None
