"""kill -9, other managers and failures between any two steps in the life of reserved volumes: the quota is
right in the end."""

from __future__ import annotations

import contextlib

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus

from .test_crashes import dies_at_each_step
from .test_volumes import limit, make_volume, quota
from .world import Crash, Steps, World, volumes

BASE = (10, 10, 1000, 10)


def small() -> World:
    world = World(hosts=0)
    world.register_volumes()
    limit(world, fast=10)
    return world


def raised(gigabytes, count):
    return (10 + gigabytes, 10 + count, 1000 + gigabytes, 10 + count)


def settle(world):
    world.advance(seconds=40)


def clean_up(world):
    for lease in world.leases.list(None):
        with contextlib.suppress(NotFound):
            world.delete(lease)
    settle(world)
    assert not world.leases.list(None)
    assert quota(world) == BASE


def active(world):
    lease = world.reserve(volumes(), end=600)
    settle(world)
    return lease


def test_start():
    for world in dies_at_each_step(
        lambda w: w.reserve(volumes(), end=600), lambda w, _: w.advance(seconds=1), small
    ):
        settle(world)
        assert world.lease(world.subject).status is LeaseStatus.ACTIVE
        assert quota(world) == raised(50, 1)
        clean_up(world)


def test_end():
    for world in dies_at_each_step(active, lambda w, _: w.advance(minutes=601), small):
        world.advance_to(world.subject.interval.end)
        settle(world)
        assert world.lease(world.subject).status is LeaseStatus.TERMINATED
        assert quota(world) == BASE


def test_delete():
    def delete(world, lease):
        world.delete(lease)
        world.advance(seconds=1)

    for world in dies_at_each_step(active, delete, small):
        clean_up(world)


def test_an_end_that_keeps_volumes():
    def with_volume(world):
        lease = active(world)
        make_volume(world, 40)
        return lease

    for world in dies_at_each_step(with_volume, lambda w, _: w.advance(minutes=601), small):
        world.advance_to(world.subject.interval.end)
        settle(world)
        assert world.lease(world.subject).status is LeaseStatus.TERMINATED
        assert quota(world) == (40, 10, 1000, 10)


def test_an_end_that_deletes():
    def with_volumes(world):
        limit(world, fast=0)
        lease = world.reserve(volumes(volumes=3, on_end="delete"), end=600)
        settle(world)
        for gigabytes in (20, 20, 10):
            make_volume(world, gigabytes)
        return lease

    def delete(world, lease):
        world.delete(lease)
        world.advance(seconds=5)

    for world in dies_at_each_step(with_volumes, delete, small):
        with contextlib.suppress(NotFound):
            world.delete(world.subject)
        settle(world)
        assert not world.leases.list(None)
        assert not world.cloud.state.volumes["demo"]
        assert quota(world) == (0, 0, 1000, 10)


def test_a_start_beside_another_one():
    def both(world):
        active(world)
        world.reserve(volumes(gigabytes=30), end=600)
        return world.reserve(volumes(gigabytes=7, volumes=2), end=600)

    for world in dies_at_each_step(both, lambda w, _: w.advance(seconds=1), small):
        settle(world)
        assert quota(world) == raised(87, 4)
        clean_up(world)


def interleaved(prepare, make, rounds):
    """Worlds in which another manager did so many rounds of what was due, at one step of the first one."""
    step = 0
    while True:
        step += 1
        world = make()
        prepare(world)
        other, steps = world.beside(), Steps()

        def meanwhile(call="", world=world, other=other, steps=steps, step=step):
            steps.taken += 1
            if steps.taken == step:
                world.cloud.before = world.database.step = lambda *_: None
                with contextlib.suppress(AssertionError):
                    other.run_due(rounds)
                for _ in range(rounds):
                    world.clock.pause(0.1)
                    with contextlib.suppress(AssertionError):
                        other.run_due(1)

        world.cloud.before = world.database.step = meanwhile
        world.advance(seconds=0.5)
        world.cloud.before = world.database.step = lambda *_: None
        settle(world)
        yield world
        if steps.taken < step:
            return


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_two_managers_start_two_leases_at_once(rounds):
    def two(world):
        world.reserve(volumes(gigabytes=50), end=600)
        world.reserve(volumes(gigabytes=30), end=600)

    for world in interleaved(two, small, rounds):
        assert quota(world) == raised(80, 2)
        assert {lease.status for lease in world.leases.list(None)} == {LeaseStatus.ACTIVE}
        clean_up(world)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_one_manager_ends_a_lease_while_another_starts_one(rounds):
    def one_each(world):
        ends = active(world)
        world.reserve(volumes(gigabytes=30), end=600)
        world.delete(ends)

    for world in interleaved(one_each, small, rounds):
        assert quota(world) == raised(30, 1)
        clean_up(world)


@pytest.mark.parametrize("call", ["volume_types", "volume_quota", "set_volume_quota"])
@pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
def test_a_failing_call_is_repeated_or_reported(call, failure):
    world = small()
    left = [2]

    def fail(made: str) -> None:
        if made == call and left[0]:
            left[0] -= 1
            raise failure(service="Cinder", reason="no")

    first, lease = active(world), world.reserve(volumes(gigabytes=30), end=600)
    world.cloud.before = fail
    settle(world)
    world.cloud.before = lambda call: None
    started = world.lease(lease)
    if failure is CloudRefused:
        assert started.status is LeaseStatus.ERROR
        assert "no" in started.status_reason
        assert quota(world) == raised(50, 1)
    else:
        assert started.status is LeaseStatus.ACTIVE
        assert quota(world) == raised(80, 2)
    world.delete(first)
    settle(world)
    assert quota(world) == (BASE if failure is CloudRefused else raised(30, 1))
    clean_up(world)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("start"), st.integers(1, 40)),
            st.tuples(st.just("end"), st.integers(0, 9)),
            st.tuples(st.just("operator"), st.integers(-5, 40)),
            st.tuples(st.just("crash"), st.integers(1, 12)),
        ),
        max_size=12,
    )
)
def test_the_quota_is_what_others_gave_and_what_is_promised(steps):
    world, given_by_others, leases = small(), 10, {}
    for what, number in steps:
        match what:
            case "start":
                leases[world.reserve(volumes(gigabytes=number), end=9000).id] = number
            case "end" if leases:
                lease_id = list(leases)[number % len(leases)]
                del leases[lease_id]
                world.delete(world.leases.get(lease_id))
            case "operator":
                settle(world)
                given_by_others = max(0, given_by_others + number)
                limits = world.cloud.state.volume_quotas["demo"]
                limits["gigabytes_fast"] = given_by_others + sum(leases.values())
            case "crash":
                dying = Steps(crash_at=number)
                world.cloud.before = lambda call, dying=dying: dying.step()
                world.database.step = dying.step
                with contextlib.suppress(Crash):
                    world.run_due()
                world.cloud.before = world.database.step = lambda *_: None
                world.restart()
        if number % 2:
            settle(world)
    settle(world)
    assert quota(world)[0] == given_by_others + sum(leases.values())
