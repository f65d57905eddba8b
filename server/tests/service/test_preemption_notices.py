"""Preemptible servers are given notice before a lease needs their host, and it is taken back where the plan
moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.engine.noticing import LOOK, Noticing
from blazar.kinds.slots import SlotSettings
from blazar.service.ports.kind import Dependencies
from blazar.service.preemption_notices import LONGEST_VALUE, NOTICE, PreemptionNotices, notice_of

from .test_preemptibles import KEPT, MOVED, SPARE, boot
from .test_server_leases import adopted, with_server
from .world import World, instances, whole_hosts

HOUR = timedelta(hours=1)
GIVEN, WITHDRAWN = "server.preemption_notice", "server.preemption_notice.withdrawn"


@pytest.fixture
def world():
    world = World()
    for flavor in (SPARE, KEPT):
        world.cloud.add_flavor(flavor)
    return world


def notices(world):
    return PreemptionNotices(Dependencies(world.database, world.cloud, world.kinds, world.clock), HOUR)


def noticing(world):
    return Noticing(world.database, notices(world), world.clock, monotonic=lambda: 0.0)


def free() -> None:
    """Let every request pass."""


def look(world):
    found = notices(world).look(free)
    return found.given, found.taken


def carried(world):
    """Return the notices by server. Those that have one have the tag, and no others."""
    state = world.cloud.state
    found = {i: state.server_metadata.get(i, {}).get(NOTICE) for i in state.servers}
    found = {i: text for i, text in found.items() if text}
    assert set(found) == {i for i in state.servers if NOTICE in state.tags.get(i, ())}
    return found


def told(world):
    with world.database.read() as uow:
        found = uow.outbox.peek(1000)
    return [
        (each.event_type, each.payload["server_id"]) for each in found if each.event_type.startswith("server")
    ]


def hosts_of(world, lease):
    """Return the compute service hosts on which the lease is planned."""
    with world.database.read() as uow:
        found = [uow.resources.get(each.resource_id) for each in world.lease(lease).allocations]
    return {each.facts["service_name"] for each in found}


def everywhere(world):
    for host in world.in_freepool():
        boot(world, f"on-{host}", host)


def test_those_in_the_way_are_told_an_hour_before(world):
    everywhere(world)
    lease = world.reserve(whole_hosts(min=2, max=2), start=90, end=200)
    assert look(world) == (0, 0)
    world.clock.pause(30 * 60)
    assert look(world) == (2, 0)
    hosts = hosts_of(world, lease)
    start = f"{world.lease(lease).interval.start:%Y-%m-%dT%H:%MZ}"
    assert carried(world) == {
        f"on-{host}": f"host {host} is needed by a lease that starts at {start}" for host in hosts
    }
    assert sorted(told(world)) == sorted((GIVEN, f"on-{host}") for host in hosts)
    assert look(world) == (0, 0)
    assert len(told(world)) == 2


def test_the_notification_names_neither_a_lease_nor_its_project(world):
    everywhere(world)
    lease = world.reserve(whole_hosts(), start=30, end=200)
    look(world)
    (host,) = hosts_of(world, lease)
    with world.database.read() as uow:
        (payload,) = [each.payload for each in uow.outbox.peek(1000) if each.event_type == GIVEN]
    assert payload == {
        "server_id": f"on-{host}",
        "project_id": world.cloud.state.servers[f"on-{host}"].project_id,
        "host": host,
        "region": None,
        "notice": carried(world)[f"on-{host}"],
    }


def test_other_servers_and_other_metadata_are_left(world):
    everywhere(world)
    for host in world.in_freepool():
        boot(world, f"other-{host}", host, "small")
    lease = world.reserve(whole_hosts(), start=30, end=200)
    (host,) = hosts_of(world, lease)
    world.cloud.compute.set_server_metadata(f"on-{host}", "mine", "x")
    look(world)
    assert set(carried(world)) == {f"on-{host}"}
    world.delete(lease)
    world.run_due()
    assert look(world) == (0, 1)
    assert world.cloud.state.server_metadata[f"on-{host}"] == {"mine": "x"}


def test_it_is_taken_back_where_the_lease_is_deleted_or_put_off(world):
    everywhere(world)
    gone, late = (world.reserve(whole_hosts(), start=30, end=200) for _ in range(2))
    assert look(world) == (2, 0)
    world.delete(gone)
    world.run_due()
    assert look(world) == (0, 1)
    world.update(late, start=world.in_minutes(100))
    assert look(world) == (0, 1)
    assert not carried(world)
    assert [event_type for event_type, _ in told(world)] == [GIVEN, GIVEN, WITHDRAWN, WITHDRAWN]


def test_a_start_that_moves_within_the_notice_is_told_anew(world):
    everywhere(world)
    lease = world.reserve(whole_hosts(), start=30, end=200)
    look(world)
    before = carried(world)
    world.update(lease, start=world.in_minutes(40))
    assert look(world) == (1, 0)
    after = carried(world)
    assert after.keys() == before.keys()
    assert after != before


def test_a_server_that_comes_later_is_told_and_one_that_leaves_is_not(world):
    lease = world.reserve(whole_hosts(), start=30, end=200)
    (host,) = hosts_of(world, lease)
    assert look(world) == (0, 0)
    boot(world, "later", host, "kept")
    assert look(world) == (1, 0)
    (elsewhere, *_) = sorted(world.in_freepool() - {host})
    servers = world.cloud.state.servers
    servers["later"] = replace(servers["later"], host=elsewhere)
    assert look(world) == (0, 1)
    assert not carried(world)


def test_a_server_that_is_shelved_meanwhile_loses_it_when_it_is_back(world):
    lease = world.reserve(whole_hosts(), start=30, end=200)
    (host,) = hosts_of(world, lease)
    boot(world, "kept", host, "kept")
    look(world)
    servers = world.cloud.state.servers
    active = servers["kept"]
    servers["kept"] = replace(active, status="SHELVED_OFFLOADED", host=None)
    assert look(world) == (0, 0)
    assert set(carried(world)) == {"kept"}
    (elsewhere, *_) = sorted(world.in_freepool() - {host})
    servers["kept"] = replace(active, host=elsewhere)
    assert look(world) == (0, 1)
    assert not carried(world)


def test_only_hosts_of_leases_that_start_soon_are_asked_for(world):
    everywhere(world)
    world.reserve(whole_hosts(min=2, max=2), start=0, end=20)
    world.run_due()
    world.advance(minutes=1)
    world.reserve(whole_hosts(), start=1000, end=2000)
    world.reserve(whole_hosts(), start=30, end=60)
    world.cloud.calls.clear()
    look(world)
    assert world.cloud.calls.count("preemptible_servers_on") == 1
    assert world.cloud.calls.count("servers_with_tag") == 1


def test_servers_beside_reservations_of_instances_are_told_where_they_make_way(world):
    everywhere(world)
    world.reserve(instances(amount=1), start=30, end=60)
    assert look(world) == (0, 0)
    world.slots = SlotSettings(preemptibles_make_way=True)
    world.restart()
    assert look(world) == (1, 0)


def test_a_start_that_waits_keeps_the_notice_and_is_not_delayed(world):
    everywhere(world)
    lease = world.reserve(whole_hosts(), start=30, end=200)
    (host,) = hosts_of(world, lease)
    look(world)
    world.cloud.state.hanging.add(f"on-{host}")
    world.advance(minutes=30)
    assert look(world) == (0, 0)
    assert set(carried(world)) == {f"on-{host}"}
    del world.cloud.state.servers[f"on-{host}"]
    world.advance(minutes=1)
    assert world.lease(lease).status == "ACTIVE"


@pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
def test_a_nova_that_fails_is_told_once_and_tried_again(world, caplog, failure):
    def fail(call):
        if call == "preemptible_servers_on":
            raise failure(service="Nova", reason="it is away")

    everywhere(world)
    world.reserve(whole_hosts(), start=30, end=200)
    duty = noticing(world)
    world.cloud.before = fail
    for _ in range(3):
        duty.round()
        world.clock.pause(LOOK.total_seconds())
    assert caplog.text.count("cannot be given notice") == 1
    world.cloud.before = lambda call: None
    duty.round()
    assert len(carried(world)) == 1


def test_one_that_nova_does_not_change_is_tried_again(world):
    everywhere(world)
    world.reserve(whole_hosts(min=2, max=2), start=30, end=200)
    servers = world.cloud.state.servers
    for name, server in list(servers.items()):
        servers[name] = replace(server, status="MIGRATING")
    assert look(world) == (0, 0)
    for name, server in list(servers.items()):
        servers[name] = replace(server, status="ACTIVE")
    assert look(world) == (2, 0)


def test_what_was_given_before_the_look_was_cut_off_is_told(world):
    everywhere(world)
    world.reserve(whole_hosts(min=2, max=2), start=30, end=200)
    left = 4

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise ClaimLost(event="preemption_notices")

    with pytest.raises(ClaimLost):
        notices(world).look(check)
    assert len(carried(world)) == len(told(world)) == 1
    assert look(world) == (1, 0)


def test_one_manager_looks_at_a_time(world):
    everywhere(world)
    world.reserve(whole_hosts(), start=30, end=200)
    one, two = noticing(world), noticing(world)
    one.round()
    world.cloud.calls.clear()
    two.round()
    assert not world.cloud.calls


def test_a_notice_is_as_long_as_nova_takes_it():
    text = notice_of("h" * 300, World().clock.now())
    assert len(text) == LONGEST_VALUE
    assert text.endswith("Z")


def test_a_region_whose_nova_fails_does_not_keep_the_others_from_being_looked_at(world, caplog):
    def fail(call):
        raise CloudUnavailable(service="Nova", reason="it is away")

    elsewhere = world.cloud.add_region("RegionTwo")
    elsewhere.boot("far", "far-1")
    elsewhere.compute.add_server_tag("far", NOTICE)
    elsewhere.compute.set_server_metadata("far", NOTICE, "host far-1 is needed")
    world.cloud.before = fail
    assert look(world) == (0, 1)
    assert "cannot be given notice" in caplog.text
    assert not elsewhere.state.server_metadata["far"]
    with world.database.read() as uow:
        (payload,) = [each.payload for each in uow.outbox.peek(1000) if each.event_type == WITHDRAWN]
    assert payload["region"] == "RegionTwo"


def test_a_tag_without_a_notice_is_removed_without_a_word(world):
    everywhere(world)
    (some, *_) = sorted(world.cloud.state.servers)
    world.cloud.compute.add_server_tag(some, NOTICE)
    assert look(world) == (0, 0)
    assert NOTICE not in world.cloud.state.tags[some]
    assert told(world) == []


def test_what_nova_refuses_of_one_server_does_not_end_the_look(world):
    everywhere(world)
    world.reserve(whole_hosts(min=2, max=2), start=30, end=200)
    refusals = 1

    def first_is_refused(call):
        nonlocal refusals
        if call == "add_server_tag" and refusals:
            refusals -= 1
            raise CloudRefused(service="Nova", reason="it has 50 tags")

    world.cloud.before = first_is_refused
    assert look(world) == (1, 0)
    assert look(world) == (1, 0)
    assert len(carried(world)) == 2


def test_servers_on_the_host_to_which_a_server_comes_back_are_told(world):
    world.slots = SlotSettings(preemptibles_make_way=True)
    world.restart()
    with_server(world)
    lease = world.reserve(adopted(), start=30, end=90)
    (host,) = hosts_of(world, lease)
    everywhere(world)
    assert look(world) == (1, 0)
    assert set(carried(world)) == {f"on-{host}"}


def test_those_that_may_be_moved_are_moved_and_need_no_notice(world):
    world.cloud.add_flavor(MOVED)
    lease = world.reserve(whole_hosts(), start=30, end=200)
    (host,) = hosts_of(world, lease)
    for name in ("moved", "stays"):
        boot(world, name, host, "moved")
    world.cloud.state.immovable.add("stays")
    looks = notices(world)
    assert looks.look(free).given == 0
    assert world.cloud.state.servers["moved"].host != host
    world.clock.pause(60)
    assert looks.look(free).given == 1
    assert set(carried(world)) == {"stays"}, "it could not be moved, and is shelved at the start"
    assert world.cloud.calls.count("migrate_server") == 2
