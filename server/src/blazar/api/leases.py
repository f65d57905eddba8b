"""Leases over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from blazar.api.authorization import Authorizer
from blazar.api.paging import in_pages
from blazar.api.routing import PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.leases import LeaseCreate, LeaseUpdate
from blazar.api.views.leases import LeaseReply, lease_reply, lease_view
from blazar.domain.errors import NotFound, PolicyNotAuthorized
from blazar.domain.lease.lease import Lease
from blazar.policies import leases as rules
from blazar.service.context import Caller
from blazar.service.interface import LeasesInterface, Service
from blazar.service.ports import ListPage
from blazar.service.ports.kind import Kinds

PAGE = 200
"""Leases that are asked of a manager at once: some hundred kilobytes in one message of the broker."""


def lease_pages(leases: LeasesInterface, project_id: str | None) -> Iterator[Sequence[Lease]]:
    """Return the leases of a project, of all projects with None, oldest first, page by page."""

    def ask(last: Lease | None) -> Sequence[Lease]:
        return leases.list(project_id, ListPage(PAGE, last.key if last else None))

    return in_pages(ask, lambda lease: lease.key, PAGE)


class LeaseActions:
    """The actions on leases. Every rule is asked about the lease's own project and user."""

    def __init__(self, service: Service, kinds: Kinds, authorizer: Authorizer) -> None:
        self._service = service
        self._kinds = kinds
        self._authorizer = authorizer

    def list(self, request: Request) -> PagedList:
        """List the leases of the caller's project; administrators see those of all projects."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)

        @cache
        def visible(project_id: str, user_id: str) -> bool:
            return self._authorizer.allows(rules.GET, caller, project_id, user_id)

        pages = lease_pages(self._leases(caller), None if caller.is_admin else caller.project_id)
        return PagedList(
            "leases",
            (
                [
                    lease_view(each, caller, self._kinds)
                    for each in page
                    if visible(each.project_id, each.user_id)
                ]
                for page in pages
            ),
        )

    def create(self, request: Request) -> LeaseReply:
        """Create a lease in the caller's project."""
        self._authorizer.require(rules.POST, request.caller)
        command = validated(LeaseCreate, request.body).command()
        return self._reply(self._leases(request.caller).create(command, request.caller), request.caller)

    def show(self, request: Request) -> LeaseReply:
        """Show a lease."""
        return self._reply(self._visible(request, rules.GET), request.caller)

    def update(self, request: Request) -> LeaseReply:
        """Change a lease; what is not sent stays."""
        lease = self._permitted(request, rules.PUT)
        command = validated(LeaseUpdate, request.body).command()
        return self._reply(
            self._leases(request.caller).update(lease.id, command, request.caller), request.caller
        )

    def delete(self, request: Request) -> None:
        """Delete a lease, and with it the servers in its reservations."""
        lease = self._permitted(request, rules.DELETE)
        self._leases(request.caller).delete(lease.id, request.caller)

    def _permitted(self, request: Request, rule: str) -> Lease:
        """Return the lease, if it may be seen and ``rule`` allows more. Raises NotFound,
        PolicyNotAuthorized."""
        lease = self._visible(request, rule)
        if not self._authorizer.allows(rule, request.caller, lease.project_id, lease.user_id):
            raise PolicyNotAuthorized(action=rule)
        return lease

    def _visible(self, request: Request, rule: str) -> Lease:
        """Return the lease in the path; ``rule`` names what was tried where the token has no project.

        One that the caller may not see is not found, in the very words for one that is not there.
        Raises NotFound, PolicyNotAuthorized."""
        self._authorizer.require_project(rule, request.caller)
        lease_id = request.id("lease_id")
        lease = self._leases(request.caller).get(lease_id)
        if not self._authorizer.allows(rules.GET, request.caller, lease.project_id, lease.user_id):
            raise NotFound(object=str({"lease_id": lease_id}))
        return lease

    def _leases(self, caller: Caller) -> LeasesInterface:
        return self._service.called_by(caller).leases

    def _reply(self, lease: Lease, caller: Caller) -> LeaseReply:
        return lease_reply(lease, caller, self._kinds)
