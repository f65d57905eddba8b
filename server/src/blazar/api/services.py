"""The programs of the service over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.views.services import ServicesReply, service_view
from blazar.policies import services as rules
from blazar.service.interface import Service, ServicesInterface


class ServiceActions:
    """The action on the list of programs."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> ServicesReply:
        """List the managers, with their load, and whether they run."""
        self._authorizer.require(rules.GET, request.caller)
        services: ServicesInterface = self._service.called_by(request.caller).noun("services")
        return {"services": [service_view(each) for each in services.list()]}
