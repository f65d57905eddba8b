"""Leases over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

from blazar.api import preconditions
from blazar.api.authorization import Authorizer
from blazar.api.explanations import Explanations
from blazar.api.idempotency import request_key
from blazar.api.later_parameters import body_of, later_views
from blazar.api.lease_lists import FindsLeases, listing, place_at, project_of, question, visible_to
from blazar.api.microversion import Version, newest
from blazar.api.offers import offers_of
from blazar.api.paging import in_pages
from blazar.api.routing import Answer, PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.leases import (
    CREATE,
    UPDATE,
    LeaseCreateOrClaim,
    LeaseUpdate,
    LeaseUpdateByDuration,
)
from blazar.api.schemas.lists import LEASES, LeasesQuery
from blazar.api.schemas.split import LeaseSplit
from blazar.api.shares import SINCE as SHARED
from blazar.api.shares import (
    SharedWithCaller,
    hiding_limits,
    require_change,
    require_name_and_dates,
    require_offer,
    shares_of,
    visible_lease,
)
from blazar.api.views.leases import (
    LeaseView,
    allocated_views,
    bound_views,
    claim_by_view,
    displaced_views,
    dry_run_reply,
    lease_reply,
    lease_view,
    regional_views,
    shared_view,
    used_views,
    waiting_view,
)
from blazar.api.views.on_start import OnStartView, on_start_view
from blazar.api.views.shares import told_right
from blazar.api.waitlist import SINCE as WAITING
from blazar.api.waitlist import waitlist_of
from blazar.domain.errors import CloudUnavailable, InvalidInput, PolicyNotAuthorized
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.lease.share import ShareRight
from blazar.domain.lease.utilization import Utilization
from blazar.policies import leases as rules
from blazar.policies import shares as share_rules
from blazar.policies import subscriptions as subscription_rules
from blazar.service.commands import ClaimByWish, PriorityWish, ReservationsChange, StartTaskWish, UpdateLease
from blazar.service.context import Caller
from blazar.service.interface import (
    ExplanationsInterface,
    LeasesInterface,
    Service,
    StartTasksInterface,
    UsageInterface,
)
from blazar.service.leases import DisplacingPreview
from blazar.service.ports import ListPage
from blazar.service.ports.kind import Kinds

PAGE = 200
"""Leases that are asked of a manager at once: some hundred kilobytes in one message of the broker."""


def lease_pages(leases: LeasesInterface, project_id: str | None) -> Iterator[Sequence[Lease]]:
    """Return the leases of a project, of all projects with None, oldest first, page by page."""

    def ask(last: Lease | None) -> Sequence[Lease]:
        return leases.list(project_id, ListPage(PAGE, last.key if last else None))

    return in_pages(ask, attrgetter("created_at", "id"), PAGE)  # as ``Lease.key`` sorts them, and quicker


CLAIM_BY: Version = (1, 9)
PRIORITY: Version = (1, 13)
ALLOCATED: Version = (1, 19)
USED: Version = (1, 22)
BOUND: Version = (1, 23)
REGIONS: Version = (1, 26)
SERIES: Version = (1, 27)
ON_START: Version = (1, 37)
SPLIT: Version = (1, 40)
QUANTITIES: Version = (1, 42)
SINCE: Mapping[str, Version] = {
    "waiting": WAITING,
    "claim_by": CLAIM_BY,
    "claim_by_date": CLAIM_BY,
    "priority": PRIORITY,
    "series_id": SERIES,
    "on_start": ON_START,
    "shared_right": SHARED,
}
"""The version that brought each later field of a lease."""


def _told(right: ShareRight, request: Request) -> ShareRight | None:
    """Return the right as clients of the request's version know it; None where they know of none."""
    return told_right(right, request.version) if request.version >= SHARED else None


