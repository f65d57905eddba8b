"""The duty to look from time to time at what active reservations use.

What it has found is kept with every few leases, so that a manager that stops in the middle loses nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.engine.cloud_duty import CloudDuty
from blazar.service.ports import Clock, Database
from blazar.service.utilization import Sampling

LOG = logging.getLogger(__name__)


class SamplingDuty(CloudDuty):
    """Looks at what active reservations use."""

    name = "sampling"
    work_name = "The look at what reservations use"
    pace = 0.02
    first_wait = 20.0
    first_pause = 120.0
    longest_pause = 120.0

    def __init__(
        self,
        database: Database,
        sampling: Sampling,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database, clock, interval, monotonic)
        self._sampling = sampling

    def work(self, check: Callable[[], None]) -> None:
        LOG.debug("Looked at what %d reservations use", self._sampling.look(check))
