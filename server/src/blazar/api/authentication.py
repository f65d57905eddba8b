"""Authentication by keystonemiddleware, with refusals in the API's own form."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from keystoneauth1 import exceptions as ks_exceptions
from keystonemiddleware import auth_token
from keystonemiddleware import opts as auth_token_options
from keystonemiddleware.auth_token._exceptions import ServiceError
from oslo_config import cfg

from blazar.api.errors import shape_b
from blazar.api.token_cache import TokenCache

GROUP = "keystone_authtoken"
_CACHE = "blazar.token_cache"
_REACHED = "blazar.token_confirmed"
WAIT_SECONDS = 0.5
"""How long a request waits for its turn to have its token checked. A Keystone that answers gives many turns
in this time."""
ANSWER_SECONDS = 5
"""How long Keystone has to answer, unless [keystone_authtoken] http_connect_timeout says."""
RETRIES = 1
_SENTENCES: Mapping[int, str] = {
    401: "The request you have made requires authentication.",
    503: "The identity service is not available, so nobody can be authenticated. Please try again.",
}


def keystone(conf: cfg.ConfigOpts) -> Callable[[WSGIApplication], WSGIApplication]:
    """Return the middleware that lets only requests with a valid token through, as [keystone_authtoken] says.

    With memcached_servers set, tokens are cached there, shared by all workers; else in this process. For how
    long is [api]token_cache_time, unless [keystone_authtoken] has its own: a revoked token works on for so
    long."""
    for group, options in auth_token_options.list_auth_token_opts():
        conf.register_opts(options, group=group)
    conf.set_default("token_cache_time", conf.api.token_cache_time, group=GROUP)
    conf.set_default("http_connect_timeout", ANSWER_SECONDS, group=GROUP)
    conf.set_default("http_request_max_retries", RETRIES, group=GROUP)
    turns = _Turns(conf.api.token_checks_at_once)
    # A line for every request without a token is noise that any stranger could make; the request log has it.
    logging.getLogger("keystonemiddleware.auth_token").setLevel(logging.ERROR)
    cache = None if conf[GROUP].memcached_servers else TokenCache(time.monotonic)

    def wrap(app: WSGIApplication) -> WSGIApplication:
        def reached(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            environ[_REACHED] = True
            return app(environ, start_response)

        local: dict[str, Any] = {"oslo_config_config": conf, "delay_auth_decision": False}
        if cache is not None:
            local["cache"] = _CACHE
        protocol = _BoundedProtocol(reached, local, turns)

        def authenticate(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            environ.pop(_REACHED, None)
            if cache is not None:
                environ[_CACHE] = cache
            refusal = _Refusal(environ, start_response)
            try:
                body = protocol(environ, refusal.start_response)
            except ServiceError:
                if _REACHED in environ:
                    raise
                refusal.start_response("503 Service Unavailable", [])
                body = []
            return body if _REACHED in environ else refusal.answer(body)

        return authenticate

    return wrap


class _Turns:
    """The requests that ask Keystone at once: so many at the most."""

    def __init__(self, requests: int) -> None:
        self._free = BoundedSemaphore(requests)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Raises ServiceError where no turn comes in time, and where Keystone does not answer in the end."""
        if not self._free.acquire(timeout=WAIT_SECONDS):
            raise ServiceError("too many requests wait for Keystone already")
        try:
            yield
        except ks_exceptions.ConnectionError as failure:
            # keystonemiddleware knows only some of these, and a time-out is not among them.
            raise ServiceError(str(failure)) from failure
        finally:
            self._free.release()


class _BoundedIdentity:
    """Keystone as keystonemiddleware asks it, by as many requests at once as there are turns."""

    def __init__(self, server: Any, turns: _Turns) -> None:
        self._server = server
        self._turns = turns

    def verify_token(self, *args: Any, **kwargs: Any) -> Any:
        with self._turns.one():
            return self._server.verify_token(*args, **kwargs)

    @property
    def www_authenticate_uri(self) -> Any:
        with self._turns.one():
            return self._server.www_authenticate_uri

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)


class _BoundedProtocol(auth_token.AuthProtocol):  # type: ignore[misc]  # keystonemiddleware has no types
    """keystonemiddleware, with a bound between its cache and Keystone, where it has no public place: a token
    in the cache needs no turn."""

    def __init__(self, app: WSGIApplication, conf: Mapping[str, Any], turns: _Turns) -> None:
        self._turns = turns
        super().__init__(app, conf)

    def _create_identity_server(self) -> _BoundedIdentity:
        return _BoundedIdentity(super()._create_identity_server(), self._turns)


class _Refusal:
    """Replaces keystonemiddleware's own refusals with bodies that have ``error_message``."""

    def __init__(self, environ: WSGIEnvironment, start_response: StartResponse) -> None:
        self._environ = environ
        self._start_response = start_response
        self._status = "500 Internal Server Error"
        self._headers: list[tuple[str, str]] = []

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
        if _REACHED in self._environ:
            return (
                self._start_response(status, headers, exc_info)
                if exc_info
                else self._start_response(status, headers)
            )
        self._status, self._headers = status, headers
        return lambda _: None

    def answer(self, original: Iterable[bytes]) -> Iterable[bytes]:
        close = getattr(original, "close", None)
        if close is not None:
            close()
        number = int(self._status.split(" ", 1)[0])
        body = json.dumps(shape_b(number, _SENTENCES.get(number, self._status))).encode()
        headers = [
            (name, value)
            for name, value in self._headers
            if name.lower() not in {"content-type", "content-length"}
        ]
        headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        if number == 503:
            headers.append(("Retry-After", "10"))
        self._start_response(self._status, headers)
        return [body]
