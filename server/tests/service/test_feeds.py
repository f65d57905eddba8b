"""What calendar feeds tell of leases, whatever becomes of these."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import FeedNotFound, FeedsDisabled
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.service.commands import CreateFeed
from blazar.service.feeds import FeedContent, FeedEntry, Feeds, FeedSettings
from blazar.service.shares import Shares

from .test_start_tasks import WEBHOOK
from .test_start_tasks import create as started_with
from .test_waitlist import ask, take, walk
from .world import ALT, DEMO, PUBLIC, World, floating_ips, instances, servers, whole_hosts

DAY = 24 * 60
A_WEBHOOK = {"webhook": WEBHOOK}


@pytest.fixture
def world() -> World:
    world = World(hosts=1)
    feeds(world).create(CreateFeed("ours", "hash", DEMO.project_id or ""), DEMO)
    return world


def feeds(world: World, **settings: Any) -> Feeds:
    return Feeds(world.database, world.kinds, world.clock, FeedSettings(**settings))


def told(world: World, **settings: Any) -> tuple[FeedEntry, ...]:
    entries = feeds(world, **settings).read("hash").entries
    assert entries is not None
    return entries


def test_a_lease_is_told_from_its_creation_to_two_weeks_after_its_end(world: World) -> None:
    lease = world.reserve(whole_hosts(), start=60, end=120)
    seen = []
    for minutes in (0, 60, 60, 14 * DAY - 1, 1):
        world.advance(minutes)
        seen += [(each.status, each.is_cancelled) for each in told(world)]
    assert seen == [
        (LeaseStatus.PENDING, False),
        (LeaseStatus.ACTIVE, False),
        (LeaseStatus.TERMINATED, False),
        (LeaseStatus.TERMINATED, False),
    ]
    assert told(world, past=timedelta(days=15))[0].lease_id == lease.id


def test_an_active_lease_is_cancelled_by_its_deletion(world: World) -> None:
    lease = world.reserve(whole_hosts(), start=1, end=120)
    world.advance(1)
    (active,) = told(world)
    world.delete(lease)
    world.run_due()
    (entry,) = told(world)
    assert (entry.lease_id, entry.is_cancelled, entry.name) == (lease.id, True, lease.name)
    assert (entry.interval, entry.revision > active.revision) == (active.interval, True)
    world.advance(14 * DAY)
    assert told(world) == ()
    feeds(world).forget_cancelled()
    with world.database.read() as uow:
        feed = uow.feeds.find("hash")
        assert feed is not None
        assert list(uow.feeds.cancelled(feed, world.clock.now() - timedelta(days=99), 9)) == []


def test_what_is_started_with_a_lease_is_told_to_its_project(world: World) -> None:
    feeds(world).create(CreateFeed("theirs", "other", ALT.project_id or ""), ALT)
    leases = [started_with(world, start=at, end=at + 10, **wish) for at, wish in ((10, {}), (20, A_WEBHOOK))]
    assert [each.starts for each in told(world)] == ["stack", "webhook"]
    shares = Shares(world.database, world.kinds, world.clock)
    for lease in leases:
        shares.put(lease.id, str(ALT.project_id), ShareRight.READ, DEMO)
    seen = feeds(world).read("other").entries or ()
    assert [(each.lease_id, each.starts) for each in seen] == [(lease.id, None) for lease in leases]


def test_what_is_deleted_after_its_end_has_taken_place(world: World) -> None:
    lease = world.reserve(whole_hosts(), start=1, end=60)
    world.advance(60)
    world.delete(lease)
    assert told(world) == ()


def test_a_lease_that_waits_in_vain_does_not_take_place(world: World) -> None:
    take(world, 1)
    ask(world, until=10)
    (waits,) = told(world)
    assert (waits.status, waits.is_cancelled) == (LeaseStatus.WAITING, False)
    world.advance(11)
    walk(world)
    (over,) = told(world)
    assert (over.status, over.is_cancelled) == (LeaseStatus.TERMINATED, True)
    assert "There was not enough for it until" in (over.reason or "")


def test_what_is_known_is_not_told_again(world: World) -> None:
    marks = []
    for start in (60, 120):
        world.create(start=start, end=start + 30)
        content = feeds(world).read("hash", tuple(marks))
        assert feeds(world).read("hash", (*marks, content.mark)) == FeedContent("ours", content.mark)
        marks.append(content.mark)
    assert len(set(marks)) == 2


def test_it_is_as_long_as_the_operator_allows(world: World) -> None:
    first, second, third = (world.create(start=start, end=start + 30) for start in (60, 120, 180))
    world.delete(first)
    assert [each.lease_id for each in told(world, longest=2)] == [second.id, third.id]
    assert [each.lease_id for each in told(world, longest=1)] == [second.id]
    assert [each.lease_id for each in told(world)] == [first.id, second.id, third.id]


def test_there_are_none_where_the_operator_allows_none(world: World) -> None:
    with pytest.raises(FeedsDisabled):
        feeds(world, are_enabled=False).create(CreateFeed("x", "other", "demo"), DEMO)
    refusals = []
    for secret_hash, settings in (("hash", {"are_enabled": False}), ("never", {})):
        with pytest.raises(FeedNotFound) as refused:
            feeds(world, **settings).read(secret_hash)
        refusals.append(refused.value.message)
    assert len(set(refusals)) == 1


def test_each_kind_says_what_is_reserved() -> None:
    world = World(hosts=2, floating_ips=1)
    feeds(world).create(CreateFeed("ours", "hash", "demo"), DEMO)
    big = '[">=", "$vcpus", "2"]'
    world.reserve(whole_hosts(max=1, resource_properties=big), instances(amount=2), floating_ips(), servers())
    (entry,) = told(world)
    assert entry.reserved == (
        'physical:host: min 1, max 1, resource_properties [">=", "$vcpus", "2"]',
        "virtual:instance: vcpus 1, memory_mb 1024, disk_gb 10, amount 2",
        f"virtual:floatingip: network_id {PUBLIC}, amount 1",
        "flavor:instance: flavor_id small, amount 1",
    )


def test_own_leases_come_before_those_that_are_shared_where_there_are_many(world: World) -> None:
    theirs = world.reserve(whole_hosts(), start=60, end=120, caller=ALT)
    share(world, theirs)
    assert [(each.lease_id, each.right) for each in told(world)] == [(theirs.id, ShareRight.READ)]
    mine = world.reserve(whole_hosts(), start=180, end=240)
    assert {each.lease_id for each in told(world)} == {mine.id, theirs.id}
    assert [(each.lease_id, each.right) for each in told(world, longest=1)] == [(mine.id, None)]


def test_a_shared_lease_that_is_deleted_is_no_longer_told(world: World) -> None:
    theirs = world.reserve(whole_hosts(), start=60, end=120, caller=ALT)
    share(world, theirs)
    world.delete(theirs)
    world.run_due()
    assert told(world) == ()


def share(world: World, lease: Lease) -> None:
    Shares(world.database, world.kinds, world.clock).put(lease.id, str(DEMO.project_id), ShareRight.READ, ALT)
