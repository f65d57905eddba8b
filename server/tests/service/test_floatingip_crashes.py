"""kill -9 between any two steps in the life of reserved floating IPs: nothing is lost, nothing is left
behind."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.floatingip.errors import FloatingIPAlreadyRegistered
from blazar.service.commands import ReservationChange

from .test_crashes import dies_at_each_step
from .world import PUBLIC, Crash, Steps, World, address, floating_ips, whole_hosts

TAKEN = address(3)


def small() -> World:
    return World(hosts=1, floating_ips=4)


def taken_by_another(world):
    """Another project has one of the addresses, from the outset."""
    return world.cloud.network.create_floating_ip(PUBLIC, "subnet", TAKEN, "alt", "mine")


def nothing_left(world):
    assert world.in_freepool() == {"host1"}
    assert not world.cloud.state.floating_ips


def clean_up(world):
    """Whatever state the crash left, the user can delete every lease, and then nothing is left."""
    for lease in world.leases.list(None):
        world.delete(lease)
    world.advance(seconds=60)
    assert not world.leases.list(None)
    nothing_left(world)
    world.reserve(whole_hosts(), floating_ips(amount=4))


def both(world, **fields):
    return world.reserve(whole_hosts(), floating_ips(amount=2), **fields)


def active(world):
    lease = both(world, end=600)
    world.run_due()
    for made in list(world.cloud.state.floating_ips.values()):
        world.cloud.state.floating_ips[made.id] = replace(made, port_id="port")
    return lease


def has_all(world, lease, amount):
    assert lease.status is LeaseStatus.ACTIVE
    mark = f"reservation:{lease.reservations[1].id}"
    assert len(world.floating_ips()) == amount
    assert all(made.tags == {"blazar", mark} for made in world.cloud.state.floating_ips.values())
    assert all(a.bound for a in lease.allocations)


def test_create():
    for world in dies_at_each_step(lambda w: None, lambda w, _: both(w, start=10, end=60), small):
        leases = world.leases.list(None)
        assert len(leases) <= 1
        assert all(lease.status is LeaseStatus.PENDING and len(lease.allocations) == 3 for lease in leases)
        clean_up(world)


@pytest.mark.slow
def test_start():
    for world in dies_at_each_step(lambda w: both(w, end=600), lambda w, _: w.run_due(), small):
        has_all(world, world.lease(world.subject), 2)
        assert world.notifications().count("lease.event.start_lease") == 1
        clean_up(world)


@pytest.mark.slow
def test_growth():
    def grow(world, lease):
        world.update(lease, reservations=(ReservationChange(lease.reservations[1].id, {"amount": 4}),))
        world.run_due()

    for world in dies_at_each_step(active, grow, small):
        lease = world.lease(world.subject)
        has_all(world, lease, len(lease.reservations[1].allocations))
        clean_up(world)


@pytest.mark.slow
def test_end():
    def end(world, lease):
        world.advance(minutes=601)

    for world in dies_at_each_step(active, end, small):
        world.advance_to(world.subject.interval.end)
        world.advance(seconds=60)
        assert world.lease(world.subject).status is LeaseStatus.TERMINATED
        assert world.notifications().count("lease.event.end_lease") == 1
        nothing_left(world)


@pytest.mark.slow
def test_delete():
    def delete(world, lease):
        world.delete(lease)
        world.advance(seconds=30)

    for world in dies_at_each_step(active, delete, small):
        with contextlib.suppress(NotFound):
            world.delete(world.subject)
        world.advance(seconds=30)
        assert not world.leases.list(None)
        assert world.notifications().count("lease.delete") == 1
        nothing_left(world)


def test_deletion_in_the_middle_of_a_start():
    def start_and_delete(world, lease):
        with contextlib.suppress(Crash):
            world.run_due()
        world.database.step = lambda: None
        world.cloud.before = lambda call: None
        world.delete(lease)

    for world in dies_at_each_step(lambda w: both(w, end=600), start_and_delete, small):
        assert not world.leases.list(None)
        nothing_left(world)


def test_a_start_that_cannot_succeed():
    def prepare(world):
        taken_by_another(world)
        return world.reserve(floating_ips(amount=4), end=600)

    for world in dies_at_each_step(prepare, lambda w, _: w.run_due(), small):
        lease = world.lease(world.subject)
        assert lease.status is LeaseStatus.ERROR
        assert TAKEN in lease.status_reason
        assert [made.address for made in world.cloud.state.floating_ips.values()] == [TAKEN]
        assert world.floating_ips("alt") == {TAKEN}


def test_registration():
    def register(world, _):
        world.register_floating_ip(address(9))

    for world in dies_at_each_step(lambda w: None, register, small):
        with contextlib.suppress(FloatingIPAlreadyRegistered):
            world.register_floating_ip(address(9))
        (known,) = (
            each for each in world.floatingips.list() if each.facts["floating_ip_address"] == address(9)
        )
        world.floatingips.unregister(known.id)


@pytest.mark.slow
@pytest.mark.parametrize(
    "failure",
    [CloudUnavailable(service="Neutron", reason="503"), CloudRefused(service="Neutron", reason="no")],
)
@pytest.mark.parametrize("step", range(1, 9))
def test_a_failing_cloud_call_is_repeated_or_reported(step, failure):
    world = small()
    calls = Steps()

    def fail(call: str) -> None:
        calls.taken += 1
        if calls.taken == step:
            raise failure

    lease = world.reserve(floating_ips(amount=3), end=600)
    world.cloud.before = fail
    world.advance(seconds=10)
    world.cloud.before = lambda call: None
    started = world.lease(lease)
    if isinstance(failure, CloudRefused) and started.status is LeaseStatus.ERROR:
        assert "no" in started.status_reason
        assert not world.cloud.state.floating_ips
    else:
        assert started.status is LeaseStatus.ACTIVE
        assert len(world.floating_ips()) == 3
    world.advance(minutes=601)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    nothing_left(world)
