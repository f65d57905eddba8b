"""The promises over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace

from blazar.api import timeline
from blazar.api.authorization import Authorizer
from blazar.api.microversion import Version
from blazar.api.routing import Answer, Request
from blazar.policies import promises as rules
from blazar.service.interface import PromisesInterface, Service

SINCE: Version = (1, 30)
IF_NONE_MATCH = replace(timeline.IF_NONE_MATCH, since=SINCE)


class PromiseActions:
    """The action on the promises."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def show(self, request: Request) -> Answer:
        """Show what is promised on which compute host and when, for the scheduler of the cloud.

        Each host that can be reserved is told with its capacity and with steps of time in which some of it is
        promised. The answer is short of all that others need: it names neither leases nor projects, but for
        those that keep a host for a server which was booted there. It has an ETag, for If-None-Match."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        known = (request.header(IF_NONE_MATCH) or "").strip('"')
        promises: PromisesInterface = self._service.called_by(caller).noun("promises")
        found = promises.get(known)
        headers = {"ETag": f'"{found.tag}"', "Cache-Control": "private, no-cache"}
        if found.document is None:
            return Answer(304, None, headers)
        return Answer(200, {"promises": json.loads(found.document)}, headers)
