"""The duty to look whether the capacity is low that subscribers want to know of.

One manager does it at a time, slowly: requests need the processor."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.domain.errors import ClaimLost
from blazar.engine.background import Background
from blazar.engine.duty import Duty
from blazar.service.capacity_watch import CapacityWatch
from blazar.service.ports import Clock, Database

LOG = logging.getLogger(__name__)
DUTY = "capacity"
LOOK = timedelta(minutes=1)
"""Between two looks at all conditions."""
HELD = timedelta(minutes=2)
"""How long the duty is held without a sign of life: longer than one condition may take."""
REST = 9.0
"""A look at one condition is followed by a rest of so many times its own time: it takes a tenth of a
processor at the most."""
LONGEST_REST = 30.0


class WatchingCapacity(Background):
    """Looks at the conditions until it is stopped."""

    def __init__(
        self,
        database: Database,
        watch: CapacityWatch,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("capacity", first_wait=LOOK.total_seconds() / 2)
        self._duty = Duty(DUTY, database, clock, HELD)
        self._watch = watch
        self._monotonic = monotonic

    def round(self) -> float:
        """Look at all conditions, where no manager has just done so. Return the seconds until the next
        round."""
        if self._duty.take(LOOK / 2):
            try:
                self._look()
            except ClaimLost:
                LOG.info("Another manager goes on with the conditions of capacity")
            finally:
                self._duty.give_back()
        return LOOK.total_seconds()

    def _look(self) -> None:
        began = self._monotonic()
        for told in self._watch.look():
            if told:
                LOG.info("%d subscribers are told of capacity", told, extra={"action": "capacity"})
            self._thread.sign()
            if not self._thread.rest(min((self._monotonic() - began) * REST, LONGEST_REST)):
                return
            self._duty.extend()
            began = self._monotonic()
