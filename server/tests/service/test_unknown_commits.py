"""The database is lost during a commit: what was made in the cloud for a lease that is stored stays, and what
was made for one that is not goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import CloudUnavailable, NotEnoughResources, OutcomeUnknown
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import CreateLease, ReservationChange

from .world import DEMO, World, instances, whole_hosts

LOST = OutcomeUnknown(service="database", reason="the connection was lost")
DOWN = CloudUnavailable(service="database", reason="the connection was refused")
RESERVED, CONFIRMED = 2, 4
"""The steps right after the two commits of a creation; those right before them are one less."""


@pytest.fixture
def world() -> World:
    return World()


def fails_at(world, failures):
    """The database fails at these steps: an odd one is before a commit, an even one after it."""
    taken = 0

    def step():
        nonlocal taken
        taken += 1
        if taken in failures:
            raise failures[taken]

    world.database.step = step


def create(world, deadline=None):
    """A lease for which a server group and a trust are made."""
    wanted = (instances(affinity=True), whole_hosts(before_end="snapshot"))
    end = world.in_minutes(120)
    return world.leases.create(
        CreateLease("lease", world.in_minutes(10), end, None, wanted), replace(DEMO, deadline=deadline)
    )


def groups_of(lease):
    return {
        r.cloud_state["server_group_id"] for r in lease.reservations if "server_group_id" in r.cloud_state
    }


def is_whole(world, lease):
    """The lease has in the cloud what it refers to, and nothing else is there."""
    stored = world.lease(lease)
    assert groups_of(stored) == set(world.cloud.state.groups)
    assert {stored.trust_id} == set(world.cloud.state.trusts)


@pytest.mark.parametrize("step", [RESERVED - 1, RESERVED, CONFIRMED - 1, CONFIRMED])
@pytest.mark.parametrize("looks", [0, 3], ids=["back at once", "away for a while"])
def test_a_creation_happens_once_and_is_whole(world, step, looks):
    fails_at(world, {step: LOST, **dict.fromkeys(range(step + 1, step + 1 + looks), DOWN)})
    lease = create(world)
    assert lease.status is LeaseStatus.PENDING
    assert world.notifications() == ["lease.create"]
    is_whole(world, lease)


def test_what_was_made_stays_where_the_database_does_not_come_back(world):
    deadline = world.clock.now() + timedelta(seconds=5)
    fails_at(world, {CONFIRMED: LOST, **dict.fromkeys(range(CONFIRMED + 1, 99), DOWN)})
    with pytest.raises(OutcomeUnknown):
        create(world, deadline)
    world.database.step = lambda: None
    (lease,) = world.leases.list(None)
    assert lease.status is LeaseStatus.PENDING
    is_whole(world, lease)


def test_what_was_made_for_a_lease_that_is_not_confirmed_goes_in_the_end(world):
    deadline = world.clock.now() + timedelta(seconds=5)
    fails_at(world, {CONFIRMED - 1: LOST, **dict.fromkeys(range(CONFIRMED, 99), DOWN)})
    with pytest.raises(OutcomeUnknown):
        create(world, deadline)
    world.database.step = lambda: None
    world.advance(minutes=2)
    assert not world.leases.list(None)
    assert not world.cloud.state.groups


def other_affinity(lease):
    return (ReservationChange(lease.reservations[0].id, {"affinity": False}),)


UPDATED = 4
"""The step right after the second commit of an update that makes something; the first one remembers that."""


@pytest.mark.parametrize("step", [1, 2, UPDATED - 1, UPDATED])
@pytest.mark.parametrize("looks", [0, 3], ids=["back at once", "away for a while"])
def test_an_update_happens_once_and_is_whole(world, step, looks):
    lease = create(world)
    before = groups_of(lease)
    fails_at(world, {step: LOST, **dict.fromkeys(range(step + 1, step + 1 + looks), DOWN)})
    updated = world.update(lease, reservations=other_affinity(lease), caller=DEMO)
    assert updated.reservations[0].parameters["affinity"] is False
    assert groups_of(updated) != before
    assert world.notifications().count("lease.update") == 1
    is_whole(world, lease)


def test_what_was_made_for_an_update_stays_where_the_database_does_not_come_back(world):
    lease = create(world)
    deadline = world.clock.now() + timedelta(seconds=5)
    fails_at(world, {UPDATED: LOST, **dict.fromkeys(range(UPDATED + 1, 99), DOWN)})
    with pytest.raises(OutcomeUnknown):
        world.update(lease, reservations=other_affinity(lease), caller=replace(DEMO, deadline=deadline))
    world.database.step = lambda: None
    assert groups_of(world.lease(lease)) <= set(world.cloud.state.groups)
    assert world.lease(lease).trust_id in world.cloud.state.trusts
    world.delete(lease)
    world.advance(seconds=30)
    assert not world.cloud.state.groups


def test_an_update_that_is_stored_after_its_request_gave_up_has_what_it_refers_to(world):
    lease = create(world)
    transact, commits = world.database.transact, []

    def still_at_work(work):
        commits.append(work)
        if len(commits) == 1:  # remembers what is going to be made
            return transact(work)
        raise LOST if len(commits) == 2 else DOWN

    world.database.transact = still_at_work
    with pytest.raises(OutcomeUnknown):
        world.update(lease, reservations=other_affinity(lease), caller=DEMO)
    world.database.transact = transact
    transact(commits[1])  # the one that was cut off
    assert world.lease(lease).reservations[0].parameters["affinity"] is False
    assert groups_of(world.lease(lease)) <= set(world.cloud.state.groups)


def test_an_update_that_is_stored_is_not_refused_for_what_came_afterwards(world):
    lease = world.create(start=10)
    taken = 0

    def step():
        nonlocal taken
        taken += 1
        if taken == 2:  # another manager begins the start before this one finds out
            stored = world.lease(lease)
            begun = replace(stored, status=LeaseStatus.STARTING)
            world.database.inner.transact(lambda uow: uow.leases.save(begun, stored, world.clock.now()))
            raise LOST

    world.database.step = step
    wanted = ReservationChange(lease.reservations[0].id, {"min": 2, "max": 2})
    assert world.update(lease, reservations=(wanted,)) == world.lease(lease)
    assert len(world.lease(lease).allocations) == 2


def test_an_update_that_made_something_is_not_refused_for_what_came_afterwards(world):
    lease = create(world)
    taken = 0

    def step():
        nonlocal taken
        taken += 1
        if taken == UPDATED:  # another manager begins the start before this one finds out
            stored = world.lease(lease)
            begun = replace(stored, status=LeaseStatus.STARTING)
            world.database.inner.transact(lambda uow: uow.leases.save(begun, stored, world.clock.now()))
            raise LOST

    world.database.step = step
    updated = world.update(lease, reservations=other_affinity(lease))
    assert updated == world.lease(lease)
    assert updated.reservations[0].parameters["affinity"] is False
    assert updated.status is LeaseStatus.STARTING
    assert groups_of(updated) <= set(world.cloud.state.groups)


def test_an_update_that_may_be_stored_is_not_refused_where_another_one_came_afterwards(world):
    lease = create(world)
    taken = 0

    def step():
        nonlocal taken
        taken += 1
        if taken == UPDATED:
            stored = world.lease(lease)
            other = replace(stored, status=LeaseStatus.STARTING, reservations=lease.reservations)
            world.database.inner.transact(lambda uow: uow.leases.save(other, stored, world.clock.now()))
            raise LOST

    world.database.step = step
    with pytest.raises(OutcomeUnknown):
        world.update(lease, reservations=other_affinity(lease))


def test_an_update_that_lost_a_race_keeps_what_the_lease_has(world):
    lease = create(world)

    def take_the_time_behind_it(call):
        if "create_server_group" in call:
            world.cloud.before = lambda _: None
            world.reserve(whole_hosts(min=4, max=4), start=120, end=300)

    world.cloud.before = take_the_time_behind_it
    with pytest.raises(NotEnoughResources):
        world.update(lease, end=world.in_minutes(300), reservations=other_affinity(lease))
    is_whole(world, lease)
    assert world.lease(lease).reservations[0].parameters["affinity"] is True
    assert [other.allocations != () for other in world.leases.list(None)] == [True, True]
