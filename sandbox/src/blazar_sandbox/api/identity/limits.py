"""Keystone's unified limits: those registered for all projects, and those of single projects."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.identity import render
from blazar_sandbox.api.identity.collection import Collection, required
from blazar_sandbox.errors import bad_request, conflict, forbidden
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.model import ProjectLimit, RegisteredLimit, ScopeKind, new_id
from blazar_sandbox.identity.state import Identity
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

MAX = 2**31 - 1
_FILTERS = ("service_id", "region_id", "resource_name")


@dataclass(frozen=True)
class LimitCollection(Collection[Any]):
    """A collection of limits: several are created at once, and everybody may read some."""

    is_visible: Callable[[Any, Access], bool] = lambda row, caller: True

    def index(self, request: Request) -> Response:
        """List the limits that the caller may see."""
        answer = super().index(request)
        table = self.table(request.cloud.identity)
        bodies = [
            body for body in answer.body[self.plural] if self.is_visible(table[body["id"]], request.caller)
        ]
        return Response(200, render.listing(request, self.plural, bodies))

    def create(self, request: Request) -> Response:
        """Create several limits, or none where one of them is refused."""
        self._allow(request, "create")
        bodies = request.json.get(self.plural)
        if not isinstance(bodies, list):
            raise bad_request(f"'{self.plural}' is a required property")
        identity = request.cloud.identity
        made = [self.make(identity, fields.json_object({"limit": body}, "limit")) for body in bodies]
        for row in made:
            self.table(identity).put(row.id, row)
        return Response(201, {self.plural: [self.render(row, request.origin) for row in made]})


def _number(body: Json, name: str) -> int:
    number = body.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or not -1 <= number <= MAX:
        raise bad_request(f"Invalid input for field '{name}': {number} is not a limit")
    return number


def _place(identity: Identity, body: Json) -> tuple[str, str | None, str]:
    """Return what a limit is of: service, region and resource."""
    service_id = required(body, "service_id")
    if service_id not in identity.services:
        raise bad_request(f"Could not find service: {service_id}.")
    return service_id, fields.string_or_none(body, "region_id"), required(body, "resource_name")


def _same_place(row: RegisteredLimit | ProjectLimit, place: tuple[str, str | None, str]) -> bool:
    return (row.service_id, row.region_id, row.resource_name) == place


def _make_registered(identity: Identity, body: Json) -> RegisteredLimit:
    place = _place(identity, body)
    if any(_same_place(row, place) for row in identity.registered_limits):
        raise conflict("Conflict occurred attempting to store registered_limit - Duplicate entry.")
    description = fields.string_or_none(body, "description") or ""
    return RegisteredLimit(new_id(), *place, _number(body, "default_limit"), description)


def _make_limit(identity: Identity, body: Json) -> ProjectLimit:
    place, project_id = _place(identity, body), required(body, "project_id")
    if not any(_same_place(row, place) for row in identity.registered_limits):
        raise forbidden("Unable to create a limit that has no corresponding registered limit.")
    if any(_same_place(row, place) and row.project_id == project_id for row in identity.limits):
        raise conflict("Conflict occurred attempting to store limit - Duplicate entry.")
    description = fields.string_or_none(body, "description") or ""
    return ProjectLimit(new_id(), *place, _number(body, "resource_limit"), project_id, description)


def _remove_registered(identity: Identity, key: str) -> None:
    registered = identity.registered_limits[key]
    place = (registered.service_id, registered.region_id, registered.resource_name)
    if any(_same_place(row, place) for row in identity.limits):
        raise forbidden(
            f"Unable to update or delete registered limit {key} because there are project limits associated "
            "with it."
        )
    identity.registered_limits.drop(key)


def _remove_limit(identity: Identity, key: str) -> None:
    identity.limits.drop(key)


def _change_registered(identity: Identity, row: RegisteredLimit, body: Json) -> RegisteredLimit:
    return replace(row, default_limit=_number(body, "default_limit")) if "default_limit" in body else row


def _change_limit(identity: Identity, row: ProjectLimit, body: Json) -> ProjectLimit:
    return replace(row, resource_limit=_number(body, "resource_limit")) if "resource_limit" in body else row


def _sees(row: ProjectLimit, caller: Access) -> bool:
    """Only a token of the whole system shows the limits of all projects."""
    return caller.scope_kind is ScopeKind.SYSTEM or row.project_id == caller.project_id


def show_model(request: Request) -> Response:
    """Show how limits of projects are compared."""
    model = {"name": "flat", "description": "Each project by itself, whatever its place among others."}
    return Response(200, {"model": model})


REGISTERED = LimitCollection(
    "registered_limit", "registered_limits", lambda identity: identity.registered_limits,
    render.registered_limit, _FILTERS, _make_registered, _remove_registered,
    ("description",), _change_registered, read_by_all=True,
)  # fmt: skip
LIMITS = LimitCollection(
    "limit", "limits", lambda identity: identity.limits,
    render.limit, (*_FILTERS, "project_id"), _make_limit, _remove_limit,
    ("description",), _change_limit, read_by_all=True, is_visible=_sees,
)  # fmt: skip
ROUTES = [Route("GET", "/limits/model", show_model), *REGISTERED.routes(), *LIMITS.routes()]
