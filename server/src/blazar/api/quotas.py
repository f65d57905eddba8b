"""Quotas over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.quotas import QuotaUpdate
from blazar.api.views.quotas import (
    QuotaReply,
    QuotasReply,
    UsageReply,
    quota_reply,
    quotas_reply,
    usage_reply,
)
from blazar.domain.errors import PolicyNotAuthorized
from blazar.policies import quotas as rules
from blazar.service.interface import QuotasInterface, Service


class QuotaActions:
    """The actions on quotas. Rules are asked about the project in the path, whether there is such a one or
    not."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> QuotasReply:
        """List the projects that have limits of their own, and the limits of all others."""
        self._authorizer.require(rules.LIST, request.caller)
        return quotas_reply(self._quotas(request).list())

    def show(self, request: Request) -> QuotaReply:
        """Show the limits of a project."""
        return quota_reply(self._quotas(request).get(self._project(rules.GET, request)))

    def usage(self, request: Request) -> UsageReply:
        """Show how much the leases of a project use of what limits count."""
        project_id = self._project(rules.GET_USAGE, request)
        return usage_reply(project_id, self._quotas(request).get_usage(project_id))

    def update(self, request: Request) -> QuotaReply:
        """Give a project limits of its own; what is not sent stays."""
        project_id = self._project(rules.PUT, request)
        limits = validated(QuotaUpdate, request.body).limits
        return quota_reply(self._quotas(request).set(project_id, limits))

    def delete(self, request: Request) -> None:
        """Give up all limits of a project's own: it has those of all projects again."""
        self._quotas(request).unset(self._project(rules.DELETE, request))

    def _project(self, rule: str, request: Request) -> str:
        """Return the project in the path, where the rule allows it. Raises PolicyNotAuthorized."""
        self._authorizer.require_project(rule, request.caller)
        project_id = request.id("project_id")
        if not self._authorizer.allows(rule, request.caller, project_id, request.caller.user_id):
            raise PolicyNotAuthorized(action=rule)
        return project_id

    def _quotas(self, request: Request) -> QuotasInterface:
        return self._service.called_by(request.caller).quotas
