"""The duty to make the leases that users ask for by hints. One manager does it at a time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.domain.errors import BlazarError, ClaimLost
from blazar.engine.duty import Duty
from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth
from blazar.service.hinted_leases import HintedLeases
from blazar.service.ports import Clock, Database

LOG = logging.getLogger(__name__)
DUTY = "hints"
HELD = timedelta(minutes=5)
"""How long the duty is held without a sign of life: longer than one lease may take."""
LONGEST_ROUND = timedelta(minutes=1)
"""After which the rest is left to the next round."""
OVERLAP = timedelta(minutes=5)
"""How much earlier than the end of the last round a look begins: longer than a round, and than clocks differ.
What was answered is known by its answer."""
LONGEST_REST = 10.0
"""Each lease is followed by a rest as long as it took, for requests need the processor: at most so many
seconds."""


class Adopting:
    """Looks for hints until it is stopped.

    The moment of the last round is kept in the database. A round that has left out anything does not move it:
    so nothing is, whatever fails, and what a time without managers has brought is found after it. The very
    first round only sets the moment."""

    def __init__(
        self,
        database: Database,
        leases: HintedLeases,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._duty = Duty(DUTY, database, clock, HELD)
        self._database = database
        self._leases = leases
        self._clock = clock
        self._interval = interval
        self._monotonic = monotonic
        self._stopping = threading.Event()
        self._thread = LongLivedThread("hints", self.round, first_wait=min(interval.total_seconds(), 5.0))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.stop(5)

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Answer all hints, where no manager has just done so. Return the seconds until the next round."""
        if self._duty.take(self._interval / 2):
            is_done = False
            try:
                is_done = self._look()
            except ClaimLost:
                LOG.info("Another manager goes on with the hints")
            except BlazarError as failure:
                LOG.warning("Hints cannot be looked for: %s", failure.message)
            finally:
                self._duty.give_back(is_done)
        return self._interval.total_seconds()

    def _look(self) -> bool:
        """Return whether nothing was left out."""
        with self._database.read() as uow:
            done_at = uow.duties.done_at(DUTY)
        if done_at is None:
            return True
        since = min(done_at, self._clock.now()) - OVERLAP
        first = began = self._monotonic()
        is_done = True
        for is_answered in self._leases.look(since):
            is_done = is_done and is_answered
            self._thread.sign()
            self._stopping.wait(min(self._monotonic() - began, LONGEST_REST))
            if self._stopping.is_set() or self._monotonic() - first > LONGEST_ROUND.total_seconds():
                return False
            self._duty.extend()
            began = self._monotonic()
        return is_done
