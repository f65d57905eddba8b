"""A duty that asks the cloud for much. One manager does it at a time, slowly, whichever finds first that it
is time."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import ClassVar

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.engine.background import Background
from blazar.engine.duty import Duty
from blazar.service.ports import Clock, Database

LOG = logging.getLogger(__name__)
HELD = timedelta(minutes=5)
"""How long the duty is held without a sign of life: longer than a request to the cloud takes."""
LONGEST_WAIT = 60.0
"""Seconds between two questions whether it is time."""


class CloudDuty(Background):
    """Does its work each ``interval``, until it is stopped.

    What was cut off, or failed with the cloud, is begun anew by whichever manager is next. What met a defect
    is not: it would meet it again."""

    name: ClassVar[str]
    work_name: ClassVar[str]
    """As the subject of a sentence in the log."""
    pace: ClassVar[float]
    """Seconds of rest before each request to the cloud."""
    first_wait: ClassVar[float]
    """Seconds after the start of a manager, at the most: it has better things to do first."""
    held: ClassVar[timedelta] = HELD
    """How long others wait for a manager that has died in the middle of it."""
    first_pause: ClassVar[float]
    longest_pause: ClassVar[float]
    """Seconds of rest after the cloud has failed to answer, twice as many each time up to this."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        first_wait = min(interval.total_seconds(), self.first_wait)
        super().__init__(self.name.replace("_", "-"), first_wait)
        self._duty = Duty(self.name, database, clock, self.held)
        self._clock = clock
        self._interval = interval
        self._monotonic = monotonic
        self._pause = self.first_pause

    @abstractmethod
    def work(self, check: Callable[[], None]) -> None:
        """Do all of it; ``check`` is called before each request to the cloud."""

    def leave_to_others(self) -> None:
        """Is called where it is not time, or another manager does it."""

    def round(self) -> float:
        """Do the work where it is time. Return the seconds to wait until the next round."""
        if not self._duty.take(self._interval):
            self.leave_to_others()
            return self._wait
        is_done = True
        try:
            self.work(self._duty.pacing(self._thread, self.pace, self._monotonic))
            self._pause = self.first_pause
        except ClaimLost:
            is_done = False
            LOG.info("%s was cut off, and is begun anew", self.work_name)
        except (CloudUnavailable, CloudRefused) as failure:
            is_done = False
            LOG.warning("%s failed, and is begun anew later: %s", self.work_name, failure.message)
            return self._rest()
        finally:
            self._duty.give_back(is_done)
        return self._wait

    def _rest(self) -> float:
        """Return how long this rest is; the next one is longer."""
        pause, self._pause = self._pause, min(self._pause * 2, self.longest_pause)
        return pause

    @property
    def _wait(self) -> float:
        return min(self._interval.total_seconds() / 4, LONGEST_WAIT)
