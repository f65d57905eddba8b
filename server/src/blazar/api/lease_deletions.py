"""The deletion of several leases by one request, since 1.18: those that meet its filters."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from blazar.api.authorization import Authorizer
from blazar.api.errors import status_of
from blazar.api.lease_lists import filtered, listing, marker_of, place_at, project_of, visible_to
from blazar.api.microversion import Version
from blazar.api.routing import Request
from blazar.api.schemas.lists import STATUSES, LeasesToDelete
from blazar.api.views.lease_deletions import DeletionsReply, DeletionView, Outcome, deletion_view
from blazar.domain.errors import BlazarError, Conflict, NotFound, PolicyNotAuthorized
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.policies import leases as rules
from blazar.service.context import Caller
from blazar.service.interface import LeasesInterface, Service
from blazar.service.ports import LeaseQuery
from blazar.service.ports.lease_lists import lease_place

SINCE: Final[Version] = (1, 18)
NOT_OVER = tuple(status for status in STATUSES if status is not LeaseStatus.TERMINATED)
UNAVAILABLE = 503


class LeaseDeletions:
    """The deletion of several leases. Each is a change of its own: one that is refused keeps no other."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def delete(self, request: Request) -> DeletionsReply:
        """Delete the leases that meet the filters, with the servers in their reservations.

        What has to be taken back in the cloud is not waited for. Leases that are over stay, unless they are
        asked for by id or status. Where a service that we depend on does not answer, the rest is left for the
        next request."""
        caller = request.caller
        self._authorizer.require(rules.DELETE, caller)
        asked = request.exact_query(LeasesToDelete)
        leases, query = self._leases(caller), self._question(asked, caller)
        found = listing(leases, query, asked.limit, visible_to(self._authorizer, caller))
        views: list[DeletionView] = []
        marker: str | None = None
        for lease in [each for part in found.parts() for each in part]:
            try:
                views.append(self._view(lease, asked, caller))
            except BlazarError as error:
                if not views or status_of(error, request.version) < UNAVAILABLE:
                    raise
                return {"leases": views, "marker": marker}
            marker = marker_of(query, lease_place(lease, query.sort))
        return {"leases": views, "marker": found.goes_on}

    def _question(self, asked: LeasesToDelete, caller: Caller) -> LeaseQuery:
        query = filtered(asked, project_of(asked, self._authorizer, caller))
        if asked.id is None and asked.status is None:
            query = replace(query, statuses=NOT_OVER)
        if asked.marker is None:
            return query
        is_visible = visible_to(self._authorizer, caller)
        return replace(query, after=place_at(asked.marker, query, self._leases(caller), is_visible))

    def _view(self, lease: Lease, asked: LeasesToDelete, caller: Caller) -> DeletionView:
        """Delete the lease, unless it is a dry run, and tell what became of it. Raises what helps to ask
        again."""
        if not self._authorizer.allows(rules.DELETE, caller, lease.project_id, lease.user_id):
            return deletion_view(lease, Outcome.REFUSED, PolicyNotAuthorized(action=rules.DELETE).message)
        if asked.dry_run:
            return deletion_view(lease, Outcome.FOUND)
        try:
            is_gone = self._leases(caller).begin_deletion(lease.id, caller)
        except NotFound:
            is_gone = True
        except Conflict as refusal:
            return deletion_view(lease, Outcome.REFUSED, refusal.message)
        return deletion_view(lease, Outcome.DELETED if is_gone else Outcome.DELETING)

    def _leases(self, caller: Caller) -> LeasesInterface:
        return self._service.called_by(caller).leases
