"""Whose token is it? keystonemiddleware asks Keystone; here its answers are put into the API's form."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from keystonemiddleware import auth_token
from keystonemiddleware import opts as auth_token_options
from oslo_config import cfg

from blazar.api.errors import shape_b
from blazar.api.token_cache import TokenCache

GROUP = "keystone_authtoken"
_CACHE = "blazar.token_cache"
_REACHED = "blazar.token_confirmed"
_SENTENCES: Mapping[int, str] = {
    401: "The request you have made requires authentication.",
    503: "The identity service is not available, so nobody can be authenticated. Please try again.",
}


def keystone(conf: cfg.ConfigOpts) -> Callable[[WSGIApplication], WSGIApplication]:
    """The middleware that lets only requests with a valid token through, as [keystone_authtoken] says.

    With memcached_servers set, tokens are cached there, shared by all workers; else in this process. For how long is
    [api]token_cache_time, unless [keystone_authtoken] has its own: a revoked token works on for so long.
    """
    for group, options in auth_token_options.list_auth_token_opts():
        conf.register_opts(options, group=group)
    conf.set_default("token_cache_time", conf.api.token_cache_time, group=GROUP)
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
        protocol = auth_token.AuthProtocol(reached, local)

        def authenticate(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            environ.pop(_REACHED, None)
            if cache is not None:
                environ[_CACHE] = cache
            refusal = _Refusal(environ, start_response)
            body = protocol(environ, refusal.start_response)
            return body if _REACHED in environ else refusal.answer(body)

        return authenticate

    return wrap


class _Refusal:
    """Holds back what keystonemiddleware answers by itself, so that it can be said with ``error_message``."""

    def __init__(self, environ: WSGIEnvironment, start_response: StartResponse) -> None:
        self._environ = environ
        self._start_response = start_response
        self._status = "500 Internal Server Error"
        self._headers: list[tuple[str, str]] = []

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
        if _REACHED in self._environ:
            return (
                self._start_response(status, headers, exc_info) if exc_info else self._start_response(status, headers)
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
            (name, value) for name, value in self._headers if name.lower() not in {"content-type", "content-length"}
        ]
        headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        if number == 503:
            headers.append(("Retry-After", "10"))
        self._start_response(self._status, headers)
        return [body]
