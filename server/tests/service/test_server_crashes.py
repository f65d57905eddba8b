"""kill -9 between any two steps in the life of a reservation of a server: it is neither lost, nor left on a
host that others were promised."""

from __future__ import annotations

import contextlib

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus

from .test_crashes import dies_at_each_step
from .test_server_leases import WEB, adopted, host_of, nothing_left, status, web, with_server
from .world import Crash, Steps, World


def waiting(world, **fields):
    with_server(world)
    lease = world.reserve(adopted(**fields), start=30, end=90)
    world.advance(minutes=1)
    return lease


def running(world, **fields):
    lease = waiting(world, **fields)
    world.advance(minutes=30)
    assert web(world).host == host_of(world, lease)
    return lease


def clean_up(world):
    """Whatever state the crash left, the user can delete every lease, and reserve the server again."""
    for lease in world.leases.list(None):
        world.delete(lease)
    world.advance(seconds=90)
    assert not world.leases.list(None)
    nothing_left(world)
    if WEB in world.cloud.state.servers:
        world.reserve(adopted(), end=5)
        world.advance(minutes=1)
        assert web(world).status == "ACTIVE"


@pytest.mark.slow
def test_create():
    def create(world, _):
        world.reserve(adopted(), start=30, end=90)
        world.advance(minutes=1)

    for world in dies_at_each_step(lambda w: with_server(w) and None, create):
        world.advance(seconds=90)
        leases = world.leases.list(None)
        assert len(leases) <= 1
        assert all(lease.status is LeaseStatus.PENDING for lease in leases)
        assert web(world).status == ("SHELVED_OFFLOADED" if leases else "ACTIVE")
        made = {lease.trust_id for lease in leases}
        # A trust has no name to find it by: one that no lease knows of expires by itself.
        world.cloud.state.trusts = {i: t for i, t in world.cloud.state.trusts.items() if i in made}
        clean_up(world)


@pytest.mark.slow
def test_start():
    for world in dies_at_each_step(waiting, lambda w, _: w.advance(minutes=30)):
        world.advance(seconds=60)
        assert status(world, world.subject) is LeaseStatus.ACTIVE
        assert (web(world).status, web(world).host) == ("ACTIVE", host_of(world, world.subject))
        assert world.notifications().count("lease.event.start_lease") == 1
        clean_up(world)


@pytest.mark.slow
@pytest.mark.parametrize(
    "on_end", [["shelve"], ["create_image", "delete"], ["create_image", "stop", "shelve"]]
)
def test_end(on_end):
    for world in dies_at_each_step(lambda w: running(w, on_end=on_end), lambda w, _: w.advance(minutes=60)):
        world.advance_to(world.subject.interval.end)
        world.advance(seconds=60)
        assert status(world, world.subject) is LeaseStatus.TERMINATED
        assert (WEB in world.cloud.state.servers) is ("delete" not in on_end)
        assert len(world.cloud.state.made_images) == ("create_image" in on_end)
        assert world.notifications().count("lease.event.end_lease") == 1
        nothing_left(world)


@pytest.mark.slow
@pytest.mark.parametrize("begun", [waiting, running])
def test_delete(begun):
    def delete(world, lease):
        world.delete(lease)
        world.advance(seconds=30)

    for world in dies_at_each_step(begun, delete):
        with contextlib.suppress(NotFound):
            world.delete(world.subject)
        world.advance(seconds=30)
        assert not world.leases.list(None)
        assert web(world).status == "SHELVED_OFFLOADED"
        nothing_left(world)


@pytest.mark.slow
def test_deletion_in_the_middle_of_a_start():
    def start_and_delete(world, lease):
        with contextlib.suppress(Crash):
            world.advance(minutes=30)
        world.database.step = lambda: None
        world.cloud.before = lambda call: None
        world.delete(lease)
        world.advance(minutes=1)

    for world in dies_at_each_step(lambda w: waiting(w, on_end=["delete"]), start_and_delete):
        world.advance(minutes=1)
        assert not world.leases.list(None)
        nothing_left(world)


@pytest.mark.slow
@pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
@pytest.mark.parametrize("step", range(1, 24))
def test_a_failing_cloud_call_is_repeated_or_reported(step, failure):
    world = with_server(World())
    lease = world.reserve(adopted(on_end=["create_image", "delete"]), start=10, end=600)
    calls = Steps()

    def fail(call):
        calls.taken += 1
        if calls.taken == step:
            raise failure(service="Nova", reason="no")

    world.cloud.before = fail
    world.advance(minutes=11)
    world.cloud.before = lambda call: None
    started = world.lease(lease)
    if failure is CloudRefused and started.status is LeaseStatus.ERROR:
        assert "no" in str(started.status_reason)
    else:
        assert started.status is LeaseStatus.ACTIVE
        assert web(world).host == host_of(world, lease)
    world.advance(minutes=601)
    assert status(world, lease) is LeaseStatus.TERMINATED
    # What never ran for the lease is not deleted at its end.
    assert (WEB in world.cloud.state.servers) is (started.status is LeaseStatus.ERROR)
    nothing_left(world)
