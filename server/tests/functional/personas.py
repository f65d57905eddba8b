"""Who the tests speak as, and the authentication layer that believes a token that names one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def _persona(user: str, project: str | None, *roles: str, system: bool = False) -> Mapping[str, str]:
    environ = {
        "HTTP_X_IDENTITY_STATUS": "Confirmed",
        "HTTP_X_USER_ID": user,
        "HTTP_X_USER_NAME": user,
        "HTTP_X_ROLES": ",".join(roles),
    }
    if project:
        environ["HTTP_X_PROJECT_ID"] = project
    if system:
        environ["HTTP_OPENSTACK_SYSTEM_SCOPE"] = "all"
    return environ


PERSONAS: Mapping[str, Mapping[str, str]] = {
    "admin": _persona("root", "admin", "admin", "manager", "member", "reader"),
    "member": _persona("u1", "p1", "member", "reader"),
    "colleague": _persona("u2", "p1", "member", "reader"),
    "reader": _persona("u3", "p1", "reader"),
    "stranger": _persona("u4", "p2", "member", "reader"),
    "norole": _persona("u5", "p1", "auditor"),
    "system": _persona("root", None, "admin", "member", "reader", system=True),
    "unscoped": _persona("u1", None),
}


def believe(app: WSGIApplication) -> WSGIApplication:
    """Stands where Keystone's middleware stands: the token is the persona's name."""

    def authenticate(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        for key in [key for key in environ if key.startswith("HTTP_X_") and key != "HTTP_X_AUTH_TOKEN"]:
            if key not in {"HTTP_X_OPENSTACK_REQUEST_ID", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST"}:
                del environ[key]
        environ.update(PERSONAS.get(environ.get("HTTP_X_AUTH_TOKEN", ""), {}))
        return app(environ, start_response)

    return authenticate
