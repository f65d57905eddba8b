"""Leases over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.leases import LeaseCreate, LeaseUpdate
from blazar.api.views.leases import LeaseReply, LeasesReply, lease_reply, leases_reply
from blazar.domain.errors import NotFound, PolicyNotAuthorized
from blazar.domain.lease import Lease
from blazar.kinds.base import Kind
from blazar.policies import leases as rules
from blazar.service.context import Caller
from blazar.service.interface import LeasesInterface


class LeaseActions:
    """What can be done with leases. Every rule is asked about the lease's own project and user."""

    def __init__(self, leases: LeasesInterface, kinds: Mapping[str, Kind], authorizer: Authorizer) -> None:
        self._leases = leases
        self._kinds = kinds
        self._authorizer = authorizer

    def list(self, request: Request) -> LeasesReply:
        """List the leases of the caller's project; administrators see those of all projects."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)

        @cache
        def visible(project_id: str, user_id: str) -> bool:
            return self._authorizer.allows(rules.GET, caller, project_id, user_id)

        found = self._leases.list(caller, None if caller.is_admin else caller.project_id)
        return leases_reply((lease for lease in found if visible(lease.project_id, lease.user_id)), caller, self._kinds)

    def create(self, request: Request) -> LeaseReply:
        """Create a lease in the caller's project."""
        self._authorizer.require(rules.POST, request.caller)
        command = validated(LeaseCreate, request.body).command()
        return self._reply(self._leases.create(command, request.caller), request.caller)

    def show(self, request: Request) -> LeaseReply:
        """Show a lease."""
        return self._reply(self._visible(request, rules.GET), request.caller)

    def update(self, request: Request) -> LeaseReply:
        """Change a lease; what is not sent stays."""
        lease = self._permitted(request, rules.PUT)
        command = validated(LeaseUpdate, request.body).command()
        return self._reply(self._leases.update(lease.id, command, request.caller), request.caller)

    def delete(self, request: Request) -> None:
        """Delete a lease, and with it the servers in its reservations."""
        lease = self._permitted(request, rules.DELETE)
        self._leases.delete(lease.id, request.caller)

    def _permitted(self, request: Request, rule: str) -> Lease:
        """The lease, if it may be seen and ``rule`` allows more. Raises NotFound, PolicyNotAuthorized."""
        lease = self._visible(request, rule)
        if not self._authorizer.allows(rule, request.caller, lease.project_id, lease.user_id):
            raise PolicyNotAuthorized(action=rule)
        return lease

    def _visible(self, request: Request, rule: str) -> Lease:
        """The lease in the path; ``rule`` names what was tried where the token has no project.

        One that the caller may not see is not found, in the very words for one that is not there.
        Raises NotFound, PolicyNotAuthorized."""
        self._authorizer.require_project(rule, request.caller)
        lease_id = request.id("lease_id")
        lease = self._leases.get(lease_id, request.caller)
        if not self._authorizer.allows(rules.GET, request.caller, lease.project_id, lease.user_id):
            raise NotFound(object=str({"lease_id": lease_id}))
        return lease

    def _reply(self, lease: Lease, caller: Caller) -> LeaseReply:
        return lease_reply(lease, caller, self._kinds)
