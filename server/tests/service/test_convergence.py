"""What happens between an action in the cloud and its settlement: requests, crashes, operators and servers
that refuse to die. No server of an active lease is deleted, and what a lease has is what the cloud has in the
end."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import CloudRefused
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import ReservationChange

from .world import Crash, Steps, World, instances


@pytest.fixture
def world() -> World:
    return World()


def resize(world, lease, number):
    wanted = {"min": number, "max": number}
    return world.update(lease, reservations=(ReservationChange(lease.reservations[0].id, wanted),))


def members(world, lease):
    return set(world.cloud.hosts_in(lease.reservations[0].id))


def allocated(world, lease):
    return {f"host{a.resource_id}" for a in world.lease(lease).allocations}


def bound(world, lease):
    return {f"host{a.resource_id}" for a in world.lease(lease).allocations if a.bound}


def own_work(world, lease):
    return [e for e in world.lease(lease).events if not e.event_type.is_public]


def started(world, number=1, end=600):
    lease = world.create(min=number, max=number, end=end)
    world.run_due()
    return lease


def squat(world, *hosts):
    """Servers that cannot be deleted stand on these hosts of the freepool."""
    for host in hosts:
        world.cloud.boot(f"squatter-on-{host}", host, "stranger")
    world.cloud.state.undying |= {f"squatter-on-{host}" for host in hosts}


# ------------------------------------------------------------------------------- servers of an active lease
# stay


def test_a_host_that_was_given_is_never_emptied_while_another_one_is_waited_for(world):
    lease = started(world)
    squat(world, "host3")
    resize(world, lease, 3)
    world.run_due()
    assert members(world, lease) == bound(world, lease) == {"host1", "host2"}
    for host in members(world, lease):
        world.cloud.boot(f"tenant-on-{host}", host)
    world.advance(minutes=5)
    assert {"tenant-on-host1", "tenant-on-host2"} <= world.cloud.state.servers.keys()
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert members(world, lease) == bound(world, lease) == {"host1", "host2", "host3"}
    assert {"tenant-on-host1", "tenant-on-host2"} == world.cloud.state.servers.keys()


def test_a_start_that_waits_for_one_host_keeps_the_others(world):
    squat(world, "host2")
    lease = world.create(min=2, max=2, end=600)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.STARTING
    assert members(world, lease) == bound(world, lease) == {"host1"}
    world.cloud.boot("tenant", "host1")
    world.advance(minutes=5)
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert "tenant" in world.cloud.state.servers


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 3])
def test_no_server_is_lost_to_a_crash_between_acting_and_settling(number):
    """The tenant boots a server the moment a host is in the aggregate; then the process dies at the next
    step."""
    steps = 0
    while True:
        steps += 1
        world = World()
        lease = started(world)
        resize(world, lease, number)
        booted = boot_on_members(world, lease)
        dying = Steps(crash_at=steps)
        world.database.step = both(booted, dying.step)
        world.cloud.before = lambda call, step=world.database.step: step()
        died = True
        try:
            world.run_due()
            died = False
        except Crash:
            world.restart()
        world.database.step, world.cloud.before = lambda: None, lambda call: None
        booted()
        before = set(world.cloud.state.servers)
        world.advance(minutes=1)
        assert world.cloud.state.servers.keys() == before
        assert members(world, lease) == bound(world, lease) == allocated(world, lease)
        assert world.in_freepool() == {"host1", "host2", "host3", "host4"} - members(world, lease)
        if not died:
            break
    assert steps > 6


def both(first, second):
    def step():
        first()
        second()

    return step


def boot_on_members(world, lease):
    def boot():
        for host in members(world, lease):
            world.cloud.boot(f"tenant-on-{host}", host)

    return boot


# ------------------------------------------------------------------------- a request between action and
# settlement


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(2, 3), (2, 4), (3, 4)])
@pytest.mark.parametrize("moment", range(1, 12))
def test_a_second_update_while_the_first_one_is_carried_out_reaches_the_cloud(world, first, second, moment):
    lease = started(world)
    resize(world, lease, first)
    calls = Steps()

    def update_meanwhile(call):
        calls.taken += 1
        if calls.taken == moment:
            resize(world, lease, second)

    world.cloud.before = update_meanwhile
    world.run_due()
    world.cloud.before = lambda call: None
    if calls.taken < moment:
        resize(world, lease, second)
    world.run_due()  # at once: no time has passed
    assert members(world, lease) == bound(world, lease) == allocated(world, lease)
    assert len(members(world, lease)) == second
    assert own_work(world, lease) == []


def test_only_what_was_acted_on_becomes_bound(world):
    lease = started(world)
    resize(world, lease, 2)
    seen = []

    def update_meanwhile(call):
        if call == "add_host" and not seen:
            seen.append(call)
            resize(world, lease, 4)

    world.cloud.before = update_meanwhile
    with contextlib.suppress(Crash):
        world.database.step = Steps(crash_at=9).step  # after the first settlement
        world.run_due()
    world.database.step, world.cloud.before = lambda: None, lambda call: None
    assert bound(world, lease) <= members(world, lease)


def test_an_update_of_slots_while_they_are_made_reaches_the_cloud(world):
    lease = world.reserve(instances(vcpus=8, amount=1), end=600)
    world.run_due()
    reservation = lease.reservations[0].id

    def grow(amount):
        world.update(lease, reservations=(ReservationChange(reservation, {"amount": amount}),))

    grow(2)
    seen = []

    def update_meanwhile(call):
        if call == "set_reserved_slots" and not seen:
            seen.append(call)
            grow(3)

    world.cloud.before = update_meanwhile
    world.run_due()
    assert seen
    assert members(world, lease) == allocated(world, lease) == bound(world, lease)
    assert len(members(world, lease)) == 3


def test_what_put_a_converge_off_does_not_put_an_update_off(world):
    lease = started(world)
    squat(world, "host2")
    resize(world, lease, 2)
    world.advance(minutes=20)
    (waiting,) = own_work(world, lease)
    assert waiting.next_try > world.clock.now() + timedelta(seconds=1)
    resize(world, lease, 3)
    world.run_due()
    assert members(world, lease) == {"host1", "host3"}


# -------------------------------------------------------------------------------------------------- warnings


def test_a_warning_binds_nothing(world):
    """The lease grows to a host of which the last tenant is still being removed, and is warned meanwhile."""
    last = world.create(name="last", min=1, max=1, end=60)
    world.run_due()
    world.cloud.boot("last-server", "host1")
    world.cloud.state.undying.add("last-server")
    lease = world.create(min=3, max=3, end=600, warn_at=world.in_minutes(62))
    world.run_due()
    world.advance(minutes=61)
    assert world.lease(last).status is LeaseStatus.TERMINATING
    resize(world, lease, 4)
    world.advance(minutes=2)
    assert world.event_statuses(lease)["before_end_lease"] is EventStatus.DONE
    assert bound(world, lease) == members(world, lease) == {"host2", "host3", "host4"}
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert bound(world, lease) == members(world, lease) == {"host1", "host2", "host3", "host4"}


@pytest.mark.parametrize("later", [30, 400])
def test_a_warning_that_is_moved_while_it_is_given_is_given_again(world, later):
    lease = world.create(end=600, warn_at=world.in_minutes(20), before_end="snapshot")
    world.run_due()
    world.cloud.boot("server", "host1")
    new_time, seen = world.in_minutes(later), []

    def move_meanwhile(call):
        if call == "snapshot_server" and not seen:
            seen.append(call)
            world.update(lease, before_end=new_time)

    world.cloud.before = move_meanwhile
    world.advance(minutes=21)
    assert seen
    assert world.event_statuses(lease)["before_end_lease"] is EventStatus.UNDONE
    assert "lease.event.before_end_lease" not in world.notifications()
    world.advance_to(new_time)
    world.run_due()
    assert world.event_statuses(lease)["before_end_lease"] is EventStatus.DONE
    assert len(world.cloud.state.images) == 2
    assert world.notifications().count("lease.event.before_end_lease") == 1


# ------------------------------------------------------------------------------------------------- its traces


def test_a_good_converge_clears_what_a_bad_one_told(world):
    lease = started(world)

    def refuse(call):
        if call == "add_host":
            raise CloudRefused(service="Nova", reason="not this one")

    world.cloud.before = refuse
    resize(world, lease, 2)
    world.run_due()
    failed = world.lease(lease)
    assert failed.degraded
    assert failed.reservations[0].missing_resources
    assert "not this one" in str(failed.status_reason)
    assert own_work(world, lease) == []
    world.cloud.before = lambda call: None
    resize(world, lease, 3)
    world.run_due()
    good = world.lease(lease)
    assert members(world, lease) == allocated(world, lease)
    assert not good.degraded
    assert not good.reservations[0].missing_resources
    assert (good.status_reason, good.reservations[0].status_reason) == (None, None)


def test_work_of_the_engines_own_leaves_no_rows(world):
    lease = started(world)
    stored = world.lease(lease)
    old = [
        Event(f"old-{n}", lease.id, EventType.CONVERGE, world.clock.now(), EventStatus.DONE) for n in range(3)
    ]
    grown = replace(stored, events=(*stored.events, *old))
    world.database.transact(lambda u: u.leases.save(grown, stored, world.clock.now()))
    for number in (2, 3, 4):
        resize(world, lease, number)
        world.run_due()
        assert own_work(world, lease) == []
    world.advance(minutes=601)
    assert {e.event_type.is_public for e in world.lease(lease).events} == {True}


# ---------------------------------------------------------------------------------------------------
# operators


def remake_freepool(world):
    """An operator deletes the freepool, and makes it anew with the hosts that were in it."""
    state = world.cloud.state
    (old,) = (a for a in state.aggregates.values() if a.name == FREEPOOL)
    del state.aggregates[old.id]
    new = replace(old, id=state.next_id())
    state.aggregates[new.id] = new


@pytest.mark.parametrize("again", [False, True])
def test_a_freepool_that_is_made_anew_is_found(world, again):
    lease = started(world, end=60)
    remake_freepool(world)
    if again:
        other = started(world, number=2, end=60)
        assert world.lease(other).status is LeaseStatus.ACTIVE
        assert world.in_freepool() == {"host4"}
    world.advance(minutes=61)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert world.in_freepool() == {"host1", "host2", "host3", "host4"}


def take_out(world, lease, host):
    """An operator takes the host out of the reservation's aggregate."""
    state = world.cloud.state
    (aggregate,) = (a for a in state.aggregates.values() if a.name == lease.reservations[0].id)
    rest = tuple(h for h in aggregate.hosts if h != host)
    state.aggregates[aggregate.id] = replace(aggregate, hosts=rest)


