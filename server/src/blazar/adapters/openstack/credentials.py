"""The credentials of a request that are not the service's own: a user's token, or a trust."""

from __future__ import annotations

from typing import Any

from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1.identity import generic
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1.session import Session

from blazar.domain.errors import CloudRefused, CloudUnavailable


class UserToken(BaseAuthPlugin):
    """A user's token as it is, at the endpoints of the service's own catalog: nothing is asked of
    Keystone."""

    def __init__(self, token: str, own: Session) -> None:
        super().__init__()
        self._token = token
        self._own = own

    def get_token(self, session: Session, **kwargs: Any) -> str:
        return self._token

    def get_endpoint(self, session: Session, **kwargs: Any) -> str | None:
        return self._for_any_project(self._own.get_endpoint(**kwargs))

    def _for_any_project(self, endpoint: str | None) -> str | None:
        # Old catalogs put the project's id at the end of Nova's address; Nova has done without it for long.
        own_project = self._own.get_project_id()
        if endpoint is None or not own_project:
            return endpoint
        return endpoint.removesuffix("/").removesuffix(f"/{own_project}")


def trustee(own: Session, trust_id: str) -> BaseAuthPlugin:
    """Return the credentials of the user who made the trust. Raises CloudUnavailable where our own are not to
    be had."""
    return _by_own_token(own, trust_id=trust_id)


def in_the_system(own: Session) -> BaseAuthPlugin:
    """Return our own credentials in the system scope. Raises CloudUnavailable where they are not to be
    had."""
    return _by_own_token(own, system_scope="all")


def _by_own_token(own: Session, **scope: Any) -> BaseAuthPlugin:
    try:
        token = own.get_token()
    except ks_exceptions.ClientException as failure:
        raise CloudUnavailable(service="Keystone", reason=str(failure)) from failure
    auth_url = own.auth.auth_url if isinstance(own.auth, BaseIdentityPlugin) else None
    if token is None or auth_url is None:
        raise CloudRefused(
            service="Keystone", reason="credentials of this type cannot act otherwise than as they are"
        )
    return generic.Token(auth_url, token=token, **scope)
