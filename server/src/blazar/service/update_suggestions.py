"""Suggestions for a change of a lease that was refused: what it could be changed to instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.errors import BlazarError, Conflict, InvalidInput, QuotaExceeded
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.planning.availability import Objection, Rules
from blazar.domain.planning.plan import PlanOutline
from blazar.domain.time import HORIZON, MINUTE, Interval
from blazar.service.admission import with_allocations
from blazar.service.answers import Inquiry
from blazar.service.commands import ReservationRequest, ReservationsChange, UpdateLease
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.leases.update import LeaseUpdate, outstanding
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import Kinds
from blazar.service.private_properties import PrivateProperties
from blazar.service.quotas import QuotaOutlook, Quotas


class UpdateSuggestions:
    """Reads a refused change as a question of what could be had instead.

    A lease that has not begun may start later. One that has begun keeps its start and all that it has."""

    def __init__(
        self,
        changes: LeaseUpdate,
        database: Database,
        kinds: Kinds,
        clock: Clock,
        enforcement: Enforcement,
        quotas: Quotas,
        private: PrivateProperties,
    ) -> None:
        self._private = private
        self._changes = changes
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._enforcement = enforcement
        self._quotas = quotas

    def extension(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        membership: ReservationsChange | None = None,
    ) -> Inquiry:
        """Return the change as a question of how late the lease may end, no sooner than it does. Raises
        InvalidInput where it ends later than that already."""
        return self._inquiry(lease_id, command, caller, None, membership, _extended)

    def inquiry(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None,
        membership: ReservationsChange | None = None,
    ) -> Inquiry:
        """Return the change as a question."""
        return self._inquiry(lease_id, command, caller, duration, membership, _shortest)

    def _inquiry(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None,
        membership: ReservationsChange | None,
        shortest: Callable[[Lease, Lease, Interval], timedelta],
    ) -> Inquiry:
        old, new, ahead = self._changes.wanted(lease_id, command, caller, duration, membership)
        begun = None if old.status is LeaseStatus.PENDING else new.interval.start
        may_move = begun is None and new.interval.start >= self._clock.now()
        changed = {each.id: each.parameters for each in command.reservations}
        members = outstanding(membership, old)
        added = {each.id: each.request for each in members.added} if members else {}
        removed = [each for each in old.reservations if new.reservation(each.id) is None]
        return Inquiry(
            replace(new, interval=ahead),
            [
                added.get(each.id)
                or ReservationRequest(each.resource_type, {"id": each.id, **changed.get(each.id, {})})
                for each in new.reservations
            ],
            self._clock.now() + HORIZON - ahead.duration if may_move else ahead.start,
            shortest(old, new, ahead),
            self._objections(old, new, begun, caller),
            alternatives=not self._asks_for_hidden(new, caller),
            begun=begun,
            given_up=tuple(
                ReservationRequest(each.resource_type, {"id": each.id, "remove": True}) for each in removed
            ),
        )

    def _objections(
        self, old: Lease, new: Lease, begun: datetime | None, caller: Caller
    ) -> _UpdateObjections:
        """Read what changes of the lease are compared with."""
        limits, since = self._quotas.read(old.project_id, caller), min(old.interval.start, new.interval.start)
        with self._database.read() as uow:
            outlook = self._quotas.outlook(uow, old.project_id, since, self._clock.now(), limits)
        return _UpdateObjections(old, begun, self._kinds, self._enforcement, self._quotas, outlook, caller)

    def _asks_for_hidden(self, lease: Lease, caller: Caller) -> bool:
        """Return whether a requirement names a private property that the caller may not see: it was stored
        before, and another value in its place would tell which there are."""
        demands = [self._kinds[each.resource_type].demand(each) for each in lease.reservations]
        names = frozenset[str]().union(*(each.requirement.names for each in demands))
        return bool(self._private.hidden(names, caller))


def _shortest(old: Lease, new: Lease, ahead: Interval) -> timedelta:
    """Return the shortest duration that is suggested: half of the time by which the lease was to grow."""
    if new.interval.start != old.interval.start or new.interval.end <= old.interval.end:
        return ahead.duration
    growth = new.interval.end - max(old.interval.end, ahead.start)
    return max(MINUTE, ahead.duration - growth // 2 // MINUTE * MINUTE)


def _extended(old: Lease, new: Lease, ahead: Interval) -> timedelta:
    """Return how long the lease lasts where it ends a minute later than it does."""
    if old.interval.end > new.interval.end:
        raise InvalidInput("The lease ends later than latest_end already.")
    return max(MINUTE, old.interval.end - ahead.start) + MINUTE


@dataclass(frozen=True, slots=True)
class _UpdateObjections:
    """What has to be said against a change of the lease ``old``."""

    old: Lease
    begun: datetime | None
    kinds: Kinds
    enforcement: Enforcement
    quotas: Quotas
    outlook: QuotaOutlook
    caller: Caller

    def refusal(self, lease: Lease, plan: PlanOutline) -> BlazarError | None:
        """Return what an update to the lease would answer with this plan; None where it would be done."""
        interval = Interval(self.begun or plan.interval.start, plan.interval.end)
        if interval == self.old.interval and lease.asks_as(self.old):
            return InvalidInput("Nothing would change.")
        try:
            self._check_parameters(lease)
            planned = with_allocations(replace(lease, interval=interval), plan.plan)
            self.enforcement.preview(self.old, planned, self.caller)
            self.outlook.check_change(self.old, self.quotas.counted(self.old, planned))
        except (QuotaExceeded, InvalidInput, Conflict) as refusal:
            return refusal
        return None

    def rules(self, lease: Lease, spend: Callable[[int], None]) -> Rules:
        """Return the same as rules of a search. After the first start that they refuse no other is tried."""

        def rules(plan: PlanOutline) -> Objection | None:
            spend(self.outlook.steps + len(plan.plan.assignments))
            return Objection(None, is_exact=False) if self.refusal(lease, plan) else None

        return rules

    def _check_parameters(self, lease: Lease) -> None:
        """Raise what the kind says against new parameters of a reservation that it has already."""
        for new in lease.reservations:
            before = self.old.reservation(new.id)
            if before is not None and before.parameters != new.parameters:
                self.kinds[new.resource_type].revise(before, new.parameters)
