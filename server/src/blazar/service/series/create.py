"""The creation of a series: all its leases are planned, and then committed in one transaction.

Occurrences do not overlap, and as much is free between them as resources are cleaned for. So no plan takes
anything from another one, and each is made as if it were the only one. The commit compares the generations
that they were all made on: if another request was faster, nothing is written, and all are planned again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from blazar.domain.errors import (
    BlazarError,
    InvalidInput,
    InvalidRecurrence,
    NotEnoughResources,
    QuotaExceeded,
    Stale,
    UsageRefused,
)
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease
from blazar.domain.planning.plan import Plan
from blazar.domain.recurrence.occurrences import Bounds, FirstOccurrence, Occurrence, Recurrence, expand
from blazar.domain.recurrence.rule import parse_rule, zone_of
from blazar.domain.series import OnConflict, Series, SeriesOccurrence, SeriesRequest, SeriesReservation
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission
from blazar.service.commands import (
    ClaimByWish,
    CreateLease,
    CreateSeries,
    PriorityWish,
    RequestKey,
    ReservationRequest,
)
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement, RequestCheck
from blazar.service.ids import new_id
from blazar.service.leases.claim_by import claimed_by
from blazar.service.leases.create import LeaseCreation, placed
from blazar.service.leases.priority import prioritized
from blazar.service.leases.settings import LeaseSettings
from blazar.service.ports import Clock, Nudge
from blazar.service.preparation import Preparation
from blazar.service.series.settings import SeriesSettings
from blazar.service.series.store import PlannedOccurrence, PlannedSeries, SeriesStore, refused_on

OWN_RIGHTS = (
    "These leases cannot recur: instances with an affinity, and snapshots before the end, need your own "
    "rights in the cloud for each of them. Create them one by one."
)
NONE_ALLOWED = "the operator allows no leases that recur."
MOST_ALLOCATIONS = 20_000
"""Resources that all leases of a series have together: they are written in one transaction."""


@dataclass(frozen=True, slots=True)
class OccurrencePreview:
    """An occurrence as a create would answer it now."""

    occurrence: Occurrence
    reason: str | None = None
    """Why its lease cannot be had; None where it can."""
    short_of: str | None = None
    """What there is not enough of, where that is why."""


@dataclass(frozen=True, slots=True)
class SeriesPreview:
    """A series as a create would answer it now. ``series`` has no occurrences."""

    series: Series
    occurrences: tuple[OccurrencePreview, ...]

    @property
    def is_granted(self) -> bool:
        """Return whether the series would be made: by ``refuse`` with all its leases, by ``skip`` with one
        at least."""
        had = [each.reason is None for each in self.occurrences]
        return any(had) if self.series.on_conflict is OnConflict.SKIP else all(had)


@dataclass(frozen=True, slots=True)
class WantedLease:
    """An occurrence with its lease as it was asked for, and what filters have allowed of it."""

    occurrence: Occurrence
    draft: Lease
    check: RequestCheck


class SeriesCreation:
    """The story of a creation."""

    def __init__(
        self,
        store: SeriesStore,
        creation: LeaseCreation,
        admission: Admission,
        preparation: Preparation,
        enforcement: Enforcement,
        clock: Clock,
        nudge: Nudge,
        settings: SeriesSettings,
    ) -> None:
        self._store = store
        self._creation = creation
        self._admission = admission
        self._preparation = preparation
        self._enforcement = enforcement
        self._clock = clock
        self._nudge = nudge
        self._settings = settings

    def create(
        self,
        command: CreateSeries,
        caller: Caller,
        settings: LeaseSettings,
        key: RequestKey | None,
        claim_by: ClaimByWish | None,
        priority: PriorityWish | None,
    ) -> Series:
        """Create the series with all its leases, or return the one that the same request has created before.

        Raises InvalidRecurrence, what a create of one of the leases would raise, and KeyReused."""
        if (existing := self._store.created_before(command.id, key, caller)) is not None:
            return existing
        occurrences = self._occurrences(command)
        now = self._clock.now()
        first = self.draft(
            command.name, command.reservations, occurrences[0], caller, now, settings, claim_by, priority
        )
        wanted = [
            WantedLease(
                each, drafted(first, each, settings, command.id), self._enforcement.of_request(caller)
            )
            for each in occurrences
        ]

        def attempt() -> Series:
            try:
                planned = self._planned(command, wanted, caller)
                stored = self._store.add(planned, key, caller)
            except (NotEnoughResources, UsageRefused, QuotaExceeded, Stale):
                # What is short or too much may be what the leases of the same request have already.
                existing = self._store.created_before(command.id, key, caller)
                if existing is None:
                    raise
                return existing
            self._admission.committed_together(planned.generations, stored.leases)
            self._nudge(min((each.next_due for each in stored.leases if each.next_due), default=None))
            return stored.series

        return self._admission.until_committed(attempt, caller.deadline)

    def preview(
        self,
        command: CreateSeries,
        caller: Caller,
        settings: LeaseSettings,
        claim_by: ClaimByWish | None,
        priority: PriorityWish | None,
    ) -> SeriesPreview:
        """Return which leases ``create`` could make now, and why not the others. Nothing is written.

        Raises what does not depend on what is free: InvalidRecurrence, and what a create of one of the leases
        would raise."""
        occurrences = self._occurrences(command)
        first = self.draft(
            command.name,
            command.reservations,
            occurrences[0],
            caller,
            self._clock.now(),
            settings,
            claim_by,
            priority,
        )
        quota, allocations = self._store.quota_outlook(first, caller), 0
        found: list[OccurrencePreview] = []
        for each in occurrences:
            caller.require_time(self._clock.now())
            draft = drafted(first, each, settings, command.id)
            try:
                lease, _ = self._planned_at(draft, caller)
                allocations = _counted(allocations, lease)
                self._enforcement.preview(None, lease, caller)
                # With what the leases before it would use.
                quota.check(lease)
            except (NotEnoughResources, UsageRefused, QuotaExceeded) as refusal:
                is_short = isinstance(refusal, NotEnoughResources)
                short_of = str(refusal.fields.get("noun", "resources")) if is_short else None
                found.append(OccurrencePreview(each, refusal.message, short_of))
                continue
            quota = quota.with_lease(lease)
            found.append(OccurrencePreview(each))
        return SeriesPreview(_series(command, caller), tuple(found))

    def _occurrences(self, command: CreateSeries) -> tuple[Occurrence, ...]:
        """Return when the leases are to be. This costs little, and comes before all that costs more."""
        if self._settings.most == 0:
            raise InvalidRecurrence(NONE_ALLOWED)
        zone = zone_of(command.time_zone)
        recurrence = Recurrence(parse_rule(command.rule), zone, frozenset(command.exceptions))
        length = command.length
        first = FirstOccurrence(
            floor_minute(command.start),
            floor_minute(length) if isinstance(length, datetime) else length,
        )
        bounds = Bounds(self._settings.most, self._settings.horizon, self._admission.cleaning)
        return expand(recurrence, first, bounds)

    def draft(
        self,
        name: str,
        reservations: tuple[ReservationRequest, ...],
        first: Occurrence,
        caller: Caller,
        now: datetime,
        settings: LeaseSettings,
        claim_by: ClaimByWish | None,
        priority: PriorityWish | None,
    ) -> Lease:
        """Return the first lease as it was asked for, with what the cloud has to say: this is asked once."""
        start, end = first.interval.start, first.interval.end
        lease = CreateLease(name, start, end, None, reservations)
        draft = self._creation.draft(lease, caller, now, settings, None)
        draft = prioritized(claimed_by(draft, claim_by, settings.claim_by), priority)
        draft = self._preparation.complete(None, draft, caller)
        if self._preparation.task(None, draft, caller) is not None:
            raise InvalidInput(OWN_RIGHTS)
        return draft

    def _planned(self, command: CreateSeries, wanted: list[WantedLease], caller: Caller) -> PlannedSeries:
        """Return the series with a plan for each of its leases. Raises what stands against one of them where
        all are wanted, or against the first where none can be had."""
        skips = command.on_conflict is OnConflict.SKIP
        refusals: list[BlazarError] = []
        occurrences: list[PlannedOccurrence] = []
        allocations = 0
        for each in wanted:
            caller.require_time(self._clock.now())
            try:
                lease, plan = self.place(each, caller)
            except (NotEnoughResources, UsageRefused, QuotaExceeded) as refusal:
                refusals.append(refused_on(each.occurrence.day, refusal))
                if not skips:
                    raise refusals[0] from refusal
                occurrences.append(PlannedOccurrence(_skipped(each.occurrence, refusal)))
                continue
            occurrences.append(PlannedOccurrence(kept(each.occurrence, lease), lease, plan.generations))
            allocations = _counted(allocations, lease)
        if len(refusals) == len(wanted):
            raise refusals[0]
        request = _request(command, wanted[0].draft)
        return PlannedSeries(_series(command, caller), tuple(occurrences), request)

    def place(self, wanted: WantedLease, caller: Caller) -> tuple[Lease, Plan]:
        """Return the lease with what its plan gives to it. Raises NotEnoughResources, UsageRefused."""
        planned, plan = self._planned_at(wanted.draft, caller)
        wanted.check.check(None, planned)
        return planned, plan

    def _planned_at(self, draft: Lease, caller: Caller) -> tuple[Lease, Plan]:
        asked = self._creation.in_regions(draft, None, caller)
        plan = self._creation.plan(asked, None, caller)
        return placed(asked, plan, self._clock.now()), plan


def _series(command: CreateSeries, caller: Caller) -> Series:
    """Return the series as it is asked for, without occurrences."""
    return Series(
        id=command.id,
        name=command.name,
        user_id=caller.user_id,
        project_id=str(caller.project_id),
        rule=command.rule,
        time_zone=command.time_zone,
        on_conflict=command.on_conflict,
        occurrences=(),
        exceptions=tuple(sorted(set(command.exceptions))),
    )


def _request(command: CreateSeries, first: Lease) -> SeriesRequest:
    """Return what each lease is asked to be. What depends on the operator's settings stays as it is now."""
    return SeriesRequest(
        tuple(SeriesReservation(each.resource_type, each.parameters) for each in command.reservations),
        first.priority.value,
        first.claim_by.after if first.claim_by else None,
    )


