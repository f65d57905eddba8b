"""The timeline over HTTP."""

from __future__ import annotations

import hashlib
import json

from blazar.api.authorization import Authorizer
from blazar.api.microversion import Version
from blazar.api.routing import Answer, HeaderField, Request
from blazar.api.schemas.timeline import TimelineQuery
from blazar.api.views.timeline import timeline_reply
from blazar.policies import leases, maintenances
from blazar.policies import timeline as rules
from blazar.service.interface import Service, TimelineInterface
from blazar.service.timeline import BarType, Occupant

SINCE: Version = (1, 10)
RIGHTS: Version = (1, 40)
IF_NONE_MATCH = HeaderField(
    "If-None-Match",
    SINCE,
    "The `ETag` of an answer. The next one is 304, without a body, where nothing in it has changed.",
    r"^[\x21-\x7e, ]{0,1000}$",
)


class TimelineActions:
    """The action on the timeline."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def show(self, request: Request) -> Answer:
        """Show what occupies registered resources in a window of time.

        The rows are the resources of all kinds, at most 200 in an answer; the bars are the leases,
        maintenances and offers on them. Of a lease that the caller may not see only the times are told.
        Leases that are over are not told. An answer has an ETag, for If-None-Match."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        allows = self._authorizer.allows
        sees_maintenances = allows(maintenances.GET, caller, caller.project_id, caller.user_id)
        sees_shared = allows(leases.GET_SHARED, caller, caller.project_id, caller.user_id)

        def may_see(occupant: Occupant) -> bool:
            if occupant.type is BarType.LEASE:
                is_shared = occupant.is_shared and sees_shared
                return is_shared or allows(leases.GET, caller, occupant.project_id, occupant.user_id)
            return occupant.type is BarType.MAINTENANCE and sees_maintenances

        timelines: TimelineInterface = self._service.called_by(caller).noun("timeline")
        question = request.query(TimelineQuery).question()
        tells_rights = request.version >= RIGHTS
        body = timeline_reply(timelines.get(question, caller), may_see, tells_rights)
        # A lease may be renamed without touching a calendar, so the tag is that of all that is told.
        tag = f'"{hashlib.sha256(json.dumps(body).encode()).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if tag in (request.header(IF_NONE_MATCH) or ""):
            return Answer(304, None, headers)
        return Answer(200, body, headers)
