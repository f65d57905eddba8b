"""What quotas and usage filters have to say against leases that need not come to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from blazar.domain.errors import BlazarError, QuotaExceeded, UsageRefused
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.planning.availability import Objection, Rules
from blazar.domain.planning.plan import PlanOutline
from blazar.service.admission import with_allocations
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import Kinds
from blazar.service.quotas import QuotaOutlook, Quotas

ALLOCATIONS = 4
"""Allocations of a plan that are looked at in one step."""


class Objections:
    """Quotas and usage filters, for plans that are looked at."""

    def __init__(
        self, database: Database, kinds: Kinds, clock: Clock, enforcement: Enforcement, quotas: Quotas
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._enforcement = enforcement
        self._quotas = quotas

    def of(self, lease: Lease, caller: Caller) -> LeaseObjections:
        """Read what new leases of the lease's project, which start with it or later, are compared with."""
        asked = self._quotas.read(lease.project_id, caller)
        with self._database.read() as uow:
            now = self._clock.now()
            quota = self._quotas.outlook(uow, lease.project_id, lease.interval.start, now, asked)
        if lease.status is LeaseStatus.WAITING:
            quota = replace(quota, leases=quota.leases - 1)  # it is one of them itself
        return LeaseObjections(self._kinds, self._enforcement, quota, caller)


@dataclass(frozen=True, slots=True)
class LeaseObjections:
    """What has to be said against new leases of a project, as of one moment."""

    kinds: Kinds
    enforcement: Enforcement
    quota: QuotaOutlook
    caller: Caller

    def refusal(self, lease: Lease, plan: PlanOutline) -> BlazarError | None:
        """Return what a create of the lease would answer with this plan; None where it would be done."""
        planned = self._planned(lease, plan)
        try:
            self.enforcement.preview(None, planned, self.caller)
            self.quota.check(planned)
        except (QuotaExceeded, UsageRefused) as refusal:
            return refusal
        return None

    def rules(self, lease: Lease, spend: Callable[[int], None]) -> Rules:
        """Return the same as rules of a search, which count their steps."""
        demands = [self.kinds[each.resource_type].demand(each) for each in lease.reservations]
        varies = any(each.minimum < each.maximum for each in demands)

        def rules(plan: PlanOutline) -> Objection | None:
            spend(self.quota.steps + (len(plan.plan.added) // ALLOCATIONS if self._read_plans else 0))
            refusal = self.refusal(lease, plan)
            if refusal is None:
                return None
            if not isinstance(refusal, QuotaExceeded):
                return self._of_filter(plan)
            later, is_exact = self.quota.later(self._planned(lease, plan), refusal, spend)
            # With fewer of them, which the plan for another start may give, it might be allowed before.
            return Objection(later, is_exact and not varies)

        return rules

    def _of_filter(self, plan: PlanOutline) -> Objection:
        """Return the objection of a filter. Only the filter knows which starts it allows: the beginning of
        the next day is tried."""
        if not self.enforcement.previews_look_at_start:
            return Objection(None)
        next_day = plan.interval.start.replace(hour=0, minute=0) + timedelta(days=1)
        return Objection(next_day, is_exact=False)

    def _planned(self, lease: Lease, plan: PlanOutline) -> Lease:
        """Return the lease as it would be: without its resources where no rule asks for them, for a search
        looks at many plans."""
        moved = replace(lease, interval=plan.interval)
        return with_allocations(moved, plan.plan, new_id=str) if self._read_plans else moved

    @property
    def _read_plans(self) -> bool:
        """Return whether any rule asks for the resources of a plan."""
        return self.quota.counts or self.enforcement.has_previews
