"""Calendar feeds: what they show, and what is kept of deleted leases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import Stale
from blazar.domain.feed import CancelledLease, Feed
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.share import LeaseShare, ShareRight
from blazar.domain.time import Interval
from blazar.service.ports import Database, LeaseRevision, SharedRevision

from .builders import HOUR, NOW, hours, lease, new_id

SINCE = NOW - hours(24)
CANCELLED = CancelledLease("l1", "lunch", "p1", "u1", Interval(NOW, NOW + HOUR), 7, NOW)


def feed(**fields: Any) -> Feed:
    return replace(Feed(new_id(), "ours", "p1", "u1", watched_project="p1"), **fields)


def add(database: Database, value: Feed, secret_hash: str = "") -> Feed:
    return database.transact(lambda u: u.feeds.add(value, secret_hash or value.id, NOW))


def add_lease(database: Database, ends: float, **fields: Any) -> Lease:
    value = lease(start=NOW + hours(ends - 1), **{"project_id": "p1", "user_id": "u1", **fields})
    return database.transact(lambda u: u.leases.add(value, NOW))


def shown(database: Database, value: Feed, limit: int = 10) -> list[LeaseRevision]:
    with database.read() as u:
        return list(u.feeds.revisions(value, SINCE, NOW, limit))


def cancelled(database: Database, value: Feed, limit: int = 10) -> list[CancelledLease]:
    with database.read() as u:
        return list(u.feeds.cancelled(value, SINCE, limit))


def test_it_is_found_by_its_secret_and_listed_by_its_user(database: Database) -> None:
    one = add(database, feed(watched_user="u2"), "a" * 64)
    two = add(database, feed(user_id="u2", lease_id="l1"))
    three = add(database, feed(project_id="p2"))
    assert one.created_at == NOW
    with database.read() as u:
        assert (u.feeds.find("a" * 64), u.feeds.find("b" * 64)) == (one, None)
        assert (u.feeds.get(two.id), u.feeds.get("none")) == (two, None)
        assert [u.feeds.count("p1", user) for user in ("u1", "u2", "u3")] == [1, 1, 0]
        in_order = sorted([one, two, three], key=lambda each: each.id)
        assert list(u.feeds.page(None, None, 10, None)) == in_order
        assert list(u.feeds.page(None, None, 1, in_order[0].id)) == in_order[1:2]
        assert list(u.feeds.page("p1", "u1", 10, None)) == [one]
    database.transact(lambda u: u.feeds.remove(one.id))
    with pytest.raises(Stale):
        database.transact(lambda u: u.feeds.remove(one.id))


def test_it_shows_what_ends_next_and_then_what_has_ended_last(database: Database) -> None:
    late, soon, last, before, long_ago = (add_lease(database, ends) for ends in (9, 2, 0, -3, -24))
    other = add_lease(database, 3, user_id="u2")
    add_lease(database, 1, project_id="p2")
    changed = database.transact(lambda u: u.leases.save(replace(soon, name="x"), soon, NOW))
    ours = [LeaseRevision(each.id, each.revision) for each in (changed, other, late, last, before)]
    assert changed.revision > soon.revision
    assert shown(database, feed()) == ours
    assert shown(database, feed(), 4) == ours[:4]
    assert shown(database, feed(), 2) == ours[:2]
    assert [each.lease_id for each in shown(database, feed(watched_user="u2"))] == [other.id]
    assert [each.lease_id for each in shown(database, feed(lease_id=last.id))] == [last.id]
    assert shown(database, feed(lease_id=long_ago.id)) == []


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [
        ({}, True),
        ({"watched_user": "u1", "lease_id": "l1"}, True),
        ({"watched_project": "p2"}, False),
        ({"watched_user": "u2"}, False),
        ({"lease_id": "l2"}, False),
    ],
)
def test_a_deleted_lease_is_kept_where_a_feed_shows_it(
    database: Database, fields: dict[str, Any], is_kept: bool
) -> None:
    add(database, feed(**fields))
    database.transact(lambda u: u.feeds.keep_cancelled(CANCELLED))
    assert cancelled(database, feed()) == ([CANCELLED] if is_kept else [])


def test_deleted_leases_are_told_for_a_while(database: Database) -> None:
    ours = add(database, feed())
    found = [replace(CANCELLED, lease_id=f"l{n}", cancelled_at=NOW - hours(n)) for n in range(1, 4)]
    gone = replace(CANCELLED, lease_id="l4", cancelled_at=SINCE)
    for each in (*found, gone):
        database.transact(lambda u, each=each: u.feeds.keep_cancelled(each))  # type: ignore[misc]
    again = replace(found[0], revision=9)
    database.transact(lambda u: u.feeds.keep_cancelled(again))
    assert cancelled(database, ours) == [again, *found[1:]]
    assert cancelled(database, ours, 1) == [again]
    assert cancelled(database, replace(ours, watched_user="u2")) == []
    database.transact(lambda u: u.feeds.forget_cancelled(NOW - hours(2)))
    assert cancelled(database, ours) == [again]


def shared(database: Database, value: Feed, limit: int = 10) -> list[SharedRevision]:
    with database.read() as u:
        return list(u.feeds.shared(value, SINCE, limit))


def test_it_shows_what_others_share_with_the_project_it_is_of(database: Database) -> None:
    made = [add_lease(database, ends, project_id="p2") for ends in (2, -3, -24, 4)]
    for each, right in zip(made, ("read", "change", "read", "read"), strict=True):
        share = LeaseShare(each.id, "p1", ShareRight(right), "u2")
        database.transact(lambda u, s=share, of=each: u.shares.add(s, of, NOW))  # type: ignore[misc]
    add_lease(database, 3, project_id="p2")
    in_order = sorted(made, key=lambda each: each.key, reverse=True)
    rights = dict(zip([each.id for each in made], ("read", "change", "read", "read"), strict=True))
    told = [SharedRevision(each.id, each.revision, ShareRight(rights[each.id])) for each in in_order]
    over = made[2].id
    assert shared(database, feed()) == [each for each in told if each.lease_id != over]
    assert shared(database, feed(), 2) == [each for each in told[:2] if each.lease_id != over]
    assert [each.lease_id for each in shared(database, feed(lease_id=made[1].id))] == [made[1].id]
    assert shared(database, feed(lease_id=over)) == []
    assert shared(database, feed(watched_project="p3")) == []
    assert shown(database, feed()) == []
