"""What the monitor sees of hosts, when it looks, and what it does not believe."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from blazar.domain.errors import CloudUnavailable
from blazar.domain.failure import FailureReason

from .failures import WHOLE, fail, failed, flags, repair
from .world import DEMO, World


@pytest.mark.parametrize(
    ("is_up", "is_enabled", "reason"),
    [
        (False, True, FailureReason.DOWN),
        (True, False, FailureReason.DISABLED),
        (False, False, FailureReason.DOWN),
    ],
)
def test_a_host_that_nova_says_has_failed_cannot_be_reserved(
    is_up: bool, is_enabled: bool, reason: FailureReason
) -> None:
    world = World(hosts=2)
    fail(world, "1", is_up=is_up, is_enabled=is_enabled)
    world.look()
    assert failed(world) == {"1": reason}
    assert [host.can_be_reserved for host in world.hosts.list(DEMO)] == [False, True]
    assert [host.reservable for host in world.hosts.list(DEMO)] == [True, True]
    assert world.hosts_of(world.create()) == {"2"}


def test_a_host_is_reservable_again_after_its_probation() -> None:
    world = World(hosts=1)
    fail(world, "1")
    world.look()
    repair(world, "1")
    world.look()
    assert failed(world)
    world.look(minutes=1)
    assert failed(world)
    world.look(minutes=1)
    assert not failed(world)
    assert world.hosts_of(world.create()) == {"1"}


def test_a_failed_host_may_be_deregistered() -> None:
    world = World(hosts=1)
    fail(world, "1")
    world.look()
    world.hosts.unregister("1")
    assert world.hosts.list(DEMO) == []


def test_the_deregistration_of_a_host_goes_on_beside_its_failure() -> None:
    """Three facts: what the monitor says touches neither of the others."""
    world = World(hosts=1)
    with world.database.read() as uow:
        host = uow.resources.get("1")
    assert host is not None
    world.database.transact(lambda u: u.resources.save(replace(host, reservable=False), world.clock.now()))
    fail(world, "1")
    world.look()
    repair(world, "1")
    for _ in range(4):
        world.look()
    (host,) = world.hosts.list(DEMO)
    assert (host.reservable, host.failure) == (False, None)


# a cloud that cannot be believed


def test_while_nova_is_away_nothing_is_healed() -> None:
    world = World(hosts=2)
    lease = world.create(start=30)
    fail(world, "1")

    def away(call: str) -> None:
        if call == "hypervisors":
            raise CloudUnavailable(service="Nova", reason="away")

    world.cloud.before = away
    world.advance(1)
    with pytest.raises(CloudUnavailable):
        world.monitoring.round()
    assert world.hosts_of(lease) == {"1"}
    assert not failed(world)
    world.cloud.before = lambda call: None
    world.look()
    assert world.hosts_of(lease) == {"2"}


def test_a_nova_that_is_away_is_not_asked_more_often() -> None:
    world = World(hosts=1)

    def away(call: str) -> None:
        raise CloudUnavailable(service="Nova", reason="away")

    world.cloud.before = away
    world.advance(1)
    with pytest.raises(CloudUnavailable):
        world.monitoring.round()
    calls = len(world.cloud.calls)
    world.monitoring.round()
    assert len(world.cloud.calls) == calls


def test_a_nova_that_lists_nothing_says_nothing() -> None:
    world = World(hosts=2)
    lease = world.create(start=30)
    hypervisors = dict(world.cloud.state.hypervisors)
    world.cloud.state.hypervisors.clear()
    world.look()
    assert not failed(world)
    assert world.hosts_of(lease) == {"1"}
    world.cloud.state.hypervisors.update(hypervisors)
    world.look()
    assert not failed(world)


def test_half_the_cloud_is_not_healed_but_told(caplog: pytest.LogCaptureFixture) -> None:
    world = World(hosts=8)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=25)
    world.restart()
    leases = [world.create(name=str(n), start=30) for n in range(4)]
    before = [world.hosts_of(lease) for lease in leases]
    fail(world, "1", "2", "3", "4")
    for _ in range(15):
        world.look()
        assert not failed(world)
    assert [world.hosts_of(lease) for lease in leases] == before
    assert sum("taken for a failure of Nova" in record.message for record in caplog.records) == 1
    repair(world, "1", "2")
    world.look()
    assert set(failed(world)) == {"3", "4"}
    assert all(world.hosts_of(lease).isdisjoint({"3", "4"}) for lease in leases)


def test_a_failure_that_spreads_is_stopped_when_it_is_too_much() -> None:
    world = World(hosts=8)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=25)
    world.restart()
    for number in range(1, 6):
        fail(world, str(number))
        world.look()
    assert set(failed(world)) == {"1", "2"}


def test_hosts_that_failed_long_ago_do_not_count() -> None:
    world = World(hosts=8)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=25)
    world.restart()
    for number in range(1, 6):
        fail(world, str(number))
        world.look(20)
    assert set(failed(world)) == {"1", "2", "3", "4", "5"}


def test_a_flapping_host_does_not_flap_the_leases() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    revisions = set()
    for turn in range(20):
        (fail if turn % 2 == 0 else repair)(world, "1")
        world.look()
        revisions.add(world.lease(lease).revision)
        assert failed(world)
    assert len(revisions) <= 3, "flagged, moved, served from elsewhere"
    assert world.hosts_of(lease) == {"2"}
    assert flags(world, lease) == WHOLE


# crashes and other managers


def test_one_of_two_managers_looks() -> None:
    world = World(hosts=2)
    first = world.monitoring
    world.restart()
    world.advance(1)
    before = world.cloud.calls.count("hypervisors")
    first.round()
    world.monitoring.round()
    assert world.cloud.calls.count("hypervisors") == before + 1
    world.advance(1)
    world.monitoring.round()
    first.round()
    assert world.cloud.calls.count("hypervisors") == before + 2


def test_a_manager_that_was_asleep_stores_nothing() -> None:
    """It saw the host down, slept until another manager had looked, and wakes up."""
    world = World(hosts=2)
    asleep = world.monitoring
    world.restart()
    fail(world, "1")
    world.advance(1)

    def sleep(call: str) -> None:
        world.cloud.before = lambda call: None
        if call == "hypervisors":
            listed = world.cloud.compute.hypervisors
            seen = listed()
            repair(world, "1")
            world.clock.pause(300)
            world.monitoring.round()
            world.cloud.state.hypervisors.update({h.hypervisor_hostname: h for h in seen})

    world.cloud.before = sleep
    asleep.round()
    assert not failed(world)


# what the cloud announces


def looks(world: World) -> int:
    return world.cloud.calls.count("hypervisors")


def test_an_announcement_is_looked_into_at_once() -> None:
    world = World(hosts=2)
    lease = world.create(start=30)
    world.look()
    before = looks(world)
    fail(world, "1")
    world.clock.pause(10)
    world.monitoring.round()
    assert looks(world) == before, "it is not time yet"
    world.monitoring.look_soon()
    world.monitoring.round()
    assert looks(world) == before + 1
    assert world.hosts_of(lease) == {"2"}
    world.clock.pause(10)
    world.monitoring.round()
    assert looks(world) == before + 1, "it was one announcement"


def test_many_announcements_are_one_look_at_a_time() -> None:
    """However many there are, and at however many managers, Nova is asked every few seconds at the most."""
    world = World(hosts=2)
    first = world.monitoring
    world.restart()
    world.look()
    before = looks(world)
    for _ in range(600):
        for manager in (first, world.monitoring):
            manager.look_soon()
            manager.round()
        world.clock.pause(0.1)
    assert before + 10 <= looks(world) <= before + 60 // 5


def test_an_announcement_while_another_manager_looks_is_not_lost() -> None:
    """What that manager has read may be older than what was announced."""
    world = World(hosts=2)
    other = world.monitoring
    world.restart()
    lease = world.create(start=30)
    world.advance(1)

    def meanwhile(call: str) -> None:
        world.cloud.before = lambda call: None
        if call == "hypervisors":
            listed = world.cloud.compute.hypervisors()
            fail(world, "1")
            other.look_soon()
            assert other.round() < 5
            world.cloud.state.hypervisors.update({h.hypervisor_hostname: h for h in listed})

    world.cloud.before = meanwhile
    world.monitoring.round()
    assert not failed(world)
    fail(world, "1")
    for _ in range(10):
        world.clock.pause(1)
        other.round()
    assert failed(world)
    assert world.hosts_of(lease) == {"2"}


def test_a_forged_announcement_changes_nothing() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    stored = world.lease(lease)
    for _ in range(5):
        world.monitoring.look_soon()
        world.look()
    assert not failed(world)
    assert world.lease(lease) == stored


def test_an_announcement_while_nova_is_away_does_not_ask_it_more_often() -> None:
    world = World(hosts=2)
    asked: list[str] = []

    def away(call: str) -> None:
        asked.append(call)
        raise CloudUnavailable(service="Nova", reason="away")

    world.look()
    world.cloud.before = away
    for _ in range(600):
        world.monitoring.look_soon()
        with suppress(CloudUnavailable):
            world.monitoring.round()
        world.clock.pause(0.1)
    assert 5 <= len(asked) <= 60 // 5
    world.cloud.before = lambda call: None
    fail(world, "1")
    world.look()
    assert failed(world), "without another announcement"
