"""Which events this manager may work on, and until when: claims that are extended while the work goes on."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.errors import BlazarError
from blazar.domain.event import Event
from blazar.service.events import Hold
from blazar.service.observer import NOBODY, Observer
from blazar.service.ports import ClaimedEvent, ClaimLost, Clock, Database, StandingClaim

LOG = logging.getLogger(__name__)
TOLERANCE = timedelta(seconds=1)
"""By how much the clock and the time that has really passed may differ before the clock is taken for set anew."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """What the database granted: until when by the clock, and since when by time that passes evenly (seconds)."""

    event_id: str
    until: datetime
    since: float


class Claims:
    """The claims of one manager. A heartbeat extends them; one that could not be extended in time is lost.

    Nobody else is asked whether a claim still holds: the time up to which the database granted it is compared with the
    clock before each step, so that a manager that was suspended finds its claims lost as soon as it wakes up. Where the
    clock was set meanwhile, nobody knows what the others see, so the claim is taken for lost as well.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        length: timedelta,
        observer: Observer = NOBODY,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._length = length
        self._observer = observer
        self._monotonic = monotonic
        self._grants: dict[str, _Grant] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._heartbeat = threading.Thread(target=self._beat, name="claims", daemon=True)

    def start(self) -> None:
        self._heartbeat.start()

    def take(self, event: Event, token: str) -> Hold | None:
        """Claim the event; None where another manager was faster."""
        since, now = self._monotonic(), self._clock.now()
        until = now + self._length
        if not self._database.transact(lambda uow: uow.events.claim(event.id, token, now, until)):
            return None
        self._set(token, _Grant(event.id, until, since))
        return Hold(ClaimedEvent(event, token, until), lambda: self._check(event.id, token))

    def drop(self, hold: Hold) -> None:
        """The work is over, one way or the other: stop extending."""
        self._set(hold.claimed.token, None)

    def stop(self) -> None:
        """Give back what was not finished, so that other managers needn't wait for the claims to expire."""
        self._stopping.set()
        self._heartbeat.join()
        for token, grant in list(self._grants.items()):
            # First here: whoever still works on it must not go on after somebody else may have begun.
            self._set(token, None)
            with contextlib.suppress(BlazarError):
                self._give_back(grant.event_id, token)

    def _give_back(self, event_id: str, token: str) -> None:
        now = self._clock.now()
        self._database.transact(lambda uow: uow.events.settle(event_id, token, now))

    def _check(self, event_id: str, token: str) -> None:
        grant = self._grants.get(token)
        if grant is None or not self._holds(grant):
            raise ClaimLost(event=event_id)

    def _holds(self, grant: _Grant) -> bool:
        passed = timedelta(seconds=self._monotonic() - grant.since)
        by_clock = self._clock.now() - (grant.until - self._length)
        return max(passed, by_clock) < self._length and abs(passed - by_clock) < TOLERANCE

    def _set(self, token: str, grant: _Grant | None) -> None:
        with self._lock:
            if grant is None:
                self._grants.pop(token, None)
            else:
                self._grants[token] = grant
            self._observer.claims_held(len(self._grants))

    def _beat(self) -> None:
        while not self._stopping.wait(self._length.total_seconds() / 3):
            for token, grant in list(self._grants.items()):
                try:
                    self._extend(token, grant)
                except BlazarError as failure:
                    LOG.warning("The claim on event %s cannot be extended: %s", grant.event_id, failure)

    def _extend(self, token: str, grant: _Grant) -> None:
        if not self._holds(grant):
            return  # too late: what is lost stays lost, whatever the database says
        since, now = self._monotonic(), self._clock.now()
        until = now + self._length
        extended = self._database.transact(lambda uow: uow.events.extend(grant.event_id, token, now, until))
        with self._lock:
            if token in self._grants:
                if extended:
                    self._grants[token] = replace(grant, until=until, since=since)
                else:
                    del self._grants[token]


@dataclass(frozen=True, slots=True)
class _Sight:
    claim: StandingClaim
    since: float
    came_while_we_looked: bool
    """Somebody was alive then. What stood already when we began may be as old as it likes."""


class Watch:
    """Which claims are alive, whichever manager's they are? Those that were seen to be taken or extended within the length
    of a claim, by time that passes evenly: so a manager whose clock is ahead takes nobody's work away, and no manager waits
    until a time that a wrong clock has written."""

    def __init__(self, length: timedelta, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._length = length.total_seconds()
        self._monotonic = monotonic
        self._sights: dict[str, _Sight] = {}
        self._has_looked = False

    def look(self, claims: Iterable[StandingClaim]) -> None:
        """These are all claims that stand now."""
        now, known = self._monotonic(), self._sights
        self._sights = {}
        for claim in claims:
            sight = known.get(claim.lease_id)
            if sight is None or sight.claim != claim:
                sight = _Sight(claim, now, self._has_looked)
            self._sights[claim.lease_id] = sight
        self._has_looked = True

    def alive(self) -> frozenset[str]:
        """The leases somebody works on."""
        now = self._monotonic()
        return frozenset(
            lease_id
            for lease_id, sight in self._sights.items()
            if sight.came_while_we_looked and now - sight.since < self._length
        )

    def dead(self) -> Sequence[StandingClaim]:
        """Claims that nobody has extended for as long as one holds."""
        now = self._monotonic()
        return [sight.claim for sight in self._sights.values() if now - sight.since >= self._length]
