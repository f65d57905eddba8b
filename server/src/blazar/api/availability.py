"""Questions for availability over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.schemas.availability import AvailabilityRequest
from blazar.api.schemas.fields import validated
from blazar.api.views.availability import AvailabilityReply, availability_reply
from blazar.domain.errors import PolicyNotAuthorized
from blazar.policies import availability as rules
from blazar.service.interface import AvailabilityInterface, Service


class AvailabilityActions:
    """The action on availability. ``tells_shortages``: callers who are not administrators may know how much
    is free."""

    def __init__(self, service: Service, authorizer: Authorizer, tells_shortages: bool) -> None:
        self._service = service
        self._authorizer = authorizer
        self._tells_shortages = tells_shortages

    def ask(self, request: Request) -> AvailabilityReply:
        """Ask when, and for how long, a lease could be had. Nothing is made or held.

        The first answer is the earliest start of the range at which all of it can be had; others follow with
        fewer, with a shorter duration, or with the most that is wanted. No answer is one that a quota or the
        longest duration of leases would refuse."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        if not (self._tells_shortages or caller.is_admin):
            raise PolicyNotAuthorized(action=rules.POST)
        question = validated(AvailabilityRequest, request.body).question()
        availability: AvailabilityInterface = self._service.called_by(caller).noun("availability")
        return availability_reply(availability.ask(question, caller))
