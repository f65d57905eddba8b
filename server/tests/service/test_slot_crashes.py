"""kill -9 between any two steps in the life of instance and flavor reservations: nothing is lost, nothing is
left behind."""

from __future__ import annotations

import contextlib

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus

from .test_crashes import dies_at_each_step
from .test_slots import change, left_in_cloud, nothing_left, only
from .world import Crash, Steps, World, instances, servers, whole_hosts

BOTH = pytest.mark.parametrize("asked", [instances, servers], ids=["virtual:instance", "flavor:instance"])
HOSTS = {"host1", "host2", "host3", "host4"}


def clean_up(world):
    """Whatever state the crash left, the user can delete every lease, and then nothing is left."""
    for lease in world.leases.list(None):
        world.delete(lease)
    world.advance(seconds=90)
    assert not world.leases.list(None)
    nothing_left(world)
    assert world.in_freepool() == HOSTS
    world.create(min=4, max=4)


def two_kinds(world, **fields):
    return world.reserve(instances(amount=2, affinity=True), servers(amount=2, affinity=False), **fields)


def active(world):
    lease = two_kinds(world, end=600)
    world.run_due()
    for reservation in lease.reservations:
        world.cloud.boot_reserved(f"server of {reservation.resource_type}", reservation.id)
    return lease


def test_create():
    def create(world, _):
        world.reserve(
            instances(affinity=True),
            servers(affinity=False),
            whole_hosts(before_end="snapshot"),
            start=10,
            end=120,
        )

    for world in dies_at_each_step(lambda w: None, create):
        world.advance(seconds=90)
        leases = world.leases.list(None)
        assert len(leases) <= 1
        assert all(lease.status is LeaseStatus.PENDING for lease in leases)
        assert len(world.cloud.state.groups) == 2 * len(leases)
        made = {lease.trust_id for lease in leases}
        # A trust has no name to find it by: one that no lease knows of expires by itself.
        assert made <= set(world.cloud.state.trusts)
        world.cloud.state.trusts = {i: t for i, t in world.cloud.state.trusts.items() if i in made}
        assert world.notifications().count("lease.create") == len(leases)
        assert world.notifications().count("lease.delete") == 0
        clean_up(world)


def test_start():
    for world in dies_at_each_step(lambda w: two_kinds(w, end=600), lambda w, _: w.run_due()):
        lease = world.lease(world.subject)
        assert lease.status is LeaseStatus.ACTIVE
        for reservation in lease.reservations:
            for number in range(2):
                world.cloud.boot_reserved(f"{reservation.id}-{number}", reservation.id)
            with pytest.raises(CloudRefused):
                world.cloud.boot_reserved("one too many", reservation.id)
        assert world.notifications().count("lease.event.start_lease") == 1
        clean_up(world)


@pytest.mark.slow
def test_end():
    def end(world, lease):
        world.advance(minutes=601)

    for world in dies_at_each_step(active, end):
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

    for world in dies_at_each_step(lambda w: two_kinds(w, end=600), start_and_delete):
        assert not world.leases.list(None)
        nothing_left(world)


@pytest.mark.slow
@BOTH
def test_growth(asked):
    def one(world):
        lease = world.reserve(asked(amount=1), end=600)
        world.run_due()
        world.cloud.boot_reserved("server", only(lease).id)
        return lease

    def grow(world, lease):
        world.update(lease, reservations=change(lease, amount=7))
        world.run_due()

    for world in dies_at_each_step(one, grow):
        lease = world.lease(world.subject)
        assert lease.status is LeaseStatus.ACTIVE
        assert sum(world.cloud.state.slots.values()) == only(lease).parameters["amount"]
        assert "server" in world.cloud.state.servers
        clean_up(world)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(("before", "after"), [(True, False), (None, True), (False, None)])
def test_change_of_affinity(asked, before, after):
    def regroup(world, lease):
        world.update(lease, reservations=change(lease, affinity=after))

    for world in dies_at_each_step(lambda w: w.reserve(asked(amount=2, affinity=before), start=30), regroup):
        lease = world.lease(world.subject)
        affinity = only(lease).parameters["affinity"]
        assert affinity in (before, after)
        group = world.cloud.state.groups.get(only(lease).cloud_state.get("server_group_id"))
        assert (group.policy if group else None) == {True: "affinity", False: "anti-affinity", None: None}[
            affinity
        ]
        world.advance(minutes=31)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        clean_up(world)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
@pytest.mark.parametrize("step", range(1, 14))
def test_a_failing_cloud_call_is_repeated_or_reported(asked, step, failure):
    world = World()
    calls = Steps()

    def fail(call):
        calls.taken += 1
        if calls.taken == step:
            raise failure(service="Nova", reason="no")

    lease = world.reserve(asked(amount=2, affinity=False), end=600)
    world.cloud.before = fail
    world.advance(seconds=10)
    world.cloud.before = lambda call: None
    started = world.lease(lease)
    if failure is CloudRefused and started.status is LeaseStatus.ERROR:
        assert "no" in str(started.status_reason)
    else:
        assert started.status is LeaseStatus.ACTIVE
    world.advance(minutes=601)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    nothing_left(world)


@BOTH
def test_a_cloud_that_refuses_every_second_call_is_cleaned_all_the_same(asked):
    world = World()
    lease = world.reserve(asked(amount=2, affinity=True))
    world.run_due()
    calls = Steps()

    def fail(call):
        calls.taken += 1
        if calls.taken % 2:
            raise CloudRefused(service="Nova", reason="not now")

    world.cloud.before = fail
    world.advance(minutes=60, seconds=1)
    assert left_in_cloud(world)["flavors"]
    world.cloud.before = lambda call: None
    world.advance(minutes=5)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    nothing_left(world)
