"""Does every database store a lease and those that are planned elsewhere for it together, or nothing?"""

from __future__ import annotations

import pytest
from service.world import World

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.service.ports import Database

DAY, HOUR = 1440, 60


@pytest.fixture
def world(database: Database) -> World:
    return World(hosts=2, database=database)


def fragmented(world: World) -> tuple[Lease, Lease]:
    """Each of two hosts is planned for a lease of one hour, the one early and the other one late."""
    first = world.create("other", start=DAY, end=DAY + 2 * HOUR)
    early = world.create("early", start=DAY, end=DAY + HOUR)
    late = world.create("late", start=DAY + 2 * HOUR, end=DAY + 3 * HOUR)
    world.delete(first)
    assert world.hosts_of(early) != world.hosts_of(late)
    return early, late


def ask(world: World) -> Lease:
    return world.create("new", start=DAY, end=DAY + 3 * HOUR)


def test_room_is_made_in_one_commit(world: World) -> None:
    early, late = fragmented(world)
    commits: list[int] = []
    world.database.step = lambda: commits.append(1)
    new = ask(world)
    assert len(commits) == 2  # before and after the only one
    assert world.hosts_of(early) == world.hosts_of(late)
    assert world.hosts_of(new).isdisjoint(world.hosts_of(early))
    assert world.notifications()[-2:] == ["lease.create", "lease.moved"]
    other = world.beside()
    assert other.hosts_of(new) == world.hosts_of(new)
    with pytest.raises(NotEnoughResources):
        ask(other)


def test_a_lease_that_changes_before_the_commit_is_planned_as_it_is(world: World) -> None:
    early, late = fragmented(world)
    other, done = world.beside(), list[bool]()

    def meddle() -> None:
        if not done:
            done.append(True)
            other.update(early, end=other.in_minutes(DAY + 2 * HOUR))
            other.update(late, name="later")

    world.database.step = meddle
    new = ask(world)
    assert done
    assert world.hosts_of(early) == world.hosts_of(late)
    assert world.hosts_of(new).isdisjoint(world.hosts_of(early))
    assert world.lease(early).interval.end == world.in_minutes(DAY + 2 * HOUR)
    assert world.lease(late).name == "later"


def test_room_that_is_taken_before_the_commit_is_given_once(world: World) -> None:
    fragmented(world)
    other, done = world.beside(), list[bool]()

    def meddle() -> None:
        if not done:
            done.append(True)
            ask(other)

    world.database.step = meddle
    with pytest.raises(NotEnoughResources):
        ask(world)
    assert len(world.leases.list(None)) == 3
