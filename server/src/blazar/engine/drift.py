"""The duty to compare the database with the cloud from time to time, all of it.

One manager does it at a time, slowly, whichever finds first that it is time. It only reports, unless the
operator wants repairs."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.engine.duty import Duty
from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.reconciliation import Reconciliation

LOG = logging.getLogger(__name__)
DUTY = "drift"
HELD = timedelta(minutes=5)
"""How long the duty is held without a sign of life: longer than a request to the cloud takes."""
PACE = 0.05
"""Seconds of rest before each request to the cloud."""
FIRST_WAIT = 60.0
"""Seconds after the start of a manager: it has better things to do first."""
LONGEST_WAIT = 60.0
"""Seconds between two questions whether it is time."""
PAUSE = 600.0
"""Seconds of rest after the cloud has failed to answer."""
MOST_LINES = 100
"""Differences that one comparison logs; the metrics count all of them."""


class DriftCheck:
    """Compares, and repairs where ``repairs``, until it is stopped."""

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
        self._duty = Duty(DUTY, database, clock, HELD)
        self._reconciliation = reconciliation
        self._clock = clock
        self._interval = interval
        self._repairs = repairs
        self._metrics = metrics
        self._monotonic = monotonic
        self._looked: float | None = None
        self._thread = LongLivedThread("drift", self.round, first_wait=FIRST_WAIT)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(5)

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Compare where it is time. Return the seconds to wait until the next round.

        What was cut off, or failed with the cloud, is begun anew by whichever manager is next. What met a
        defect is not: it would meet it again."""
        if not self._duty.take(self._interval):
            self._see_from_outside()
            return self._wait
        is_done = True
        try:
            self._work()
        except ClaimLost:
            is_done = False
            LOG.info("The comparison with the cloud was cut off, and is begun anew")
        except (CloudUnavailable, CloudRefused) as failure:
            is_done = False
            LOG.warning("The comparison with the cloud failed, and is begun anew later: %s", failure)
            return PAUSE
        finally:
            self._duty.give_back(is_done)
        return self._wait

    def _see_from_outside(self) -> None:
        """Show no longer what was seen here when another manager has compared since: that one shows it."""
        if self._looked is not None and self._monotonic() - self._looked > self._interval.total_seconds():
            self._looked = None
            self._metrics.drift_seen({}, None)

    def _work(self) -> None:
        check = self._duty.pacing(self._thread, PACE, self._monotonic)
        work = self._reconciliation.repair if self._repairs else self._reconciliation.compare
        findings = work(check, lambda progress: LOG.debug("Drift: %s", progress))
        left = Counter(finding.difference.sort for finding in findings if not finding.is_repaired)
        self._looked = self._monotonic()
        self._metrics.drift_seen(left, self._clock.now())
        for finding in findings[:MOST_LINES]:
            LOG.warning("%s", finding.sentence, extra={"action": "drift"})
        LOG.info("Compared with the cloud: %d differences", left.total(), extra={"action": "drift"})

    @property
    def _wait(self) -> float:
        return min(self._interval.total_seconds() / 4, LONGEST_WAIT)
