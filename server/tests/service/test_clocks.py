"""Clocks are set, or differ: no manager waits for a time that only a wrong one has shown, and none takes away
what is alive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.progress import enter, postpone
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.service.polling import DATABASE_PAUSES, until

from .world import START, MovedClock, SetClock, World

LENGTH = timedelta(seconds=0.6)
HOUR = timedelta(hours=1)


class Place:
    """A world with an engine that looks often."""

    def __init__(self) -> None:
        self.world = World()
        self.clock = SetClock()
        self.world.clock = self.clock  # type: ignore[assignment]
        self.world.restart()
        settings = EngineSettings(claim=LENGTH, longest_sleep=timedelta(seconds=0.02))
        self.loop = EventLoop(self.world.database, self.world.events, self.clock, settings)

    def status_within(self, lease: Lease, wanted: LeaseStatus, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.world.lease(lease).status is wanted:
                return True
            time.sleep(0.02)
        return False


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.loop.stop()


def start_of(lease: Lease) -> Event:
    event = lease.event(EventType.START)
    assert event
    return event


@pytest.mark.slow
def test_a_claim_of_a_dead_manager_whose_clock_was_ahead_is_void(place: Place) -> None:
    lease = place.world.create()
    event, now = start_of(lease), place.clock.now()
    assert place.world.database.transact(lambda u: u.events.claim(event.id, "theirs", now, now + HOUR))
    place.loop.start()
    assert not place.status_within(lease, LeaseStatus.ACTIVE, 0.5)
    assert place.status_within(lease, LeaseStatus.ACTIVE, 1)


@pytest.mark.slow
def test_what_is_alive_is_not_taken_by_a_manager_whose_clock_is_ahead(place: Place) -> None:
    place.loop.start()
    time.sleep(0.1)
    lease = place.world.create(start=30, end=180)
    event, length = start_of(lease), timedelta(seconds=1)
    beats = [lease.interval.start + timedelta(seconds=n / 10) for n in range(10)]
    database = place.world.database
    assert database.transact(lambda u: u.events.claim(event.id, "theirs", beats[0], beats[0] + length))
    place.clock.ahead += HOUR
    for now in beats:
        assert database.transact(lambda u, now=now: u.events.extend(event.id, "theirs", now, now + length))
        assert not place.status_within(lease, LeaseStatus.ACTIVE, 0.1)
    assert place.status_within(lease, LeaseStatus.ACTIVE, 2)


@pytest.mark.slow
def test_a_retry_by_a_clock_that_was_ahead_is_made_when_it_is_set_back(place: Place) -> None:
    lease = place.world.create()
    later = postpone(lease, start_of(lease), place.clock.now() + HOUR, "the cloud was away").lease
    place.world.database.transact(lambda u: u.leases.save(later, lease, START))
    place.clock.ahead += HOUR / 2
    place.loop.start()
    assert not place.status_within(lease, LeaseStatus.ACTIVE, 0.3)
    place.clock.ahead -= HOUR / 2
    assert place.status_within(lease, LeaseStatus.ACTIVE, 1)


@pytest.mark.slow
def test_a_start_that_was_begun_too_early_is_finished(place: Place) -> None:
    lease = place.world.create(start=30)
    entered = enter(lease, start_of(lease), lease.interval.start)
    place.world.database.transact(lambda u: u.leases.save(entered.lease, lease, START))
    assert place.world.lease(lease).status is LeaseStatus.STARTING
    place.clock.ahead += timedelta(minutes=29)
    place.loop.start()
    assert not place.status_within(lease, LeaseStatus.ACTIVE, 0.3)
    place.clock.ahead -= timedelta(minutes=29)
    assert place.status_within(lease, LeaseStatus.ACTIVE, 1)


@pytest.mark.parametrize(("jump", "times"), [(timedelta(0), 4), (-HOUR, 4), (HOUR, 1)])
def test_waiting_ends_in_time_wherever_the_clock_is_set(jump: timedelta, times: int) -> None:
    clock = MovedClock()
    waited = 0
    for _ in until(START + timedelta(seconds=2), clock, DATABASE_PAUSES):
        waited += 1
        if waited == 1:
            clock.pause(jump.total_seconds())
    assert waited == times
    assert list(until(START, MovedClock(), DATABASE_PAUSES)) == []
