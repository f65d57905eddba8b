"""The duty to remove the images of shelved servers that are gone.

One manager does it at a time, slowly, whichever finds first that it is time."""

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
from blazar.service.shelved_images import ShelvedImages

LOG = logging.getLogger(__name__)
DUTY = "shelved_images"
HELD = timedelta(minutes=5)
"""How long the duty is held without a sign of life: longer than a request to the cloud takes."""
PACE = 0.02
"""Seconds of rest before each request to the cloud."""
FIRST_WAIT = 60.0
"""Seconds after the start of a manager: it has better things to do first."""
LONGEST_WAIT = 60.0
"""Seconds between two questions whether it is time."""
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 3600.0
"""Seconds of rest after the cloud has failed to answer, twice as many each time."""


class Sweeping:
    """Removes such images until it is stopped."""

    def __init__(
        self,
        database: Database,
        images: ShelvedImages,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._duty = Duty(DUTY, database, clock, HELD)
        self._images = images
        self._interval = interval
        self._monotonic = monotonic
        self._pause = FIRST_PAUSE
        first_wait = min(interval.total_seconds(), FIRST_WAIT)
        self._thread = LongLivedThread("shelved-images", self.round, first_wait=first_wait)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(5)

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Remove them where it is time. Return the seconds to wait until the next round."""
        if not self._duty.take(self._interval):
            return self._wait
        is_done = True
        try:
            self._sweep()
        except ClaimLost:
            is_done = False
            LOG.info("The removal of images of shelved servers was cut off, and is begun anew")
        except (CloudUnavailable, CloudRefused) as failure:
            is_done = False
            LOG.warning("Images of shelved servers cannot be looked for, and are later: %s", failure.message)
            return self._rest()
        finally:
            self._duty.give_back(is_done)
        return self._wait

    def _sweep(self) -> None:
        removed = self._images.sweep(self._duty.pacing(self._thread, PACE, self._monotonic))
        self._pause = FIRST_PAUSE
        if removed:
            LOG.info("%d images of servers that are gone are removed", removed, extra={"action": DUTY})

    def _rest(self) -> float:
        """Return how long this rest is; the next one is longer."""
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return pause

    @property
    def _wait(self) -> float:
        return min(self._interval.total_seconds() / 4, LONGEST_WAIT)