def _known_fields(asked: LeasesQuery, version: Version) -> frozenset[str] | None:
    """Return the fields to show, None for all. Raises InvalidInput for one that no lease has."""
    fields = [name for name in LeaseView.__annotations__ if version >= SINCE.get(name, version)]
    unknown = sorted(set(asked.fields or ()) - set(fields))
    if unknown:
        known = ", ".join(fields)
        raise InvalidInput(f"Malformed parameter fields: no lease has {unknown[0]!a}, only {known}.")
    return None if asked.fields is None else frozenset(asked.fields)


def _expected(request: Request) -> dict[str, Any]:
    """Return the parameter that tells a manager what the lease has to be like. One of the version before,
    which does not know it, is not sent it where there is no condition."""
    revisions = preconditions.expected_revisions(request)
    return {} if revisions is None else {"revisions": revisions}


def _patience(asked: object) -> dict[str, Any]:
    """Return the parameter that tells a manager that a lease may wait. One of the version before, which does
    not know it, is not sent it where it may not."""
    wish = getattr(asked, "on_shortage", None)
    return {} if wish is None or wish.wait_until is None else {"wait_until": wish.wait_until}


def _displaces(asked: object) -> bool:
    return bool(getattr(getattr(asked, "on_shortage", None), "displace", False))


def _members(membership: ReservationsChange | None, lease: Lease) -> dict[str, Any]:
    """Return the parameter that tells a manager which reservations the lease gets and loses. One of the
    version before, which does not know it, is not sent it where there are none.

    What is to be removed has to be there, and it is looked for here: a manager that is asked again finds it
    gone. Raises InvalidInput."""
    if membership is None:
        return {}
    if unknown := [each for each in membership.removed if lease.reservation(each) is None]:
        raise InvalidInput(
            f"Please enter valid reservation IDs. Invalid reservation IDs are: {','.join(unknown)}"
        )
    return {"membership": membership}


def _added(lease: Lease, request: Request) -> dict[str, Any]:
    """Return what a lease shows in the version of the request, and not in those before 1.9."""
    shown = claim_by_view(lease) if request.version >= CLAIM_BY else {}
    if request.version >= PRIORITY:
        shown["priority"] = lease.priority.value
    if request.version >= SERIES:
        shown["series_id"] = lease.series_id
    if request.version >= ON_START:
        shown["on_start"] = None if lease.start_task is None else {"type": lease.start_task}
    return shown


