"""What the kind adds to the service: the noun ``licences``, its routes, and the rules of who may use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from oslo_policy import policy
from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from blazar.api.authorization import Authorizer
from blazar.api.extension import ApiExtension
from blazar.api.routing import Request, Route
from blazar.api.schemas.fields import Body, NameField, validated
from blazar.domain.resource import Registration
from blazar.policies import base
from blazar.service.interface import Service
from blazar.service.ports.kind import Dependencies
from blazar_licences.licences import TOKEN, Licences, LicencesInterface, RegisterLicence

PATH = "/v1/licences"
GET, POST, DELETE = "blazar:licences:get", "blazar:licences:post", "blazar:licences:delete"


def _rule(name: str, check: str, description: str, method: str, *paths: str) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[{"method": method, "path": path} for path in paths],
        scope_types=base.PROJECT_SCOPE,
    )


RULES = (
    _rule(GET, base.READER_OR_ADMIN, "See the registered licences.", "GET", PATH, PATH + "/{licence_id}"),
    _rule(POST, base.ADMIN, "Register a licence, so that its tokens can be reserved.", "POST", PATH),
    _rule(DELETE, base.ADMIN, "Remove a licence that is not reserved.", "DELETE", PATH + "/{licence_id}"),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the rules, for the generator of sample policy files."""
    return list(RULES)


class LicenceCreate(Body):
    """A licence to register."""

    name: NameField
    tokens: Annotated[int, Field(ge=1, le=1_000_000, description="How many tokens it has.")]


class LicenceView(TypedDict):
    """A registered licence."""

    id: str
    name: str
    tokens: int


class LicenceReply(TypedDict):
    licence: LicenceView


class LicencesReply(TypedDict):
    licences: list[LicenceView]


LICENCE = TypeAdapter(LicenceReply)
LICENCES = TypeAdapter(LicencesReply)


def _view(licence: Registration) -> LicenceView:
    return {"id": licence.id, "name": licence.name, "tokens": licence.inventory[TOKEN].capacity}


class LicenceActions:
    """What can be done with licences over HTTP."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> LicencesReply:
        """List the registered licences."""
        return {"licences": [_view(each) for each in self._licences(GET, request).list()]}

    def create(self, request: Request) -> LicenceReply:
        """Register a licence."""
        licences = self._licences(POST, request)
        body = validated(LicenceCreate, request.body)
        return {"licence": _view(licences.register(RegisterLicence(body.name, body.tokens)))}

    def show(self, request: Request) -> LicenceReply:
        """Show a licence."""
        return {"licence": _view(self._licences(GET, request).get(request.id("licence_id")))}

    def delete(self, request: Request) -> None:
        """Remove a licence without reservations."""
        self._licences(DELETE, request).unregister(request.id("licence_id"))

    def _licences(self, rule: str, request: Request) -> LicencesInterface:
        self._authorizer.require(rule, request.caller)
        found: LicencesInterface = self._service.called_by(request.caller).noun("licences")
        return found


class LicenceExtension(ApiExtension):
    """The licences in our care."""

    name = "licences"
    interfaces: ClassVar[Mapping[str, type]] = {"licences": LicencesInterface}
    policies = RULES

    def use_cases(self, dependencies: Dependencies) -> Mapping[str, Any]:
        return {"licences": Licences(dependencies.database, dependencies.clock)}

    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        licences = LicenceActions(service, authorizer)
        return (
            Route("GET", PATH, licences.list, reply=LICENCES),
            Route("POST", PATH, licences.create, 201, body=LicenceCreate, reply=LICENCE),
            Route("GET", PATH + "/{licence_id}", licences.show, reply=LICENCE),
            Route("DELETE", PATH + "/{licence_id}", licences.delete, 204),
        )
