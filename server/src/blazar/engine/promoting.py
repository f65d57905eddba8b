"""The duty to promote leases that wait in line, as soon as there is enough for them.

One manager does it at a time. Each looks from time to time whether the line or a calendar has changed since
its own last walk, or a lease gives up; only then, and once a minute for what time itself makes possible, the
line is walked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from blazar.domain.errors import ClaimLost
from blazar.domain.time import MINUTE
from blazar.engine.background import Background
from blazar.engine.duty import Duty
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.waitlist import LineState, Waitlist

LOG = logging.getLogger(__name__)
DUTY = "waitlist"
HELD = timedelta(minutes=1)
"""How long the duty is held without a sign of life: longer than one lease may take."""
MOST = 5.0
"""Seconds of work in one round. A walk that takes longer goes on with the next lease in the next round."""
PAUSE = 1.0
"""Seconds until then."""


class Promoting(Background):
    """Walks the line until it is stopped. ``look`` is the time between two looks."""

    patience = MOST + 5

    def __init__(
        self,
        database: Database,
        waitlist: Waitlist,
        clock: Clock,
        look: timedelta,
        metrics: Metrics = NO_METRICS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("waitlist", first_wait=look.total_seconds())
        self._duty = Duty(DUTY, database, clock, HELD)
        self._waitlist = waitlist
        self._clock = clock
        self._look = look.total_seconds()
        self._metrics = metrics
        self._monotonic = monotonic
        self._begun: LineState | None = None
        """What was there when the last walk began."""
        self._seen: LineState | None = None
        """The same, once that walk has come to the end of the line."""
        self._walked = monotonic()
        self._walk: Iterator[str] | None = None

    def round(self) -> float:
        """Go on with the walk, or begin one where it is time. Return the seconds to wait until the next
        round."""
        state = self._waitlist.state()
        now = self._clock.now()
        waited = (now - state.oldest).total_seconds() if state.oldest else 0.0
        self._metrics.line_seen(len(state.line), waited)
        if not state.line:
            self._walk, self._seen = None, state
            return self._look
        is_changed = state != self._seen or (state.gives_up is not None and state.gives_up <= now)
        is_late = self._monotonic() - self._walked >= MINUTE.total_seconds()
        if self._walk is None and not is_changed and not is_late:
            return self._look
        # What only time makes possible, another manager may have found just now.
        if not self._duty.take(timedelta(0) if is_changed or self._walk else MINUTE / 2):
            self._walked = self._monotonic()
            return self._look
        try:
            self._work(state)
        finally:
            self._duty.give_back()
        return self._look if self._walk is None else PAUSE

    def _work(self, state: LineState) -> None:
        if self._walk is None:
            # What changes from here on, by the walk as well, is looked at by another one.
            self._walk, self._seen, self._walked = self._waitlist.walk(), None, self._monotonic()
            self._begun = state
        ends = self._monotonic() + MOST
        walk, self._walk = self._walk, None  # after a failure the line is walked from its front
        try:
            for _ in walk:
                self._thread.sign()
                if self._thread.is_stopping or self._monotonic() >= ends:
                    self._walk = walk
                    return
                self._duty.extend()
            self._seen = self._begun
        except ClaimLost:
            LOG.info("Another manager goes on with the waitlist")
