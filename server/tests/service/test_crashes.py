"""kill -9 between any two steps of create, update, start, end and delete: nothing is lost, nothing is left
behind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from effort import crash_steps

from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import ReservationChange

from .world import CLAIM, Crash, Steps, World

HOSTS = {"host1", "host2", "host3", "host4"}


def armed(world: World, steps: Steps) -> None:
    """From now on each transaction's begin and end and each cloud call is a step at which the process can
    die."""
    world.database.step = steps.step
    world.cloud.before = lambda call: steps.step()


def disarmed(world: World) -> None:
    world.database.step = lambda: None
    world.cloud.before = lambda call: None


def dies_at_each_step(
    prepare: Callable[[World], object],
    act: Callable[[World, object], None],
    make: Callable[[], World] = World,
) -> list[World]:
    """A world for each of the steps of ``act``, in which the process died there, was started anew and got
    over its claim."""
    counted = Steps()
    world = make()
    subject = prepare(world)
    armed(world, counted)
    act(world, subject)
    assert counted.taken >= 2
    worlds = []
    for step in crash_steps(counted.taken):
        world = make()
        world.subject = prepare(world)
        armed(world, Steps(crash_at=step))
        with contextlib.suppress(Crash):
            act(world, world.subject)
        disarmed(world)
        world.restart()
        world.reconcile_all()
        world.advance(seconds=CLAIM.total_seconds() * 2)
        worlds.append(world)
    return worlds


def nothing_left(world: World) -> None:
    assert world.in_freepool() == HOSTS
    assert [a.name for a in world.cloud.state.aggregates.values()] == ["freepool"]


def clean_up(world: World) -> None:
    """Whatever state the crash left, the user can delete every lease, and then nothing is left."""
    for lease in world.leases.list(None):
        world.delete(lease)
    world.advance(seconds=60)
    assert not world.leases.list(None)
    nothing_left(world)
    world.create(min=4, max=4)


def test_create():
    for world in dies_at_each_step(lambda w: None, lambda w, _: w.create(start=10, min=2, max=2)):
        leases = world.leases.list(None)
        assert len(leases) <= 1
        assert all(lease.status is LeaseStatus.PENDING and len(lease.allocations) == 2 for lease in leases)
        clean_up(world)


def test_start():
    for world in dies_at_each_step(lambda w: w.create(min=2, max=2, end=600), lambda w, _: w.run_due()):
        lease = world.lease(world.subject)
        assert lease.status is LeaseStatus.ACTIVE
        assert set(world.cloud.hosts_in(lease.reservations[0].id)) == {"host1", "host2"}
        assert world.in_freepool() == {"host3", "host4"}
        assert world.notifications().count("lease.event.start_lease") == 1
        clean_up(world)


def active(world: World):
    lease = world.create(min=2, max=2, end=600)
    world.run_due()
    world.cloud.boot("server", "host2")
    return lease


def test_end():
    def end(world, lease):
        world.advance(minutes=601)

    for world in dies_at_each_step(active, end):
        world.advance_to(world.subject.interval.end)
        world.advance(seconds=60)
        assert world.lease(world.subject).status is LeaseStatus.TERMINATED
        assert world.notifications().count("lease.event.end_lease") == 1
        assert not world.cloud.state.servers
        nothing_left(world)


def test_growth():
    def grow(world, lease):
        world.update(lease, reservations=(ReservationChange(lease.reservations[0].id, {"max": 3, "min": 3}),))
        world.run_due()

    for world in dies_at_each_step(active, grow):
        lease = world.lease(world.subject)
        assert lease.status is LeaseStatus.ACTIVE
        assert len(world.cloud.hosts_in(lease.reservations[0].id)) == len(lease.allocations)
        assert "server" in world.cloud.state.servers
        clean_up(world)


@pytest.mark.slow
def test_delete():
    def delete(world, lease):
        world.delete(lease)
        world.advance(seconds=30)

    for world in dies_at_each_step(active, delete):
        with contextlib.suppress(NotFound):
            world.delete(world.subject)
        world.advance(seconds=30)
        assert not world.leases.list(None)
        assert world.notifications().count("lease.delete") == 1
        nothing_left(world)


@pytest.mark.slow
def test_deletion_in_the_middle_of_a_start():
    def start_and_delete(world, lease):
        with contextlib.suppress(Crash):
            world.run_due()
        world.database.step = lambda: None
        world.cloud.before = lambda call: None
        world.delete(lease)

    for world in dies_at_each_step(lambda w: w.create(min=2, max=2, end=600), start_and_delete):
        assert not world.leases.list(None)
        nothing_left(world)


@pytest.mark.slow
@pytest.mark.parametrize(
    "failure", [CloudUnavailable(service="Nova", reason="503"), CloudRefused(service="Nova", reason="no")]
)
@pytest.mark.parametrize("step", range(1, 10))
def test_a_failing_cloud_call_is_repeated_or_reported(step, failure):
    world = World()
    calls = Steps()

    def fail(call: str) -> None:
        calls.taken += 1
        if calls.taken == step:
            raise failure

    lease = world.create(min=2, max=2, end=600)
    world.cloud.before = fail
    world.advance(seconds=10)
    world.cloud.before = lambda call: None
    started = world.lease(lease)
    if isinstance(failure, CloudRefused) and calls.taken >= step and started.status is LeaseStatus.ERROR:
        assert "no" in (started.status_reason or "")
    else:
        assert started.status is LeaseStatus.ACTIVE
    world.advance(minutes=601)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    nothing_left(world)


@pytest.mark.slow
def test_a_cloud_that_is_down_at_the_start_delays_it_and_is_told():
    world = World()

    def down(call: str) -> None:
        raise CloudUnavailable(service="Nova", reason="no route to host")

    lease = world.create(end=600)
    world.cloud.before = down
    world.advance(minutes=30)
    waiting = world.lease(lease)
    assert waiting.status is LeaseStatus.STARTING
    assert waiting.status_reason == "Nova is not available: no route to host"
    world.cloud.before = lambda call: None
    world.advance(minutes=2)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert world.lease(lease).status_reason is None


def test_a_cloud_that_is_down_at_the_end_keeps_the_host_until_it_is_released():
    world = World(hosts=1)
    lease = world.create(end=60)
    world.run_due()

    def down(call: str) -> None:
        raise CloudRefused(service="Nova", reason="not now")

    world.cloud.before = down
    world.advance(minutes=90)
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    world.cloud.before = lambda call: None
    world.advance(minutes=2)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_no_error_of_the_cloud_breaks_the_list_of_leases():
    world = World()
    world.create()

    def broken(call: str) -> None:
        raise BlazarError("anything")

    world.cloud.before = broken
    assert len(world.leases.list(None)) == 1
