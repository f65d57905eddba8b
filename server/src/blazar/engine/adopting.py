"""The duty to make leases for what is found in the cloud, such as servers with hints. One manager does it at
a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from blazar.domain.errors import BlazarError, ClaimLost
from blazar.engine.background import Background
from blazar.engine.duty import Duty
from blazar.service.adoption import Adoption
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import FoundLease

LOG = logging.getLogger(__name__)
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


class Adopting(Background):
    """Looks for what leases are to be made until it is stopped.

    The moment of the last round is kept in the database. A round that has left out anything does not move it
    further than to what it has left out: so nothing is, whatever fails, and what a time without managers has
    brought is found after it. The very first round only sets the moment, unless all counts that was there
    before."""

    def __init__(
        self,
        database: Database,
        adoption: Adoption,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(adoption.name, first_wait=min(adoption.interval.total_seconds(), 5.0))
        self._name = adoption.name
        self._duty = Duty(self._name, database, clock, HELD)
        self._database = database
        self._adoption = adoption
        self._clock = clock
        self._interval = adoption.interval
        self._monotonic = monotonic

    def round(self) -> float:
        """Make all leases, where no manager has just done so. Return the seconds until the next round."""
        if self._duty.take(self._interval / 2):
            done_at: datetime | None = None
            try:
                done_at = self._look()
            except ClaimLost:
                LOG.info("Another manager goes on with the duty %s", self._name)
            except BlazarError as failure:
                LOG.warning("The duty %s cannot be done: %s", self._name, failure.message)
            finally:
                self._duty.give_back(done_at is not None, done_at)
        return self._interval.total_seconds()

    def _look(self) -> datetime | None:
        """Return the moment at which the next round may take this one as done; None where nothing is."""
        with self._database.read() as uow:
            before = uow.duties.done_at(self._name)
        if before is None and self._adoption.begins is None:
            return self._clock.now()
        since = self._adoption.begins if before is None else None
        since = since or min(before or self._clock.now(), self._clock.now()) - OVERLAP
        done_at: datetime | None = None
        first = self._monotonic()
        while True:
            began = self._monotonic()
            found = self._adoption.find(since)
            self._adoption.close(found.gone)
            if not self._has_made_all(found.leases, first):
                return done_at
            if found.until is None:
                return self._clock.now()
            since = found.until
            done_at = min(since + OVERLAP, self._clock.now())
            if not self._goes_on(first, began):
                return done_at

    def _has_made_all(self, leases: Iterable[FoundLease], first: float) -> bool:
        """Make the leases, in a round that began at ``first``. Return whether none was left out."""
        is_done = True
        began = self._monotonic()
        for each in leases:
            is_done = self._adoption.make(each) and is_done
            if not self._goes_on(first, began):
                return False
            began = self._monotonic()
        return is_done

    def _goes_on(self, first: float, began: float) -> bool:
        """Rest after a step that ``began`` then. Return whether the round goes on."""
        self._thread.sign()
        goes_on = self._thread.rest(min(self._monotonic() - began, LONGEST_REST))
        if not goes_on or self._monotonic() - first > LONGEST_ROUND.total_seconds():
            return False
        self._duty.extend()
        return True
