"""What users are to be told by mail waits in a lane for each, which one manager at a time works on."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy import insert, select

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.tables import mail_items
from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import LONGEST_MAIL_DELAY, Database, MailBatch, MailItem

from .builders import NOW, hours, minutes

HOLD = minutes(10)


def put(database: Database, user: str, *leases: str, left_out: int = 0, now: datetime = NOW) -> None:
    items = [MailItem(user, LeaseEvent.CREATED, {"lease_id": each}, now) for each in leases]
    database.transact(lambda u: u.mails.put(user, items, left_out, now))


def ready(database: Database, now: datetime = NOW, limit: int = 10) -> list[str]:
    with database.read() as u:
        return list(u.mails.ready(now, limit))


def take(database: Database, user: str, now: datetime = NOW, token: str = "t") -> MailBatch | None:
    return database.transact(lambda u: u.mails.take(user, token, now, now + HOLD))


def taken(database: Database, user: str, now: datetime = NOW, token: str = "t") -> MailBatch:
    found = take(database, user, now, token)
    assert found is not None
    return found


def settle(database: Database, batch: MailBatch, due: datetime) -> None:
    database.transact(lambda u: u.mails.settle(batch, due))


def leases(batch: MailBatch) -> list[str]:
    return [each.document["lease_id"] for each in batch.items]


def test_what_waits_for_a_user_is_taken_together_and_in_order(database: Database) -> None:
    assert (ready(database), take(database, "u1")) == ([], None)
    put(database, "u1", "a", "b")
    put(database, "u2", "c")
    put(database, "u1", "d", left_out=2)
    assert ready(database) == ["u1", "u2"]
    assert ready(database, limit=1) == ["u1"]
    with database.read() as u:
        assert (u.mails.waiting(["u1", "u2", "u3"]), u.mails.count()) == ({"u1": 3, "u2": 1}, 4)
    batch = taken(database, "u1")
    assert leases(batch) == ["a", "b", "d"]
    assert (batch.user_id, batch.left_out, batch.attempts) == ("u1", 2, 0)
    first = batch.items[0]
    assert (first.user_id, first.event, first.created_at) == ("u1", LeaseEvent.CREATED, NOW)
    assert take(database, "u1", token="other") is None  # another manager
    assert ready(database) == ["u2"]


def test_what_is_settled_is_gone_and_the_next_mail_waits(database: Database) -> None:
    put(database, "u1", "a", left_out=1)
    batch = taken(database, "u1")
    put(database, "u1", "b", left_out=4)  # meanwhile
    settle(database, batch, NOW + minutes(1))
    assert (ready(database), ready(database, NOW + minutes(1))) == ([], ["u1"])
    later = taken(database, "u1", NOW + minutes(1))
    assert (leases(later), later.left_out, later.attempts) == (["b"], 4, 0)
    settle(database, later, NOW + minutes(2))
    assert ready(database, NOW + hours(1)) == []
    put(database, "u1", "c", now=NOW + minutes(1.5))
    assert ready(database, NOW + minutes(1.5)) == []
    assert ready(database, NOW + minutes(2)) == ["u1"]


def test_a_mail_that_failed_is_the_same_one_when_it_is_tried_again(database: Database) -> None:
    put(database, "u1", "a", "b")
    batch = taken(database, "u1")
    put(database, "u1", "c")
    database.transact(lambda u: u.mails.put_off(batch, NOW + minutes(1), 3))
    assert ready(database) == []
    again = taken(database, "u1", NOW + minutes(1), "other")
    assert (leases(again), again.attempts) == (["a", "b"], 3)
    settle(database, again, NOW + minutes(2))
    assert leases(taken(database, "u1", NOW + minutes(2))) == ["c"]


def test_those_that_have_not_failed_come_first(database: Database) -> None:
    put(database, "u1", "a")
    put(database, "u2", "b")
    batch = taken(database, "u1")
    database.transact(lambda u: u.mails.put_off(batch, NOW, 1))
    assert ready(database) == ["u2", "u1"]


def test_a_manager_that_was_too_slow_removes_what_it_has_sent_and_no_more(database: Database) -> None:
    put(database, "u1", "a")
    slow = taken(database, "u1", token="slow")
    other = taken(database, "u1", NOW + HOLD, "other")
    put(database, "u1", "b")
    database.transact(lambda u: u.mails.put_off(slow, NOW, 9))
    settle(database, slow, NOW)
    assert ready(database, NOW + HOLD) == []  # the other one has it
    settle(database, other, NOW + HOLD)
    last = taken(database, "u1", NOW + HOLD)
    assert (leases(last), last.attempts) == (["b"], 0)
    with database.read() as u:
        assert (u.mails.waiting(["u1"]), u.mails.count()) == ({"u1": 1}, 1)


def test_what_is_old_is_forgotten_and_nothing_is_left_of_users(database: Database) -> None:
    put(database, "u1", "a", now=NOW - hours(2))
    put(database, "u1", "b")
    put(database, "u2", "c", now=NOW - hours(2))
    forget = lambda: database.transact(lambda u: u.mails.forget(NOW - hours(1), NOW))  # noqa: E731
    assert (forget(), forget()) == (2, 0)
    with database.read() as u:
        assert u.mails.waiting(["u1", "u2"]) == {"u1": 1}
    batch = taken(database, "u1")
    assert leases(batch) == ["b"]
    settle(database, batch, NOW + minutes(1))
    assert forget() == 0
    with database.read() as u:
        assert u.mails.waiting(["u1"]) == {"u1": 0}  # the next mail is not due yet
    assert database.transact(lambda u: u.mails.forget(NOW, NOW + minutes(1))) == 0
    with database.read() as u:
        assert u.mails.waiting(["u1"]) == {}


def test_a_mail_of_a_later_time_waits_for_it_with_all_that_comes(database: Database) -> None:
    put(database, "u1", "a", now=NOW + hours(5))
    put(database, "u1", "b", now=NOW + hours(6))
    put(database, "u1", "c")
    assert ready(database, NOW + hours(4)) == []
    batch = taken(database, "u1", NOW + hours(5))
    assert leases(batch) == ["a", "b", "c"]
    settle(database, batch, NOW + hours(6))
    put(database, "u1", "d", now=NOW + hours(7))
    assert ready(database, NOW + hours(6)) == []
    put(database, "u1", "e", now=NOW + hours(1))
    assert leases(taken(database, "u1", NOW + hours(7))) == ["d", "e"]


def test_a_mail_whose_events_are_forgotten_is_followed_by_the_next(database: Database) -> None:
    put(database, "u1", "a", now=NOW - hours(2))
    batch = taken(database, "u1")
    put(database, "u1", "b")
    database.transact(lambda u: u.mails.put_off(batch, NOW, 1))
    database.transact(lambda u: u.mails.forget(NOW - hours(1), NOW))
    assert leases(taken(database, "u1")) == ["b"]


CHOSEN = MailChoice((LeaseEvent.ENDED,), True)


def choices(database: Database, *users: str) -> dict[str, MailChoice]:
    with database.read() as u:
        return dict(u.mails.choices(users))


def choose(database: Database, choice: MailChoice, *unwanted: LeaseEvent, due: datetime = NOW) -> None:
    database.transact(lambda u: u.mails.choose("u1", choice, unwanted, due))


@pytest.mark.parametrize(
    "choice", [CHOSEN, MailChoice(()), MailChoice(None, True), MailChoice(tuple(LeaseEvent))]
)
def test_a_choice_is_kept_until_it_is_the_usual_one(database: Database, choice: MailChoice) -> None:
    assert choices(database, "u1") == {}
    for each in (CHOSEN, choice):
        choose(database, each)
    assert choices(database, "u1", "u2") == {"u1": choice}
    choose(database, MailChoice())
    assert choices(database, "u1") == {}


def test_what_is_not_wanted_any_more_is_not_told(database: Database) -> None:
    put(database, "u1", "a", "b")
    put(database, "u2", "c")
    ended = MailItem("u1", LeaseEvent.ENDED, {"lease_id": "d"}, NOW)
    database.transact(lambda u: u.mails.put("u1", [ended], 0, NOW))
    choose(database, CHOSEN, LeaseEvent.CREATED, due=NOW + hours(3))
    assert ready(database) == ["u2"]
    batch = taken(database, "u1", NOW + hours(3))
    assert leases(batch) == ["d"]
    choose(database, MailChoice(()), *LeaseEvent, due=NOW)  # while it is under way
    assert ready(database, NOW + hours(4)) == ["u2"]
    settle(database, batch, NOW + hours(3))
    with database.read() as u:
        assert u.mails.waiting(["u1"]) == {"u1": 0}


def test_a_choice_hurries_no_mail_that_has_failed(database: Database) -> None:
    put(database, "u1", "a")
    batch = taken(database, "u1")
    database.transact(lambda u: u.mails.put_off(batch, NOW + hours(1), 1))
    choose(database, MailChoice(None, False), due=NOW)
    assert ready(database) == []


def test_what_a_clock_that_was_ahead_has_put_off_is_due(database: Database) -> None:
    put(database, "u1", "a", now=NOW + LONGEST_MAIL_DELAY + hours(1))
    assert ready(database) == ["u1"]
    put(database, "u2", "a", now=NOW + LONGEST_MAIL_DELAY)
    assert ready(database) == ["u1"]


def test_an_event_of_a_newer_version_is_left_to_it(sql: SqlDatabase) -> None:
    put(sql, "u1", "a")
    row = {"user_id": "u1", "event": "sold", "document": {}, "created_at": NOW, "due": NOW}
    with sql.engine.begin() as connection:
        connection.execute(insert(mail_items), row)
    batch = taken(sql, "u1")
    assert leases(batch) == ["a"]
    settle(sql, batch, NOW)
    put(sql, "u1", "b")
    settle(sql, taken(sql, "u1"), NOW)
    with sql.engine.connect() as connection:
        assert connection.scalars(select(mail_items.c.event)).all() == ["sold"]
