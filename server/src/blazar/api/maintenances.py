"""Maintenances over HTTP, since version 1.8."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.errors import EXPLANATION
from blazar.api.routing import Answer, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.maintenances import MaintenanceCreate
from blazar.api.views.maintenances import (
    MaintenanceReply,
    MaintenancesReply,
    impact_view,
    maintenance_view,
)
from blazar.domain.errors import MaintenanceConflict
from blazar.domain.lease.maintenance import Effect
from blazar.policies import maintenances as rules
from blazar.service.interface import MaintenancesInterface, Service


class MaintenanceActions:
    """The actions on maintenances."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> MaintenancesReply:
        """List the maintenances that are planned or under way."""
        self._authorizer.require(rules.GET, request.caller)
        return {"maintenances": [maintenance_view(each) for each in self._use_cases(request).list()]}

    def create(self, request: Request) -> MaintenanceReply | Answer:
        """Take hosts away for a time, or, with `dry_run`, see what that does to leases.

        Nothing is reserved on the hosts in this time, and what is reserved there moves, in the same commit.
        Where a lease would break the answer is 409 with the impact, and nothing is changed, unless it is
        forced."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        asked = validated(MaintenanceCreate, request.body)
        use_cases, command = self._use_cases(request), asked.command()
        if asked.dry_run:
            seen = use_cases.preview(command, caller)
            return Answer(200, {"impact": impact_view(seen.impacts)})
        decision = use_cases.create(command, caller)
        impact = impact_view(decision.impacts)
        if decision.maintenance is None:
            request.environ[EXPLANATION] = {"impact": impact}
            broken = [each for each in decision.impacts if each.effect is Effect.BREAKS]
            raise MaintenanceConflict(count=len(broken))
        return {"maintenance": maintenance_view(decision.maintenance), "impact": impact}

    def show(self, request: Request) -> MaintenanceReply:
        """Show a maintenance."""
        self._authorizer.require(rules.GET, request.caller)
        found = self._use_cases(request).get(request.id("maintenance_id"))
        return {"maintenance": maintenance_view(found)}

    def delete(self, request: Request) -> None:
        """End a maintenance: its hosts can be reserved again at once."""
        self._authorizer.require(rules.DELETE, request.caller)
        self._use_cases(request).delete(request.id("maintenance_id"), request.caller)

    def _use_cases(self, request: Request) -> MaintenancesInterface:
        found: MaintenancesInterface = self._service.called_by(request.caller).noun("maintenances")
        return found
