"""Many threads want the same: exactly one of them gets it, and no thread loses anything."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest

from blazar.domain.errors import ClaimLost, LeaseLocked, Stale
from blazar.domain.lease.event import Event, EventType
from blazar.domain.resource import Pool
from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import Database, Match, UnitOfWork

from .builders import NOW, START, event_of, host, lease, minutes, new_id
from .test_subscriptions import subscription

T = TypeVar("T")
THREADS = 8


def all_at_once(work: Callable[[int], T], threads: int = THREADS) -> list[T | Exception]:
    """What each thread returned or raised; they start together."""
    gate = threading.Barrier(threads)

    def run(number: int) -> T | Exception:
        gate.wait()
        try:
            return work(number)
        except (Stale, ClaimLost, LeaseLocked) as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def assert_one_won(outcomes: Sequence[bool | Exception]) -> None:
    """The others found the lease claimed, or at this moment being claimed."""
    assert [outcome for outcome in outcomes if outcome is True] == [True]
    assert all(isinstance(outcome, bool | LeaseLocked) for outcome in outcomes)


def claim_one(events: Sequence[Event], u: UnitOfWork) -> bool:
    return any(u.events.claim(event.id, "alone", START, START + minutes(1)) for event in events)


def test_one_of_many_bumps_the_same_generations(database: Database) -> None:
    database.transact(lambda u: [u.resources.add(host(str(n)), NOW) for n in range(20)])
    for generation in range(5):
        expected = {str(n): generation for n in range(20)}
        outcomes = all_at_once(
            lambda number, expected=expected: database.transact(  # type: ignore[misc]
                lambda u: (u.resources.bump(expected, NOW), u.leases.add(lease("1", name=str(number)), NOW))
            )
        )
        assert sum(not isinstance(outcome, Stale) for outcome in outcomes) == 1
    with database.read() as u:
        assert set(u.resources.generations(Pool("host")).values()) == {5}
        assert len(u.leases.list()) == 5


def test_nobody_loses_a_bump_of_overlapping_resources(database: Database) -> None:
    """Every thread wants three of five resources, in an order of its own, and decides again where it was
    late."""
    database.transact(lambda u: [u.resources.add(host(str(n)), NOW) for n in range(5)])

    def until_done(number: int) -> int:
        wanted = [str((number * 3 + n * (1 if number % 2 else -1)) % 5) for n in range(3)]

        def work(u: UnitOfWork) -> None:
            known = u.resources.generations(Pool("host"))
            u.resources.bump({id_: known[id_] for id_ in wanted}, NOW)

        done = 0
        while done < 10:
            try:
                database.transact(work)
                done += 1
            except Stale:
                continue
        return done

    assert all_at_once(until_done) == [10] * THREADS
    with database.read() as u:
        assert sum(u.resources.generations(Pool("host")).values()) == THREADS * 10 * 3


def test_one_of_many_claims_an_event(database: Database) -> None:
    values = [lease("1") for _ in range(10)]
    database.transact(lambda u: [u.leases.add(value, NOW) for value in values])
    for value in values:
        event = event_of(value, EventType.START)
        outcomes = all_at_once(
            lambda number, event=event: database.transact(  # type: ignore[misc]
                lambda u: u.events.claim(event.id, str(number), START, START + minutes(1))
            )
        )
        assert_one_won(outcomes)
        winner = str(outcomes.index(True))
        assert database.transact(
            lambda u, e=event, w=winner: u.events.extend(e.id, w, START, START + minutes(2))
        )


def test_one_of_many_claims_one_of_a_leases_events(database: Database) -> None:
    """Different events, but of one lease: a check of the others alone would let several through."""
    for _ in range(10):
        value = lease("1")
        database.transact(lambda u, value=value: u.leases.add(value, NOW))  # type: ignore[misc]
        events = [value.events[number % 3] for number in range(THREADS)]
        outcomes = all_at_once(
            lambda number, events=events: database.transact(  # type: ignore[misc]
                lambda u: u.events.claim(events[number].id, str(number), START, START + minutes(1))
            )
        )
        # Where it was locked for an event that is not due, all others may have been told to come again.
        claims = partial(claim_one, value.events)
        assert [*outcomes, database.transact(claims)].count(True) == 1
        assert all(isinstance(outcome, bool | LeaseLocked) for outcome in outcomes)


def test_one_of_many_settles_after_the_claim_was_taken_over(database: Database) -> None:
    value = lease("1")
    event, until = event_of(value, EventType.START), START + minutes(1)
    database.transact(lambda u: u.leases.add(value, NOW))
    for number in range(THREADS):
        at = START + minutes(number)
        assert database.transact(
            lambda u, n=number, at=at: u.events.claim(event.id, str(n), at, at + minutes(1))
        )
    now = START + minutes(THREADS) - minutes(0.5)
    outcomes = all_at_once(
        lambda n: database.transact(lambda u: u.events.release_claim(event.id, str(n), now))
    )
    assert [isinstance(outcome, ClaimLost) for outcome in outcomes] == [True] * (THREADS - 1) + [False]
    assert until < now


def test_one_of_many_saves_a_lease(database: Database) -> None:
    value = lease("1")
    database.transact(lambda u: u.leases.add(value, NOW))
    with database.read() as u:
        old = u.leases.get(value.id)
    assert old is not None
    outcomes = all_at_once(
        lambda n: database.transact(lambda u: u.leases.save(replace(old, name=f"by {n}"), old, NOW))
    )
    (winner,) = (n for n, outcome in enumerate(outcomes) if not isinstance(outcome, Stale))
    with database.read() as u:
        saved = u.leases.get(value.id)
    assert saved is not None
    assert (saved.name, saved.revision) == (f"by {winner}", 1)


def test_removing_and_saving_at_once(database: Database) -> None:
    for _ in range(5):
        value = lease("1", "2")
        database.transact(lambda u, value=value: u.leases.add(value, NOW))  # type: ignore[misc]

        def work(number: int, value: object = value) -> str:
            with database.read() as u:
                old = u.leases.get(value.id)  # type: ignore[attr-defined]
            if old is None:
                raise Stale()
            if number % 2:
                database.transact(lambda u: u.leases.save(replace(old, reservations=()), old, NOW))
                return "saved"
            database.transact(lambda u: u.leases.remove(old))
            return "removed"

        outcomes = all_at_once(work)
        with database.read() as u:
            left = u.leases.get(value.id)
        assert outcomes.count("removed") == (1 if left is None else 0)


def test_the_same_property_is_recorded_once(database: Database) -> None:
    outcomes = all_at_once(
        lambda _: database.transact(
            lambda u: u.resources.add_properties("physical:host", ["gpu", "ssd"], NOW)
        )
    )
    assert outcomes == [None] * THREADS
    with database.read() as u:
        assert list(u.resources.private_properties("physical:host")) == ["gpu", "ssd"]


def test_the_same_host_is_registered_once(database: Database) -> None:
    outcomes = all_at_once(lambda _: database.transact(lambda u: u.resources.add(host("1"), NOW)))
    assert sum(not isinstance(outcome, Stale) for outcome in outcomes) == 1


@pytest.mark.parametrize("readers", [2])
def test_readers_always_see_whole_leases(database: Database, readers: int) -> None:
    """Each version of the lease has as many allocations as its name says; no reader may see a mixture."""
    value = lease("1", name="1")
    database.transact(lambda u: u.leases.add(value, NOW))
    is_over = threading.Event()

    def write() -> None:
        for n in range(2, 30):

            def work(u: UnitOfWork, n: int = n) -> None:
                old = u.leases.get(value.id)
                assert old is not None
                reservation = old.reservations[0]
                more = replace(reservation.allocations[0], id=new_id(), resource_id=str(n))
                grown = replace(reservation, allocations=(*reservation.allocations, more))
                u.leases.save(replace(old, name=str(n), reservations=(grown,)), old, NOW)

            database.transact(work)
        is_over.set()

    def read(_: int) -> set[bool]:
        seen = set()
        while not is_over.is_set():
            with database.read() as u:
                for found in (*u.leases.list(), u.leases.get(value.id)):
                    assert found is not None
                    seen.add(len(found.allocations) == int(found.name))
        return seen

    with ThreadPoolExecutor(readers + 1) as pool:
        results = [pool.submit(read, n) for n in range(readers)]
        pool.submit(write).result()
        assert [result.result() for result in results] == [{True}] * readers


def test_a_client_of_a_stream_misses_no_message_that_is_committed_late(database: Database) -> None:
    made = database.transact(lambda u: u.subscriptions.add(subscription(url=""), "whsec_eA==", NOW))
    is_put, pause = threading.Event(), threading.Event()

    def put(name: str, seconds: float) -> None:
        def work(u: UnitOfWork) -> None:
            u.subscriptions.put([Match(made.id, LeaseEvent.CREATED, {"name": name})], NOW)
            is_put.set()
            pause.wait(seconds)

        database.transact(work)

    heard: list[str] = []
    last = 0
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(put, "slow", 0.3)
        assert is_put.wait(10)
        quick = pool.submit(put, "quick", 0)
        while len(heard) < 2:
            is_over = slow.done() and quick.done()
            with database.read() as u:
                found = u.subscriptions.kept(made.id, last, 9).messages
            heard += [each.document["name"] for each in found]
            last = found[-1].id if found else last
            if is_over:
                break
            pause.wait(0.02)
    assert heard == ["slow", "quick"]
