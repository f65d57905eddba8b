"""The right of this manager to work on events for a limited time: claims that are extended while the work
goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from blazar.domain.errors import BlazarError, ClaimLost, LeaseLocked
from blazar.domain.lease.event import Event
from blazar.engine.threads import LongLivedThread
from blazar.service.events import HeldClaim
from blazar.service.health import ThreadHealth
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import ClaimedEvent, Clock, Database, StandingClaim, UnitOfWork

TOLERANCE = timedelta(seconds=1)
"""By how much the clock and the time that has really passed may differ before the clock is taken for set
anew."""
LOCKED_FOR = 0.1
"""Seconds until a lease is tried again that another transaction has changed and not committed."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """The grant of the database: until when by the clock, and since when by time that passes evenly
    (seconds)."""

    event_id: str
    until: datetime
    since: float


class Claims:
    """The claims of one manager. A heartbeat extends them; one that could not be extended in time is lost.

    No other process is asked whether a claim still holds: the time up to which the database granted it is
    compared with the clock before each step, so that a manager that was suspended finds its claims lost as
    soon as it wakes up. Where the clock was set meanwhile, it is not known what the others see, so the claim
    is taken for lost as well."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        length: timedelta,
        metrics: Metrics = NO_METRICS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._length = length
        self._metrics = metrics
        self._monotonic = monotonic
        self._grants: dict[str, _Grant] = {}
        self._lock = threading.Lock()
        self._interval = length.total_seconds() / 3
        self._heartbeat = LongLivedThread("heartbeat", self._beat, first_wait=self._interval)

    def start(self) -> None:
        self._heartbeat.start()

    def take(self, event: Event, token: str) -> HeldClaim | None:
        """Claim the event; None where another manager was faster. Raises LeaseLocked."""
        return self._taken(
            event, token, lambda uow, now, until: uow.events.claim(event.id, token, now, until)
        )

    def take_lease(self, event: Event, token: str, before: datetime) -> HeldClaim | None:
        """Claim an active lease that has not been compared with the cloud since ``before``; None where
        another manager was faster. Raises LeaseLocked. ``event`` stands for the comparison and is stored
        nowhere: its id is the lease's."""
        return self._taken(
            event,
            token,
            lambda uow, now, until: uow.events.claim_lease(event.lease_id, token, now, until, before),
        )

    def _taken(
        self, event: Event, token: str, claim: Callable[[UnitOfWork, datetime, datetime], bool]
    ) -> HeldClaim | None:
        since, now = self._monotonic(), self._clock.now()
        until = now + self._length
        if not self._database.transact(lambda uow: claim(uow, now, until)):
            return None
        self._set(token, _Grant(event.id, until, since))
        return HeldClaim(ClaimedEvent(event, token, until), lambda: self._check(event.id, token))

    def drop(self, held_claim: HeldClaim) -> None:
        """Stop extending the claim: the work on it is over."""
        self._set(held_claim.claimed.token, None)

    def stop(self) -> None:
        """Give back what was not finished, so that other managers needn't wait for the claims to expire."""
        self._heartbeat.stop()
        for token, grant in list(self._grants.items()):
            # First here: a thread that still works on it must not go on after another manager may have begun.
            self._set(token, None)
            with contextlib.suppress(BlazarError):
                self._give_back(grant.event_id, token)

    def _give_back(self, event_id: str, token: str) -> None:
        now = self._clock.now()
        self._database.transact(lambda uow: uow.events.release_claim(event_id, token, now))

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
            self._metrics.claims_held(len(self._grants))

    def held(self) -> int:
        """Return how many events this manager works on."""
        return len(self._grants)

    def health(self) -> ThreadHealth:
        return self._heartbeat.health()

    def _beat(self) -> float:
        """Extend every claim that was not extended just now. One that cannot be extended does not keep the
        others from it; one whose lease is locked is tried again soon."""
        locked: list[str] = []
        for token, grant in list(self._grants.items()):
            if self._monotonic() - grant.since >= self._interval / 2:
                self._heartbeat.attempt(partial(self._extend_unless_locked, token, grant, locked))
                self._heartbeat.sign()
        return min(LOCKED_FOR, self._interval) if locked else self._interval

    def _extend_unless_locked(self, token: str, grant: _Grant, locked: list[str]) -> None:
        try:
            self._extend(token, grant)
        except LeaseLocked:
            locked.append(token)

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
class _Observation:
    claim: StandingClaim
    since: float
    came_while_we_looked: bool
    """Its manager was alive then. A claim that stood already when this manager began may be of any age."""


class ClaimMonitor:
    """Observes the claims of all managers, and tells which are alive.

    A claim is alive if it was seen to be taken or extended within the length of a claim, by time that passes
    evenly. So a manager whose clock is ahead takes no work away from others, and no manager waits until a
    time that a wrong clock has written."""

    def __init__(self, length: timedelta, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._length = length.total_seconds()
        self._monotonic = monotonic
        self._sights: dict[str, _Observation] = {}
        self._has_looked = False

    def observe(self, claims: Iterable[StandingClaim]) -> None:
        """Remember these as all claims that stand now."""
        now, known = self._monotonic(), self._sights
        self._sights = {}
        for claim in claims:
            observation = known.get(claim.lease_id)
            if observation is None or observation.claim != claim:
                observation = _Observation(claim, now, self._has_looked)
            self._sights[claim.lease_id] = observation
        self._has_looked = True

    def alive(self) -> frozenset[str]:
        """Return the ids of the leases that a manager works on."""
        now = self._monotonic()
        return frozenset(
            lease_id
            for lease_id, observation in self._sights.items()
            if observation.came_while_we_looked and now - observation.since < self._length
        )

    def dead(self) -> Sequence[StandingClaim]:
        """Return the claims that no manager has extended for as long as one holds."""
        now = self._monotonic()
        return [
            observation.claim
            for observation in self._sights.values()
            if now - observation.since >= self._length
        ]
