"""Subscriptions: each has a lane with its messages, which one manager at a time works on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import Stale
from blazar.domain.subscription import LeaseEvent, Subscription, SubscriptionStatus
from blazar.service.ports import Database, FailedAttempt, Match, WebhookMessage

from .builders import NOW, hours, minutes, new_id

HOLD = NOW + minutes(1)
SUSPENDED = SubscriptionStatus.SUSPENDED


def subscription(**fields: Any) -> Subscription:
    value = Subscription(
        id=new_id(),
        name="ops",
        project_id="p1",
        user_id="u1",
        url="https://receiver.example.com/x",
        events=(LeaseEvent.CREATED, LeaseEvent.ENDED),
        watched_project="p1",
    )
    return replace(value, **fields)


def add(database: Database, **fields: Any) -> Subscription:
    return database.transact(lambda u: u.subscriptions.add(subscription(**fields), "whsec_eA==", NOW))


def put(database: Database, to: Subscription, *leases: str) -> None:
    matches = [Match(to.id, LeaseEvent.CREATED, {"lease": {"id": each}}) for each in leases]
    database.transact(lambda u: u.subscriptions.put(matches, NOW))


def get(database: Database, value: Subscription) -> Subscription:
    with database.read() as u:
        found = u.subscriptions.get(value.id)
    assert found is not None
    return found


def take(database: Database, value: Subscription, now: Any = NOW, token: str = "t") -> WebhookMessage | None:
    return database.transact(lambda u: u.subscriptions.take(value.id, token, now, now + minutes(1)))


def taken(database: Database, value: Subscription, now: Any = NOW, token: str = "t") -> WebhookMessage:
    found = take(database, value, now, token)
    assert found is not None
    return found


def ready(database: Database, now: Any = NOW, is_prompt: bool = False, *without: str) -> list[str]:
    with database.read() as u:
        return [each.subscription_id for each in u.subscriptions.ready(now, is_prompt, without, 10)]


def test_it_is_read_as_it_was_written(database: Database) -> None:
    one = add(database, lease_id="l1", resource_type="physical:host")
    two = add(database, project_id="p2", watched_project=None)
    assert (one.created_at, one.due) == (NOW, NOW)
    with database.read() as u:
        assert u.subscriptions.get(one.id) == one
        assert u.subscriptions.get("none") is None
        assert list(u.subscriptions.list("p1")) == [one]
        assert {each.id for each in u.subscriptions.list(None)} == {one.id, two.id}
        assert (u.subscriptions.count("p1"), u.subscriptions.count("p3")) == (1, 0)
        assert "whsec" not in repr(u.subscriptions.get(one.id))


def test_those_that_watch_are_found_by_project_and_lease(database: Database) -> None:
    own, all_projects = add(database), add(database, watched_project=None)
    of_lease = add(database, lease_id="l1")
    add(database, watched_project="p2")
    suspended = add(database)
    database.transact(lambda u: u.subscriptions.suspend(suspended.id, "full", NOW))

    def watching(projects: set[str], leases: set[str]) -> set[str]:
        with database.read() as u:
            return {each.id for each in u.subscriptions.watching(projects, leases)}

    assert watching({"p1"}, {"l1"}) == {own.id, all_projects.id, of_lease.id}
    assert watching({"p1"}, {"l2"}) == {own.id, all_projects.id}
    assert watching({"p9"}, {"l1"}) == {all_projects.id}


def test_messages_go_out_one_after_another(database: Database) -> None:
    value = add(database)
    assert ready(database) == []
    put(database, value, "a", "b")
    assert (ready(database), ready(database, NOW, True), ready(database, NOW, False, "p1")) == (
        [value.id],
        [],
        [],
    )
    first = taken(database, value)
    assert (first.document, first.secret, first.url) == ({"lease": {"id": "a"}}, "whsec_eA==", value.url)
    assert first.secret not in repr(first)
    assert take(database, value, token="other") is None  # another manager
    assert ready(database) == []
    database.transact(lambda u: u.subscriptions.sent(first, NOW, True))
    assert (get(database, value).waiting, get(database, value).delivered_at) == (1, NOW)
    assert (ready(database, NOW, True), ready(database)) == ([value.id], [])
    second = taken(database, value)
    assert second.document == {"lease": {"id": "b"}}
    database.transact(lambda u: u.subscriptions.sent(second, NOW, True))
    assert (get(database, value).waiting, take(database, value)) == (0, None)


def test_what_a_dead_manager_had_goes_to_another_one(database: Database) -> None:
    value = add(database)
    put(database, value, "a")
    dead = taken(database, value, NOW, "dead")
    assert take(database, value, HOLD - minutes(0.5), "next") is None
    again = taken(database, value, HOLD, "next")
    assert again.id == dead.id
    late = FailedAttempt("late", NOW, NOW + hours(1), True)
    database.transact(lambda u: u.subscriptions.failed(dead, late, HOLD))  # it was only asleep
    assert (get(database, value).status, get(database, value).attempts) == (SubscriptionStatus.ACTIVE, 0)
    for message in (dead, again):  # taken twice, counted once
        database.transact(lambda u, message=message: u.subscriptions.sent(message, HOLD, True))
    assert get(database, value).waiting == 0


def test_a_message_that_a_clock_ahead_has_put_off_is_due(database: Database) -> None:
    value = add(database)
    put(database, value, "a")
    taken(database, value, NOW + hours(5))
    assert ready(database) == [value.id]


def test_failures_are_told_and_end_in_suspension(database: Database) -> None:
    value = add(database)
    put(database, value, "a")
    failure = FailedAttempt("The answer is 500.", NOW, NOW + minutes(5), False)
    message = taken(database, value)
    database.transact(lambda u: u.subscriptions.failed(message, failure, NOW))
    failing = get(database, value)
    assert (failing.attempts, failing.failing_since, failing.last_error) == (1, NOW, failure.reason)
    assert (take(database, value), ready(database)) == (None, [])
    later = NOW + minutes(5)
    again = taken(database, value, later)
    assert (again.attempts, again.failing_since) == (1, NOW)
    last = replace(failure, is_last=True)
    database.transact(lambda u: u.subscriptions.failed(again, last, later))
    assert (get(database, value).status, get(database, value).suspended_at) == (SUSPENDED, later)
    assert ready(database, later + hours(3)) == []
    with database.read() as u:
        assert u.subscriptions.counts() == (1, 1)
    resumed = get(database, value).resumed(later)
    database.transact(lambda u: u.subscriptions.restart(resumed, later))
    assert get(database, value).last_error is None
    assert taken(database, value, later).id == again.id


def test_a_change_leaves_the_lane_alone_and_a_restart_voids_what_is_under_way(database: Database) -> None:
    value = add(database)
    put(database, value, "a")
    message = taken(database, value)
    changed = replace(value, name="new", url="https://other.example.com/", events=(LeaseEvent.FAILED,))
    database.transact(lambda u: u.subscriptions.save(changed, NOW))
    found = get(database, value)
    assert (found.name, found.url, found.events) == ("new", changed.url, changed.events)
    assert (found.waiting, found.updated_at, take(database, value)) == (1, NOW, None)
    database.transact(lambda u: u.subscriptions.set_secret(value.id, "whsec_eQ=="))
    database.transact(lambda u: u.subscriptions.restart(found.resumed(NOW), NOW))
    failure = FailedAttempt("x", NOW, NOW + hours(1), True)
    database.transact(lambda u: u.subscriptions.failed(message, failure, NOW))
    again = taken(database, value, token="next")
    assert (again.id, again.secret, again.url) == (message.id, "whsec_eQ==", changed.url)


def test_what_is_removed_takes_its_messages_along(database: Database) -> None:
    value = add(database)
    put(database, value, "a")
    message = taken(database, value)
    database.transact(lambda u: u.subscriptions.remove(value.id))
    put(database, value, "b")
    database.transact(lambda u: u.subscriptions.sent(message, NOW, True))
    failure = FailedAttempt("x", NOW, NOW, True)
    database.transact(lambda u: u.subscriptions.failed(message, failure, NOW))
    with database.read() as u:
        assert (u.subscriptions.get(value.id), u.subscriptions.counts()) == (None, (0, 0))
    for work in ("remove", "save", "restart"):
        with pytest.raises(Stale):
            database.transact(
                lambda u, work=work: (
                    u.subscriptions.remove(value.id)
                    if work == "remove"
                    else getattr(u.subscriptions, work)(value, NOW)
                )
            )


def test_what_waits_for_a_suspended_one_is_forgotten(database: Database) -> None:
    value, other = add(database), add(database)
    for each in (value, other):
        put(database, each, "a", "b")
    message = taken(database, value)
    database.transact(lambda u: u.subscriptions.suspend(value.id, "full", NOW))
    database.transact(lambda u: u.subscriptions.sent(message, NOW, True))
    suspended = get(database, value)
    assert (suspended.status, suspended.last_error, suspended.waiting) == (SUSPENDED, "full", 1)
    database.transact(lambda u: u.subscriptions.forget(NOW - minutes(1)))
    assert get(database, value).waiting == 1
    database.transact(lambda u: u.subscriptions.forget(NOW))
    assert (get(database, value).waiting, get(database, other).waiting) == (0, 2)
    with database.read() as u:
        assert u.subscriptions.counts() == (2, 1)


def test_a_notification_is_compared_once(database: Database) -> None:
    ids = [database.transact(lambda u, name=name: u.outbox.put(name, {}, NOW)) for name in "abc"]
    with database.read() as u:
        assert [each.id for each in u.outbox.unmatched(2)] == ids[:2]
    database.transact(lambda u: u.outbox.mark_matched(ids[:2]))
    with database.read() as u:
        assert [each.id for each in u.outbox.unmatched(9)] == ids[2:]
        assert [each.matched for each in u.outbox.peek(9)] == [True, True, False]
    for again in (ids, [ids[2], ids[2] + 9]):
        with pytest.raises(Stale):
            database.transact(lambda u, again=again: u.outbox.mark_matched(again))
    with database.read() as u:
        assert [each.id for each in u.outbox.unmatched(9)] == ids[2:]
