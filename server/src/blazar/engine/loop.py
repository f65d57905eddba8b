"""When is the next event due, and who works on it: claim, run, and sleep until the next one."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from blazar.domain.errors import BlazarError
from blazar.domain.event import Event
from blazar.engine.claims import TOLERANCE, Claims, Watch
from blazar.service import trail
from blazar.service.events import Events, Hold
from blazar.service.observer import NOBODY, Observer
from blazar.service.ports import ClaimLost, Clock, Database, StandingClaim

LOG = logging.getLogger(__name__)
SHORTEST_SLEEP = timedelta(milliseconds=20)
AHEAD = 32
"""So many due events are found by one look at the database; each is claimed when a worker is free for it."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    workers: int = 8
    """How many events are worked on at once."""
    claim: timedelta = timedelta(seconds=15)
    """How long a claim holds unless it is extended; a crashed manager's events are taken over after this."""
    longest_sleep: timedelta = timedelta(seconds=1)
    """How often the database is asked for events that other processes made."""


class EventLoop:
    """Runs due events until it is stopped. ``start`` and ``stop`` are called once each; ``nudge`` from any thread."""

    def __init__(
        self,
        database: Database,
        events: Events,
        clock: Clock,
        settings: EngineSettings,
        observer: Observer = NOBODY,
    ) -> None:
        self._database = database
        self._events = events
        self._clock = clock
        self._settings = settings
        self._observer = observer
        self._claims = Claims(database, clock, settings.claim, observer)
        self._watch = Watch(settings.claim)
        self._lead: timedelta | None = None
        self._found: deque[Event] = deque()
        self._looked = 0.0
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="event")
        self._running: set[Future[None]] = set()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="event-loop", daemon=True)

    def start(self) -> None:
        self._claims.start()
        self._thread.start()

    def nudge(self) -> None:
        """Something may be due earlier than the loop knows."""
        self._wake.set()

    def stop(self, patience: timedelta = timedelta(seconds=10)) -> None:
        """Take no more events, let those under way reach their settlement for a while, then give the claims back."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(patience.total_seconds())
        self._pool.shutdown(wait=False, cancel_futures=True)
        _, unfinished = wait(list(self._running), patience.total_seconds())
        if unfinished:
            LOG.warning("%d events were not finished before the stop; they are repeated later", len(unfinished))
        self._claims.stop()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                sleep = self._take_due()
            except BlazarError as failure:
                LOG.warning("Events cannot be taken at the moment: %s", failure)
                sleep = self._settings.longest_sleep
            self._wake.wait(max(sleep.total_seconds(), 0))

    def _take_due(self) -> timedelta:
        """Hand due events to free workers; returns how long nothing else will be due."""
        while len(self._running) < self._settings.workers and not self._stopping.is_set():
            if not self._found or self._is_outdated():
                sleep = self._look()
                if not self._found:
                    return sleep
            hold = self._claims.take(self._found.popleft(), token=str(uuid4()))
            if hold is not None:
                self._hand_over(hold)
            else:
                self._found.clear()  # other managers are at them as well
        return self._settings.longest_sleep  # a worker that becomes free wakes the loop

    def _is_outdated(self) -> bool:
        return time.monotonic() - self._looked > self._settings.longest_sleep.total_seconds()

    def _look(self) -> timedelta:
        """Find what is due; returns how long nothing will be where nothing is."""
        now = self._clock.now()
        self._look_at_the_clock(now)
        self._looked = time.monotonic()
        with self._database.read() as uow:
            self._watch.look(uow.events.claims())
            alive = self._watch.alive()
            due = uow.events.due(now, AHEAD + len(alive))
            next_due = uow.events.next_due(now) if not due else now
        self._found = deque(_one_of_each_lease(event for event in due if event.lease_id not in alive))
        self._void_dead_claims(now)
        return self._settings.longest_sleep if due else self._until(next_due, now)

    def _look_at_the_clock(self, now: datetime) -> None:
        """Where it was set back, what it showed before must not put anything off."""
        lead = timedelta(seconds=now.timestamp() - time.monotonic())
        if self._lead is not None and lead < self._lead - TOLERANCE:
            LOG.warning("The clock was set back by %.1f seconds", (self._lead - lead).total_seconds())
            self._events.bring_forward()
        self._lead = lead

    def _void_dead_claims(self, now: datetime) -> None:
        """Those that look as if they held: a clock that was ahead granted them, and whoever had them works no more."""
        for claim in self._watch.dead():
            if claim.until > now and self._void(claim):
                LOG.warning("The claim on lease %s, until %s, is void: nobody extends it", claim.lease_id, claim.until)

    def _void(self, claim: StandingClaim) -> bool:
        return self._database.transact(lambda uow: uow.events.void(claim))

    def _until(self, next_due: datetime | None, now: datetime) -> timedelta:
        longest = self._settings.longest_sleep
        # An event that is due but waits for another one of its lease must not keep the loop spinning.
        return longest if next_due is None else min(max(next_due - now, SHORTEST_SLEEP), longest)

    def _hand_over(self, hold: Hold) -> None:
        future = self._pool.submit(self._work, hold)
        self._running.add(future)

        def finished(done: Future[None]) -> None:
            self._running.discard(done)
            self._claims.drop(hold)
            self._wake.set()

        future.add_done_callback(finished)

    def _work(self, hold: Hold) -> None:
        event = hold.event
        late = (self._clock.now() - event.next_try).total_seconds()
        began = time.perf_counter()  # a duration, not a time of day
        with trail.working_for(None, event.lease_id):
            outcome = self._run_logged(hold)
        self._observer.event_run(str(event.event_type), outcome, late, time.perf_counter() - began)

    def _run_logged(self, hold: Hold) -> str:
        """How it went, in a word."""
        event = hold.event
        try:
            self._events.run(hold)
        except ClaimLost:
            LOG.warning("%s of lease %s was taken over by another manager", event.event_type, event.lease_id)
            self._observer.claim_lost()
            return "lost"
        except BlazarError as failure:
            LOG.warning("%s of lease %s is repeated later: %s", event.event_type, event.lease_id, failure)
            return "failed"
        except Exception:
            # The edge of a worker thread: a defect in one event must not stop the others. The claim expires, and the
            # event is tried again.
            LOG.exception("%s of lease %s failed unexpectedly", event.event_type, event.lease_id)
            return "defect"
        LOG.info(
            "%s of lease %s was worked on",
            event.event_type,
            event.lease_id,
            extra={"action": "event", "event_type": str(event.event_type)},
        )
        return "ok"


def _one_of_each_lease(events: Iterable[Event]) -> Iterable[Event]:
    """The others wait for the first one."""
    first: dict[str, Event] = {}
    for event in events:
        first.setdefault(event.lease_id, event)
    return first.values()
