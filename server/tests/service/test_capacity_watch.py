"""Subscribers to capacity are told when it is low and when there is enough again, and not each time it
changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import Lease
from blazar.domain.subscription import STEADY, CapacityCondition, CapacityEvent, CapacityLevel, Subscription
from blazar.engine.capacity_watching import LOOK, WatchingCapacity
from blazar.service.capacity_watch import CapacityWatch
from blazar.service.commands import CreateSubscription
from blazar.service.context import Caller
from blazar.service.receivers import SubscriptionSettings
from blazar.service.subscriptions import Subscriptions

from .world import DEMO, START, World, floating_ips

LOW, BACK = CapacityEvent.LOW, CapacityEvent.BACK
HOSTS = CapacityCondition(2, 7, "physical:host", "hosts")


class Watched:
    """A world with subscribers to its capacity."""

    def __init__(self, hosts: int = 3, **fields: Any) -> None:
        self.world = World(hosts=hosts, **fields)
        self.asked = 0
        self.watch = CapacityWatch(self.world.database, self.least, self.world.clock)
        kinds, clock = self.world.kinds, self.world.clock
        settings = SubscriptionSettings()
        self.use_cases = Subscriptions(self.world.database, kinds, clock, settings, self.world.capacity.get)

    def least(self, condition: CapacityCondition, caller: Caller) -> int | None:
        self.asked += 1
        return self.world.capacity.least(condition, caller)

    def subscribe(self, condition: CapacityCondition = HOSTS) -> Subscription:
        command = CreateSubscription("x", "https://receiver.example.com/", (), "demo", capacity=condition)
        return self.use_cases.create(command, DEMO).subscription

    def look(self, minutes: float = 1) -> int:
        self.world.clock.pause(minutes * 60)
        return sum(self.watch.look())

    def told(self, to: Subscription) -> list[tuple[str, int]]:
        """Return the messages to a subscriber that were not read yet: the event, and the minimum."""
        found = []
        now = self.world.clock.now()
        while some := self.world.database.transact(
            lambda u: u.subscriptions.take(to.id, "t", now, now + timedelta(minutes=1), 9)
        ):
            self.world.database.transact(lambda u, some=some: u.subscriptions.sent(some, now, True))  # type: ignore[misc]
            found += [(each.document["event"], each.document["capacity"]["minimum"]) for each in some]
        return found

    def take(self, number: int, start: float = 60, end: float = 120) -> Lease:
        return self.world.create(start=start, end=end, min=number, max=number)


def test_it_is_low_where_less_is_free_at_any_time_of_the_days_and_back_when_that_lasts() -> None:
    site = Watched()
    to = site.subscribe()
    assert (site.look(), site.told(to)) == (0, [])
    far = site.take(2, 60 * 24 * 8, 60 * 24 * 9)
    assert (site.look(), site.told(to)) == (0, [])
    lease = site.take(2, 60 * 24 * 5, 60 * 24 * 6)
    assert (site.look(), site.told(to)) == (1, [("capacity_low", 1)])
    assert (site.look(), site.told(to)) == (0, [])
    site.world.delete(lease)
    assert (site.look(), site.look(9), site.told(to)) == (0, 0, [])
    assert (site.look(), site.told(to)) == (1, [("capacity_back", 3)])
    site.world.clock.pause(60 * 60 * 24 * 2)
    assert (site.look(), site.told(to)) == (1, [("capacity_low", 1)]), "time has brought it nearer"
    assert site.world.lease(far)


def test_what_flutters_is_told_once() -> None:
    site = Watched()
    to = site.subscribe()
    for _ in range(10):
        lease = site.take(3)
        site.look(2)
        site.world.delete(lease)
        site.look(2)
    assert site.told(to) == [("capacity_low", 0)]
    site.look(STEADY.total_seconds() / 60)
    assert site.told(to) == [("capacity_back", 3)]


def test_what_is_low_at_first_is_told_and_a_condition_is_asked_once() -> None:
    site = Watched(hosts=1)
    several = [site.subscribe() for _ in range(3)]
    other = site.subscribe(CapacityCondition(1, 7, "physical:host", "hosts"))
    assert (site.look(), site.asked) == (3, 2)
    assert [site.told(each) for each in (*several, other)] == [[("capacity_low", 1)]] * 3 + [[]]


def test_a_suspended_subscription_is_not_looked_at() -> None:
    site = Watched(hosts=1)
    to = site.subscribe()
    now = site.world.clock.now()
    site.world.database.transact(lambda u: u.subscriptions.suspend(to.id, "full", now))
    assert (site.look(), site.asked) == (0, 0)


def test_other_quantities_and_properties_are_counted() -> None:
    site = Watched(hosts=2, floating_ips=2)
    ips = site.subscribe(CapacityCondition(2, 1, "virtual:floatingip", "floating_ips"))
    few = site.subscribe(
        CapacityCondition(2, 1, "physical:host", "hosts", '["==", "$hypervisor_hostname", "host1"]')
    )
    assert site.look() == 1
    assert (site.told(ips), site.told(few)) == ([], [("capacity_low", 1)])
    site.world.reserve(floating_ips(), start=60, end=90)
    assert (site.look(), site.told(ips)) == (1, [("capacity_low", 1)])
    for wrong in ({"quantity": "vcpus"}, {"resource_properties": '["==", "$colour", "red"]'}):
        fields = {"below": 1, "days": 1, "resource_type": "physical:host", "quantity": "hosts", **wrong}
        with pytest.raises(InvalidInput):
            site.subscribe(CapacityCondition(**fields))


def test_where_the_property_is_gone_nothing_is_available() -> None:
    site = Watched(hosts=2)
    condition = CapacityCondition(1, 1, "physical:host", "hosts", '["==", "$colour", "red"]')
    assert site.world.capacity.least(condition, Caller("blazar", None, is_admin=True)) == 0


def test_what_cannot_be_worked_out_is_told_of_nobody() -> None:
    site = Watched()
    to = site.subscribe()
    watch = CapacityWatch(site.world.database, lambda condition, caller: None, site.world.clock)
    assert (sum(watch.look()), site.told(to)) == (0, [])


def test_one_manager_looks_within_a_minute_and_another_goes_on() -> None:
    site = Watched(hosts=1)
    to = site.subscribe()
    clock = site.world.clock
    managers = [WatchingCapacity(site.world.database, site.watch, clock, lambda: 0.0) for _ in range(2)]
    assert [each.round() for each in managers] == [LOOK.total_seconds()] * 2
    assert (site.asked, site.told(to)) == (1, [("capacity_low", 1)])
    clock.pause(60)
    assert managers[1].round() == LOOK.total_seconds()
    assert site.asked == 2


def test_two_managers_that_look_at_once_tell_once() -> None:
    site = Watched(hosts=1)
    to = site.subscribe()
    other = CapacityWatch(site.world.database, site.least, site.world.clock)

    def meanwhile(condition: CapacityCondition, caller: Caller) -> int | None:
        assert sum(other.look()) == 1
        return 0

    late = CapacityWatch(site.world.database, meanwhile, site.world.clock)
    assert sum(late.look()) == 0
    assert site.told(to) == [("capacity_low", 1)]


def test_the_levels() -> None:
    def minutes(number: float) -> datetime:
        return START + timedelta(minutes=number)

    level = CapacityLevel()
    seen = [
        (0, True, None),
        (1, False, LOW),
        (2, False, None),
        (3, True, None),
        (12.9, True, None),
        (13, True, BACK),
        (14, True, None),
        (15, False, LOW),
        (16, True, None),
        (17, False, None),
        (18, True, None),
        (27, True, None),
        (10, True, None),  # a clock behind: it counts anew
        (20, True, BACK),
    ]
    for moment, is_enough, expected in seen:
        level, told = level.seen(is_enough, minutes(moment))
        assert told is expected, moment
    assert level == CapacityLevel()
