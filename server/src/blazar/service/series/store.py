"""The store of the stories of series: it commits a series with all its leases, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from blazar.domain.errors import BlazarError, KeyReused, QuotaExceeded, SeriesNotFound, Stale
from blazar.domain.lease.lease import Lease
from blazar.domain.series import OnConflict, Series, SeriesOccurrence, SeriesRequest
from blazar.service.commands import RequestKey
from blazar.service.context import Caller
from blazar.service.notifications import LEASE_CREATE, payload
from blazar.service.pages import ResourcePage
from blazar.service.ports import Clock, Database, LeaseQuery, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.quotas import QuotaOutlook, Quotas
from blazar.service.usage_reports import UsageReports


@dataclass(frozen=True, slots=True)
class PlannedOccurrence:
    """An occurrence with its lease as it was planned; without one where it is skipped."""

    occurrence: SeriesOccurrence
    lease: Lease | None = None
    generations: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedSeries:
    """A series with its planned occurrences; ``series`` has none of them yet, or not their leases."""

    series: Series
    occurrences: tuple[PlannedOccurrence, ...]
    request: SeriesRequest | None = None
    """What its leases are asked to be, of a new series."""

    @property
    def generations(self) -> Mapping[str, int]:
        """Return the generations of the resources that the plans rely on. Raises Stale where a resource has
        changed between two plans: what the first one relies on may be gone."""
        found: dict[str, int] = {}
        for each in self.occurrences:
            for resource_id, generation in each.generations.items():
                if found.setdefault(resource_id, generation) != generation:
                    raise Stale()
        return found


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """A series as stored, with its leases."""

    series: Series
    leases: Sequence[Lease]


class SeriesStore:
    """The database, as the stories of series use it."""

    def __init__(
        self, database: Database, kinds: Kinds, clock: Clock, quotas: Quotas, reports: UsageReports
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._quotas = quotas
        self._reports = reports

    def find(self, series_id: str) -> Series | None:
        with self._database.read() as uow:
            return uow.series.get(series_id)

    def load(self, series_id: str) -> Series:
        """Return the series. Raises SeriesNotFound."""
        found = self.find(series_id)
        if found is None:
            raise SeriesNotFound(series=series_id)
        return found

    def request(self, series_id: str) -> SeriesRequest | None:
        """Return what the leases of the series were asked to be; None where that is not known."""
        with self._database.read() as uow:
            return uow.series.request(series_id)

    def page(self, project_id: str | None, page: ResourcePage, name: str | None) -> Sequence[Series]:
        with self._database.read() as uow:
            return uow.series.page(project_id, page.limit, page.after, name)

    def leases_of(self, series: Series) -> Sequence[Lease]:
        """Return those of the leases of the series that are there, without their allocations."""
        ids = series.lease_ids
        if not ids:
            return ()
        with self._database.read() as uow:
            return uow.leases.find(LeaseQuery(len(ids), ids=ids)).leases

    def created_before(self, series_id: str, key: RequestKey | None, caller: Caller) -> Series | None:
        """Return the series that the same request has created: the one with its id, or with its key. Raises
        KeyReused where another request of the project has used the key, SeriesNotFound where the id is that
        of another project's."""
        with self._database.read() as uow:
            found = uow.series.get(series_id)
            if found is None and key is not None and caller.project_id is not None:
                kept = uow.series.with_key(caller.project_id, key.name)
                if kept is not None and kept[1] != key.fingerprint:
                    raise KeyReused(key=key.name)
                found = kept[0] if kept is not None else None
        if found is not None and (found.user_id, found.project_id) != (caller.user_id, caller.project_id):
            raise SeriesNotFound(series=series_id)
        return found

    def add(self, planned: PlannedSeries, key: RequestKey | None, caller: Caller) -> StoredSeries:
        """Commit the series with all its leases. Return it as stored.

        A lease that the project's limits do not allow is skipped where the series says so; else QuotaExceeded
        is raised, and so it is where none is left. Raises Stale where a resource has changed since it was
        planned on, or the series is there already."""
        skips = planned.series.on_conflict is OnConflict.SKIP

        def put(uow: UnitOfWork, occurrences: Sequence[SeriesOccurrence], now: datetime) -> Series:
            whole = replace(planned.series, occurrences=tuple(occurrences))
            kept = None if key is None else (key.name, key.fingerprint)
            return uow.series.add(whole, now, kept, planned.request)

        return self._commit(planned, put, skips, caller)

    def restore(self, planned: PlannedSeries, caller: Caller) -> StoredSeries:
        """Commit the leases of occurrences that had none, all of them or nothing. Return the series as
        stored, with these leases.

        Raises QuotaExceeded, and Stale where a resource, or the series, has changed since it was read."""

        def put(uow: UnitOfWork, occurrences: Sequence[SeriesOccurrence], now: datetime) -> Series:
            restored = {each.day: each for each in occurrences}
            old = planned.series
            new = replace(
                old,
                occurrences=tuple(restored.get(each.day, each) for each in old.occurrences),
                exceptions=tuple(day for day in old.exceptions if day not in restored),
            )
            return uow.series.save(new, now)

        return self._commit(planned, put, False, caller)

    def _commit(
        self,
        planned: PlannedSeries,
        put: Callable[[UnitOfWork, Sequence[SeriesOccurrence], datetime], Series],
        skips: bool,
        caller: Caller,
    ) -> StoredSeries:
        """Commit the planned leases with the series, which ``put`` writes. ``skips`` as ``add`` does."""
        now, generations = self._clock.now(), planned.generations
        counted = {
            each.lease.id: self._quotas.counted(None, each.lease)
            for each in planned.occurrences
            if each.lease is not None
        }
        asked = self._quotas.asked_for(None, next(iter(counted.values())), caller)

        def work(uow: UnitOfWork) -> StoredSeries:
            # The others of the project wait from here on, so that no two of them count the same leases.
            uow.quotas.queue_up(planned.series.project_id)
            stored: list[Lease] = []
            occurrences: list[SeriesOccurrence] = []
            refusal: BlazarError | None = None
            for each in planned.occurrences:
                occurrences.append(each.occurrence)
                if each.lease is None:
                    continue
                lease = counted[each.lease.id]
                try:
                    # With what the leases before it use, for these are stored already.
                    self._quotas.admit(uow, None, lease, now, asked)
                except QuotaExceeded as exceeded:
                    refusal = refusal or refused_on(each.occurrence.day, exceeded)
                    if not skips:
                        raise refusal from exceeded
                    occurrences[-1] = replace(each.occurrence, lease_id=None, reason=exceeded.message)
                    continue
                stored.append(uow.leases.add(lease, now))
            if refusal is not None and not stored:
                raise refusal
            for lease in stored:
                self._reports.put(uow, None, lease, now)
                uow.outbox.put(LEASE_CREATE, payload(lease, self._kinds), now)
            series = put(uow, occurrences, now)
            # Last of all: from here on other projects wait, which want the same resources.
            uow.resources.bump(generations, now, [each.id for each in stored])
            caller.require_time(self._clock.now())
            return StoredSeries(series, stored)

        return self._database.transact(work)

    def quota_outlook(self, first: Lease, caller: Caller) -> QuotaOutlook:
        """Read what the leases of a series, of which this is the first one, are compared with."""
        asked = self._quotas.read(first.project_id, caller)
        with self._database.read() as uow:
            now = self._clock.now()
            return self._quotas.outlook(uow, first.project_id, first.interval.start, now, asked)

    def save(self, series: Series) -> Series:
        """Raises Stale where the series has changed since it was read."""
        return self._database.transact(lambda uow: uow.series.save(series, self._clock.now()))

    def remove(self, series_id: str) -> None:
        """Remove the series, if it is there."""

        def work(uow: UnitOfWork) -> None:
            if uow.series.get(series_id) is not None:
                uow.series.remove(series_id)

        self._database.transact(work)


def refused_on(day: date, refusal: BlazarError) -> BlazarError:
    """Return the refusal as one that tells the occurrence that it is about."""
    told = "reason" if "reason" in refusal.fields else "message"
    fields = {**refusal.fields, told: f"on {day}: {refusal.fields.get(told)}"}
    again = refusal.__class__.__new__(refusal.__class__)
    BlazarError.__init__(again, None, **fields)
    return again
