"""Reports to usage filters in memory, until they are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import HeldReport, State
from blazar.adapters.stored import through_json
from blazar.service.ports import LONGEST_DELAY, Report, ReportType


class MemoryReports:
    """The ReportRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, report: Report, due: datetime) -> None:
        if report.type is ReportType.ENDED:
            self.withdraw(report.filter, report.lease_id)
        self._state.last_report += 1
        stored = replace(report, id=self._state.last_report, documents=through_json(dict(report.documents)))
        self._state.reports[stored.id] = HeldReport(stored, due)

    def withdraw(self, filter: str, lease_id: str) -> None:
        self.remove(
            [
                each.report.id
                for each in self._state.reports.values()
                if (each.report.filter, each.report.lease_id) == (filter, lease_id)
                and each.report.only_if_absent
            ]
        )

    def is_any_due(self, filter: str, now: datetime) -> bool:
        return bool(self._ready(filter, now))

    def take(self, filter: str, limit: int, now: datetime, until: datetime) -> Sequence[Report]:
        ready = sorted(self._ready(filter, now), key=lambda each: (each.due, each.report.id))[:limit]
        self._state.reports.update({each.report.id: replace(each, due=until) for each in ready})
        return [each.report for each in ready]

    def put_off(self, report: Report, due: datetime) -> None:
        if report.id in self._state.reports:
            self._state.reports[report.id] = HeldReport(report, due)

    def remove(self, ids: Sequence[int]) -> None:
        for id_ in ids:
            self._state.reports.pop(id_, None)

    def depth(self) -> int:
        return sum(not each.report.only_if_absent for each in self._state.reports.values())

    def _ready(self, filter: str, now: datetime) -> list[HeldReport]:
        """Return the due reports that no older one of the same lease stands before."""
        oldest: dict[str, int] = {}
        of_filter = [each for _, each in sorted(self._state.reports.items()) if each.report.filter == filter]
        for each in of_filter:
            if not each.report.only_if_absent:
                oldest.setdefault(each.report.lease_id, each.report.id)
        return [
            each
            for each in of_filter
            if not now < each.due <= now + LONGEST_DELAY
            and each.report.id <= oldest.get(each.report.lease_id, each.report.id)
        ]
