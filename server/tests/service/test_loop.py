"""Many events at once: each is worked on once, in order, with few queries, however many
managers there are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.service.ports import Database, UnitOfWork

from .world import SetClock, World

T = TypeVar("T")
HOSTS = 60


class CountingDatabase:
    """Any database; counts how often it is read."""

    def __init__(self, inner: Database) -> None:
        self._inner = inner
        self.reads = 0

    def read(self) -> AbstractContextManager[UnitOfWork]:
        self.reads += 1
        return self._inner.read()

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        return self._inner.transact(work)

    def takes_changes(self) -> bool:
        return self._inner.takes_changes()


class Place:
    """A world whose leases are all due, and loops to work on them."""

    def __init__(self) -> None:
        self.world = World(hosts=HOSTS)
        self.clock: Any = SetClock()
        self.world.clock = self.clock
        self.world.restart()
        self.leases = [self.world.create(name=str(number)) for number in range(HOSTS)]
        self.loops: list[EventLoop] = []

    def loop(self, workers: int, database: Database | None = None, longest_sleep: float = 0.5) -> EventLoop:
        sleep = timedelta(seconds=longest_sleep)
        settings = EngineSettings(workers=workers, longest_sleep=sleep, reconcile=timedelta(0))
        made = EventLoop(database or self.world.database, self.world.events, self.clock, settings)
        self.loops.append(made)
        return made

    def wait_for(self, leases: list[Lease], status: LeaseStatus) -> None:
        end = time.monotonic() + 30
        while any(self.world.lease(lease).status is not status for lease in leases):
            assert time.monotonic() < end, [self.world.lease(lease).status for lease in leases]
            time.sleep(0.01)


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    for loop in place.loops:
        loop.stop()


@pytest.mark.slow
def test_many_events_are_found_with_few_looks(place: Place) -> None:
    database = CountingDatabase(place.world.database)
    place.loop(2, database).start()
    place.wait_for(place.leases, LeaseStatus.ACTIVE)
    assert database.reads < HOSTS / 2


@pytest.mark.slow
def test_loops_side_by_side_work_on_each_event_once(place: Place) -> None:
    for workers in (1, 3, 8):
        place.loop(workers).start()
    place.wait_for(place.leases, LeaseStatus.ACTIVE)
    for lease in place.leases:
        start = place.world.lease(lease).event(EventType.START)
        assert start
        assert (start.status, start.attempts) == (EventStatus.DONE, 1)


class LookedAt(CountingDatabase):
    """Lets something happen right after the loop's next look, before the loop goes on."""

    then: Callable[[], object] | None = None

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        with super().read() as uow:
            yield uow
        then, self.then = self.then, None
        if then and threading.current_thread().name == "event-loop":
            then()


def sleeping(place: Place, longest_sleep: float = 3600) -> tuple[LookedAt, EventLoop]:
    """Return a loop that found nothing."""
    for lease in place.leases:
        place.world.delete(lease)
    place.world.run_due()
    database = LookedAt(place.world.database)
    loop = place.loop(1, database, longest_sleep)
    loop.start()
    assert read_again(database, 0, 20)
    settled(database)
    return database, loop


def settled(database: CountingDatabase) -> int:
    reads = -1
    while reads != database.reads:
        reads = database.reads
        time.sleep(0.1)
    return reads


def read_again(database: CountingDatabase, reads: int, seconds: float) -> bool:
    """Wait until the database was read more than ``reads`` times. Return false where it was not."""
    end = time.monotonic() + seconds
    while database.reads <= reads and time.monotonic() < end:
        time.sleep(0.01)
    return database.reads > reads


@pytest.mark.slow
def test_work_that_is_due_after_the_next_look_wakes_nobody(place: Place) -> None:
    database, loop = sleeping(place)
    before = database.reads
    loop.nudge(place.clock.now() + timedelta(minutes=61))
    assert settled(database) == before
    loop.nudge(place.clock.now() + timedelta(minutes=59))
    assert read_again(database, before, 20)


@pytest.mark.slow
def test_a_look_that_may_have_missed_a_commit_is_repeated(place: Place) -> None:
    """The loop wakes by itself, and the commit comes while it looks."""
    database, loop = sleeping(place, longest_sleep=1.5)
    reads = []

    def commit() -> None:
        reads.append(database.reads)
        loop.nudge(place.clock.now() + timedelta(seconds=1))

    database.then = commit
    while not reads:
        time.sleep(0.01)
    assert read_again(database, reads[0], 1)