@pytest.mark.parametrize(("strangers", "tenants"), [*product([False, True], repeat=2)])
def test_the_end_deletes_no_servers_of_others_on_hosts_that_an_operator_took_out(world, strangers, tenants):
    lease = started(world, number=2, end=60)
    take_out(world, lease, "host1")
    world.cloud.boot("tenant-on-host2", "host2")
    if strangers:
        world.cloud.boot("stranger-on-host1", "host1", "stranger")
    if tenants:
        world.cloud.boot("tenant-on-host1", "host1")
    world.advance(minutes=62)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert set(world.cloud.state.servers) == ({"stranger-on-host1"} if strangers else set())
    assert world.in_freepool() == {"host2", "host3", "host4"} | (set() if strangers else {"host1"})


def test_a_start_deletes_no_servers_on_a_host_that_is_not_in_the_freepool(world):
    world.cloud.compute.remove_host(1, "host1")
    world.cloud.boot("stranger", "host1", "stranger")
    lease = world.create(min=4, max=4, end=600)
    world.advance(minutes=5)
    waiting = world.lease(lease)
    assert waiting.status is LeaseStatus.STARTING
    assert waiting.status_reason == "host host1 is not in the aggregate freepool and has servers"
    assert "stranger" in world.cloud.state.servers
    del world.cloud.state.servers["stranger"]
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
