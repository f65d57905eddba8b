"""The usage report over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.microversion import Version
from blazar.api.routing import Answer, Request
from blazar.api.schemas.usage import UsageQuery
from blazar.api.views.usage import usage_reply, usage_table
from blazar.domain.errors import PolicyNotAuthorized
from blazar.policies import usage as rules
from blazar.service.interface import Service, UsageInterface

SINCE: Version = (1, 21)
CSV = "text/csv"


class UsageActions:
    """The action on the usage report."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def report(self, request: Request) -> Answer:
        """Show what leases were promised in a window of time, and what they have really used.

        Counted are resource-hours of what has begun, up to now: an hour of one host, server or address. What
        was not looked at is unknown, and neither used nor unused. Without a project, callers see their own
        one, and administrators all. With `format=csv`, or `Accept: text/csv`, the rows come as a table."""
        asked = request.exact_query(UsageQuery)
        usage: UsageInterface = self._service.called_by(request.caller).noun("usage")
        report = usage.get(asked.wish(self._project(request, asked.project_id)))
        if asked.format == "csv" or _prefers_csv(request):
            return Answer(200, usage_table(report), media_type=CSV)
        return Answer(200, usage_reply(report))

    def _project(self, request: Request, asked: str | None) -> str | None:
        """Return the project to report of, None for all. Raises PolicyNotAuthorized."""
        caller = request.caller
        self._authorizer.require_project(rules.GET, caller)
        if asked is None and self._authorizer.allows(
            rules.GET_ALL, caller, caller.project_id, caller.user_id
        ):
            return None
        project_id = asked or caller.project_id
        if not self._authorizer.allows(rules.GET, caller, project_id, caller.user_id):
            raise PolicyNotAuthorized(action=rules.GET)
        return project_id


def _prefers_csv(request: Request) -> bool:
    """Return whether the client names CSV and not JSON. OpenAPI has no place for the header Accept."""
    accepted = str(request.environ.get("HTTP_ACCEPT", ""))
    return CSV in accepted and "application/json" not in accepted
