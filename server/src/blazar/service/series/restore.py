"""The restoration of occurrences that have no lease: those that were cancelled or skipped, and those whose
lease its user has deleted.

Each is planned at the time that it was asked for, as a lease of a new series is, and all of them are
committed together. What has its lease already is left alone, so a request that was interrupted can be made
again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date

from blazar.domain.errors import (
    InvalidInput,
    InvalidStatus,
    NotEnoughResources,
    QuotaExceeded,
    UsageRefused,
)
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.recurrence.occurrences import Occurrence
from blazar.domain.series import Series, SeriesOccurrence
from blazar.service.admission import Admission
from blazar.service.commands import ClaimByWish, PriorityWish, ReservationRequest
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.leases.claim_by import NEVER
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseStore
from blazar.service.ports import Clock, Nudge
from blazar.service.series.create import SeriesCreation, WantedLease, drafted, kept
from blazar.service.series.store import PlannedOccurrence, PlannedSeries, SeriesStore, refused_on

NOT_KNOWN = (
    "It is not known what the leases of this series reserve: an earlier version of the service has made it."
)
OF_ITS_PROJECT = "Leases of a series are restored with a token of its project."


class SeriesRestoration:
    """The story of a restoration."""

    def __init__(
        self,
        store: SeriesStore,
        leases: LeaseStore,
        creation: SeriesCreation,
        admission: Admission,
        enforcement: Enforcement,
        clock: Clock,
        nudge: Nudge,
    ) -> None:
        self._store = store
        self._leases = leases
        self._creation = creation
        self._admission = admission
        self._enforcement = enforcement
        self._clock = clock
        self._nudge = nudge

    def restore(
        self, series_id: str, days: Collection[date], caller: Caller, settings: LeaseSettings
    ) -> Series:
        """Make the leases of these days that are not there, and return the series as stored.

        Raises SeriesNotFound, InvalidInput where the series has no occurrence on a day, InvalidStatus where
        it has begun, and what a create of one of the leases raises, with its day."""
        wanted: dict[date, WantedLease] = {}

        def attempt() -> Series:
            old = self._store.load(series_id)
            missing = self._missing(old, days)
            if not missing:
                return old
            # A lease keeps its id however often it is planned, so that usage filters know it again.
            if new := [each for each in missing if each.day not in wanted]:
                wanted.update(self._wanted(old, new, caller, settings))
            planned = self._planned(old, [wanted[each.day] for each in missing], caller)
            stored = self._store.restore(planned, caller)
            self._admission.committed_together(planned.generations, stored.leases)
            self._nudge(min((each.next_due for each in stored.leases if each.next_due), default=None))
            return stored.series

        return self._admission.until_committed(attempt, caller.deadline)

    def _missing(self, series: Series, days: Collection[date]) -> list[SeriesOccurrence]:
        """Return the occurrences of these days that have no lease. Raises InvalidInput, InvalidStatus."""
        unknown = set(days) - {each.day for each in series.occurrences}
        if unknown:
            raise InvalidInput(f"The series has no occurrence on {min(unknown)}.")
        missing = [each for each in series.occurrences if each.day in days and not self._has_lease(each)]
        for each in missing:
            if each.interval.start <= self._clock.now():
                raise InvalidStatus(reason=f"the occurrence of {each.day} has begun.")
        return missing

    def _has_lease(self, occurrence: SeriesOccurrence) -> bool:
        lease = self._leases.find(occurrence.lease_id) if occurrence.lease_id is not None else None
        return lease is not None and lease.status is not LeaseStatus.DELETING

    def _wanted(
        self, series: Series, missing: list[SeriesOccurrence], caller: Caller, settings: LeaseSettings
    ) -> Mapping[date, WantedLease]:
        """Return what is to be made, by its day. Raises InvalidInput."""
        if caller.project_id != series.project_id:
            raise InvalidInput(OF_ITS_PROJECT)
        request = self._store.request(series.id)
        if request is None:
            self._store.load(series.id)  # it may have been deleted meanwhile
            raise InvalidInput(NOT_KNOWN)
        occurrences = [Occurrence(each.day, each.interval) for each in missing]
        first = self._creation.draft(
            series.name,
            tuple(ReservationRequest(each.resource_type, each.parameters) for each in request.reservations),
            occurrences[0],
            caller,
            self._clock.now(),
            settings,
            # It was allowed when the series was made.
            ClaimByWish(request.claim_by or NEVER, may_be_later=True),
            PriorityWish(Priority(request.priority)),
        )
        return {
            each.day: WantedLease(
                each, drafted(first, each, settings, series.id), self._enforcement.of_request(caller)
            )
            for each in occurrences
        }

    def _planned(self, series: Series, wanted: list[WantedLease], caller: Caller) -> PlannedSeries:
        occurrences: list[PlannedOccurrence] = []
        for each in wanted:
            caller.require_time(self._clock.now())
            try:
                lease, plan = self._creation.place(each, caller)
            except (NotEnoughResources, UsageRefused, QuotaExceeded) as refusal:
                raise refused_on(each.occurrence.day, refusal) from refusal
            occurrences.append(PlannedOccurrence(kept(each.occurrence, lease), lease, plan.generations))
        return PlannedSeries(series, tuple(occurrences))
