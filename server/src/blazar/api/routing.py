"""Routes, requests and answers, and how Falcon serves them. Only this module and the edge touch the
framework."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any
from urllib.parse import parse_qsl

import falcon
from pydantic import BaseModel, TypeAdapter

from blazar.api import errors, microversion
from blazar.api.body import read_object
from blazar.api.caller import CALLER, Identify
from blazar.api.errors import printable
from blazar.api.schemas.queries import ID, Q, Query, decoded
from blazar.api.throttle import Throttle
from blazar.domain.errors import BlazarError, InvalidInput, NotFound
from blazar.service.context import Caller

LOG = logging.getLogger(__name__)
JSON = "application/json"
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MAX_QUERY = 8192
"""Characters of a query string, at most."""
ROUTE = "blazar.route"
"""The key of the route's path in the WSGI environ. Metrics use it, for it has no ids, unlike the request's
path."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as an action sees it: caller, path, query and body."""

    environ: MutableMapping[str, Any]
    path: Mapping[str, str]
    body: Mapping[str, Any]
    _caller: Caller | None

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            raise RuntimeError("a public route has no caller")
        return self._caller

    @property
    def version(self) -> microversion.Version:
        """Return the version of the API that is asked for."""
        found: microversion.Version = self.environ.get(microversion.VERSION, microversion.MINIMUM)
        return found

    def id(self, name: str) -> str:
        """Return the id in the path. Raises NotFound for text that cannot be an id, so that it never reaches
        a database."""
        value = self.path[name]
        if not ID.fullmatch(value):
            raise NotFound(object=str({name: value[:100]}))
        return value

    def query(self, model: type[Q]) -> Q:
        """Return the query string as the route describes it. Raises InvalidInput."""
        return decoded(model, dict(reversed(self._pairs)))

    def exact_query(self, model: type[Q]) -> Q:
        """Return the query string, which has no parameter that the route does not describe, and none twice,
        as lists ask for it from 1.1 on. Raises InvalidInput."""
        unknown = sorted(self.parameters.keys() - model.model_fields.keys())
        if unknown:
            known = ", ".join(sorted(model.model_fields))
            raise InvalidInput(
                f"Unknown parameter {printable(unknown[0][:100])}: the known ones are {known}."
            )
        if len(self.parameters) < len(self._pairs):
            raise InvalidInput("A parameter is given twice. Several values are separated by commas.")
        return decoded(model, self.parameters)

    @property
    def parameters(self) -> Mapping[str, str]:
        """Return the query string as the client sent it, by name."""
        return dict(self._pairs)

    @property
    def _pairs(self) -> Sequence[tuple[str, str]]:
        return parse_qsl(self.environ.get("QUERY_STRING", ""), keep_blank_values=True)

    def header(self, field: HeaderField) -> str | None:
        """Return a header of the request, without space around it; None where it is not sent, or the version
        does not know it."""
        value = self.environ.get("HTTP_" + field.name.upper().replace("-", "_"))
        return None if value is None or self.version < field.since else str(value).strip()


@dataclass(frozen=True, slots=True)
class HeaderField:
    """A header of requests that a route reads."""

    name: str
    since: microversion.Version
    description: str
    pattern: str