def _counted(allocations: int, lease: Lease) -> int:
    """Return the number of allocations with those of the lease. Raises InvalidInput where they are too
    many."""
    allocations += len(lease.allocations)
    if allocations > MOST_ALLOCATIONS:
        raise InvalidInput(f"The leases of a series may have at most {MOST_ALLOCATIONS} resources together.")
    return allocations


def drafted(
    first: Lease,
    occurrence: Occurrence,
    settings: LeaseSettings,
    series_id: str,
    ids: Callable[[], str] = new_id,
) -> Lease:
    """Return the lease of another occurrence as the first one was asked for."""
    lease_id, interval = ids(), occurrence.interval
    before_end = change.default_before_end(interval, settings.notification)
    return replace(
        first,
        id=lease_id,
        interval=interval,
        reservations=tuple(
            replace(each, id=ids(), lease_id=lease_id, resource_id=ids()) for each in first.reservations
        ),
        events=change.new_events(lease_id, interval, before_end, ids),
        series_id=series_id,
    )


def kept(occurrence: Occurrence, lease: Lease) -> SeriesOccurrence:
    return SeriesOccurrence(occurrence.day, occurrence.interval, lease.id)


def _skipped(occurrence: Occurrence, refusal: BlazarError) -> SeriesOccurrence:
    return SeriesOccurrence(occurrence.day, occurrence.interval, None, refusal.message)
