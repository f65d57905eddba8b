"""The duty to give notice to preemptible servers on hosts that a lease needs soon."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.engine.cloud_duty import CloudDuty
from blazar.service.ports import Clock, Database
from blazar.service.preemption_notices import PreemptionNotices

LOG = logging.getLogger(__name__)
LOOK = timedelta(minutes=1)
"""Time between two looks."""


class Noticing(CloudDuty):
    """Gives such notices, and takes them back."""

    name = "preemption_notices"
    work_name = "The look at preemptible servers that need notice"
    pace = 0.02
    first_wait = 20.0
    first_pause = 60.0
    longest_pause = 600.0

    def __init__(
        self,
        database: Database,
        notices: PreemptionNotices,
        clock: Clock,
        interval: timedelta = LOOK,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database, clock, interval, monotonic)
        self._notices = notices

    def work(self, check: Callable[[], None]) -> None:
        looked = self._notices.look(check)
        if looked.given or looked.taken:
            LOG.info(
                "%d preemptible servers are given notice, and %d have none any more",
                looked.given,
                looked.taken,
                extra={"action": self.name},
            )
