"""A collection of Neutron's API.

All collections share filters, fields, paging and tags. ``api.network.resources`` defines how rows of each
collection are created, changed and deleted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from blazar_sandbox import fields
from blazar_sandbox.errors import ApiError, bad_request, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.network.state import Network
from blazar_sandbox.table import Table
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

Row = TypeVar("Row")
_RESERVED = frozenset(
    {
        "fields",
        "limit",
        "marker",
        "sort_key",
        "sort_dir",
        "page_reverse",
        "tags",
        "tags-any",
        "not-tags",
        "not-tags-any",
    }
)


@dataclass(frozen=True)
class Collection(Generic[Row]):
    """One collection of the network API."""

    singular: str
    plural: str
    title: str
    """Its name in error messages."""
    table: Callable[[Network], Table[Row]]
    render: Callable[[Row, Network], Json]
    visible: Callable[[Row, Access, Network], bool]
    make: Callable[[Request, Json], Row]
    change: Callable[[Request, Row, Json], Row]
    remove: Callable[[Request, Row], None]
    path: str = ""
    """Its path, if that is not its plural."""
    admin_fields: tuple[str, ...] = ()
    """What only administrators see."""

    def routes(self) -> list[Route]:
        """Return the routes of the collection."""
        base = f"/v2.0/{self.path or self.plural}"
        one, tags = base + "/{id}", base + "/{id}/tags"
        return [
            Route("GET", base, self.index),
            Route("POST", base, self.create),
            Route("GET", one, self.show),
            Route("PUT", one, self.update),
            Route("DELETE", one, self.delete),
            Route("GET", tags, self.tags),
            Route("PUT", tags, self.replace_tags),
            Route("DELETE", tags, self.clear_tags),
            Route("GET", tags + "/{tag}", self.check_tag),
            Route("PUT", tags + "/{tag}", self.add_tag),
            Route("DELETE", tags + "/{tag}", self.remove_tag),
        ]

    def index(self, request: Request) -> Response:
        """List the rows that the caller sees and that pass the filters."""
        network = request.cloud.network
        if self.plural == "security_groups":
            network.default_group(request.caller.project_id)
        rows = [row for row in self.table(network) if self.visible(row, request.caller, network)]
        bodies = [body for body in (self._shown(request, row) for row in rows) if _passes(body, request)]
        bodies, links = _page(request, _sorted(bodies, request), f"{self.plural}")
        chosen = request.query.get("fields")
        if chosen:
            bodies = [{key: body[key] for key in chosen if key in body} for body in bodies]
        return Response(200, {self.plural: bodies, **links})

    def show(self, request: Request) -> Response:
        """Show one row."""
        return self._answer(request, self.found(request))

    def create(self, request: Request) -> Response:
        """Create a row."""
        _must_be_member(request)
        return self._answer(request, self.make(request, fields.json_object(request.json, self.singular)), 201)

    def update(self, request: Request) -> Response:
        """Change a row."""
        _must_be_member(request)
        row = self.mine(request)
        return self._answer(
            request, self.change(request, row, fields.json_object(request.json, self.singular))
        )

    def delete(self, request: Request) -> Response:
        """Delete a row."""
        _must_be_member(request)
        self.remove(request, self.mine(request))
        return Response(204)

    def tags(self, request: Request) -> Response:
        """List the tags of a row."""
        return Response(200, {"tags": list(self._tags(self.found(request)))})

    def replace_tags(self, request: Request) -> Response:
        """Replace the tags of a row."""
        wanted = list(dict.fromkeys(fields.string_list(request.json, "tags")))
        if any(len(tag) > 255 for tag in wanted):
            raise bad_request("Invalid input for tags. Reason: a tag is too long.", "HTTPBadRequest")
        self._set_tags(request, wanted)
        return Response(200, {"tags": wanted})

    def clear_tags(self, request: Request) -> Response:
        """Remove all tags of a row."""
        self._set_tags(request, [])
        return Response(204)

    def check_tag(self, request: Request) -> Response:
        """Check a tag of a row."""
        if request.args["tag"] not in self._tags(self.found(request)):
            raise not_found(f"Tag {request.args['tag']} could not be found.", "TagNotFound")
        return Response(204)

    def add_tag(self, request: Request) -> Response:
        """Add one tag to a row."""
        tags = self._tags(self.mine(request))
        self._set_tags(request, list(dict.fromkeys((*tags, request.args["tag"]))))
        return Response(201)

    def remove_tag(self, request: Request) -> Response:
        """Remove one tag of a row."""
        self.check_tag(request)
        kept = [tag for tag in self._tags(self.mine(request)) if tag != request.args["tag"]]
        self._set_tags(request, kept)
        return Response(204)

    def _set_tags(self, request: Request, tags: list[str]) -> None:
        row: Any = self.mine(request)
        self.table(request.cloud.network).put(row.id, replace(row, tags=tuple(tags)))

    def _tags(self, row: Any) -> tuple[str, ...]:
        tags: tuple[str, ...] = row.tags
        return tags

    def found(self, request: Request) -> Row:
        """Return the row of the path, if the caller sees it."""
        row = self.table(request.cloud.network).get(request.args["id"])
        if row is None or not self.visible(row, request.caller, request.cloud.network):
            raise not_found(
                f"{self.title} {request.args['id']} could not be found.",
                f"{self.title.replace(' ', '')}NotFound",
            )
        return row

    def mine(self, request: Request) -> Row:
        """Return the row of the path, if the caller may change it."""
        row: Any = self.found(request)
        if not request.caller.owns(row.project_id):
            raise ApiError(
                403, f"rule:update_{self.singular} is disallowed by policy", code="PolicyNotAuthorized"
            )
        found: Row = row
        return found

    def _answer(self, request: Request, row: Row, status: int = 200) -> Response:
        return Response(status, {self.singular: self._shown(request, row)})

    def _shown(self, request: Request, row: Row) -> Json:
        body = self.render(row, request.cloud.network)
        hidden = () if request.caller.is_admin else self.admin_fields
        return {name: value for name, value in body.items() if name not in hidden}


def _must_be_member(request: Request) -> None:
    if not request.caller.has("member", "admin", "service"):
        raise ApiError(403, "rule is disallowed by policy", code="PolicyNotAuthorized")


def _passes(body: Json, request: Request) -> bool:
    """Return whether a row passes the filters, which are equality of any attribute and tags."""
    for name, wanted in request.query.items():
        if name not in _RESERVED and name in body and not any(_same(body[name], one) for one in wanted):
            return False
    have = set(body.get("tags", ()))
    all_of, any_of = _tag_filter(request, "tags"), _tag_filter(request, "tags-any")
    not_all, not_any = _tag_filter(request, "not-tags"), _tag_filter(request, "not-tags-any")
    return (
        all_of <= have
        and (not any_of or bool(any_of & have))
        and not (not_all and not_all <= have)
        and not not_any & have
    )


def _tag_filter(request: Request, name: str) -> set[str]:
    return {tag for value in request.query.get(name, ()) for tag in value.split(",") if tag}


def _same(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return value == fields.parse_boolean(wanted, "filter")
    if isinstance(value, list):
        return any(_same_item(item, wanted) for item in value)
    return str(value if value is not None else "") == wanted


def _same_item(item: Any, wanted: str) -> bool:
    """Return whether an item of a list passes a filter such as ``fixed_ips=ip_address=10.0.0.5``."""
    if isinstance(item, dict):
        key, _, value = wanted.partition("=")
        return str(item.get(key)) == value
    return str(item) == wanted


def _sorted(bodies: list[Json], request: Request) -> list[Json]:
    keys, directions = request.query.get("sort_key", []), request.query.get("sort_dir", [])
    for at, key in reversed(list(enumerate(keys))):
        descending = at < len(directions) and directions[at] == "desc"
        bodies = sorted(bodies, key=lambda body, key=key: str(body.get(key)), reverse=descending)  # type: ignore[misc]  # key is bound
    return bodies


def _page(request: Request, bodies: list[Json], plural: str) -> tuple[list[Json], Json]:
    limit, marker = request.param("limit"), request.param("marker")
    if marker is not None:
        at = next((at for at, body in enumerate(bodies) if body["id"] == marker), None)
        if at is None:
            raise bad_request(f"Invalid input for operation: marker {marker} not found.", "HTTPBadRequest")
        bodies = bodies[at + 1 :]
    most = fields.integer({"limit": limit}, "limit") if limit is not None else 0
    if not most or len(bodies) <= most:
        return bodies, {}
    cut = bodies[:most]
    query = {key: values[-1] for key, values in request.query.items()} | {"marker": cut[-1]["id"]}
    href = f"{request.origin}/network{request.path}?{urlencode(query)}"
    return cut, {f"{plural}_links": [{"rel": "next", "href": href}]}
