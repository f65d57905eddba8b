"""What a route is, and how Falcon serves it: here requests and answers touch the framework."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import falcon
from pydantic import BaseModel, TypeAdapter

from blazar.api import errors, microversion
from blazar.api.body import read_object
from blazar.api.caller import CALLER, Identify
from blazar.domain.errors import InvalidInput, NotFound
from blazar.service.context import Caller

_ID = re.compile(r"[\x21-\x7e]{1,255}")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MAX_QUERY = 8192
ROUTE = "blazar.route"
"""Where the path of the route is kept in the WSGI environ, for the figures: unlike the path itself it has no ids."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as an action needs it: who asks, for what, saying what."""

    environ: Mapping[str, Any]
    path: Mapping[str, str]
    body: Mapping[str, Any]
    _caller: Caller | None

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            raise RuntimeError("a public route has no caller")
        return self._caller

    def id(self, name: str) -> str:
        """The id in the path. What cannot be an id is not found, and never reaches a database."""
        value = self.path[name]
        if not _ID.fullmatch(value):
            raise NotFound(object=str({name: value[:100]}))
        return value

    def query_id(self, name: str) -> str | None:
        """An id in the query string; empty counts as not given."""
        value = self._query.get(name)
        if not value:
            return None
        if not _ID.fullmatch(value):
            raise InvalidInput(f"Malformed parameter {name}: not an id.")
        return value

    def query_flag(self, name: str) -> bool:
        """A boolean in the query string; absent and empty are false, and so is every word for it."""
        value = self._query.get(name, "").strip().lower()
        if value in {"", "0", "false", "f", "no", "n", "off"}:
            return False
        if value in {"1", "true", "t", "yes", "y", "on"}:
            return True
        raise InvalidInput(f"Malformed parameter {name}: True or False is expected.")

    @property
    def _query(self) -> dict[str, str]:
        text = self.environ.get("QUERY_STRING", "")[:MAX_QUERY]
        return dict(reversed(parse_qsl(text, keep_blank_values=True)))


Action = Callable[[Request], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the route table. ``action`` returns what the answer's body says, or None for no body.

    ``body`` and ``reply`` describe both bodies for the OpenAPI document; ``query`` explains its parameters.
    """

    method: str
    path: str
    action: Action
    status: int = 200
    body: type[BaseModel] | None = None
    reply: TypeAdapter[Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    """Answered without a token, and without a microversion."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A body whose status depends on what it says."""

    status: int
    body: Any


def falcon_app(routes: Iterable[Route], identify: Identify) -> falcon.App[falcon.Request, falcon.Response]:
    """The Falcon application that serves these routes."""
    app: falcon.App[falcon.Request, falcon.Response] = falcon.App()
    errors.install(app)
    by_path: dict[str, _Resource] = {}
    for route in routes:
        by_path.setdefault(route.path, _Resource()).serve(route, identify)
    for path, resource in by_path.items():
        app.add_route(path, resource)
    return app


class _Resource:
    """A path. Falcon looks for ``on_get`` and its like on it."""

    def serve(self, route: Route, identify: Identify) -> None:
        setattr(self, f"on_{route.method.lower()}", _responder(route, identify))


def _responder(route: Route, identify: Identify) -> Callable[..., None]:
    def respond(req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        req.env[ROUTE] = route.path
        if "" in path.values():
            raise falcon.HTTPRouteNotFound
        caller = None
        if not route.public:
            resp.set_headers(microversion.headers(microversion.negotiate(req.get_header(microversion.HEADER))))
            caller = req.env[CALLER] = identify(req.env)
        body = read_object(req.env) if route.method in _WITH_BODY else {}
        answer = route.action(Request(req.env, path, body, caller))
        if not isinstance(answer, Answer):
            answer = Answer(route.status, answer)
        resp.status = falcon.code_to_http_status(answer.status)
        if answer.body is not None:
            resp.content_type = "application/json"
            resp.data = json.dumps(answer.body).encode()

    return respond