Action = Callable[[Request], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the route table. ``action`` returns the answer's body, or None for no body.

    ``body``, ``reply`` and ``query`` describe both bodies and the query string for the OpenAPI document.
    """

    method: str
    path: str
    action: Action
    status: int = 200
    body: type[BaseModel] | None = None
    reply: TypeAdapter[Any] | None = None
    query: type[Query] | None = None
    public: bool = False
    """Answered without a token, and without a microversion."""
    since: microversion.Version = microversion.MINIMUM
    """The first version of the API that has the route; below it there is none."""
    later: Mapping[microversion.Version, Action] = field(default_factory=dict)
    """What is done instead of ``action`` from later versions on."""
    bodies: Mapping[microversion.Version, type[BaseModel]] = field(default_factory=dict)
    """The bodies by the version that brought them, where they differ."""
    dry_run: TypeAdapter[Any] | None = None
    """The body of the answer to a dry run, whose status is 200."""
    headers: Sequence[HeaderField] = ()
    """The headers of requests that the action reads."""
    media_type: str = JSON
    """The type of the answer's body. One that is not JSON comes as bytes."""
    also: str | None = None
    """Another type that an answer may have."""
    tagged: microversion.Version | None = None
    """The version since which an answer with a body of the route has an ETag."""

    @property
    def versions(self) -> Sequence[microversion.Version]:
        """The versions that answer differently: the first one, and those with an action of their own."""
        return self.since, *self.later

    def action_in(self, version: microversion.Version) -> Action:
        since = max((each for each in self.later if each <= version), default=None)
        return self.action if since is None else self.later[since]


@dataclass(frozen=True, slots=True)
class Answer:
    """A body with a status of its own, instead of the route's."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str | None = None
    """The type of the body, where it is not the route's own."""


@dataclass(frozen=True, slots=True)
class PagedList:
    """A body that has one list under ``name``: ``{"leases": [...]}``. The list is read and sent page by
    page, so that it may be of any length. ``more`` is asked for further keys when all pages are read."""

    name: str
    pages: Iterator[Sequence[Any]]
    more: Callable[[], Mapping[str, Any]] = dict


@dataclass(frozen=True, slots=True)
class EventStream:
    """A body of server-sent events."""

    content: bytes
    goes_on: bool
    """The connection stays open behind it, so the body has no length."""


def falcon_app(
    routes: Iterable[Route], identify: Identify, *, tells_shortages: bool = True
) -> falcon.App[falcon.Request, falcon.Response]:
    """Return the Falcon application that serves these routes.

    ``tells_shortages``: callers who are not administrators are told the numbers and dates of a shortage."""
    app: falcon.App[falcon.Request, falcon.Response] = falcon.App(middleware=[_Allowed()])
    errors.install(app, tells_shortages)
    by_path: dict[str, _Resource] = {}
    throttle = Throttle()
    for route in routes:
        by_path.setdefault(route.path, _Resource()).serve(route, identify, throttle)
    for path, resource in by_path.items():
        app.add_route(path, resource)
    return app


class _Resource:
    """One path. Falcon calls its ``on_get``, ``on_post`` and so on."""

    def __init__(self) -> None:
        self._routes: list[Route] = []

    def serve(self, route: Route, identify: Identify, throttle: Throttle) -> None:
        self._routes.append(route)
        setattr(self, f"on_{route.method.lower()}", _responder(route, identify, throttle, self.absent_in))

    def absent_in(self, version: microversion.Version) -> falcon.HTTPError:
        """Return the answer to a method that this version does not have: the path may have others."""
        methods = [each.method for each in self._routes if each.since <= version]
        return falcon.HTTPMethodNotAllowed(methods) if methods else falcon.HTTPRouteNotFound()

    def later_than(self, version: microversion.Version) -> set[str]:
        """Return the methods of the path that only later versions have."""
        return {each.method for each in self._routes if each.since > version}


class _Allowed:
    """Leaves out of the Allow header what the version of the request does not have."""

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        allowed = resp.get_header("Allow")
        if allowed is None or not isinstance(resource, _Resource):
            return
        try:
            version = microversion.negotiate(req.get_header(microversion.HEADER))
        except falcon.HTTPError:
            version = microversion.MINIMUM
        later = resource.later_than(version)
        resp.set_header("Allow", ", ".join(each for each in allowed.split(", ") if each not in later))


def _responder(
    route: Route,
    identify: Identify,
    throttle: Throttle,
    absent_in: Callable[[microversion.Version], falcon.HTTPError],
) -> Callable[..., None]:
    def respond(req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        req.env[ROUTE] = route.path
        if "" in path.values():
            raise falcon.HTTPRouteNotFound
        if len(req.query_string) > MAX_QUERY:
            raise falcon.HTTPUriTooLong(description=f"The query is longer than {MAX_QUERY} characters.")
        caller, version = None, microversion.MINIMUM
        if not route.public:
            version = microversion.negotiate(req.get_header(microversion.HEADER))
            req.env[microversion.VERSION] = version
            resp.set_headers(microversion.headers(version))
            if version < route.since:
                raise absent_in(version)
            caller = req.env[CALLER] = identify(req.env)
        has_body = route.method in _WITH_BODY
        with throttle.passed(caller.project_id) if has_body and caller else nullcontext():
            body = read_object(req.env) if has_body else {}
            answer = route.action_in(version)(Request(req.env, path, body, caller))
        if not isinstance(answer, Answer):
            answer = Answer(route.status, answer)
        resp.status = falcon.code_to_http_status(answer.status)
        resp.set_headers(answer.headers)
        if answer.body is not None:
            resp.content_type = answer.media_type or route.media_type
        if isinstance(answer.body, EventStream):
            _send_events(resp, answer.body)
        elif isinstance(answer.body, PagedList):
            _send_pages(resp, answer.body, printable(req.path))
        elif isinstance(answer.body, bytes):
            resp.data = answer.body
        elif answer.body is not None:
            resp.data = json.dumps(answer.body).encode()

    return respond


def _send_events(resp: falcon.Response, body: EventStream) -> None:
    if body.goes_on:
        resp.stream = iter([body.content])
    else:
        resp.data = body.content


def _send_pages(resp: falcon.Response, body: PagedList, path: str) -> None:
    """Send a list of one page at once, with its length; a longer one in pieces.

    The first two pages are read here, so that their errors still get a status of their own."""
    pages = iter(body.pages)
    first = list(islice(pages, 2))
    if len(first) < 2:
        resp.data = b"".join(_pieces(body, first))
    else:
        resp.stream = _whole_or_cut(_pieces(body, chain(first, pages)), path)


def _pieces(body: PagedList, pages: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """Return ``{name: [...]}`` as JSON, to the byte as ``json.dumps`` writes it, in pieces of one page."""
    before = "{" + json.dumps(body.name) + ": ["
    for page in pages:
        if page:
            yield (before + json.dumps(page)[1:-1]).encode()
            before = ", "
    end = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in body.more().items())
    yield f"{'' if before == ', ' else before}]{end}}}".encode()


def _whole_or_cut(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Pass the pieces on. After a failure, the server closes the connection without the end of the body: the
    status was sent already, and what the client has is not valid JSON, so that it cannot be taken for the
    whole list."""
    try:
        yield from pieces
    except BlazarError as error:
        LOG.warning("The answer to GET %s is cut off: %s", path, error.message)
        raise
