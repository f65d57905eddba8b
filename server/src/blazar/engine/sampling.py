"""The duty to look from time to time at what active reservations use.

One manager does it at a time, slowly, whichever finds first that it is time. What it has found is kept with
every few leases, so that a manager that stops in the middle loses nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.engine.duty import Duty
from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth
from blazar.service.ports import Clock, Database
from blazar.service.utilization import Sampling

LOG = logging.getLogger(__name__)
DUTY = "sampling"
HELD = timedelta(minutes=5)
"""How long the duty is held without a sign of life: longer than a request to the cloud takes."""
PACE = 0.02
"""Seconds of rest before each request to the cloud."""
FIRST_WAIT = 20.0
"""Seconds after the start of a manager: it has better things to do first."""
LONGEST_WAIT = 60.0
"""Seconds between two questions whether it is time."""
PAUSE = 120.0
"""Seconds of rest after the cloud has failed to answer."""


class SamplingDuty:
    """Looks at what active reservations use, until it is stopped."""

    def __init__(
        self,
        database: Database,
        sampling: Sampling,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._duty = Duty(DUTY, database, clock, HELD)
        self._sampling = sampling
        self._clock = clock
        self._interval = interval
        self._monotonic = monotonic
        self._thread = LongLivedThread("sampling", self.round, first_wait=FIRST_WAIT)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(5)

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Look where it is time. Return the seconds to wait until the next round."""
        if not self._duty.take(self._interval):
            return self._wait
        is_done = True
        try:
            looked = self._sampling.look(self._duty.pacing(self._thread, PACE, self._monotonic))
            LOG.debug("Looked at what %d reservations use", looked)
        except ClaimLost:
            is_done = False
            LOG.info("The look at what reservations use was cut off, and is begun anew")
        except (CloudUnavailable, CloudRefused) as failure:
            is_done = False
            LOG.warning("It is not known what reservations use: %s", failure)
            return PAUSE
        finally:
            self._duty.give_back(is_done)
        return self._wait

    @property
    def _wait(self) -> float:
        return min(self._interval.total_seconds() / 4, LONGEST_WAIT)
