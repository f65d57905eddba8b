"""A request that is made twice because its answer was lost: it happens once, or not at all after its
deadline."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import Busy, CloudUnavailable, NotEnoughResources, NotFound, OutcomeUnknown, TooLate
from blazar.service.commands import NOW, CreateLease, ReservationRequest, UpdateLease

from .world import DEMO, World, host

LOST = OutcomeUnknown(service="database", reason="the connection was lost")
DOWN = CloudUnavailable(service="database", reason="the connection was refused")


@pytest.fixture
def world() -> World:
    return World()


def command(world, lease_id=None, hosts=1):
    wanted = ReservationRequest("physical:host", host(min=hosts, max=hosts))
    return CreateLease("lease", NOW, world.in_minutes(60), None, (wanted,), lease_id or str(uuid4()))


def fails_at(world, failures):
    """The database fails at these steps: an odd one is before a commit, an even one after it."""
    taken = 0

    def step():
        nonlocal taken
        taken += 1
        if taken in failures:
            raise failures[taken]

    world.database.step = step


def stored(world):
    return world.leases.list(None)


@pytest.mark.parametrize("hosts", [1, 4])
def test_the_second_time_finds_the_lease_of_the_first(world, hosts):
    wanted = command(world, hosts=hosts)
    first = world.leases.create(wanted, DEMO)
    world.run_due()
    again = world.leases.create(wanted, DEMO)
    assert again.id == first.id == wanted.id
    assert len(stored(world)) == 1
    assert world.notifications().count("lease.create") == 1


def test_a_lease_that_is_being_deleted_is_no_answer(world):
    """The first attempt ran into its deadline, and gave up what it had reserved; the second one must not
    promise it."""
    wanted = command(world)
    lease = world.leases.create(wanted, DEMO)
    world.run_due()
    world.cloud.boot("stays", world.hosts_of(lease).pop())  # so the deletion takes a while
    world.delete(lease)
    with pytest.raises(TooLate):
        world.leases.create(wanted, DEMO)


def test_nobody_finds_the_lease_of_another_project(world):
    wanted = command(world)
    world.leases.create(wanted, DEMO)
    with pytest.raises(NotFound):
        world.leases.create(wanted, replace(DEMO, project_id="alt"))


def test_what_is_short_is_told_where_nothing_was_made_before(world):
    world.leases.create(command(world, hosts=4), DEMO)
    with pytest.raises(NotEnoughResources):
        world.leases.create(command(world), DEMO)


def test_nothing_is_stored_after_the_deadline(world):
    deadline = world.clock.now() + timedelta(seconds=5)
    world.database.step = lambda: world.clock.pause(6)  # the manager was suspended between plan and commit
    with pytest.raises(TooLate):
        world.leases.create(command(world), replace(DEMO, deadline=deadline))
    assert not stored(world)


def test_nothing_is_changed_after_the_deadline(world):
    lease = world.leases.create(command(world), DEMO)
    late = replace(DEMO, deadline=world.clock.now())
    with pytest.raises(TooLate):
        world.leases.update(lease.id, UpdateLease(name="late"), late)
    assert world.lease(lease).name == "lease"


def test_a_deletion_is_waited_for_no_longer_than_the_caller_waits(world):
    lease = world.leases.create(command(world), DEMO)
    world.run_due()
    world.leases.settings = replace(world.leases.settings, delete_wait=timedelta(seconds=60))
    begun = world.clock.now()
    world.leases.delete(lease.id, replace(DEMO, deadline=begun + timedelta(seconds=3)))
    assert world.clock.now() - begun < timedelta(seconds=4)


class CountingDatabase(MemoryDatabase):
    """Counts its read transactions."""

    reads = 0

    def read(self):
        self.reads += 1
        return super().read()


def test_a_deletion_that_waits_looks_ever_more_rarely():
    world = World(database=CountingDatabase())
    lease = world.leases.create(command(world), DEMO)
    world.run_due()
    world.leases.settings = replace(world.leases.settings, delete_wait=timedelta(seconds=10))
    begun, reads = world.clock.now(), world.database.inner.reads
    world.leases.delete(lease.id, DEMO)
    assert world.clock.now() - begun == timedelta(seconds=10)
    assert 10 < world.database.inner.reads - reads < 30


@pytest.mark.parametrize("step", [1, 2], ids=["not stored", "stored"])
@pytest.mark.parametrize("hosts", [1, 4])
def test_a_commit_that_was_cut_off_happens_once(world, step, hosts):
    wanted = command(world, hosts=hosts)
    fails_at(world, {step: LOST, step + 1: DOWN} if step == 1 else {step: LOST})
    lease = world.leases.create(wanted, DEMO)
    assert lease.id == wanted.id
    assert [found.id for found in stored(world)] == [wanted.id]
    assert len(lease.allocations) == hosts


def test_a_change_that_was_cut_off_happens_once(world):
    lease = world.leases.create(command(world), DEMO)
    fails_at(world, {2: LOST})
    assert world.leases.update(
        lease.id, UpdateLease(end=world.in_minutes(90)), DEMO
    ).interval.end == world.in_minutes(90)
    assert world.notifications().count("lease.update") == 1


def test_a_database_that_does_not_come_back_leaves_it_open(world):
    deadline = world.clock.now() + timedelta(seconds=5)
    fails_at(world, {1: LOST, **dict.fromkeys(range(2, 100), DOWN)})
    with pytest.raises(OutcomeUnknown) as told:
        world.leases.create(command(world), replace(DEMO, deadline=deadline))
    assert "not known" in told.value.message
    assert world.clock.now() >= deadline


def test_what_a_slow_clock_changed_is_seen(world):
    """Calendars look for what was touched lately; the touch of a manager whose clock is behind looks old."""
    world.create(end=10)
    long_ago = world.clock.now() - timedelta(hours=1)
    ids = [str(n) for n in range(1, 5)]
    world.database.transact(lambda uow: uow.resources.touch(ids, long_ago))
    world.create(end=10)
    assert len(stored(world)) == 2


def test_a_race_that_is_never_won_ends_at_the_deadline(world):
    def always_touched():
        world.database.step = lambda: None
        world.database.inner.transact(
            lambda uow: uow.resources.touch(["1", "2", "3", "4"], world.clock.now())
        )
        world.database.step = always_touched

    world.database.step = always_touched
    begun = world.clock.now()
    with pytest.raises(Busy):
        world.leases.create(command(world), replace(DEMO, deadline=begun + timedelta(seconds=1)))
    assert world.clock.now() - begun < timedelta(seconds=2)
