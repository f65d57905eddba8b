"""Notifications wait in their order until a relay has delivered them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import text

from blazar.adapters.db import SqlDatabase
from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import Stale
from blazar.service.ports import Database, Notification

from .builders import NOW, minutes
from .test_concurrency import THREADS, all_at_once


def put(database: Database, *event_types: str) -> list[Notification]:
    for event_type in event_types:
        database.transact(lambda u, t=event_type: u.outbox.put(t, {"about": t}, NOW))  # type: ignore[misc]
    return peek(database)


def peek(database: Database, limit: int = 100) -> list[Notification]:
    with database.read() as u:
        return list(u.outbox.peek(limit))


def depth(database: Database) -> int:
    with database.read() as u:
        return u.outbox.depth()


def test_waits_in_order(database: Database) -> None:
    assert (peek(database), depth(database)) == ([], 0)
    notifications = put(database, "lease.create", "lease.event.start_lease", "lease.delete")
    assert [notification.payload["about"] for notification in notifications] == [
        notification.event_type for notification in notifications
    ]
    assert [notification.event_type for notification in notifications] == [
        "lease.create",
        "lease.event.start_lease",
        "lease.delete",
    ]
    assert {notification.created_at for notification in notifications} == {NOW}
    assert peek(database, 2) == notifications[:2]
    assert depth(database) == 3


def test_keeps_the_payload_as_it_is(database: Database) -> None:
    payload = {"name": "🙂", "n": 1.5, "none": None, "list": [{"a": [True]}], "long": "x" * 100_000}
    database.transact(lambda u: u.outbox.put("lease.create", payload, NOW + minutes(1)))
    assert [notification.payload for notification in peek(database)] == [payload]


def test_delivers_and_forgets(database: Database) -> None:
    first, second, third = put(database, "a", "b", "c")
    database.transact(lambda u: u.outbox.remove([first.id, third.id, 10**9]))
    assert peek(database) == [second]
    database.transact(lambda u: u.outbox.remove([]))
    assert depth(database) == 1


def test_tells_the_id_of_a_new_one(database: Database) -> None:
    put(database, "a")
    told = database.transact(lambda u: u.outbox.put("b", {}, NOW))
    assert [notification.event_type for notification in peek(database) if notification.id == told] == ["b"]


def test_never_uses_an_id_again(database: Database) -> None:
    (first,) = put(database, "a")
    database.transact(lambda u: u.outbox.remove([first.id]))
    (second,) = put(database, "b")
    assert second.id > first.id


def test_is_committed_with_what_it_tells(database: Database) -> None:
    with pytest.raises(LookupError):
        database.transact(lambda u: (u.outbox.put("lease.create", {}, NOW), {}["no"]))
    assert depth(database) == 0


def take(database: Database, at: float = 0, limit: int = 100) -> list[Notification]:
    now = NOW + minutes(at)
    return list(database.transact(lambda u: u.outbox.take(limit, now, now + minutes(1))))


def test_one_relay_at_a_time_has_the_notices(database: Database) -> None:
    assert take(database) == []
    notifications = put(database, "a", "b", "c")
    assert take(database, limit=2) == notifications[:2]
    put(database, "d")
    assert take(database, at=0.5) == []
    assert take(database, at=1) == peek(database)


def test_what_is_given_back_can_be_taken_at_once(database: Database) -> None:
    first, second = put(database, "a", "b")
    take(database)
    database.transact(lambda u: (u.outbox.remove([first.id]), u.outbox.give_back([second.id])))
    assert take(database) == [second]


def test_a_clock_that_was_ahead_does_not_keep_them_back(database: Database) -> None:
    notifications = put(database, "a")
    assert take(database, at=60) == notifications
    assert take(database, at=59) == []
    assert take(database, at=58.9) == notifications


def test_one_of_many_relays_takes_the_notices(database: Database) -> None:
    for _ in range(5):
        notifications = put(database, "a", "b", "c")
        outcomes = all_at_once(lambda _: take(database))
        assert [o for o in outcomes if o and not isinstance(o, Stale)] == [notifications]
        assert len(outcomes) == THREADS
        database.transact(lambda u, ids=[n.id for n in notifications]: u.outbox.remove(ids))  # type: ignore[misc]


def test_many_are_put_in_their_order(database: Database) -> None:
    database.transact(lambda u: u.outbox.put_all([], NOW))
    database.transact(lambda u: u.outbox.put_all([("lease.moved", {"n": n}) for n in range(3)], NOW))
    with database.read() as u:
        found = u.outbox.peek(9)
    assert [(each.event_type, each.payload["n"]) for each in found] == [("lease.moved", n) for n in range(3)]
    assert not any(each.matched for each in found)


def rows(database: Database) -> int:
    """Return how many there are, also those that are neither to be delivered nor to be compared."""
    if isinstance(database, SqlDatabase):
        with database.engine.connect() as connection:
            return int(connection.scalar(text("SELECT count(*) FROM outbox")) or 0)
    assert isinstance(database, MemoryDatabase)
    return len(database._committed.notifications)


def unmatched(database: Database) -> list[Notification]:
    with database.read() as u:
        return list(u.outbox.unmatched(100))


def test_what_was_delivered_stays_until_it_is_compared(database: Database) -> None:
    first, second = put(database, "a", "b")
    database.transact(lambda u: u.outbox.mark_delivered([first.id]))
    assert (peek(database), depth(database)) == ([second], 1)
    assert take(database) == [second]
    assert unmatched(database) == [first, second]
    database.transact(lambda u: u.outbox.mark_matched([first.id, second.id]))
    assert unmatched(database) == []
    with pytest.raises(Stale):
        database.transact(lambda u: u.outbox.mark_matched([first.id]))
    assert [each.id for each in peek(database)] == [second.id]
    assert rows(database) == 1


def test_what_was_compared_goes_when_it_is_delivered(database: Database) -> None:
    first, second = put(database, "a", "b")
    database.transact(lambda u: u.outbox.mark_matched([first.id]))
    database.transact(lambda u: u.outbox.mark_delivered([first.id, second.id, 10**9]))
    assert (peek(database), depth(database)) == ([], 0)
    assert unmatched(database) == [second]
    assert rows(database) == 1


def test_one_of_those_who_deliver_and_who_compare_at_once_removes_them(database: Database) -> None:
    for _ in range(5):
        ids = [each.id for each in put(database, *"abcdef")]

        def settle(number: int, ids: Sequence[int] = ids) -> None:
            mark = database.transact
            if number % 2:
                mark(lambda u: u.outbox.mark_delivered(ids))
            else:
                mark(lambda u: u.outbox.mark_matched(ids))

        outcomes = all_at_once(settle)
        assert [each for each in outcomes if each is not None and not isinstance(each, Stale)] == []
        assert (depth(database), unmatched(database), rows(database)) == (0, [], 0)
