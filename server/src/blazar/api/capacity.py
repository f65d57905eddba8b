"""The capacity over time over HTTP."""

from __future__ import annotations

from dataclasses import replace

from blazar.api.authorization import Authorizer
from blazar.api.microversion import MINIMUM, newest
from blazar.api.routing import Request
from blazar.api.schemas.capacity import CapacityQuery
from blazar.api.views.capacity import RESERVED, WITH_BUFFER, CapacityReply, capacity_reply
from blazar.policies import capacity as rules
from blazar.service.interface import CapacityInterface, Service

RESERVED_SINCE = {MINIMUM: RESERVED, (1, 15): WITH_BUFFER}


class CapacityActions:
    """The action on the capacity."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def show(self, request: Request) -> CapacityReply:
        """Show the capacity over time.

        Each quantity has its steps: what there is in total and what is available, and for administrators what
        is reserved and in use. An answer has at most 4,000 steps. Where exact ones would be more, each step
        tells the worst of some minutes: ask for a shorter time or for one quantity to see more. A flavor, or
        a size by vcpus, memory_mb and disk_gb, asks how many servers fit, host by host."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        question = request.query(CapacityQuery).question()
        tells_reserved = self._authorizer.allows(
            rules.GET_RESERVED, caller, caller.project_id, caller.user_id
        )
        capacity: CapacityInterface = self._service.called_by(caller).noun("capacity")
        report = capacity.get(replace(question, tells_reserved=tells_reserved), caller)
        return capacity_reply(
            report, reserved=newest(RESERVED_SINCE, request.version) if tells_reserved else ()
        )
