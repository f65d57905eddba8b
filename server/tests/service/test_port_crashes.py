"""kill -9, other managers and failures between any two steps in the life of reserved ports: the quota is
right in the end."""

from __future__ import annotations

import contextlib

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import ReservationChange

from .test_crashes import dies_at_each_step
from .test_ports import kept, limit, make_ports, only, quota
from .test_volume_crashes import interleaved
from .world import Crash, Steps, World, ports


def small() -> World:
    world = World(hosts=0)
    world.register_ports()
    limit(world, 10)
    return world


def settle(world):
    world.advance(seconds=40)


def clean_up(world):
    for lease in world.leases.list(None):
        with contextlib.suppress(NotFound):
            world.delete(lease)
    settle(world)
    assert not world.leases.list(None)
    assert quota(world) == 10


def active(world, amount=20, **fields):
    lease = world.reserve(ports(amount, **fields), end=600)
    settle(world)
    return lease


def test_start():
    for world in dies_at_each_step(
        lambda w: w.reserve(ports(20), end=600), lambda w, _: w.advance(seconds=1), small
    ):
        settle(world)
        assert world.lease(world.subject).status is LeaseStatus.ACTIVE
        assert quota(world) == 30
        clean_up(world)


def test_more_of_an_active_reservation():
    def raise_amount(world, lease):
        more = ReservationChange(only(lease).id, {"amount": 50})
        with contextlib.suppress(NotFound):
            world.update(lease, reservations=(more,))
        world.advance(seconds=1)

    for world in dies_at_each_step(active, raise_amount, small):
        settle(world)
        found = world.lease(world.subject)
        assert found.status is LeaseStatus.ACTIVE
        assert quota(world) == 10 + only(found).parameters["amount"]
        clean_up(world)


@pytest.mark.parametrize(("on_end", "left"), [("keep", 15), ("delete", 10)])
def test_an_end(on_end, left):
    def with_ports(world):
        lease = active(world, on_end=on_end)
        make_ports(world, 15)
        return lease

    for world in dies_at_each_step(with_ports, lambda w, _: w.advance(minutes=601), small):
        world.advance_to(world.subject.interval.end)
        settle(world)
        assert world.lease(world.subject).status is LeaseStatus.TERMINATED
        assert (quota(world), len(kept(world))) == (10, left)


def test_a_start_beside_another_one():
    def both(world):
        active(world)
        world.reserve(ports(30), end=600)
        return world.reserve(ports(7), end=600)

    for world in dies_at_each_step(both, lambda w, _: w.advance(seconds=1), small):
        settle(world)
        assert quota(world) == 67
        clean_up(world)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_one_manager_ends_a_lease_while_another_starts_one(rounds):
    def one_each(world):
        ends = active(world)
        world.reserve(ports(30), end=600)
        world.delete(ends)

    for world in interleaved(one_each, small, rounds):
        assert quota(world) == 40
        clean_up(world)


@pytest.mark.parametrize("call", ["port_limit", "set_port_limit"])
@pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
def test_a_failing_call_is_repeated_or_reported(call, failure):
    world = small()
    left = [2]

    def fail(made: str) -> None:
        if made == call and left[0]:
            left[0] -= 1
            raise failure(service="Neutron", reason="no")

    lease = world.reserve(ports(20), end=600)
    world.cloud.before = fail
    settle(world)
    world.cloud.before = lambda call: None
    started = world.lease(lease)
    if failure is CloudRefused:
        assert started.status is LeaseStatus.ERROR
        assert "no" in started.status_reason
        assert quota(world) == 10
    else:
        assert started.status is LeaseStatus.ACTIVE
        assert quota(world) == 30
    clean_up(world)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("start"), st.integers(1, 40)),
            st.tuples(st.just("more"), st.integers(1, 9)),
            st.tuples(st.just("end"), st.integers(0, 9)),
            st.tuples(st.just("operator"), st.integers(-5, 40)),
            st.tuples(st.just("ports"), st.integers(1, 9)),
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
                leases[world.reserve(ports(number), end=9000).id] = number
            case "more" if leases:
                settle(world)
                lease_id = list(leases)[number % len(leases)]
                leases[lease_id] += number
                lease = world.leases.get(lease_id)
                change = ReservationChange(only(lease).id, {"amount": leases[lease_id]})
                world.update(lease, reservations=(change,))
            case "end" if leases:
                lease_id = list(leases)[number % len(leases)]
                del leases[lease_id]
                world.delete(world.leases.get(lease_id))
            case "operator":
                settle(world)
                given_by_others = max(0, given_by_others + number)
                limit(world, given_by_others + sum(leases.values()))
            case "ports":
                make_ports(world, number)
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
    assert quota(world) == given_by_others + sum(leases.values())
    assert {each.status for each in world.leases.list(None)} <= {LeaseStatus.ACTIVE}
