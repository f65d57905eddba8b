"""The use cases of series in this process, as SeriesInterface names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from blazar.domain.lease.lease import Lease
from blazar.domain.series import Series
from blazar.service.commands import ClaimByWish, CreateSeries, PriorityWish, RequestKey, UpdateSeries
from blazar.service.context import Caller
from blazar.service.leases.settings import LeaseSettings
from blazar.service.pages import ResourcePage
from blazar.service.ports import Clock, Database
from blazar.service.series.cancel import SeriesCancellation
from blazar.service.series.create import SeriesCreation, SeriesPreview
from blazar.service.series.restore import SeriesRestoration
from blazar.service.series.settings import SeriesSettings
from blazar.service.series.store import SeriesStore

FORGOTTEN = 100
"""Series that one transaction forgets."""


@dataclass(frozen=True, slots=True)
class SeriesDetails:
    """A series, and those of its leases that are there, without their allocations."""

    series: Series
    leases: tuple[Lease, ...] = ()


class SeriesUseCases:
    """The use cases of series."""

    def __init__(
        self,
        store: SeriesStore,
        creation: SeriesCreation,
        cancellation: SeriesCancellation,
        restoration: SeriesRestoration,
        lease_settings: Callable[[], LeaseSettings],
        database: Database,
        clock: Clock,
        settings: SeriesSettings,
    ) -> None:
        self._store = store
        self._creation = creation
        self._cancellation = cancellation
        self._restoration = restoration
        self._lease_settings = lease_settings
        self._database = database
        self._clock = clock
        self._settings = settings

    def create(
        self,
        command: CreateSeries,
        caller: Caller,
        key: RequestKey | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
    ) -> SeriesDetails:
        settings = self._lease_settings()
        return self._detailed(self._creation.create(command, caller, settings, key, claim_by, priority))

    def preview(
        self,
        command: CreateSeries,
        caller: Caller,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
    ) -> SeriesPreview:
        return self._creation.preview(command, caller, self._lease_settings(), claim_by, priority)

    def get(self, series_id: str) -> SeriesDetails:
        return self._detailed(self._store.load(series_id))

    def list(self, project_id: str | None, page: ResourcePage, name: str | None = None) -> Sequence[Series]:
        return self._store.page(project_id, page, name)

    def update(self, series_id: str, command: UpdateSeries, caller: Caller) -> SeriesDetails:
        return self._detailed(self._cancellation.update(series_id, command, caller))

    def restore(self, series_id: str, days: tuple[date, ...], caller: Caller) -> SeriesDetails:
        return self._detailed(self._restoration.restore(series_id, days, caller, self._lease_settings()))

    def delete(self, series_id: str, caller: Caller, keeps_started: bool = False) -> None:
        self._cancellation.delete(series_id, caller, keeps_started)

    def forget(self) -> None:
        """Remove the series that are over for as long as the operator has leases kept."""
        if self._settings.kept is None:
            return
        before, forgotten = self._clock.now() - self._settings.kept, FORGOTTEN
        while forgotten == FORGOTTEN:
            forgotten = self._database.transact(lambda uow: uow.series.forget(before, FORGOTTEN))

    def _detailed(self, series: Series) -> SeriesDetails:
        return SeriesDetails(series, tuple(self._store.leases_of(series)))
