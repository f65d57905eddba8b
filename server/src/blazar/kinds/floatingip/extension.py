"""The extension of virtual:floatingip to the service: the noun ``floatingips``, and ``/v1/floatingips``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import TypeAdapter

from blazar.api.authorization import Authorizer
from blazar.api.extension import ApiExtension
from blazar.api.routing import Route
from blazar.api.schemas.lists import PageQuery
from blazar.kinds.floatingip import policies, replies
from blazar.kinds.floatingip.actions import FloatingIPActions
from blazar.kinds.floatingip.bodies import FloatingIPCreate
from blazar.kinds.floatingip.floatingips import FloatingIPs
from blazar.kinds.floatingip.interface import FloatingIPsInterface
from blazar.service.interface import Service
from blazar.service.ports.kind import Dependencies

FLOATING_IP = TypeAdapter(replies.FloatingIPReply)
FLOATING_IPS = TypeAdapter(replies.FloatingIPsReply)


class FloatingIPExtension(ApiExtension):
    """The floating IPs in our care."""

    name = "floatingips"
    interfaces: ClassVar = {"floatingips": FloatingIPsInterface}
    policies = policies.RULES

    def use_cases(self, dependencies: Dependencies) -> Mapping[str, object]:
        return {"floatingips": FloatingIPs(dependencies.database, dependencies.cloud, dependencies.clock)}

    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        floatingips = FloatingIPActions(service, authorizer)
        # fmt: off
        return (
            Route("GET",    "/v1/floatingips", floatingips.list, reply=FLOATING_IPS, query=PageQuery,
                  later={(1, 1): floatingips.list_page}),
            Route("POST",   "/v1/floatingips", floatingips.create, 201,
                  body=FloatingIPCreate, reply=FLOATING_IP),
            Route("GET",    "/v1/floatingips/{floatingip_id}", floatingips.show, reply=FLOATING_IP),
            Route("DELETE", "/v1/floatingips/{floatingip_id}", floatingips.delete, 204),
        )
        # fmt: on
