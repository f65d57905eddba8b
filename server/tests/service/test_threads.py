"""Whatever the database raises, at whichever call: the event loop, the heartbeat and the relay go on, and
health tells when one of them does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from effort import EFFORT

from blazar.domain.errors import CloudUnavailable, Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.engine.relay import Relay
from blazar.engine.threads import FAILING, SILENT, LongLivedThread
from blazar.service.health import HealthUseCases, ManagerHealth, ThreadHealth, ThreadState
from blazar.service.ports import Database, Notification, UnitOfWork

from .world import SetClock, World

T = TypeVar("T")
FAILURES = [
    RuntimeError("anything"),
    ValueError("'pause_lease' is not a valid EventType"),
    KeyError("x"),
    OSError(5, "Input/output error"),
    MemoryError(),
    RecursionError("deep"),
    StopIteration(),
    Stale(),
    CloudUnavailable(service="database", reason="away"),
]
TRIED = FAILURES[::4] if EFFORT == "quick" else FAILURES


class FailingDatabase:
    """A database that raises at the chosen call of a thread, counted from 1, once."""

    def __init__(self, inner: Database) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self.thread = ""
        self.fail_at = 0
        self.failure: BaseException = RuntimeError()
        self.calls = 0

    def _call(self) -> None:
        if not threading.current_thread().name.startswith(self.thread or "no thread"):
            return
        with self._lock:
            self.calls += 1
            if self.calls == self.fail_at:
                raise self.failure

    def read(self) -> AbstractContextManager[UnitOfWork]:
        self._call()
        return self._inner.read()

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        self._call()
        result = self._inner.transact(work)
        self._call()
        return result

    def takes_changes(self) -> bool:
        return True


class Receiver:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def send(self, notification: Notification) -> None:
        self.heard.append(notification.event_type)


class Place:
    """An engine and a relay on a database that fails where the test says."""

    def __init__(self) -> None:
        self.world = World()
        self.clock: Any = SetClock()
        self.world.clock = self.clock
        self.database = FailingDatabase(self.world.database)
        self.world.restart()
        self.world.events._database = self.database
        settings = EngineSettings(2, claim=timedelta(seconds=0.15), longest_sleep=timedelta(seconds=0.02))
        self.loop = EventLoop(self.database, self.world.events, self.clock, settings)
        self.receiver = Receiver()
        self.relay = Relay(self.database, self.receiver, self.clock, interval=timedelta(seconds=0.02))

    def threads(self) -> list[ThreadHealth]:
        return [*self.loop.health(), self.relay.health()]

    def start(self) -> None:
        self.loop.start()
        self.relay.start()

    def health(self) -> ManagerHealth:
        return HealthUseCases(self.world.database.inner, self.clock, self.threads).read()


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.database.fail_at = 0
    place.loop.stop()
    place.relay.stop()


def eventually(check: Callable[[], bool], what: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("failure", TRIED, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize(
    ("thread", "call"),
    [("event-loop", 1), ("event-loop", 2), ("event-loop", 3)] + [("relay", n) for n in range(1, 6)],
)
def test_the_loop_and_the_relay_survive_any_failure(
    place: Place, thread: str, call: int, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blazar.engine.threads.FIRST_PAUSE", 0.02)
    monkeypatch.setattr("blazar.engine.relay.HOLD", timedelta(seconds=0.1))
    lease = place.world.create()
    place.database.thread, place.database.fail_at, place.database.failure = thread, call, failure
    place.start()
    eventually(lambda: place.database.calls >= call, "the failure was injected")
    eventually(lambda: place.world.lease(lease).status is LeaseStatus.ACTIVE, "the lease started")
    eventually(lambda: "lease.event.start_lease" in place.receiver.heard, "the notification was delivered")
    assert place.health().works


@pytest.mark.slow
@pytest.mark.parametrize("failure", TRIED, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("call", [1, 2, 3])
def test_the_heartbeat_survives_any_failure(place: Place, call: int, failure: Exception) -> None:
    """A start that lasts for several claims is finished, by the claim that it began with."""
    slow = threading.Event()
    place.world.cloud.before = lambda name: None if name != "create_aggregate" else (slow.wait(2), None)[1]
    place.database.thread, place.database.fail_at, place.database.failure = "heartbeat", call, failure
    lease = place.world.create()
    place.start()
    eventually(lambda: place.database.calls > call, "the heartbeat went on after the failure")
    assert place.health().works
    slow.set()
    eventually(lambda: place.world.lease(lease).status is LeaseStatus.ACTIVE, "the lease started")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("thread", ["event-loop", "heartbeat", "relay"])
def test_health_is_never_good_while_a_thread_is_dead(place: Place, thread: str) -> None:
    class Killed(BaseException):
        """What no thread survives."""

    place.world.cloud.before = lambda name: time.sleep(0.5) if name == "create_aggregate" else None
    place.world.create()
    place.start()
    assert place.health().works
    place.database.failure, place.database.fail_at, place.database.thread = Killed(), 1, thread
    eventually(lambda: not place.health().works, "the death shows")
    states = {each.name: each.state for each in place.threads()}
    assert states.pop(thread) is ThreadState.DEAD
    assert set(states.values()) == {ThreadState.OK}


def test_a_thread_that_was_not_started_is_not_alive(place: Place) -> None:
    assert not place.health().works


class Times:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_thread_that_gives_no_sign_of_life_counts_as_dead() -> None:
    times, go_on = Times(), threading.Event()
    thread = LongLivedThread("stuck", lambda: float(go_on.wait()), times)
    thread.start()
    assert thread.health().state is ThreadState.OK
    times.now = SILENT + 1
    assert thread.health() == ThreadHealth("stuck", ThreadState.DEAD, SILENT + 1)
    thread.sign()
    assert thread.health().state is ThreadState.OK
    thread._stopping.set()
    go_on.set()
    thread.stop()


def test_a_cause_is_logged_once_and_lasting_failures_show(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blazar.engine.threads.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("blazar.engine.threads.LONGEST_PAUSE", 0.001)
    times, rounds, is_broken = Times(), [0], [True]

    def round() -> float:
        rounds[0] += 1
        if is_broken[0]:
            raise RuntimeError("broken")
        return 0.001

    thread = LongLivedThread("tried", round, times)
    with caplog.at_level("INFO"):
        thread.start()
        eventually(lambda: rounds[0] > 5, "it goes on")
        assert thread.health().state is ThreadState.OK
        times.now = FAILING + 1
        assert thread.health().state is ThreadState.FAILING
        is_broken[0] = False
        eventually(lambda: thread.health().state is ThreadState.OK, "it is well again")
        thread.stop()
    told = [record.getMessage() for record in caplog.records if record.name == "blazar.engine.threads"]
    assert told == ["tried failed unexpectedly and goes on", "tried works again"]


class Hurried(LongLivedThread):
    """Remembers how long it was to wait, does not wait, and ends after some rounds."""

    def __init__(self, round: Callable[[], float]) -> None:
        super().__init__("hurried", round)
        self.pauses: list[float] = []

    def _wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) > 6:
            self._stopping.set()


@pytest.mark.parametrize(
    "failure", [RuntimeError("anything"), CloudUnavailable(service="database", reason="away")]
)
def test_a_thread_that_fails_pauses_for_longer_each_time_and_starts_anew_after_a_good_round(
    failure: Exception,
) -> None:
    rounds: list[bool] = []

    def round() -> float:
        rounds.append(len(rounds) == 4)
        if not rounds[-1]:
            raise failure
        return 0.25

    thread = Hurried(round)
    thread.start()
    eventually(lambda: not thread._thread.is_alive(), "it ends")
    assert thread.pauses == [0.0, 1.0, 2.0, 4.0, 5.0, 0.25, 1.0]