class LeaseActions:
    """The actions on leases. Every rule is asked about the lease's own project and user."""

    def __init__(
        self, service: Service, kinds: Kinds, authorizer: Authorizer, explanations: Explanations
    ) -> None:
        self._explanations = explanations
        self._service = service
        self._kinds = kinds
        self._authorizer = authorizer

    def list(self, request: Request) -> PagedList:
        """List the leases of the caller's project; administrators see those of all projects."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)

        is_visible = visible_to(self._authorizer, caller)
        pages = lease_pages(self._leases(caller), None if caller.is_admin else caller.project_id)
        return PagedList(
            "leases",
            ([lease_view(each, caller, self._kinds) for each in page if is_visible(each)] for page in pages),
        )

    def find(self, request: Request) -> PagedList:
        """List a page of leases (1.1)."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        asked = request.exact_query(newest(LEASES, request.version))
        fields = _known_fields(asked, request.version)
        leases: FindsLeases = self._leases(caller)
        is_visible = visible_to(self._authorizer, caller)
        shared = self._shared_leases(asked, request)
        if shared is None:
            query = question(asked, project_of(asked, self._authorizer, caller))
        else:
            leases, is_visible = shared, lambda lease: True
            query = question(asked, asked.project_id)
        if asked.marker is not None:
            query = replace(query, after=place_at(asked.marker, query, leases, is_visible))

        def view(lease: Lease) -> Mapping[str, Any]:
            shown = lease_view(lease, caller, self._kinds)
            if request.version >= WAITING and lease.waiting is not None:
                shown["waiting"] = waiting_view(lease)
            shown.update(_added(lease, request))  # type: ignore[typeddict-item]  # by name
            if request.version >= REGIONS:
                shown["reservations"] = regional_views(lease, shown)
            shown["reservations"] = later_views(lease, shown, request.version, self._kinds)
            if shared is not None:
                shown = cast(
                    LeaseView, shared_view(shown, told_right(shared.rights[lease.id], request.version))
                )
            return {name: value for name, value in shown.items() if fields is None or name in fields}

        return listing(leases, query, asked.limit, is_visible).answer(request, "leases", view)

    def create(self, request: Request) -> Answer:
        """Create a lease in the caller's project."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        asked = validated(newest(CREATE, request.version), body_of(request, self._kinds))
        if isinstance(asked, LeaseCreateOrClaim) and asked.offer is not None:
            wish = self._claim_by(asked, caller, str(caller.project_id), caller.user_id)
            claimed = offers_of(self._service, caller).claim(asked.offer, asked.claim(), caller, **wish)
            return self._reply(request, claimed, 201)
        by_duration = asked.by_duration()
        # Managers of the version before do not know what is not sent here.
        more: dict[str, Any] = {} if by_duration is None else {"by_duration": by_duration}
        wish = self._claim_by(asked, caller, str(caller.project_id), caller.user_id)
        wish |= self._priority(asked, None, request) | self._start(asked, caller)
        command = asked.command()
        with self._explanations.explained(request, lambda e: e.explain_create(command, caller, **more)):
            if asked.dry_run and _displaces(asked):
                found = self._leases(caller).preview_displacing(command, caller, **more, **wish)
                return self._shown_displacing(found, request)
            if asked.dry_run:
                return self._shown(
                    self._leases(caller).preview_create(command, caller, **more, **wish), request
                )
            key = request_key(request)
            keyed = {**more, **({} if key is None else {"key": key}), **_patience(asked), **wish}
            made = self._leases(caller).create(command, caller, **keyed)
            return self._reply(request, made, 201, start=wish.get("start"))

    def show(self, request: Request) -> Answer:
        """Show a lease. While it is active, its reservations tell what of them is used (1.22, 1.42)."""
        lease, right = self._visible(request, rules.GET)
        answer = self._reply(request, lease, right=right)
        if request.version >= USED and lease.status is LeaseStatus.ACTIVE:
            shown = answer.body["lease"]
            shown["reservations"] = used_views(
                lease, shown, self._used(lease, request.caller), request.version >= QUANTITIES
            )
        return answer

    def update(self, request: Request) -> Answer:
        """Change a lease; what is not sent stays.

        Of a lease that another project shares for change, the name and the dates may change (1.34)."""
        caller, (lease, right) = request.caller, self._changeable(request)
        asked = validated(newest(UPDATE, request.version), body_of(request, self._kinds, lease))
        if right is not None:
            require_name_and_dates(asked)
        by_duration = {} if asked.duration is None else {"duration": asked.duration}
        wish = self._claim_by(asked, caller, lease.project_id, lease.user_id)
        wish |= self._priority(asked, lease, request)
        members = _members(asked.membership(), lease)
        more = _expected(request) | by_duration | _patience(asked) | wish | members
        command, explained = self._with_latest_end(asked, lease, caller, members), by_duration | members
        with (
            self._explanations.explained(
                request, lambda e: e.explain_update(lease.id, command, caller, **explained), is_update=True
            ),
            hiding_limits(right),
        ):
            if asked.dry_run:
                shown = self._leases(caller).preview_update(lease.id, command, caller, **more)
                return self._shown(shown, request, right)
            changed = self._leases(caller).update(lease.id, command, caller, **more)
            return self._reply(request, changed, right=right)

    def _with_latest_end(
        self,
        asked: LeaseUpdate | LeaseUpdateByDuration,
        lease: Lease,
        caller: Caller,
        members: dict[str, Any],
    ) -> UpdateLease:
        """Return the command; one for a lease that lasts as long as can be, with the end that it can have."""
        command = asked.command()
        if (latest := getattr(asked, "latest_end", None)) is None:
            return command
        noun: ExplanationsInterface = self._service.called_by(caller).noun("explanations")
        return replace(command, end=noun.find_latest_end(lease.id, command, caller, latest, **members))

    def delete(self, request: Request) -> None:
        """Delete a lease, and with it the servers in its reservations."""
        lease, _ = self._visible(request, rules.DELETE)
        if not self._authorizer.allows(rules.DELETE, request.caller, lease.project_id, lease.user_id):
            raise PolicyNotAuthorized(action=rules.DELETE)
        self._leases(request.caller).delete(lease.id, request.caller, **_expected(request))

    def split(self, request: Request) -> Answer:
        """Make another lease of some of what a lease reserves, at the same dates, and show it.

        The lease has not begun; both belong to its project and its user."""
        caller = request.caller
        lease, _ = self._visible(request, rules.SPLIT)
        if not self._authorizer.allows(rules.SPLIT, caller, lease.project_id, lease.user_id):
            raise PolicyNotAuthorized(action=rules.SPLIT)
        asked = validated(LeaseSplit, request.body)
        key = request_key(request)
        more = _expected(request) | ({} if key is None else {"key": key})
        made = self._leases(caller).split(lease.id, asked.command(), caller, **more)
        return self._reply(request, made, 201)

    def take_over(self, request: Request) -> Answer:
        """Make a lease that another project offers the caller's own.

        One that the caller's project has is shown as it is."""
        caller = request.caller
        lease, right = self._visible(request, share_rules.TAKE_OVER)
        if lease.project_id != caller.project_id:
            # An administrator sees each lease, offered or not.
            require_offer(self._service, self._authorizer, caller, lease, right)
            lease = self._leases(caller).take_over(lease.id, caller)
        return self._reply(request, lease)

    def _changeable(self, request: Request) -> tuple[Lease, ShareRight | None]:
        """Return the lease, if it may be changed, with the right of the caller's project where it is shared
        with that one. Raises NotFound, NotAuthorized."""
        caller = request.caller
        lease, right = self._visible(request, rules.PUT)
        require_change(self._authorizer, caller, lease, right)
        return lease, right

    def _visible(self, request: Request, rule: str) -> tuple[Lease, ShareRight | None]:
        return visible_lease(request, rule, self._service, self._authorizer)

    def _shared_leases(self, asked: LeasesQuery, request: Request) -> SharedWithCaller | None:
        """Return where the leases of others are found, if they are asked for. Raises PolicyNotAuthorized."""
        if not getattr(asked, "shared", False):
            return None
        self._authorizer.require(rules.GET_SHARED, request.caller)
        return SharedWithCaller(shares_of(self._service, request.caller), str(request.caller.project_id))

    def _leases(self, caller: Caller) -> LeasesInterface:
        return self._service.called_by(caller).leases

    def _claim_by(self, asked: object, caller: Caller, project_id: str, user_id: str) -> dict[str, Any]:
        """Return the parameter that tells a manager how soon the lease has to be used. One of the
        version before, which does not know it, is not sent it where nothing is wished."""
        if "claim_by" not in getattr(asked, "model_fields_set", ()):
            return {}
        may_be_later = self._authorizer.allows(rules.PUT_LATER_CLAIM_BY, caller, project_id, user_id)
        return {"claim_by": ClaimByWish(getattr(asked, "claim_by", None), may_be_later)}

    def _priority(self, asked: object, lease: Lease | None, request: Request) -> dict[str, Any]:
        """Return the parameter that tells a manager the class of a lease, of a new one without ``lease``. One
        of the version before, which does not know it, is not sent it where none is asked for. Raises
        PolicyNotAuthorized."""
        displaces = _displaces(asked)
        if "priority" not in getattr(asked, "model_fields_set", ()) and not displaces:
            return {}
        wanted, caller = getattr(asked, "priority", None), request.caller
        project_id, user_id = (
            (lease.project_id, lease.user_id) if lease else (str(caller.project_id), caller.user_id)
        )
        is_new = lease is None or lease.priority is not wanted
        rule = rules.PUT_HIGH_PRIORITY
        if (
            wanted is Priority.HIGH
            and is_new
            and not self._authorizer.allows(rule, caller, project_id, user_id)
        ):
            raise PolicyNotAuthorized(action=rule)
        if displaces and not self._authorizer.allows(rules.DISPLACE, caller, project_id, user_id):
            raise PolicyNotAuthorized(action=rules.DISPLACE)
        return {"priority": PriorityWish(wanted, displaces)}

    def _start(self, asked: object, caller: Caller) -> dict[str, Any]:
        """Return the parameter that tells a manager what is started with a new lease. One of the version
        before, which does not know it, is not sent it where nothing is. Raises PolicyNotAuthorized."""
        start: StartTaskWish | None = getattr(asked, "on_start", None)
        if start is None:
            return {}
        if start.webhook is not None:
            self._authorizer.require(subscription_rules.POST, caller)
        return {"start": start}

    def _on_start(self, lease: Lease, caller: Caller, start: StartTaskWish | None) -> OnStartView | None:
        """Return what is started with a lease, for the answer about that lease alone. ``start`` was asked for
        by this request: only the one that makes a webhook is told its secret."""
        if lease.start_task is None:
            return None
        noun: StartTasksInterface = self._service.called_by(caller).noun("start_tasks")
        task = None
        with suppress(CloudUnavailable):
            task = noun.get_of_lease(lease.id)
        if task is None:
            return {"type": lease.start_task}
        wanted = start.webhook if start is not None else None
        is_new = wanted is not None and wanted.subscription_id == task.subscription_id
        return on_start_view(task, wanted.secret if wanted is not None and is_new else None)

    def _used(self, lease: Lease, caller: Caller) -> Sequence[Utilization]:
        """Return what of an active lease is used. A manager of the version before does not know it, and a
        lease is shown all the same."""
        usage: UsageInterface = self._service.called_by(caller).noun("usage")
        try:
            return usage.get_of_lease(lease.id)
        except CloudUnavailable:
            return ()

    def _shown(self, lease: Lease, request: Request, right: ShareRight | None = None) -> Answer:
        more = _added(lease, request)
        if right is not None:
            more = shared_view(more, _told(right, request))
        return Answer(200, dry_run_reply(lease, request.caller, self._kinds, more))

    def _shown_displacing(self, found: DisplacingPreview, request: Request) -> Answer:
        def may_see(lease: Lease) -> bool:
            return self._authorizer.allows(
                rules.GET_BLOCKING, request.caller, lease.project_id, lease.user_id
            )

        are_told = self._explanations.are_told(request.caller)
        known = [each for each in found.displaced if are_told or may_see(each.old)]
        more = _added(found.lease, request) | {"displaced": displaced_views(known, may_see)}
        return Answer(200, dry_run_reply(found.lease, request.caller, self._kinds, more))

    def _reply(
        self,
        request: Request,
        lease: Lease,
        status: int = 200,
        right: ShareRight | None = None,
        start: StartTaskWish | None = None,
    ) -> Answer:
        headers = {} if request.version < preconditions.SINCE else {"ETag": preconditions.etag(lease)}
        reply = lease_reply(lease, request.caller, self._kinds)
        shown = reply["lease"]
        shown.update(_added(lease, request))  # type: ignore[typeddict-item]  # by name
        if request.version >= ALLOCATED:
            shown["reservations"] = allocated_views(lease, request.caller, shown)
        if request.version >= BOUND:
            shown["reservations"] = bound_views(lease, shown)
        if request.version >= REGIONS:
            shown["reservations"] = regional_views(lease, shown)
        shown["reservations"] = later_views(lease, shown, request.version, self._kinds)
        if request.version >= WAITING and lease.waiting is not None:
            position = waitlist_of(self._service, request.caller).get_position(lease.id)
            shown["waiting"] = waiting_view(lease, position)
        if request.version >= ON_START and right is None:
            shown["on_start"] = self._on_start(lease, request.caller, start)
        if right is not None:
            reply["lease"] = cast(LeaseView, shared_view(shown, _told(right, request)))
        return Answer(status, reply, headers)
