"""The cancellation of occurrences: of some days, from a day on, or of all.

Each lease is deleted by itself, as its user would delete it. What is gone already is left alone, so a request
that was interrupted is made again to finish it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import date

from blazar.domain.errors import InvalidInput, InvalidStatus, LeaseChanged, NotFound, Stale
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.series import Series, SeriesOccurrence
from blazar.service.admission import Admission
from blazar.service.commands import UNSET, UpdateSeries
from blazar.service.context import Caller
from blazar.service.leases.delete import LeaseDeletion
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.store import LeaseStore
from blazar.service.series.store import SeriesStore

CANCELLED = "It was cancelled."
NOT_STARTED = frozenset({LeaseStatus.WAITING, LeaseStatus.PENDING})


class SeriesCancellation:
    """The story of a cancellation."""

    def __init__(
        self, store: SeriesStore, leases: LeaseStore, deletion: LeaseDeletion, admission: Admission
    ) -> None:
        self._store = store
        self._leases = leases
        self._deletion = deletion
        self._admission = admission

    def delete(self, series_id: str, caller: Caller, keeps_started: bool) -> None:
        """Remove the series, and delete its leases that are not over; with ``keeps_started`` those that have
        not started. Raises SeriesNotFound."""
        series = self._store.load(series_id)
        for lease_id in series.lease_ids:
            self._cancel(lease_id, caller, _is_pending if keeps_started else _is_not_over)
        self._store.remove(series_id)

    def update(self, series_id: str, command: UpdateSeries, caller: Caller) -> Series:
        """Cancel what the command says, and return the series as stored.

        Raises SeriesNotFound, InvalidInput where the series has no occurrence on a day, InvalidStatus where
        it has begun."""
        series = self._store.load(series_id)
        found = self._on_days(series, command.exceptions)
        self._require_pending(found)
        if command.last_day is not None:
            found += [each for each in series.occurrences if each.day > command.last_day]
        gone = {each.day for each in found if self._cancelled(each, caller)}

        def attempt() -> Series:
            old = self._store.load(series_id)
            new = _without(old, gone)
            if command.name is not UNSET:
                new = replace(new, name=command.name)
            return old if new == old else self._store.save(new)

        return self._admission.until_committed(attempt, caller.deadline)

    def _on_days(self, series: Series, days: Collection[date]) -> list[SeriesOccurrence]:
        unknown = set(days) - {each.day for each in series.occurrences} - set(series.exceptions)
        if unknown:
            raise InvalidInput(f"The series has no occurrence on {min(unknown)}.")
        return [each for each in series.occurrences if each.day in days]

    def _require_pending(self, occurrences: Collection[SeriesOccurrence]) -> None:
        for each in occurrences:
            lease = self._leases.find(each.lease_id) if each.lease_id is not None else None
            if lease is not None and not _is_pending(lease):
                raise InvalidStatus(reason=f"the occurrence of {each.day} has begun: delete its lease.")

    def _cancelled(self, occurrence: SeriesOccurrence, caller: Caller) -> bool:
        """Return whether the occurrence does not take place, for it was cancelled."""
        return occurrence.lease_id is None or self._cancel(occurrence.lease_id, caller, _is_pending)

    def _cancel(self, lease_id: str, caller: Caller, may: Callable[[Lease], bool]) -> bool:
        """Delete the lease if it is one that may be. Return whether it is gone.

        It may start between the look at it and its deletion: so only the lease that was looked at is
        deleted, and another one is looked at again."""

        def attempt() -> bool:
            lease = self._leases.find(lease_id)
            if lease is None or lease.status is LeaseStatus.DELETING:
                return True
            if not may(lease):
                return False
            try:
                self._deletion.begin(lease_id, caller, Precondition((lease.revision,)))
            except LeaseChanged:
                raise Stale() from None
            except NotFound:
                return True
            return True

        return self._admission.until_committed(attempt, caller.deadline)


def _is_pending(lease: Lease) -> bool:
    return lease.status in NOT_STARTED


def _is_not_over(lease: Lease) -> bool:
    return lease.status is not LeaseStatus.TERMINATED


def _without(series: Series, days: Collection[date]) -> Series:
    """Return the series with these days left out. What was skipped stays as it is."""
    occurrences = tuple(
        replace(each, lease_id=None, reason=CANCELLED) if each.lease_id and each.day in days else each
        for each in series.occurrences
    )
    return replace(series, occurrences=occurrences, exceptions=tuple(sorted({*series.exceptions, *days})))
