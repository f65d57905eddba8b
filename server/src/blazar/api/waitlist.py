"""The waitlist over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.microversion import Version
from blazar.api.routing import Request
from blazar.api.views.waitlist import WaitlistReply, waitlist_reply
from blazar.policies import waitlist as rules
from blazar.service.context import Caller
from blazar.service.interface import Service, WaitlistInterface

SINCE: Version = (1, 7)


class WaitlistActions:
    """The action on the waitlist. What is changed are leases."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> WaitlistReply:
        """List the leases of the project that wait in line; administrators see those of all projects."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        found = waitlist_of(self._service, caller).list(None if caller.is_admin else caller.project_id)
        return waitlist_reply(
            [
                each
                for each in found
                if self._authorizer.allows(rules.GET, caller, each.lease.project_id, each.lease.user_id)
            ]
        )


def waitlist_of(service: Service, caller: Caller) -> WaitlistInterface:
    waitlist: WaitlistInterface = service.called_by(caller).noun("waitlist")
    return waitlist
