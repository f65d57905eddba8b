"""Servers with a known end on hosts of the freepool: they stay where they were booted, their lease keeps the
host, and one that no lease keeps it for has to leave."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import CloudRefused, NotEnoughResources
from blazar.domain.lease.lease import LeaseStatus
from blazar.engine.adopting import Adopting
from blazar.kinds.aggregates import NamedAggregate
from blazar.kinds.server.hints import HintFinder
from blazar.kinds.shelving import PATIENCE, REFUSED, Shelving
from blazar.service.adoption import Adoption
from blazar.service.ports import Flavor

from .test_crashes import dies_at_each_step
from .test_server_leases import WEB, nothing_left
from .world import World, instances

HERE = "host1"
WANTED = {"name": "fill", "end": "2030-01-01 09:00"}
AWAY, ON = "SHELVED_OFFLOADED", "ACTIVE"


@pytest.fixture
def world() -> World:
    return prepared()


def prepared(**settings) -> World:
    world = World(**settings)
    world.backfill = True
    world.restart()
    look(world)
    return world


def look(world, seconds=5):
    finder = HintFinder(timedelta(seconds=1), NamedAggregate(FREEPOOL))
    Adopting(world.database, Adoption(world.leases, finder, world.cloud, world.clock), world.clock).round()
    changed(world)
    world.advance(seconds=seconds)


def changed(world):
    """Nova lists what was done to servers."""
    for server_id in world.cloud.state.servers:
        world.cloud.state.changed[server_id] = world.clock.now()


def boot(world, server_id=WEB, host=HERE, flavor="small", **hint):
    world.cloud.boot(server_id, host)
    state = world.cloud.state
    state.flavor_of[server_id] = flavor
    state.hints[server_id] = {"lease_params": [json.dumps({**WANTED, **hint})]}
    state.changed[server_id] = world.clock.now()


def web(world):
    return world.cloud.state.servers[WEB]


def told(world, server_id=WEB):
    return world.cloud.state.server_metadata.get(server_id, {})


def only(world):
    (lease,) = world.leases.list(None)
    return lease


def test_it_stays_and_its_host_is_kept_until_its_end(world):
    boot(world)
    look(world)
    lease = only(world)
    assert (web(world).status, web(world).host) == (ON, HERE)
    assert (lease.status, lease.interval.end) == (LeaseStatus.ACTIVE, world.in_minutes(60))
    assert world.hosts_of(lease) == {"1"}
    assert told(world) == {"blazar_lease": lease.id}
    assert "shelve_server" not in world.cloud.calls
    with pytest.raises(NotEnoughResources):
        world.create(min=4, max=4, end=60)
    later = world.create(min=4, max=4, start=60, end=90)
    world.advance(minutes=60)
    assert web(world).status == AWAY
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert world.lease(later).status is LeaseStatus.ACTIVE, "the host is empty for the next lease"


def test_others_share_the_host_as_far_as_there_is_room(world):
    boot(world)
    look(world)
    world.reserve(instances(amount=4, affinity=False), end=30)
    with pytest.raises(NotEnoughResources):
        world.create(min=4, max=4, start=10, end=30)


def test_it_is_deleted_at_its_end_where_its_user_wants_that(world):
    boot(world, reservation={"on_end": ["delete"]})
    look(world)
    world.advance(minutes=61)
    assert WEB not in world.cloud.state.servers


def test_the_race_of_a_lease_that_was_promised_the_host_meanwhile(world):
    boot(world)
    promised = world.create(min=4, max=4, start=30, end=60)
    look(world)
    assert web(world).status == AWAY, "it does not stay on a host that is promised to a lease"
    assert "Not enough hosts available" in told(world)["blazar_lease_error"]
    world.advance(minutes=30)
    assert world.lease(promised).status is LeaseStatus.ACTIVE


def test_a_lease_that_starts_on_its_host_before_it_was_found(world):
    boot(world)
    boot(world, "stopped")
    world.cloud.boot("other", HERE)
    lease = world.create(min=4, max=4)
    world.run_due()
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert web(world).status == AWAY, "it is shelved, where others are deleted"
    assert "other" not in world.cloud.state.servers
    assert told(world) == {"blazar_lease_error": f"host {HERE} is needed by a lease that starts"}
    calls = world.cloud.calls
    assert calls.index("set_server_metadata") < calls.index("shelve_server"), "Nova refuses it afterwards"


def test_a_start_waits_until_a_slow_cloud_has_shelved_it(world):
    boot(world)
    world.cloud.state.slow.add(WEB)
    world.cloud.state.without_offload = True
    lease = world.create(min=4, max=4)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.STARTING
    assert "being shelved" in world.lease(lease).status_reason
    world.cloud.settle(WEB)
    world.advance(minutes=1)
    assert web(world).status == "SHELVED"
    world.cloud.settle(WEB)
    world.advance(minutes=1)
    assert (web(world).status, world.lease(lease).status) == (AWAY, LeaseStatus.ACTIVE)


@pytest.mark.parametrize("at", ["servers_on", "bounded_servers_on", "shelve_server"])
def test_one_that_leaves_its_host_between_two_looks_is_not_lost(world, at):
    boot(world)
    world.cloud.boot("other", HERE)
    world.cloud.state.slow |= {WEB, "other"}
    lease = world.create(min=4, max=4)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.STARTING

    def leave(call):
        if call == at:
            world.cloud.settle(WEB)

    world.cloud.before = leave
    world.advance(minutes=1)
    world.cloud.settle("other")
    world.advance(minutes=1)
    assert (web(world).status, world.lease(lease).status) == (AWAY, LeaseStatus.ACTIVE)


def test_one_that_cannot_be_shelved_is_deleted_at_last(world):
    boot(world)

    def refuse(call):
        if call == "shelve_server":
            raise CloudRefused(service="Nova", reason="no")

    world.cloud.before = refuse
    seconds = [0.0]
    shelving = Shelving(REFUSED, lambda: seconds[0])
    servers = world.cloud.compute.bounded_servers_on(HERE)
    assert [each.id for each in shelving.make_way(servers, HERE, world.cloud)] == [WEB]
    seconds[0] = PATIENCE
    assert shelving.make_way(servers, HERE, world.cloud) == []


@pytest.mark.parametrize("how", ["deleted lease", "other host", "resized", "its own answer", "malformed"])
def test_nobody_stays_on_a_promised_host_without_a_lease_for_it(world, how):
    match how:
        case "its own answer":
            boot(world)
            world.cloud.state.server_metadata[WEB] = {"blazar_lease": WEB, "blazar_reservation": WEB}
        case "malformed":
            boot(world, ends="never")
        case _:
            boot(world)
            look(world)
    if how == "deleted lease":
        world.delete(only(world))
        world.advance(seconds=5)
        assert web(world).status == AWAY
    if how == "resized":
        world.cloud.add_flavor(Flavor("larger", "larger", 4, 2048, 10))
        world.cloud.state.flavor_of[WEB] = "larger"
    if how in ("deleted lease", "other host"):
        world.cloud.boot(WEB, "host2")
        changed(world)
    look(world)
    look(world)
    assert web(world).status == AWAY
    assert told(world)["blazar_lease_error"]


def test_a_server_without_the_hint_or_of_a_reservation_is_not_touched(world):
    world.cloud.add_flavor(Flavor("theirs", "reservation:theirs", 1, 512, 1))
    boot(world, "reserved", flavor="theirs")
    world.cloud.boot("unbounded", HERE)
    changed(world)
    for _ in range(3):
        look(world)
    on = {server.status for server in world.cloud.state.servers.values()}
    assert on == {ON}
    assert told(world, "unbounded") == {}


def test_one_that_is_reserved_anew_is_let_alone_on_its_kept_host(world):
    boot(world, end="2030-01-01 08:05")
    look(world)
    world.advance(minutes=6)
    from .test_server_leases import adopted

    lease = world.reserve(adopted())
    world.advance(minutes=1)
    assert web(world).status == ON
    for _ in range(3):
        look(world)
    assert (web(world).status, world.lease(lease).status) == (ON, LeaseStatus.ACTIVE)


def test_one_that_is_deleted_gives_its_host_back(world):
    boot(world)
    look(world)
    lease = only(world)
    world.cloud.compute.delete_server(WEB)
    look(world)
    assert all(each.id != lease.id for each in world.leases.list(None))
    world.create(min=4, max=4)


def test_its_user_extends_it_as_far_as_its_host_is_free(world):
    boot(world)
    look(world)
    lease = world.update(only(world), end=world.in_minutes(90))
    world.create(min=4, max=4, start=100, end=120)
    with pytest.raises(NotEnoughResources):
        world.update(lease, end=world.in_minutes(110))
    world.advance(minutes=80)
    assert (web(world).status, web(world).host) == (ON, HERE)


def test_one_that_starts_later_waits_shelved(world):
    boot(world, start="2030-01-01 08:30")
    look(world)
    assert web(world).status == AWAY
    world.advance(minutes=31)
    assert (web(world).status, only(world).status) == (ON, LeaseStatus.ACTIVE)


def test_nobody_says_over_the_network_that_a_server_stays(world):
    from .test_server_leases import adopted, with_server

    with_server(world)
    lease = world.reserve(adopted(stays_on=HERE, is_hinted={"host": HERE}), start=30)
    stored = lease.reservations[0].parameters
    assert (stored["stays_on"], stored["is_hinted"]) == ("", False)


@pytest.mark.slow
def test_crashes_from_the_boot_to_the_end():
    def booted(world):
        boot(world)

    def live(world, _):
        look(world)
        world.advance(minutes=60)

    for world in dies_at_each_step(booted, live, prepared):
        world.advance(minutes=6)  # after which another manager looks
        changed(world)
        look(world)
        look(world)
        world.advance_to(world.clock.now() + timedelta(minutes=70))
        assert web(world).status == AWAY
        assert all(each.status is LeaseStatus.TERMINATED for each in world.leases.list(None))
        world.cloud.state.server_metadata.clear()
        nothing_left(world)
        world.create(min=4, max=4)


@pytest.mark.slow
def test_crashes_of_the_race():
    def promised(world):
        boot(world)
        return world.create(min=4, max=4, start=30, end=60)

    for world in dies_at_each_step(promised, lambda w, _: look(w), prepared):
        world.advance(minutes=6)
        changed(world)
        look(world)
        look(world)
        assert (web(world).status, len(world.leases.list(None))) == (AWAY, 1)
        assert "Not enough" in told(world)["blazar_lease_error"]
