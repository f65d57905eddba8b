"""Series in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import HeldSeries, State
from blazar.domain.errors import Stale
from blazar.domain.series import Series, SeriesRequest


class MemorySeries:
    """The SeriesRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(
        self,
        series: Series,
        now: datetime,
        key: tuple[str, str] | None = None,
        request: SeriesRequest | None = None,
    ) -> Series:
        if series.id in self._state.series or (key and self.with_key(series.project_id, key[0])):
            raise Stale()
        stored = replace(series, created_at=now)
        self._state.series[series.id] = HeldSeries(stored, key, request)
        return stored

    def get(self, series_id: str) -> Series | None:
        held = self._state.series.get(series_id)
        return held.series if held else None

    def request(self, series_id: str) -> SeriesRequest | None:
        held = self._state.series.get(series_id)
        return held.request if held else None

    def with_key(self, project_id: str, name: str) -> tuple[Series, str] | None:
        for held in self._state.series.values():
            if held.series.project_id == project_id and held.key and held.key[0] == name:
                return held.series, held.key[1]
        return None

    def page(
        self, project_id: str | None, limit: int, after: str | None, name: str | None = None
    ) -> Sequence[Series]:
        found = sorted(
            (
                held.series
                for held in self._state.series.values()
                if project_id in (None, held.series.project_id) and name in (None, held.series.name)
            ),
            key=lambda each: each.id,
        )
        return [each for each in found if after is None or each.id > after][:limit]

    def save(self, series: Series, now: datetime) -> Series:
        held = self._state.series.get(series.id)
        if held is None or held.series.revision != series.revision:
            raise Stale()
        stored = replace(series, revision=series.revision + 1, updated_at=now)
        self._state.series[series.id] = replace(held, series=stored)
        return stored

    def remove(self, series_id: str) -> None:
        if self._state.series.pop(series_id, None) is None:
            raise Stale()

    def forget(self, before: datetime, limit: int) -> int:
        over = [id_ for id_, held in self._state.series.items() if held.series.ends_at <= before][:limit]
        for series_id in over:
            del self._state.series[series_id]
        return len(over)
