"""kill -9 and failures between any two steps in the life of reserved networks: none is lost, none is made
twice, nothing is left behind."""

from __future__ import annotations

import contextlib

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import ReservationChange

from .test_crashes import dies_at_each_step
from .test_networks import PORTS, attach, only, there
from .world import Steps, World, networks


def small() -> World:
    world = World(hosts=0)
    world.register_segments()
    return world


def reserved(world):
    return world.reserve(networks(amount=2), end=600)


def active(world):
    lease = reserved(world)
    world.advance(seconds=1)
    for made in there(world).values():
        attach(world, made.id, *PORTS)
    return lease


def has_all(world, lease, amount):
    assert lease.status is LeaseStatus.ACTIVE
    marks = {"blazar", f"reservation:{only(lease).id}"}
    assert [each.tags for each in there(world).values()] == [marks] * amount
    assert only(lease).cloud_state["networks"].keys() == {each.resource_id for each in lease.allocations}


def clean_up(world):
    """Whatever state the crash left, the user can delete every lease, and then nothing is left."""
    for lease in world.leases.list(None):
        with contextlib.suppress(NotFound):
            world.delete(lease)
    world.advance(seconds=60)
    assert not world.leases.list(None)
    assert not there(world)
    assert not world.cloud.state.ports
    world.reserve(networks(amount=4))


def test_start():
    for world in dies_at_each_step(reserved, lambda w, _: w.run_due(), small):
        has_all(world, world.lease(world.subject), 2)
        clean_up(world)


@pytest.mark.slow
def test_growth():
    def grow(world, lease):
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 4}),))
        world.run_due()

    for world in dies_at_each_step(active, grow, small):
        lease = world.lease(world.subject)
        has_all(world, lease, len(lease.allocations))
        clean_up(world)


def test_end():
    for world in dies_at_each_step(active, lambda w, _: w.advance(minutes=601), small):
        world.advance_to(world.subject.interval.end)
        world.advance(seconds=60)
        assert world.lease(world.subject).status is LeaseStatus.TERMINATED
        assert world.notifications().count("lease.event.end_lease") == 1
        assert not there(world)
        assert not world.cloud.state.ports


@pytest.mark.slow
def test_delete():
    def delete(world, lease):
        world.delete(lease)
        world.advance(seconds=30)

    for world in dies_at_each_step(active, delete, small):
        clean_up(world)


@pytest.mark.parametrize(
    "failure",
    [CloudUnavailable(service="Neutron", reason="503"), CloudRefused(service="Neutron", reason="no")],
)
@pytest.mark.parametrize("step", range(1, 8))
def test_a_failing_cloud_call_is_repeated_or_reported(step, failure):
    world = small()
    calls = Steps()

    def fail(call: str) -> None:
        calls.taken += 1
        if calls.taken == step:
            raise failure

    lease = reserved(world)
    world.cloud.before = fail
    world.advance(seconds=10)
    assert calls.taken >= min(step, 6)
    started = world.lease(lease)
    if isinstance(failure, CloudRefused) and started.status is LeaseStatus.ERROR:
        assert "no" in started.status_reason
        assert not there(world)
    else:
        has_all(world, started, 2)
    calls.taken = 0
    world.advance(minutes=601)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert not there(world)
