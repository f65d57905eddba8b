"""A collection of Keystone's API.

Users, projects, domains, roles, services, endpoints and regions differ only in their fields, so one class
serves them all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from blazar_sandbox import fields
from blazar_sandbox.api.identity.render import listing
from blazar_sandbox.errors import bad_request, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.model import ScopeKind
from blazar_sandbox.identity.state import Identity
from blazar_sandbox.table import Table
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

Row = TypeVar("Row")


@dataclass(frozen=True)
class Collection(Generic[Row]):
    """One collection of the identity API."""

    singular: str
    plural: str
    table: Callable[[Identity], Table[Row]]
    render: Callable[[Row, str], Json]
    filters: tuple[str, ...]
    make: Callable[[Identity, Json], Row]
    remove: Callable[[Identity, str], None]
    changeable: tuple[str, ...]
    update_extra: Callable[[Identity, Row, Json], Row] | None = None
    read_by_all: bool = False

    def routes(self) -> list[Route]:
        """Return the routes of the collection."""
        base, one = f"/{self.plural}", f"/{self.plural}/{{id}}"
        return [
            Route("GET", base, self.index),
            Route("POST", base, self.create),
            Route("GET", one, self.show),
            Route("PATCH", one, self.update),
            Route("DELETE", one, self.delete),
        ]

    def index(self, request: Request) -> Response:
        """List rows; filters ignore case."""
        self._allow(request, "list", reading=True)
        bodies = [self.render(row, request.origin) for row in self.table(request.cloud.identity)]
        for name in self.filters:
            wanted = request.param(name)
            if wanted is not None:
                bodies = [body for body in bodies if _same(body.get(name), wanted)]
        return Response(200, listing(request, self.plural, bodies))

    def show(self, request: Request) -> Response:
        """Show one row."""
        row_id = request.args["id"]
        own = row_id in (request.caller.user.id, request.caller.project_id)
        if not own:
            self._allow(request, "get", reading=True)
        return self._answer(request, self._find(request, row_id))

    def create(self, request: Request) -> Response:
        """Create a row."""
        self._allow(request, "create")
        row = self.make(request.cloud.identity, fields.json_object(request.json, self.singular))
        return self._answer(request, row, 201)

    def update(self, request: Request) -> Response:
        """Change the changeable fields of a row."""
        self._allow(request, "update")
        row_id = request.args["id"]
        row: Any = self._find(request, row_id)
        body = fields.json_object(request.json, self.singular)
        row = replace(row, **{name: body[name] for name in self.changeable if name in body})
        identity = request.cloud.identity
        if self.update_extra is not None:
            row = self.update_extra(identity, row, body)
        self.table(identity).put(row_id, row)
        return self._answer(request, row)

    def delete(self, request: Request) -> Response:
        """Delete a row and what depends on it."""
        self._allow(request, "delete")
        row_id = request.args["id"]
        self._find(request, row_id)
        self.remove(request.cloud.identity, row_id)
        return Response(204)

    def _find(self, request: Request, row_id: str) -> Row:
        row = self.table(request.cloud.identity).get(row_id)
        if row is None:
            raise not_found(f"Could not find {self.singular}: {row_id}.")
        return row

    def _answer(self, request: Request, row: Row, status: int = 200) -> Response:
        return Response(status, {self.singular: self.render(row, request.origin)})

    def _may_read(self, caller: Access) -> bool:
        return self.read_by_all or caller.has("service") or caller.scope_kind is ScopeKind.SYSTEM

    def _allow(self, request: Request, verb: str, *, reading: bool = False) -> None:
        if request.caller.is_admin or (reading and self._may_read(request.caller)):
            return
        rule = f"identity:{verb}_{self.plural if verb == 'list' else self.singular}"
        raise forbidden(f"You are not authorized to perform the requested action: {rule}.")


def _same(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return value == fields.parse_boolean(wanted, "enabled")
    return str(value).lower() == wanted.lower()


def required(body: Json, name: str) -> str:
    """Return a required string; its absence is refused in Keystone's words."""
    if name not in body:
        raise bad_request(f"'{name}' is a required property")
    return fields.string(body, name)
