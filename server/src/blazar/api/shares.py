"""Shares of leases over HTTP, since version 1.34, and what they let the callers of other projects do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

from blazar.api.authorization import Authorizer
from blazar.api.microversion import Version, newest
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.shares import BODIES
from blazar.api.views.shares import ShareReply, SharesReply, share_reply, shares_reply
from blazar.domain.errors import CloudUnavailable, NotAuthorized, NotFound, PolicyNotAuthorized
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.share import ShareRight
from blazar.policies import leases as lease_rules
from blazar.policies import shares as rules
from blazar.service.context import Caller
from blazar.service.interface import Service, SharesInterface
from blazar.service.ports import LeasePage, LeaseQuery

SINCE: Version = (1, 34)
NAME_AND_DATES = frozenset({"name", "start_date", "end_date", "duration", "latest_end", "before_end_date"})
"""What a project may change of a lease that is shared with it."""
NOT_UNDERSTOOD = "not_understood"
"""The code of the error of a manager that does not know a call."""


def shares_of(service: Service, caller: Caller) -> SharesInterface:
    found: SharesInterface = service.called_by(caller).noun("shares")
    return found


def visible_lease(
    request: Request, rule: str, service: Service, authorizer: Authorizer
) -> tuple[Lease, ShareRight | None]:
    """Return the lease in the path, and what the caller's project may do with it where it is shared with that
    one: in each version, so that yesterday's programs can work with it. ``rule`` names what was tried where
    the token has no project.

    One that the caller may not see is not found, in the very words for one that is not there.
    Raises NotFound, PolicyNotAuthorized."""
    caller = request.caller
    authorizer.require_project(rule, caller)
    lease_id = request.id("lease_id")
    lease = service.called_by(caller).leases.get(lease_id)
    if authorizer.allows(lease_rules.GET, caller, lease.project_id, lease.user_id):
        return lease, None
    right = right_of(service, authorizer, caller, lease_id)
    if right is None:
        raise NotFound(object=str({"lease_id": lease_id}))
    return lease, right


def right_of(service: Service, authorizer: Authorizer, caller: Caller, lease_id: str) -> ShareRight | None:
    """Return what the caller's project may do with a lease of another one: nothing with None. Where the
    manager that answers is of the version before, which knows no shares, that is nothing."""
    if not _of_own_project(authorizer, lease_rules.GET_SHARED, caller):
        return None
    try:
        return shares_of(service, caller).get_right(lease_id, str(caller.project_id))
    except CloudUnavailable as failure:
        if failure.code != NOT_UNDERSTOOD:
            raise
        return None


def require_change(authorizer: Authorizer, caller: Caller, lease: Lease, right: ShareRight | None) -> None:
    """Refuse a change by a caller who may see the lease: by its project, or with the right of a share.
    Raises NotAuthorized."""
    if right is not None and not right.may_change:
        allowed = "used, and not to be changed" if right.may_use else "read only"
        raise NotAuthorized(f"The lease is another project's, and shared with yours to be {allowed}.")
    rule, project_id, user_id = lease_rules.PUT, lease.project_id, lease.user_id
    if right is not None:
        rule, project_id, user_id = lease_rules.PUT_SHARED, str(caller.project_id), caller.user_id
    if not authorizer.allows(rule, caller, project_id, user_id):
        raise PolicyNotAuthorized(action=rule)


def require_offer(
    service: Service, authorizer: Authorizer, caller: Caller, lease: Lease, right: ShareRight | None
) -> None:
    """Refuse to take over a lease that is not offered to the caller's project. ``right`` is None where the
    caller sees it without a share. Raises NotAuthorized."""
    if (right or right_of(service, authorizer, caller, lease.id)) is not ShareRight.TAKE_OVER:
        raise NotAuthorized("The lease is another project's, and not offered to yours.")
    if not _of_own_project(authorizer, rules.TAKE_OVER, caller):
        raise PolicyNotAuthorized(action=rules.TAKE_OVER)


def require_name_and_dates(asked: BaseModel) -> None:
    """Refuse what changes anything else of a lease. Raises NotAuthorized."""
    if more := sorted(asked.model_fields_set - NAME_AND_DATES - {"dry_run", "events"}):
        raise NotAuthorized(
            f"The lease is another project's, and shared with yours: you may change its name and its dates, "
            f"and not {more[0]}."
        )


@contextmanager
def hiding_limits(right: ShareRight | None) -> Iterator[None]:
    """Refuse without numbers what the quota of another project does not allow. Raises NotAuthorized."""
    try:
        yield
    except NotAuthorized as refusal:
        if right is None or refusal.fields.get("limit_name") is None:
            raise
        raise NotAuthorized("The quota of the project that has the lease does not allow this.") from None


def _of_own_project(authorizer: Authorizer, rule: str, caller: Caller) -> bool:
    return authorizer.allows(rule, caller, caller.project_id, caller.user_id)


class SharedWithCaller:
    """Finds the leases that are shared with the caller's project. ``rights`` are those of the leases that
    were found."""

    def __init__(self, shares: SharesInterface, project_id: str) -> None:
        self.rights: dict[str, ShareRight] = {}
        self._shares = shares
        self._project_id = project_id

    def find(self, query: LeaseQuery) -> LeasePage:
        found = self._shares.find_leases(query, self._project_id)
        self.rights.update(found.rights)
        return found.page


class ShareActions:
    """The actions on shares. The rules are asked about the lease's own project and user."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> SharesReply:
        """List the projects that a lease is shared with: for its own project, and not for those."""
        lease = self._permitted(request, rules.GET)
        return shares_reply(self._shares(request).list(lease.id), request.version)

    def update(self, request: Request) -> ShareReply:
        """Share a lease with a project, or change what that one may do.

        Nothing is known of projects here: one that is not there sees nothing."""
        lease = self._permitted(request, rules.PUT)
        asked = validated(newest(BODIES, request.version), request.body)
        stored = self._shares(request).put(lease.id, request.id("project_id"), asked.right, request.caller)
        return share_reply(stored, request.version)

    def delete(self, request: Request) -> None:
        """Withdraw a share. The project that a lease is shared with may give back its own."""
        lease, right = self._visible(request, rules.DELETE)
        caller, project_id = request.caller, request.id("project_id")
        is_own = right is not None and project_id == caller.project_id
        if not (is_own and _of_own_project(self._authorizer, rules.GIVE_BACK, caller)):
            self._require(rules.DELETE, caller, lease)
        self._shares(request).delete(lease.id, project_id, caller)

    def _permitted(self, request: Request, rule: str) -> Lease:
        """Return the lease in the path. Raises NotFound, PolicyNotAuthorized."""
        lease, _ = self._visible(request, rule)
        self._require(rule, request.caller, lease)
        return lease

    def _visible(self, request: Request, rule: str) -> tuple[Lease, ShareRight | None]:
        return visible_lease(request, rule, self._service, self._authorizer)

    def _require(self, rule: str, caller: Caller, lease: Lease) -> None:
        if not self._authorizer.allows(rule, caller, lease.project_id, lease.user_id):
            raise PolicyNotAuthorized(action=rule)

    def _shares(self, request: Request) -> SharesInterface:
        return shares_of(self._service, request.caller)
