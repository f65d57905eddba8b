"""Is a duty had by one manager at a time, and done no more often than asked?"""

from __future__ import annotations

from datetime import datetime

from blazar.service.ports import Database

from .builders import NOW, hours, minutes
from .test_concurrency import THREADS, all_at_once

NAME = "monitor"


def take(database: Database, token: str, now: datetime = NOW, every: float = 10) -> bool:
    until, before = now + minutes(1), now - minutes(every)
    return database.transact(lambda u: u.duties.take(NAME, token, now, until, before))


def extend(database: Database, token: str, now: datetime) -> bool:
    return database.transact(lambda u: u.duties.extend(NAME, token, now, now + minutes(1)))


def give_back(database: Database, token: str, done_at: datetime | None) -> bool:
    return database.transact(lambda u: u.duties.give_back(NAME, token, done_at))


def test_one_has_it(database: Database) -> None:
    assert take(database, "one")
    assert not take(database, "two")
    assert not take(database, "two", NOW + minutes(0.9))
    assert take(database, "two", NOW + minutes(1))
    assert not extend(database, "one", NOW + minutes(1))
    assert not give_back(database, "one", NOW)


def test_it_is_held_as_long_as_it_is_extended(database: Database) -> None:
    assert take(database, "one")
    assert extend(database, "one", NOW + minutes(0.9))
    assert not take(database, "two", NOW + minutes(1.8))
    assert not extend(database, "one", NOW + minutes(1.9))
    assert take(database, "two", NOW + minutes(1.9))


def test_who_has_it_takes_it_again(database: Database) -> None:
    """It may not know that it has: the answer to its first question was lost."""
    assert take(database, "one")
    assert take(database, "one", NOW + minutes(0.5))
    assert not take(database, "two", NOW + minutes(1.4))
    assert give_back(database, "one", NOW + minutes(0.6))
    assert not take(database, "one", NOW + minutes(1))


def test_what_is_done_waits_for_its_time(database: Database) -> None:
    assert take(database, "one")
    assert give_back(database, "one", NOW)
    assert not take(database, "two", NOW + minutes(9.9))
    assert take(database, "two", NOW + minutes(10))


def test_it_is_known_when_it_was_done(database: Database) -> None:
    def done_at() -> datetime | None:
        with database.read() as u:
            return u.duties.done_at(NAME)

    assert done_at() is None
    assert take(database, "one")
    assert done_at() is None
    assert give_back(database, "one", NOW)
    assert done_at() == NOW


def test_what_is_given_back_undone_is_due_at_once(database: Database) -> None:
    assert take(database, "one")
    assert give_back(database, "one", None)
    assert not give_back(database, "one", None)
    assert take(database, "two")


def test_a_clock_that_was_ahead_keeps_the_others_from_nothing(database: Database) -> None:
    assert take(database, "ahead", NOW + hours(5))
    assert take(database, "one")
    assert give_back(database, "one", NOW + hours(5))
    assert take(database, "two", NOW + minutes(1))


def test_many_take_it_for_the_first_time(database: Database) -> None:
    outcomes = all_at_once(lambda n: take(database, str(n)))
    assert [outcome for outcome in outcomes if outcome is True] == [True]
    assert len(outcomes) == THREADS
