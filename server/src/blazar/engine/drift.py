"""The duty to compare the database with the cloud from time to time, all of it. It only reports, unless the
operator wants repairs."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from blazar.engine.cloud_duty import CloudDuty
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.reconciliation import Reconciliation

LOG = logging.getLogger(__name__)
MOST_LINES = 100
"""Differences that one comparison logs; the metrics count all of them."""


class DriftCheck(CloudDuty):
    """Compares, and repairs where ``repairs``."""

    name = "drift"
    work_name = "The comparison with the cloud"
    pace = 0.05
    first_wait = 60.0
    first_pause = 600.0
    longest_pause = 600.0

    def __init__(
        self,
        database: Database,
        reconciliation: Reconciliation,
        clock: Clock,
        interval: timedelta,
        repairs: bool = False,
        metrics: Metrics = NO_METRICS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database, clock, interval, monotonic)
        self._reconciliation = reconciliation
        self._repairs = repairs
        self._metrics = metrics
        self._looked: float | None = None

    def work(self, check: Callable[[], None]) -> None:
        look = self._reconciliation.repair if self._repairs else self._reconciliation.compare
        findings = look(check, lambda progress: LOG.debug("Drift: %s", progress))
        left = Counter(finding.difference.sort for finding in findings if not finding.is_repaired)
        self._looked = self._monotonic()
        self._metrics.drift_seen(left, self._clock.now())
        for finding in findings[:MOST_LINES]:
            LOG.warning("%s", finding.sentence, extra={"action": self.name})
        LOG.info("Compared with the cloud: %d differences", left.total(), extra={"action": self.name})

    def leave_to_others(self) -> None:
        """Show no longer what was seen here when another manager has compared since: that one shows it."""
        if self._looked is not None and self._monotonic() - self._looked > self._interval.total_seconds():
            self._looked = None
            self._metrics.drift_seen({}, None)
