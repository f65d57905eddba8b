"""A call is begun once, by whichever manager is first."""

from __future__ import annotations

import pytest

from blazar.domain.errors import Stale
from blazar.service.ports import Database

from .builders import NOW, minutes
from .test_concurrency import THREADS, all_at_once


def begin(database: Database, call_id: str, after: int = 0) -> None:
    database.transact(lambda uow: uow.calls.begin(call_id, NOW + minutes(after)))


def test_a_call_is_begun_once(database: Database) -> None:
    begin(database, "one")
    begin(database, "two")
    with pytest.raises(Stale):
        begin(database, "one", after=1)


def test_a_call_is_begun_again_where_the_transaction_was_given_up(database: Database) -> None:
    class GivenUp(Exception):
        pass

    def give_up(uow: object) -> None:
        uow.calls.begin("one", NOW)  # type: ignore[attr-defined]
        raise GivenUp

    with pytest.raises(GivenUp):
        database.transact(give_up)
    begin(database, "one")


def test_calls_are_forgotten(database: Database) -> None:
    begin(database, "old")
    begin(database, "new", after=5)
    database.transact(lambda uow: uow.calls.forget(NOW + minutes(5)))
    begin(database, "old")
    with pytest.raises(Stale):
        begin(database, "new")


def test_of_managers_at_the_same_time_one_begins(database: Database) -> None:
    def attempt(_: int) -> bool:
        try:
            begin(database, "one")
        except Stale:
            return False
        return True

    assert sum(all_at_once(attempt)) == 1
    assert THREADS > 1
