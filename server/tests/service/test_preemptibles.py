"""Preemptible servers on the hosts of reservations: they make way at the start, as their flavors say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.slots import SlotSettings
from blazar.service.commands import ReservationChange
from blazar.service.moves import ONE_TRY, Moves
from blazar.service.ports import Flavor

from .test_server_leases import adopted, host_of, web, with_server
from .world import World, instances, servers, whole_hosts

SPARE = Flavor("spare", "spare", 1, 512, 1, extra_specs={"blazar:preemptible": "true"})
KEPT = Flavor("kept", "kept", 1, 512, 1, extra_specs={"blazar:preemptible": "shelve"})
BOTH = pytest.mark.parametrize("asked", [instances, servers], ids=["virtual:instance", "flavor:instance"])

ON_FOUR_HOSTS = pytest.mark.parametrize(
    "asked",
    [instances(amount=4, affinity=False), servers(amount=4, affinity=False), whole_hosts(min=4, max=4)],
    ids=lambda asked: asked.resource_type,
)


@pytest.fixture
def world():
    world = World()
    world.slots = SlotSettings(preemptibles_make_way=True)
    world.restart()
    for flavor in (SPARE, KEPT):
        world.cloud.add_flavor(flavor)
    return world


def boot(world, name, host, flavor="spare"):
    world.cloud.boot(name, host)
    world.cloud.state.flavor_of[name] = flavor


def only(lease):
    (reservation,) = lease.reservations
    return reservation


def hosts_of(world, lease):
    """Return the hosts of the reservation, and those of the freepool beside them."""
    serving = set(world.cloud.hosts_in(only(lease).id))
    return serving, set(world.in_freepool()) - serving


@BOTH
def test_they_end_at_the_start_and_others_do_not(world, asked):
    for host in world.in_freepool():
        boot(world, f"spare-{host}", host)
        boot(world, f"other-{host}", host, "small")
    lease = world.reserve(asked(amount=2, affinity=False))
    world.run_due()
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    serving, others = hosts_of(world, lease)
    assert (len(serving), len(others)) == (2, 2)
    left = {f"spare-{host}" for host in others} | {f"other-{host}" for host in world.in_freepool()}
    assert set(world.cloud.state.servers) == left


@BOTH
def test_the_lease_is_active_when_the_last_one_is_gone(world, asked):
    for host in world.in_freepool():
        boot(world, f"spare-{host}", host)
    world.cloud.state.hanging = set(world.cloud.state.servers)
    lease = world.reserve(asked(amount=4, affinity=False))
    world.run_due()
    waiting = world.lease(lease)
    assert waiting.status is LeaseStatus.STARTING
    assert waiting.status_reason.startswith("4 servers are being deleted: spare-host")
    assert not any(allocation.bound for allocation in only(waiting).allocations)
    with pytest.raises(CloudRefused):
        world.cloud.boot_reserved("early", only(lease).id)
    (late,) = sorted(world.in_freepool())[:1]
    world.cloud.state.hanging.clear()
    for name in sorted(world.cloud.state.servers):
        del world.cloud.state.servers[name]
    boot(world, "between", late)  # a scheduler that had not heard of the aggregate yet
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert not world.cloud.state.servers
    world.cloud.boot_reserved("mine", only(lease).id)


def test_a_host_that_serves_the_reservation_already_is_not_looked_at_again(world):
    lease = world.reserve(instances(amount=2, affinity=False))
    world.run_due()
    serving, others = hosts_of(world, lease)
    for host in serving | others:
        boot(world, f"brought-{host}", host)  # by an operator, past the filter
    world.cloud.calls.clear()
    world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 3}),))
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    (new,) = hosts_of(world, lease)[0] - serving
    assert set(world.cloud.state.servers) == {f"brought-{host}" for host in (serving | others) - {new}}


def test_they_make_way_for_a_server_that_comes_back(world):
    with_server(world)
    lease = world.reserve(adopted(), start=30, end=90)
    host = host_of(world, lease)
    world.advance(minutes=1)
    boot(world, "spare", host)
    world.cloud.state.hanging.add("spare")
    world.advance(minutes=30)
    assert world.lease(lease).status_reason == "1 servers are being deleted: spare"
    assert web(world).status == "SHELVED_OFFLOADED"
    del world.cloud.state.servers["spare"]
    boot(world, "other", host, "small")
    world.advance(minutes=1)
    assert (web(world).status, web(world).host) == ("ACTIVE", host)
    assert "other" in world.cloud.state.servers


@ON_FOUR_HOSTS
def test_those_whose_flavor_says_so_are_shelved_and_told_why(world, asked):
    for host in world.in_freepool():
        boot(world, f"spare-{host}", host)
        boot(world, f"kept-{host}", host, "kept")
    lease = world.reserve(asked)
    world.run_due()
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    state = world.cloud.state
    assert {each.status for each in state.servers.values()} == {"SHELVED_OFFLOADED"}
    assert set(state.servers) == {f"kept-host{number}" for number in range(1, 5)}
    told = {"blazar_preempted": "host host1 is needed by a lease that starts"}
    assert state.server_metadata["kept-host1"] == told


@ON_FOUR_HOSTS
def test_the_start_waits_until_they_are_off_their_host(world, asked):
    boot(world, "kept", "host1", "kept")
    world.cloud.state.slow.add("kept")
    lease = world.reserve(asked)
    world.run_due()
    waiting = world.lease(lease)
    assert waiting.status is LeaseStatus.STARTING
    assert "being shelved" in waiting.status_reason
    world.restart()
    world.cloud.settle("kept")
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert world.cloud.state.servers["kept"].host is None


@pytest.mark.parametrize("status", ["ERROR", "RESCUE"])
@ON_FOUR_HOSTS
def test_one_that_cannot_be_shelved_is_deleted(world, asked, status):
    boot(world, "kept", "host1", "kept")
    world.cloud.state.servers["kept"] = replace(world.cloud.state.servers["kept"], status=status)
    lease = world.reserve(asked)
    world.run_due()
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert not world.cloud.state.servers


@ON_FOUR_HOSTS
def test_one_that_comes_back_is_told_of_the_host_that_it_leaves_then(world, asked):
    boot(world, "kept", "host2", "kept")
    world.cloud.state.server_metadata["kept"] = {
        "blazar_preempted": "host host1 is needed by a lease that starts"
    }
    world.reserve(asked)
    world.run_due()
    assert "host2" in world.cloud.state.server_metadata["kept"]["blazar_preempted"]


def test_nobody_looks_for_them_unless_the_operator_says_so():
    world = World()
    world.cloud.add_flavor(SPARE)
    for host in world.in_freepool():
        boot(world, f"spare-{host}", host)
    world.reserve(instances(amount=2))
    world.run_due()
    assert len(world.cloud.state.servers) == 4
    assert "preemptible_servers_on" not in world.cloud.calls


MOVED = Flavor("moved", "moved", 1, 512, 1, extra_specs={"blazar:preemptible": "migrate"})


@pytest.fixture
def with_moved(world):
    world.cloud.add_flavor(MOVED)
    boot(world, "moved", "host1", "moved")
    return world


def reserve_under(world, asked):
    """Reserve the host of the server that may be moved."""
    lease = world.reserve(asked, start=5)
    assert set(world.hosts_of(lease)) == {"1"}
    world.advance(minutes=5)
    return lease


ON_ONE_HOST = pytest.mark.parametrize(
    "asked",
    [instances(amount=1, affinity=False), whole_hosts(min=1, max=1)],
    ids=lambda asked: asked.resource_type,
)


@ON_ONE_HOST
def test_those_whose_flavor_says_so_are_moved_while_they_run(with_moved, asked):
    lease = reserve_under(with_moved, asked)
    with_moved.advance(seconds=30)
    state = with_moved.cloud.state
    assert with_moved.lease(lease).status is LeaseStatus.ACTIVE
    assert state.servers["moved"].status == "ACTIVE"
    assert state.servers["moved"].host != "host1"
    assert "blazar_preempted" not in state.server_metadata.get("moved", {})


@ON_ONE_HOST
def test_the_lease_waits_until_they_have_moved(with_moved, asked):
    with_moved.cloud.state.slow.add("moved")
    lease = reserve_under(with_moved, asked)
    assert with_moved.lease(lease).status is LeaseStatus.STARTING
    assert "moved" in with_moved.lease(lease).status_reason
    with_moved.cloud.settle("moved")
    with_moved.advance(seconds=30)
    assert with_moved.lease(lease).status is LeaseStatus.ACTIVE
    assert with_moved.cloud.calls.count("migrate_server") == 1


@ON_ONE_HOST
def test_those_that_cannot_be_moved_are_shelved(with_moved, asked):
    with_moved.cloud.state.immovable.add("moved")
    lease = reserve_under(with_moved, asked)
    with_moved.advance(seconds=30)
    assert with_moved.lease(lease).status is LeaseStatus.ACTIVE
    assert with_moved.cloud.state.servers["moved"].status == "SHELVED_OFFLOADED"
    assert "blazar_preempted" in with_moved.cloud.state.server_metadata["moved"]


def test_one_that_is_stopped_is_shelved_at_once(with_moved):
    state = with_moved.cloud.state
    state.servers["moved"] = replace(state.servers["moved"], status="SHUTOFF")
    lease = reserve_under(with_moved, whole_hosts())
    with_moved.advance(seconds=30)
    assert with_moved.lease(lease).status is LeaseStatus.ACTIVE
    assert state.servers["moved"].status == "SHELVED_OFFLOADED"
    assert "migrate_server" not in with_moved.cloud.calls


def test_a_server_is_asked_once_to_leave_a_host():
    now, world = [0.0], World(hosts=2)
    world.cloud.boot("moved", "host1")
    world.cloud.state.immovable.add("moved")
    moves = Moves(lambda: now[0])
    server = world.cloud.state.servers["moved"]

    def leave(host):
        return list(moves.make_way([server], host, world.cloud.compute))

    assert leave("host1") == [server]
    assert leave("host1") == []
    assert leave("host2") == [server], "it is there now"
    now[0] = ONE_TRY + 1
    assert leave("host1") == [server], "for another lease"
    assert world.cloud.calls.count("migrate_server") == 3
