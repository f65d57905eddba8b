"""The event loop of a manager: claim due events, run them, and sleep until the next one is due."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from blazar.domain.errors import BlazarError, ClaimLost, LeaseLocked
from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lateness import lateness
from blazar.domain.lease.ordering import PRECEDENCE
from blazar.engine.claims import LOCKED_FOR, TOLERANCE, ClaimMonitor, Claims
from blazar.engine.convergence import converge_now
from blazar.engine.lanes import AGAIN, FIRST, STUCK, Lane
from blazar.engine.lanes import REST as REST_OF_STUCK
from blazar.engine.threads import LongLivedThread
from blazar.service import log_context
from blazar.service.events import Events, HeldClaim
from blazar.service.health import ThreadHealth
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database, StandingClaim, UnitOfWork
from blazar.service.tracing import NO_TRACING, Span, Tracing

LOG = logging.getLogger(__name__)
SHORTEST_SLEEP = timedelta(milliseconds=20)
AHEAD = 32
"""So many due events are found by one look at the database; each is claimed when a worker is free for it."""


PACE = 0.1
"""Seconds between two active leases that one manager compares with the cloud."""
RECONCILE_LOOK = 5.0
"""Seconds between two looks for leases to compare, while there are none."""
SKIP_FOR = 300.0
"""Seconds for which a lease is not compared again after the cloud has failed to answer for it."""
REST = 10.0
"""Seconds for which no lease is compared after the cloud has failed to answer."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    workers: int = 8
    """How many events are worked on at once for the first time. Half as many workers repeat what could not be
    finished, an eighth as many what has been tried often, and an eighth as many compare active leases with
    the cloud."""
    claim: timedelta = timedelta(seconds=15)
    """How long a claim holds unless it is extended; a crashed manager's events are taken over after this."""
    longest_sleep: timedelta = timedelta(seconds=1)
    """How often the database is asked for events that other processes made."""
    reconcile: timedelta = timedelta(hours=1)
    """How often each active lease is compared with the cloud; zero for never."""

    @property
    def retry_workers(self) -> int:
        return max(1, self.workers // 2)

    @property
    def stuck_workers(self) -> int:
        return max(1, self.workers // 8)

    @property
    def reconcile_workers(self) -> int:
        return max(1, self.workers // 8)

    @property
    def threads(self) -> int:
        return self.workers + self.retry_workers + self.stuck_workers + self.reconcile_workers


class EventLoop:
    """Runs due events until it is stopped. ``start`` and ``stop`` are called once each; ``nudge`` from any
    thread.

    Work is done in four lanes with workers of their own: first attempts, retries, what has been tried often
    and may never be done, and the comparison of active leases with the cloud. So leases that cannot end keep
    no other lease from starting, nor from ending."""

    def __init__(
        self,
        database: Database,
        events: Events,
        clock: Clock,
        settings: EngineSettings,
        metrics: Metrics = NO_METRICS,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self._database = database
        self._events = events
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._tracing = tracing
        self._claims = Claims(database, clock, settings.claim, metrics)
        self._claim_monitor = ClaimMonitor(settings.claim)
        self._lead: timedelta | None = None
        self._looked = 0.0
        self._is_nudged = False
        self._next_look: datetime | None = None
        self._greatest_lateness = 0.0
        self._first = Lane("event", settings.workers, self._finished)
        self._retries = Lane("retry", settings.retry_workers, self._finished)
        self._stuck = Lane("stuck", settings.stuck_workers, self._finished, REST_OF_STUCK)
        self._reconciling = Lane("reconcile", settings.reconcile_workers, self._finished)
        self._began = time.monotonic()
        self._next_reconcile = 0.0
        self._skipped: dict[str, float] = {}
        self._locked: dict[str, float] = {}
        self._thread = LongLivedThread("event-loop", lambda: self._round().total_seconds())

    def start(self) -> None:
        self._began = time.monotonic()
        self._claims.start()
        self._thread.start()

    def converge(self, lease_id: str) -> str | None:
        """Repair an active lease now, as ``engine.convergence`` does, with a claim of this manager."""
        return converge_now(lease_id, self._claims, self._events, self._database, self._clock)

    def nudge(self, due: datetime | None = None) -> None:
        """Wake the loop for work that was committed just now, unless it looks at the database before ``due``
        anyway. Without it the work is due."""
        next_look = self._next_look
        if due is None or next_look is None or due < next_look:
            self._is_nudged = True
            self._thread.wake()

    def health(self) -> list[ThreadHealth]:
        return [self._thread.health(), self._claims.health()]

    def events_under_way(self) -> int:
        return self._claims.held()

    def greatest_lateness(self) -> float:
        """Return by how many seconds an event was late, at most, of those that were begun since this was
        asked last."""
        greatest, self._greatest_lateness = self._greatest_lateness, 0.0
        return greatest

    def stop(self, patience: timedelta = timedelta(seconds=10)) -> None:
        """Take no more events, let those under way reach their settlement for a while, then give the claims
        back."""
        self._thread.stop(patience.total_seconds())
        lanes, end = (*self._lanes, self._reconciling), time.monotonic() + patience.total_seconds()
        for lane in lanes:
            lane.close()
        unfinished = sum(lane.wait(max(end - time.monotonic(), 0.0)) for lane in lanes)
        if unfinished:
            LOG.warning("%d events were not finished before the stop; they are repeated later", unfinished)
        self._claims.stop()

    @property
    def _lanes(self) -> tuple[Lane, Lane, Lane]:
        return self._first, self._retries, self._stuck

    def _round(self) -> timedelta:
        """Hand what is due to free workers. Return how long nothing else will be due."""
        sleep = self._take_due()
        if self._settings.reconcile:
            sleep = min(sleep, self._reconcile_next())
        # With work in hand there may be no look after the sleep.
        self._next_look = None if any(lane.found for lane in self._lanes) else self._clock.now() + sleep
        return sleep

    def _take_due(self) -> timedelta:
        while not self._thread.is_stopping and any(lane.is_free for lane in self._lanes):
            self._thread.sign()
            if not any(lane.found for lane in self._lanes) or self._is_outdated():
                sleep = self._look()
                if not any(lane.found for lane in self._lanes):
                    return sleep
            ready = [lane for lane in self._lanes if lane.is_free and lane.found]
            if not ready:
                break
            for lane in ready:
                self._take(lane)
        return self._settings.longest_sleep  # a worker that becomes free wakes the loop

    def _take(self, lane: Lane) -> None:
        event = lane.found.popleft()
        try:
            held_claim = self._claims.take(event, token=str(uuid4()))
        except LeaseLocked:
            self._locked[event.lease_id] = time.monotonic() + LOCKED_FOR
            return
        if held_claim is not None:
            lane.hand_over(self._work, held_claim)
        else:
            lane.found.clear()  # other managers are at them as well

    def _is_outdated(self) -> bool:
        is_old = time.monotonic() - self._looked > self._settings.longest_sleep.total_seconds()
        return self._is_nudged or is_old

    def _look(self) -> timedelta:
        """Find what is due; returns how long nothing will be where nothing is."""
        self._is_nudged = False
        self._next_look = None  # what is committed from now on may not be seen
        now = self._clock.now()
        self._look_at_the_clock(now)
        self._looked = time.monotonic()
        with self._database.read() as uow:
            self._claim_monitor.observe(uow.events.claims())
            left_out = self._claim_monitor.alive() | self._still_locked()
            limit = AHEAD + len(left_out)
            due = [*uow.events.due(now, limit, FIRST), *_retries_due(uow, now, limit)]
            next_due = uow.events.next_due(now) if not due else now
        found = list(_one_of_each_lease(event for event in due if event.lease_id not in left_out))
        for lane, attempts in zip(self._lanes, (FIRST, AGAIN, STUCK), strict=True):
            lane.found = deque(event for event in found if event.attempts in attempts)
        self._void_dead_claims(now)
        if self._locked:
            return min(timedelta(seconds=LOCKED_FOR), self._settings.longest_sleep)
        return self._settings.longest_sleep if due else self._until(next_due, now)

    def _still_locked(self) -> frozenset[str]:
        """Return the ids of the leases whose rows another transaction had a moment ago."""
        now = time.monotonic()
        self._locked = {lease_id: until for lease_id, until in self._locked.items() if until > now}
        return frozenset(self._locked)

    def _reconcile_next(self) -> timedelta:
        """Have the next active lease compared with the cloud where it is time; returns when to look again.

        Every lease is compared once after each start of a manager, and at least once in each interval, by
        whichever manager finds it first. A lease counts as compared when it starts."""
        now, lane = time.monotonic(), self._reconciling
        if now < self._next_reconcile or not lane.is_free:
            return self._until_reconcile(now)
        # By time that passes evenly, for the clock may have been set since the start.
        uptime = timedelta(seconds=now - self._began)
        before = self._clock.now() - min(self._settings.reconcile, uptime)
        if not lane.found:
            self._skipped = {lease_id: until for lease_id, until in self._skipped.items() if until > now}
            with self._database.read() as uow:
                ids = uow.events.unreconciled(before, self._clock.now(), AHEAD + len(self._skipped))
            lane.found = deque(
                Event(lease_id, lease_id, EventType.CONVERGE, before)
                for lease_id in ids
                if lease_id not in self._skipped
            )
        self._next_reconcile = now + (PACE if lane.found else RECONCILE_LOOK)
        if lane.found:
            self._take_for_reconcile(lane.found.popleft(), before)
        return self._until_reconcile(now)

    def _take_for_reconcile(self, event: Event, before: datetime) -> None:
        try:
            held_claim = self._claims.take_lease(event, str(uuid4()), before)
        except LeaseLocked:
            self._skipped[event.lease_id] = time.monotonic() + LOCKED_FOR
            return
        if held_claim is not None:
            self._reconciling.hand_over(self._reconcile, held_claim)

    def _until_reconcile(self, now: float) -> timedelta:
        if not self._reconciling.is_free:
            return self._settings.longest_sleep
        # What is left may be too little for a duration, and a sleep of nothing would keep the loop spinning.
        return max(timedelta(seconds=self._next_reconcile - now), SHORTEST_SLEEP)

    def _reconcile(self, held_claim: HeldClaim) -> bool:
        """Return whether the cloud has answered."""
        lease_id, began, reached = held_claim.event.lease_id, time.perf_counter(), False
        with log_context.bound_to(None, lease_id), self._traced(held_claim.event):
            try:
                reached = self._events.reconcile(held_claim)
                outcome = "ok" if reached else "failed"
            except ClaimLost:
                outcome = "lost"
            except BlazarError as failure:
                LOG.warning("Lease %s is compared with the cloud later: %s", lease_id, failure)
                outcome = "failed"
            except Exception:
                # The edge of a worker thread: a defect in one lease must not stop the others.
                LOG.exception("Lease %s could not be compared with the cloud", lease_id)
                outcome = "defect"
        if not reached:
            self._skipped[lease_id] = time.monotonic() + SKIP_FOR
            self._next_reconcile = time.monotonic() + REST
        self._metrics.event_run("reconcile", outcome, 0.0, time.perf_counter() - began)
        return reached

    def _look_at_the_clock(self, now: datetime) -> None:
        """Bring forward the events that a clock set back would put off."""
        lead = timedelta(seconds=now.timestamp() - time.monotonic())
        if self._lead is not None and lead < self._lead - TOLERANCE:
            LOG.warning("The clock was set back by %.1f seconds", (self._lead - lead).total_seconds())
            self._events.bring_forward()
        self._lead = lead

    def _void_dead_claims(self, now: datetime) -> None:
        """Void the claims that seem to hold but are dead: a clock that was ahead granted them, and their
        managers work no more."""
        for claim in self._claim_monitor.dead():
            if claim.until > now and self._void(claim):
                LOG.warning(
                    "The claim on lease %s, until %s, is void: no manager extends it",
                    claim.lease_id,
                    claim.until,
                )

    def _void(self, claim: StandingClaim) -> bool:
        try:
            return self._database.transact(lambda uow: uow.events.void(claim))
        except LeaseLocked:
            return False  # the next look finds it again

    def _until(self, next_due: datetime | None, now: datetime) -> timedelta:
        longest = self._settings.longest_sleep
        # An event that is due but waits for another one of its lease must not keep the loop spinning.
        return longest if next_due is None else min(max(next_due - now, SHORTEST_SLEEP), longest)

    def _finished(self, held_claim: HeldClaim) -> None:
        self._claims.drop(held_claim)
        self._thread.wake()

    def _work(self, held_claim: HeldClaim) -> bool:
        """Return whether the event is over."""
        event = held_claim.event
        late = lateness(event, self._clock.now()).total_seconds()
        self._greatest_lateness = max(self._greatest_lateness, late)
        began = time.perf_counter()  # a duration, not a time of day
        with log_context.bound_to(None, event.lease_id), self._traced(event) as span:
            outcome, is_over = self._run_logged(held_claim)
            span.tell({"outcome": outcome})
        self._metrics.event_run(str(event.event_type), outcome, late, time.perf_counter() - began)
        return is_over

    def _traced(self, event: Event) -> AbstractContextManager[Span]:
        about = {"lease_id": event.lease_id, "openstack.request_id": log_context.request_id() or "-"}
        return self._tracing.entry(f"event {event.event_type}", about)

    def _run_logged(self, held_claim: HeldClaim) -> tuple[str, bool]:
        """Return the outcome in a word, and whether the event is over."""
        event = held_claim.event
        try:
            is_over = self._events.run(held_claim)
        except ClaimLost:
            LOG.warning("%s of lease %s was taken over by another manager", event.event_type, event.lease_id)
            self._metrics.claim_lost()
            return "lost", False
        except BlazarError as failure:
            LOG.warning("%s of lease %s is repeated later: %s", event.event_type, event.lease_id, failure)
            return "failed", False
        except Exception:
            # The edge of a worker thread: a defect in one event must not stop the others.
            LOG.exception("%s of lease %s failed unexpectedly", event.event_type, event.lease_id)
            self._thread.attempt(lambda: self._events.put_off(held_claim))
            return "defect", False
        LOG.info(
            "%s of lease %s was worked on",
            event.event_type,
            event.lease_id,
            extra={"action": "event", "event_type": str(event.event_type)},
        )
        return "ok", is_over


def _retries_due(uow: UnitOfWork, now: datetime, limit: int) -> Sequence[Event]:
    """Return what was tried before. Where there is much of it, what is stuck hides nothing of the rest."""
    found = uow.events.due(now, limit, range(AGAIN.start, STUCK.stop))
    return found if len(found) < limit else [*uow.events.due(now, limit, AGAIN), *found]


def _one_of_each_lease(events: Iterable[Event]) -> Iterable[Event]:
    """Return the first event of each lease; the others wait for it."""
    first: dict[str, Event] = {}
    for event in sorted(events, key=lambda e: (e.next_try, PRECEDENCE[e.event_type], e.id)):
        first.setdefault(event.lease_id, event)
    return first.values()
