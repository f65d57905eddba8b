"""The extension of network:port to the service: the noun ``port_pool``, and ``/v1/portpool``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from blazar.api.authorization import Authorizer
from blazar.api.extension import ApiExtension
from blazar.api.routing import Request, Route
from blazar.api.schemas.fields import Body, validated
from blazar.api.views.dates import stamp
from blazar.domain.resource import Registration
from blazar.kinds.port.port_pool import PORT, PortPool, PortPoolInterface
from blazar.kinds.port.schema import MOST
from blazar.policies import base
from blazar.service.interface import Service
from blazar.service.ports.kind import Dependencies

PATH = "/v1/portpool"
SINCE = (1, 42)
GET, PUT, DELETE = (f"blazar:portpool:{verb}" for verb in ("get", "put", "delete"))
RULES = (
    base.documented(GET, base.READER_OR_ADMIN, "See how many ports can be reserved.", "GET", PATH),
    base.documented(PUT, base.ADMIN, "Set how many ports can be reserved.", "PUT", PATH),
    base.documented(DELETE, base.ADMIN, "Let no ports be reserved any more.", "DELETE", PATH),
)

Count = Annotated[
    int,
    Field(
        strict=True, ge=0, le=MOST, description="How many ports can be reserved, by all projects together."
    ),
]


class PortPoolChange(Body):
    """How many ports can be reserved."""

    ports: Count


class PortPoolView(TypedDict):
    """The ports that can be reserved."""

    ports: Count
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class PortPoolReply(TypedDict):
    portpool: Annotated[PortPoolView, Field(description="The ports that can be reserved.")]


PORT_POOL = TypeAdapter(PortPoolReply)


def _view(registration: Registration) -> PortPoolView:
    return {
        "ports": registration.inventory[PORT].capacity,
        "created_at": stamp(registration.created_at),
        "updated_at": stamp(registration.updated_at),
    }


class PortPoolActions:
    """The actions on the port pool."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def show(self, request: Request) -> PortPoolReply:
        """Show how many ports can be reserved."""
        return {"portpool": _view(self._port_pool(GET, request).get())}

    def change(self, request: Request) -> PortPoolReply:
        """Set how many ports can be reserved, to no less than is promised."""
        port_pool = self._port_pool(PUT, request)
        return {"portpool": _view(port_pool.set(validated(PortPoolChange, request.body).ports))}

    def delete(self, request: Request) -> None:
        """Let no ports be reserved any more, where none is."""
        self._port_pool(DELETE, request).remove()

    def _port_pool(self, rule: str, request: Request) -> PortPoolInterface:
        self._authorizer.require(rule, request.caller)
        found: PortPoolInterface = self._service.called_by(request.caller).noun("port_pool")
        return found


class PortPoolExtension(ApiExtension):
    """The ports in our care."""

    name = "port_pool"
    interfaces: ClassVar[Mapping[str, type]] = {"port_pool": PortPoolInterface}
    policies = RULES

    def use_cases(self, dependencies: Dependencies) -> Mapping[str, object]:
        return {"port_pool": PortPool(dependencies.database, dependencies.clock)}

    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        actions = PortPoolActions(service, authorizer)
        return (
            Route("GET", PATH, actions.show, reply=PORT_POOL, since=SINCE),
            Route("PUT", PATH, actions.change, body=PortPoolChange, reply=PORT_POOL, since=SINCE),
            Route("DELETE", PATH, actions.delete, 204, since=SINCE),
        )
