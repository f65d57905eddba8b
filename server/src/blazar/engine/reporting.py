"""Reporting to a usage filter: what was committed of leases is told to it, each lease in order, until the
filter has taken it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable, Stale
from blazar.engine.background import Background
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Report, UnitOfWork
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.ports.kind import Dependencies
from blazar.service.usage_documents import completed

LOG = logging.getLogger(__name__)
BATCH = 20
SPAN = timedelta(seconds=60)
"""How long one batch is worked on at the most; a call may begin just before."""
HOLD = 3 * SPAN
"""How long a batch is one manager's own: after this another one tells what is left of it."""
AWAY_PAUSE = timedelta(seconds=5)
"""Between two attempts to tell a report while the filter cannot be told anything."""
LONGEST_PAUSE = timedelta(minutes=10)
"""Between two attempts to tell a report that is refused."""
TRIED_FOR = timedelta(days=7)
"""How long a report is tried that the filter refuses. Without an answer it is tried for ever."""
ABSENT_TRIED_FOR = timedelta(hours=1)
"""How long it is tried to tell that a lease has not come to be. Each request for a lease makes such a report,
also while the filter does not answer, so they must not pile up."""
CALL_SECONDS = 30.0
"""How long one call to Keystone may take."""


class Reporting(Background):
    """Tells one usage filter. It has a thread of its own, so that a filter that does not answer delays
    nothing but its own reports."""

    def __init__(
        self,
        filter: UsageFilter,
        dependencies: Dependencies,
        metrics: Metrics = NO_METRICS,
        interval: timedelta = timedelta(seconds=1),
    ) -> None:
        super().__init__(f"reporting-{filter.name}", first_wait=interval.total_seconds())
        self._filter = filter
        self._dependencies = dependencies
        self._metrics = metrics
        self._interval = interval.total_seconds()
        self._identity = dependencies.cloud.for_request(lambda: CALL_SECONDS).identity

    def round(self) -> float:
        try:
            while self.deliver() and not self._thread.is_stopping:
                pass
        except Stale:
            pass  # another manager tells them
        return self._interval

    def deliver(self) -> int:
        """Tell the reports that are due, a batch at the most. Return how many were taken up.

        Raises CloudUnavailable where the filter cannot be told anything now, and Stale where another manager
        was faster."""
        now, name = self._dependencies.clock.now(), self._filter.name
        with self._dependencies.database.read() as uow:
            self._metrics.reports_waiting(uow.reports.depth())
            if not uow.reports.is_any_due(name, now):
                return 0
        transact = self._dependencies.database.transact
        waiting = list(transact(lambda uow: uow.reports.take(name, BATCH, now, now + HOLD)))
        taken, told = len(waiting), list[int]()
        try:
            while waiting and self._dependencies.clock.now() < now + SPAN and not self._thread.is_stopping:
                self._thread.sign()
                report = waiting.pop(0)
                if self._tell(report):
                    told.append(report.id)
        finally:
            self._record(told, waiting)
        return taken

    def _tell(self, report: Report) -> bool:
        """Return whether the report is done with. Raises CloudUnavailable."""
        if report.only_if_absent and self._is_moot(report):
            return True
        try:
            self._measured(lambda: self._filter.tell(report, self._documents(report), self._identity), report)
        except CloudRefused as failure:
            return self._give_up_or_put_off(report, failure)
        except CloudUnavailable:
            self._put_off(report, AWAY_PAUSE)
            raise
        return True

    def _documents(self, report: Report) -> dict[str, object]:
        return completed(report.documents, self._dependencies.kinds, self._dependencies.database)

    def _is_moot(self, report: Report) -> bool:
        """Return whether the lease is there, or was asked about too long ago."""
        if self._dependencies.clock.now() - report.created_at > ABSENT_TRIED_FOR:
            return True
        with self._dependencies.database.read() as uow:
            return uow.leases.exists(report.lease_id)

    def _measured(self, call: Callable[[], None], report: Report) -> None:
        began, outcome = time.perf_counter(), "failed"
        try:
            call()
            outcome = "ok"
        except CloudRefused:
            outcome = "refused"
            raise
        finally:
            seconds = time.perf_counter() - began
            self._metrics.usage_filter_asked(self._filter.name, report.type.value, outcome, seconds)

    def _give_up_or_put_off(self, report: Report, failure: BlazarError) -> bool:
        """Return whether the report was tried for long enough."""
        what = f"{self._filter.name} does not take that lease {report.lease_id} is {report.type}"
        if self._dependencies.clock.now() - report.created_at > TRIED_FOR:
            LOG.error("%s; it is not tried again: %s", what, failure)
            return True
        LOG.warning("%s; it is tried again later: %s", what, failure)
        self._put_off(report, min(timedelta(seconds=2 ** min(report.attempts, 10)), LONGEST_PAUSE))
        return False

    def _put_off(self, report: Report, pause: timedelta) -> None:
        later = replace(report, attempts=report.attempts + 1)
        due = self._dependencies.clock.now() + pause
        self._dependencies.database.transact(lambda uow: uow.reports.put_off(later, due))

    def _record(self, told: Sequence[int], waiting: Sequence[Report]) -> None:
        """Remove what is told, and let others have at once what was not tried."""
        now = self._dependencies.clock.now()

        def commit(uow: UnitOfWork) -> None:
            uow.reports.remove(told)
            for report in waiting:
                uow.reports.put_off(report, now)

        if told or waiting:
            self._dependencies.database.transact(commit)
