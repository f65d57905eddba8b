"""Subscriptions: each has a lane with its messages, which one manager at a time works on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import Stale
from blazar.domain.subscription import (
    CapacityCondition,
    CapacityEvent,
    CapacityLevel,
    LeaseEvent,
    Subscription,
    SubscriptionStatus,
)
from blazar.service.ports import (
    Database,
    FailedAttempt,
    KeptMessages,
    Match,
    UnitOfWork,
    WebhookMessage,
)

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
    found = database.transact(lambda u: u.subscriptions.take(value.id, token, now, now + minutes(1)))
    assert len(found) <= 1
    return found[0] if found else None


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


def test_pages_go_on_after_an_id_that_need_not_be_there(database: Database) -> None:
    made = sorted(
        (add(database, project_id=f"p{number % 2}") for number in range(6)), key=lambda each: each.id
    )
    own = [each for each in made if each.project_id == "p1"]
    with database.read() as u:
        page = u.subscriptions.page
        assert list(page(None, 4, None)) == made[:4]
        assert list(page(None, 4, made[3].id)) == made[4:]
        assert list(page("p1", 2, None)) == own[:2]
        assert list(page("p1", 9, own[0].id)) == own[1:]
        assert list(page("p9", 9, None)) == []
    database.transact(lambda u: u.subscriptions.remove(made[3].id))
    with database.read() as u:
        assert list(u.subscriptions.page(None, 9, made[3].id)) == made[4:]


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
    database.transact(lambda u: u.subscriptions.sent([first], NOW, True))
    assert (get(database, value).waiting, get(database, value).delivered_at) == (1, NOW)
    assert (ready(database, NOW, True), ready(database)) == ([value.id], [])
    second = taken(database, value)
    assert second.document == {"lease": {"id": "b"}}
    database.transact(lambda u: u.subscriptions.sent([second], NOW, True))
    assert (get(database, value).waiting, take(database, value)) == (0, None)


def test_messages_that_are_taken_together_are_settled_together(database: Database) -> None:
    value = add(database)
    put(database, value, "a", "b", "c", "d")
    some = database.transact(lambda u: u.subscriptions.take(value.id, "t", NOW, HOLD, 3))
    assert [each.document["lease"]["id"] for each in some] == ["a", "b", "c"]
    failure = FailedAttempt("The answer is 500.", NOW, NOW + minutes(5), False)

    def settle(u: UnitOfWork) -> None:
        u.subscriptions.sent(some[:2], NOW, False, is_over=False)
        u.subscriptions.failed(some[2], failure, NOW)

    database.transact(settle)
    found = get(database, value)
    assert (found.waiting, found.attempts, found.delivered_at, found.due) == (2, 1, NOW, failure.due)
    later = NOW + minutes(5)
    rest = database.transact(lambda u: u.subscriptions.take(value.id, "t", later, later + minutes(1), 9))
    assert [(each.document["lease"]["id"], each.attempts) for each in rest] == [("c", 1), ("d", 0)]
    assert [each.failing_since for each in rest] == [NOW, None]
    database.transact(lambda u: u.subscriptions.sent(rest, later, True))
    assert (get(database, value).waiting, ready(database, later, True)) == (0, [])


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
        database.transact(lambda u, message=message: u.subscriptions.sent([message], HOLD, True))
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
    database.transact(lambda u: u.subscriptions.sent([message], NOW, True))
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
    database.transact(lambda u: u.subscriptions.sent([message], NOW, True))
    suspended = get(database, value)
    assert (suspended.status, suspended.last_error, suspended.waiting) == (SUSPENDED, "full", 1)
    database.transact(lambda u: u.subscriptions.forget(NOW - minutes(1)))
    assert get(database, value).waiting == 1
    database.transact(lambda u: u.subscriptions.forget(NOW))
    assert (get(database, value).waiting, get(database, other).waiting) == (0, 2)
    with database.read() as u:
        assert u.subscriptions.counts() == (2, 1)


def test_the_messages_of_a_stream_are_kept_and_read_in_pages(database: Database) -> None:
    other, value, empty = add(database), add(database, url=""), add(database, url="")
    put(database, other, "z")
    put(database, value, *"abcde")
    put(database, other, "z")

    def kept(after: int = 0, limit: int = 9) -> tuple[str, int]:
        with database.read() as u:
            found = u.subscriptions.kept(value.id, after, limit)
        return "".join(each.document["lease"]["id"] for each in found.messages), found.forgotten

    with database.read() as u:
        ids = [each.id for each in u.subscriptions.kept(value.id, 0, 9).messages]
        assert u.subscriptions.kept("none", 0, 9) == KeptMessages([], 0)
        assert u.subscriptions.counts() == (2, 0)
        newest = u.subscriptions.newest([value.id, other.id, "none", empty.id])
    assert newest == {value.id: ids[-1], other.id: ids[-1] + 1, empty.id: 0}
    assert (ids, kept(0, 2), kept(ids[1])) == (sorted(ids), ("ab", 0), ("cde", 0))
    assert (ready(database), take(database, value)) == ([other.id], None)
    database.transact(lambda u: u.subscriptions.trim(value.id, 5))
    assert (kept(), get(database, value).waiting) == (("abcde", 0), 5)
    database.transact(lambda u: u.subscriptions.trim(value.id, 3))
    assert (kept(), get(database, value).waiting) == (("cde", ids[1]), 3)
    later = NOW + hours(1)
    database.transact(lambda u: u.subscriptions.put([Match(value.id, LeaseEvent.ENDED, LATE)], later))
    database.transact(lambda u: u.subscriptions.forget(NOW - minutes(1)))
    assert kept() == ("cdef", ids[1])
    database.transact(lambda u: u.subscriptions.forget(NOW))
    assert (kept(), kept(ids[4]), kept(10**15)) == (("f", ids[4]), ("f", ids[4]), ("", ids[4]))
    assert (get(database, value).waiting, get(database, other).waiting) == (1, 2)


LATE = {"lease": {"id": "f"}}


@pytest.mark.parametrize("event", [*LeaseEvent, *CapacityEvent])
def test_each_word_is_stored(database: Database, event: LeaseEvent | CapacityEvent) -> None:
    value = add(database)
    database.transact(lambda u: u.subscriptions.put([Match(value.id, event, {"event": event.value})], NOW))
    assert taken(database, value).document == {"event": event.value}


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


CONDITION = CapacityCondition(5, 7, "physical:host", "hosts", '["==", "$gpu", "A100"]')


def test_the_level_of_a_subscription_to_capacity_changes_once(database: Database) -> None:
    add(database)
    value = add(database, events=(), capacity=CONDITION)
    suspended = add(database, events=(), capacity=CONDITION)
    database.transact(lambda u: u.subscriptions.suspend(suspended.id, "full", NOW))

    def level(seen: Subscription, new: CapacityLevel) -> bool:
        return database.transact(lambda u: u.subscriptions.set_level(seen, new))

    with database.read() as u:
        (found,) = u.subscriptions.of_capacity()
    assert (found, found.capacity, found.level) == (value, CONDITION, CapacityLevel())
    assert level(found, CapacityLevel(True))
    assert not level(found, CapacityLevel(True))  # another manager, which has looked before
    low = get(database, value)
    assert low.level == CapacityLevel(True)
    assert level(low, CapacityLevel(True, NOW))
    assert not level(low, CapacityLevel())
    rising = get(database, value)
    assert rising.level == CapacityLevel(True, NOW)
    assert level(rising, CapacityLevel())
    assert get(database, value) == value
    assert not level(get(database, suspended), CapacityLevel(True))
    message = Match(value.id, CapacityEvent.LOW, {"event": "capacity_low"})
    database.transact(lambda u: u.subscriptions.put([message], NOW))
    assert taken(database, value).document == {"event": "capacity_low"}
