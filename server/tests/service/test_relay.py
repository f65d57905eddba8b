"""Notifications leave the outbox once each, in order, and stay while no receiver takes them."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import CloudUnavailable, Stale
from blazar.engine.relay import HOLD, Relay
from blazar.service.ports import Notification

from .world import START, MovedClock


class Receiver:
    """A notifier that the test can take down, and that may look around while it is at work."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.fails_from: int | None = None
        self.meanwhile = lambda: None

    def send(self, notification: Notification) -> None:
        if self.fails_from is not None and len(self.heard) >= self.fails_from:
            raise CloudUnavailable(service="the message broker", reason="away")
        self.heard.append(notification.event_type)
        self.meanwhile()


@pytest.fixture
def database() -> MemoryDatabase:
    database = MemoryDatabase()
    for name in "abcd":
        database.transact(lambda u, name=name: u.outbox.put(name, {}, START))
    return database


def depth(database: MemoryDatabase) -> int:
    with database.read() as uow:
        return uow.outbox.depth()


def test_they_are_delivered_in_order_and_leave(database: MemoryDatabase) -> None:
    receiver = Receiver()
    assert Relay(database, receiver, MovedClock()).deliver() == 4
    assert receiver.heard == list("abcd")
    assert depth(database) == 0


def test_those_that_nobody_takes_stay_and_go_as_soon_as_they_can(database: MemoryDatabase) -> None:
    receiver = Receiver()
    relay = Relay(database, receiver, MovedClock())
    receiver.fails_from = 2
    with pytest.raises(CloudUnavailable):
        relay.deliver()
    assert depth(database) == 2
    receiver.fails_from = None
    assert relay.deliver() == 2
    assert receiver.heard == list("abcd")


def test_two_managers_do_not_deliver_the_same(database: MemoryDatabase) -> None:
    receiver, clock = Receiver(), MovedClock()
    other = Relay(database, receiver, clock)
    counts: list[int] = []
    receiver.meanwhile = lambda: counts.append(other.deliver())
    Relay(database, receiver, clock).deliver()
    assert counts == [0, 0, 0, 0]
    assert receiver.heard == list("abcd")


def test_those_of_a_manager_that_died_are_delivered_by_another(database: MemoryDatabase) -> None:
    receiver, clock = Receiver(), MovedClock()
    database.transact(lambda u: u.outbox.take(10, START, START + HOLD))
    relay = Relay(database, receiver, clock)
    assert relay.deliver() == 0
    clock.pause(HOLD.total_seconds())
    assert relay.deliver() == 4


@pytest.mark.slow
def test_the_order_holds_whatever_becomes_of_managers_and_broker() -> None:
    """Two managers, one of which hangs in the broker or dies at any notification: each notification comes at
    least once, and never one before those that were there first."""
    for seed in range(200):
        random, clock, database = Random(seed), MovedClock(), MemoryDatabase()
        receiver = Receiver()
        one, other = (Relay(database, receiver, clock) for _ in range(2))
        names = [str(number) for number in range(30)]
        waiting = list(names)

        def step(relay: Relay) -> None:
            with suppress(CloudUnavailable, Stale):
                relay.deliver()

        def meanwhile(random: Random = random, clock: MovedClock = clock, other: Relay = other) -> None:
            if random.random() < 0.1:
                clock.pause(HOLD.total_seconds() * random.random() * 1.5)
            if random.random() < 0.3:
                step(other)

        for _ in range(300):
            now = clock.now()
            if waiting and random.random() < 0.5:
                name = waiting.pop(0)
                database.transact(lambda u, name=name, now=now: u.outbox.put(name, {}, now))
            receiver.meanwhile = meanwhile
            receiver.fails_from = len(receiver.heard) + random.choice((0, 1, 2)) if waiting else None
            if random.random() < 0.05:  # a manager that dies after it has sent some
                taken = database.transact(lambda u, now=now: u.outbox.take(100, now, now + HOLD))
                receiver.heard += [each.event_type for each in taken[: random.randrange(4)]]
            step(one)
            clock.pause(10)
        receiver.fails_from = None
        clock.pause(2 * HOLD.total_seconds())
        step(one)
        assert depth(database) == 0
        assert list(dict.fromkeys(receiver.heard)) == names


def test_what_another_program_compares_is_delivered_before_and_stays_for_it(
    database: MemoryDatabase,
) -> None:
    receiver, clock = Receiver(), MovedClock()
    relay = Relay(database, receiver, clock, compares=False)
    with database.read() as uow:
        oldest, *others = uow.outbox.unmatched(10)
    database.transact(lambda u: u.outbox.mark_matched([oldest.id]))
    assert relay.deliver() == 4
    assert relay.deliver() == 0
    assert receiver.heard == list("abcd")
    assert depth(database) == 0
    with database.read() as uow:
        assert list(uow.outbox.unmatched(10)) == others
    database.transact(lambda u: u.outbox.mark_matched([each.id for each in others]))
    assert Relay(database, receiver, clock).deliver() == 0
    assert receiver.heard == list("abcd")


def test_a_relay_that_dies_before_it_writes_what_it_has_sent_loses_nothing(database: MemoryDatabase) -> None:
    receiver, clock = Receiver(), MovedClock()
    relay = Relay(database, receiver, clock, compares=False)
    receiver.fails_from = 2
    with pytest.raises(CloudUnavailable):
        relay.deliver()
    assert depth(database) == 2
    database.transact(lambda u: u.outbox.take(10, START, START + HOLD))  # and dies
    clock.pause(HOLD.total_seconds())
    receiver.fails_from = None
    assert relay.deliver() == 2
    assert receiver.heard == list("abcd")
    with database.read() as uow:
        assert [each.event_type for each in uow.outbox.unmatched(10)] == list("abcd")
