"""Usage enforcement: the filters that the operator enables are asked, in their order, whether a lease may be
stored."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from blazar.domain.errors import BadAnswer, CloudUnavailable, UsageRefused
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.context import Caller
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import LONGEST_DELAY, Report, ReportType, UnitOfWork
from blazar.service.ports.enforcement import Proposal, UsageFilter
from blazar.service.ports.kind import Dependencies
from blazar.service.request_cloud import PATIENCE, within_request
from blazar.service.usage_documents import completed, document

LOG = logging.getLogger(__name__)
MARGIN = timedelta(minutes=5)
"""How long after the deadline of a request no other attempt of it can store the lease any more."""


class Enforcement:
    """Asks the filters about leases. ``exempt`` are the projects whose leases no filter looks at."""

    def __init__(
        self,
        filters: Sequence[UsageFilter],
        dependencies: Dependencies,
        exempt: Collection[str] = (),
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._filters = filters
        self._dependencies = dependencies
        self._exempt = exempt
        self._metrics = metrics

    def of_request(self, caller: Caller) -> RequestCheck:
        return RequestCheck(self, caller)

    def check(self, current: Lease | None, lease: Lease, caller: Caller) -> None:
        """Raise UsageRefused where a filter does not allow the lease, CloudUnavailable where one does not
        answer, and TooLate where the caller waits no longer."""
        if not self._filters or lease.project_id in self._exempt:
            return
        proposal = self._proposal(current, lease, caller)
        for each in self._filters:
            caller.require_time(self._dependencies.clock.now())
            if current is None:
                self._expect(each, lease, caller)
            self._ask(each, proposal)

    def preview(self, current: Lease | None, lease: Lease, caller: Caller) -> None:
        """Do as ``check`` does for a lease that is not to be stored.

        Filters that are told what becomes of leases keep books about them: to ask one would have an effect,
        so they are left out."""
        if not self.has_previews or lease.project_id in self._exempt:
            return
        proposal = self._proposal(current, lease, caller)
        for each in self._filters:
            if not each.reports:
                caller.require_time(self._dependencies.clock.now())
                self._ask(each, proposal)

    @property
    def has_previews(self) -> bool:
        """Return whether ``preview`` asks any filter."""
        return any(not each.reports for each in self._filters)

    @property
    def previews_look_at_start(self) -> bool:
        """Return whether what ``preview`` refuses may be allowed at another start."""
        return any(each.looks_at_start for each in self._filters if not each.reports)

    def _proposal(self, current: Lease | None, lease: Lease, caller: Caller) -> Proposal:
        clock, kinds = self._dependencies.clock, self._dependencies.kinds
        deadline = caller.deadline or clock.now() + PATIENCE
        found: dict[str, Any] = {}

        def documents() -> Mapping[str, Any]:
            if not found:  # one reading for all filters
                status = LeaseStatus.CREATING.value if current is None else "UPDATING"
                made = {"lease": document(lease, kinds, status)}
                if current is not None:
                    made["current_lease"] = document(current, kinds, status)
                found.update(completed(made, kinds, self._dependencies.database))
            return found

        identity = within_request(self._dependencies.cloud, caller, clock).identity
        return Proposal(lease, current, documents, identity, lambda: (deadline - clock.now()).total_seconds())

    def _ask(self, asked: UsageFilter, proposal: Proposal) -> None:
        began, outcome = time.perf_counter(), "failed"
        is_new = proposal.current is None
        try:
            (asked.check_create if is_new else asked.check_update)(proposal)
            outcome = "ok"
        except (BadAnswer, CloudUnavailable) as failure:
            if not asked.fails_open and proposal.takes_more:
                raise
            LOG.warning(
                "Lease %s passes without a decision of %s: %s", proposal.lease.id, asked.name, failure
            )
        except UsageRefused:
            outcome = "refused"
            if is_new:
                self._forget(asked, proposal.lease)
            raise
        finally:
            call, seconds = "check_create" if is_new else "check_update", time.perf_counter() - began
            self._metrics.usage_filter_asked(asked.name, call, outcome, seconds)

    def _expect(self, asked: UsageFilter, lease: Lease, caller: Caller) -> None:
        """Have the filter told that the lease has ended, should it be allowed and then not be stored: for
        want of resources, because the database is away, or because this process dies.

        This is written before the filter is asked, so that no crash comes in between. A lease that is stored
        is found when the report is due, and the report is dropped."""
        if ReportType.ENDED not in asked.reports:
            return
        now = self._dependencies.clock.now()
        due = min((caller.deadline or now + PATIENCE) + MARGIN, now + LONGEST_DELAY)
        documents = {"lease": document(lease, self._dependencies.kinds, LeaseStatus.DELETING.value)}
        report = Report(asked.name, lease.id, ReportType.ENDED, documents, now, only_if_absent=True)

        def commit(uow: UnitOfWork) -> None:
            uow.reports.put(report, due)  # replaces that of an earlier attempt

        self._dependencies.database.transact(commit)

    def _forget(self, asked: UsageFilter, lease: Lease) -> None:
        if ReportType.ENDED in asked.reports:
            self._dependencies.database.transact(lambda uow: uow.reports.withdraw(asked.name, lease.id))


class RequestCheck:
    """The check of one request, which may plan several times: what was allowed is not asked about again, and
    what has become something else is."""

    def __init__(self, enforcement: Enforcement, caller: Caller) -> None:
        self._enforcement = enforcement
        self._caller = caller
        self._allowed: object = None

    def check(self, current: Lease | None, lease: Lease) -> None:
        """Raise as ``Enforcement.check`` does."""
        asked = (current and _essence(current), _essence(lease))
        if asked != self._allowed:
            self._enforcement.check(current, lease, self._caller)
            self._allowed = asked


def _essence(lease: Lease) -> object:
    """Return what a filter decides on: other ids of allocations make no difference."""
    reservations = [
        (r.id, r.parameters, sorted((a.resource_id, a.slots) for a in r.allocations))
        for r in lease.reservations
    ]
    return lease.interval, reservations
