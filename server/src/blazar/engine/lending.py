"""The duty to lend what reservations do not use, and to take back what they need."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.engine.cloud_duty import CloudDuty
from blazar.service.lending import Lending
from blazar.service.ports import Clock, Database

LOG = logging.getLogger(__name__)


class LendingDuty(CloudDuty):
    """Looks every few seconds at the reservations that lend."""

    name = "lending"
    work_name = "The look at what reservations lend"
    pace = 0.0
    first_wait = 5.0
    held = timedelta(minutes=1)
    first_pause = 10.0
    longest_pause = 60.0

    def __init__(
        self,
        database: Database,
        lending: Lending,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database, clock, interval, monotonic)
        self._lending = lending

    def work(self, check: Callable[[], None]) -> None:
        found = self._lending.look(check)
        if found.taken_back or found.leaving:
            LOG.info(
                "%d hosts are lent, %d were taken back; %d servers have to leave",
                found.units,
                found.taken_back,
                found.leaving,
                extra={"action": self.name},
            )
