"""Series over HTTP, since version 1.27: leases that recur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blazar.api.authorization import Authorizer
from blazar.api.errors import told
from blazar.api.idempotency import request_key
from blazar.api.later_parameters import body_of
from blazar.api.lists import listing_by_id
from blazar.api.microversion import Version, newest
from blazar.api.routing import Answer, PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.lists import SERIES, SeriesToDelete
from blazar.api.schemas.series import CREATE, UPDATE, SeriesCreate, SeriesCreateOrDryRun
from blazar.api.views.series import SeriesReply, series_preview_reply, series_reply, series_view
from blazar.domain.errors import NotEnoughResources, PolicyNotAuthorized, SeriesNotFound
from blazar.domain.lease.priority import Priority
from blazar.domain.series import Series
from blazar.policies import leases as lease_rules
from blazar.policies import series as rules
from blazar.service.commands import ClaimByWish, PriorityWish
from blazar.service.context import Caller
from blazar.service.interface import SeriesInterface, Service
from blazar.service.pages import ResourcePage
from blazar.service.ports.kind import Kinds
from blazar.service.series import OccurrencePreview, SeriesDetails

SINCE: Version = (1, 27)
PAGE = 50
"""Series that are asked of a manager at once: each has all its occurrences."""


class SeriesActions:
    """The actions on series. Every rule is asked about the project and the user of the series.

    ``tells_shortages``: a dry run tells callers who are not administrators the numbers and dates of a
    shortage."""

    def __init__(
        self, service: Service, kinds: Kinds, authorizer: Authorizer, tells_shortages: bool = True
    ) -> None:
        self._tells_shortages = tells_shortages
        self._service = service
        self._kinds = kinds
        self._authorizer = authorizer

    def list(self, request: Request) -> PagedList:
        """List the series of the caller's project; administrators see those of all projects."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        query, use_cases = request.exact_query(newest(SERIES, request.version)), self._use_cases(request)
        project_id = query.project_id if caller.is_admin else caller.project_id
        # An earlier manager does not know the name: it is sent where it is asked for only.
        of_name = {} if (name := getattr(query, "name", None)) is None else {"name": name}

        def ask(limit: int, after: str | None) -> Sequence[Series]:
            return use_cases.list(project_id, ResourcePage(limit, after), **of_name)

        listing = listing_by_id(ask, lambda each: each.id, query.limit, query.marker, PAGE)
        allowed = listing.only(lambda each: self._allows(rules.GET, caller, each))
        return allowed.answer(request, "series", series_view)

    def create(self, request: Request) -> Answer:
        """Create leases that recur in the caller's project.

        All of them are made, or with `on_conflict` those that can be had: together, or none of them is. A dry
        run (1.33) tells which could be had, and makes nothing."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        self._authorizer.require(lease_rules.POST, caller)
        asked = validated(newest(CREATE, request.version), body_of(request, self._kinds))
        wishes = self._wishes(asked, caller)
        if asked.dry_run:
            preview = self._use_cases(request).preview(asked.command(), caller, **wishes)
            return Answer(200, series_preview_reply(preview, lambda each: self._reason(each, caller)))
        made = self._use_cases(request).create(asked.command(), caller, request_key(request), **wishes)
        return Answer(201, series_reply(made.series, made.leases))

    def show(self, request: Request) -> SeriesReply:
        """Show a series with its occurrences, and what has become of their leases."""
        found = self._visible(request, rules.GET)
        return series_reply(found.series, found.leases)

    def update(self, request: Request) -> SeriesReply:
        """Rename a series, cancel occurrences of it that have not started, or restore some (1.33).

        To restore one is to make its lease, where that is not there."""
        found = self._permitted(request, rules.PUT)
        asked, use_cases = validated(newest(UPDATE, request.version), request.body), self._use_cases(request)
        if asked.restore:
            self._authorizer.require(lease_rules.POST, request.caller)
            changed = use_cases.restore(found.id, tuple(asked.restore), request.caller)
        else:
            changed = use_cases.update(found.id, asked.command(), request.caller)
        return series_reply(changed.series, changed.leases)

    def delete(self, request: Request) -> None:
        """Delete a series with its leases that are not over, and the servers in these.

        What has to be taken back in the cloud is not waited for. Leases that are over stay."""
        query = request.exact_query(SeriesToDelete)
        found = self._permitted(request, rules.DELETE)
        self._use_cases(request).delete(found.id, request.caller, query.keep_started)

    def _wishes(self, asked: SeriesCreate | SeriesCreateOrDryRun, caller: Caller) -> dict[str, Any]:
        """Return what else is asked for of each lease. Raises PolicyNotAuthorized."""
        wishes: dict[str, Any] = {}
        project_id, user_id = str(caller.project_id), caller.user_id
        if "claim_by" in asked.model_fields_set:
            rule = lease_rules.PUT_LATER_CLAIM_BY
            may_be_later = self._authorizer.allows(rule, caller, project_id, user_id)
            wishes["claim_by"] = ClaimByWish(asked.claim_by, may_be_later)
        if "priority" in asked.model_fields_set:
            rule = lease_rules.PUT_HIGH_PRIORITY
            is_high = asked.priority is Priority.HIGH
            if is_high and not self._authorizer.allows(rule, caller, project_id, user_id):
                raise PolicyNotAuthorized(action=rule)
            wishes["priority"] = PriorityWish(asked.priority)
        return wishes

    def _reason(self, preview: OccurrencePreview, caller: Caller) -> str | None:
        """Return why the lease cannot be had, as a refusal of it would tell the caller."""
        if preview.short_of is None or self._tells_shortages or caller.is_admin:
            return preview.reason
        return told(
            NotEnoughResources(noun=preview.short_of, reason=preview.reason), caller, tells_shortages=False
        )

    def _permitted(self, request: Request, rule: str) -> Series:
        """Return the series, if it may be seen and ``rule`` allows more. Raises SeriesNotFound,
        PolicyNotAuthorized."""
        found = self._visible(request, rule).series
        if not self._allows(rule, request.caller, found):
            raise PolicyNotAuthorized(action=rule)
        return found

    def _visible(self, request: Request, rule: str) -> SeriesDetails:
        self._authorizer.require_project(rule, request.caller)
        series_id = request.id("series_id")
        found = self._use_cases(request).get(series_id)
        if not self._allows(rules.GET, request.caller, found.series):
            raise SeriesNotFound(series=series_id)
        return found

    def _allows(self, rule: str, caller: Caller, series: Series) -> bool:
        return self._authorizer.allows(rule, caller, series.project_id, series.user_id)

    def _use_cases(self, request: Request) -> SeriesInterface:
        found: SeriesInterface = self._service.called_by(request.caller).noun("series")
        return found
