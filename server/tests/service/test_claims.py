"""Which claims does a manager still trust? One that slept, or whose clock was set, must not act on what it
had."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest

from blazar.domain.errors import ClaimLost
from blazar.domain.lease.event import EventType
from blazar.engine.claims import ClaimMonitor, Claims
from blazar.service.ports import StandingClaim

from .world import START, World

LENGTH = timedelta(seconds=15)


class Times:
    """A clock that may be set, and time that passes evenly whatever the clock shows."""

    def __init__(self) -> None:
        self.shown, self.passed = START, 0.0

    def now(self) -> datetime:
        return self.shown

    def pause(self, seconds: float) -> None:
        self.shown += timedelta(seconds=seconds)
        self.passed += seconds

    def monotonic(self) -> float:
        return self.passed


class Place:
    def __init__(self) -> None:
        world = World()
        self.times, self.database = Times(), world.database
        self.claims = Claims(self.database, self.times, LENGTH, monotonic=self.times.monotonic)
        event = world.create().event(EventType.START)
        assert event
        self.event = event


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_claim_holds_for_its_length(place: Place) -> None:
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    place.times.pause(14.9)
    held_claim.check()
    place.times.pause(0.2)
    with pytest.raises(ClaimLost):
        held_claim.check()


def test_one_that_is_extended_holds_on(place: Place) -> None:
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    for _ in range(5):
        place.times.pause(10)
        place.claims._extend("mine", place.claims._grants["mine"])
        held_claim.check()


def test_a_manager_that_slept_does_not_extend_what_it_has_lost(place: Place) -> None:
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    place.times.pause(60)
    other = Claims(place.database, place.times, LENGTH, monotonic=place.times.monotonic)
    assert other.take(place.event, "theirs")
    place.claims._extend("mine", place.claims._grants["mine"])
    with pytest.raises(ClaimLost):
        held_claim.check()


@pytest.mark.parametrize("jump", [-3600, -5, 5, 3600])
def test_a_clock_that_was_set_ends_the_claims(place: Place, jump: float) -> None:
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    held_claim.check()
    place.times.shown += timedelta(seconds=jump)
    with pytest.raises(ClaimLost):
        held_claim.check()


def test_a_clock_that_was_set_back_does_not_make_an_old_claim_new(place: Place) -> None:
    """By the clock the claim would held_claim again; by the time that passed it is long over."""
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    place.times.pause(20)
    place.times.shown -= timedelta(seconds=18)
    with pytest.raises(ClaimLost):
        held_claim.check()


def test_what_was_dropped_or_taken_by_another_is_lost(place: Place) -> None:
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    assert place.claims.take(place.event, "theirs") is None
    place.claims.drop(held_claim)
    with pytest.raises(ClaimLost):
        held_claim.check()


def test_a_stop_gives_unfinished_events_back(place: Place) -> None:
    held_claim = place.claims.take(place.event, "mine")
    assert held_claim
    place.claims.start()
    stopping = threading.Thread(target=place.claims.stop)
    stopping.start()
    stopping.join(10)
    with pytest.raises(ClaimLost):
        held_claim.check()
    assert place.claims.take(place.event, "theirs")


# ------------------------------------------------------------------------------------------- the claims of
# others


class Sight:
    """A watch, and what it sees: one claim at the most."""

    def __init__(self) -> None:
        self.times = Times()
        self.watch = ClaimMonitor(LENGTH, self.times.monotonic)

    def look(self, *until: datetime, after: float = 0) -> tuple[bool, bool]:
        """Whether the claim is alive, and whether it is dead."""
        self.times.pause(after)
        self.watch.observe([StandingClaim("lease", "token", moment) for moment in until])
        return bool(self.watch.alive()), bool(self.watch.dead())


ALIVE, DEAD, UNKNOWN = (True, False), (False, True), (False, False)
BEATS = [START + timedelta(seconds=n) for n in range(10)]


@pytest.mark.parametrize("wrong", [-3600, 0, 3600])
def test_a_claim_that_is_extended_is_alive_whatever_the_time(wrong: float) -> None:
    sight = Sight()
    sight.look()
    for beat in BEATS:
        assert sight.look(beat + timedelta(seconds=wrong), after=14.9) == ALIVE


@pytest.mark.parametrize("wrong", [-3600, 0, 3600])
def test_one_that_is_not_extended_for_its_length_is_dead(wrong: float) -> None:
    sight, until = Sight(), START + timedelta(seconds=wrong)
    sight.look()
    assert sight.look(until, after=5) == ALIVE
    assert sight.look(until, after=14.9) == ALIVE
    assert sight.look(until, after=0.2) == DEAD
    assert sight.look(until + timedelta(seconds=1), after=1) == ALIVE


def test_of_one_that_stood_there_before_nobody_knows() -> None:
    sight = Sight()
    assert sight.look(START) == UNKNOWN
    assert sight.look(START, after=14.9) == UNKNOWN
    assert sight.look(START, after=0.2) == DEAD
    sight = Sight()
    sight.look(START)
    assert sight.look(START + timedelta(seconds=5), after=5) == ALIVE


def test_one_that_was_given_back_is_forgotten() -> None:
    sight = Sight()
    sight.look()
    sight.look(START, after=1)
    assert sight.look(after=1) == UNKNOWN
    assert sight.look(START, after=20) == ALIVE
