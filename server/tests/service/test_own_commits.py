"""What a manager has committed itself stands in its calendar as the database has it, without being read
again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from new_databases import give_schema
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.adapters.memory import MemoryDatabase
from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Allocation, Pool
from blazar.service.calendars import Calendars
from blazar.service.ports import Database

from .world import START, World, instances

HOSTS = Pool("host")


Contents = dict[str, tuple[int | None, list[Allocation]]]


def contents(calendar: Calendar) -> Contents:
    """Return the generation and the allocations of each resource."""
    return {
        id_: (calendar.generation_of(id_), sorted(calendar.allocations_of(id_), key=lambda each: each.id))
        for id_ in calendar
    }


def stored(world: World) -> Contents:
    """Return what a manager knows that starts now."""
    return contents(Calendars(world.database, world.clock).copy(HOSTS))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqlDatabase]:
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db")
    give_schema(database.engine)
    yield database
    database.close()


@pytest.mark.slow
def test_a_lease_that_was_created_here_is_not_read_again(database: SqlDatabase) -> None:
    world = World(database=database)
    statements: list[str] = []
    for number in range(3):
        world.create(start=60 + number * 60, end=120 + number * 60)
        if not number:  # the first one found an older calendar
            event.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert not [each for each in statements if each.startswith("SELECT") and "allocations" in each]
    assert contents(world.calendars.copy(HOSTS)) == stored(world)


def act(world: World, rng: random.Random, leases: list[Lease]) -> None:
    start = rng.randrange(60, 600)
    action = rng.choice(("create", "create", "instances", "move", "delete"))
    if action == "create":
        leases.append(world.create(start=start, end=start + 60, max=rng.choice((1, 2))))
    elif action == "instances":
        leases.append(world.reserve(instances(amount=rng.choice((1, 3))), start=start, end=start + 60))
    elif leases and action == "move":
        lease = rng.choice(leases)
        world.update(lease, end=lease.interval.end + timedelta(minutes=rng.randrange(1, 300)))
    elif leases:
        lease = leases.pop(rng.randrange(len(leases)))
        world.delete(lease)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_managers_side_by_side_know_what_the_database_has(seed: int) -> None:
    rng, database = random.Random(seed), MemoryDatabase()
    world = World(database=database)
    other = world.beside()
    leases: list[Lease] = []
    for _ in range(40):
        try:
            act(rng.choice((world, other)), rng, leases)
        except NotEnoughResources:
            continue
        for each in (world, other):
            assert contents(each.calendars.copy(HOSTS)) == stored(world)


class Interfering:
    """A database in which another manager does something right after a commit, before the one who has
    committed goes on."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner
        self.then: list = []

    def __getattr__(self, name: str):
        return getattr(self.inner, name)

    def transact(self, work):
        result = self.inner.transact(work)
        if self.then:
            self.then.pop()()
        return result


@pytest.mark.parametrize("looks", [False, True])
def test_another_manager_is_faster_than_the_note_of_a_commit(looks: bool) -> None:
    database = Interfering(MemoryDatabase())
    world = World(hosts=1, database=database)
    other = world.beside()

    def meanwhile() -> None:
        other.create(start=180, end=240)
        if looks:  # the first manager reads both commits before it has noted its own
            world.calendars.refresh()

    database.then = [meanwhile]
    mine = world.create(start=60, end=120)
    assert contents(world.calendars.copy(HOSTS)) == stored(world)
    assert mine.interval.start == START + timedelta(minutes=60)
    with pytest.raises(NotEnoughResources):
        world.create(start=180, end=240)


def test_a_commit_that_the_calendar_has_already_changes_nothing() -> None:
    world = World(hosts=1)
    lease = world.create(start=60, end=120)
    before = contents(world.calendars.copy(HOSTS))
    [allocation] = lease.allocations
    generation, _ = before[allocation.resource_id]
    assert generation is not None
    for older_or_newer in (generation - 1, generation + 1):
        world.calendars.committed({allocation.resource_id: older_or_newer, "gone": 1}, [allocation])
        assert contents(world.calendars.copy(HOSTS)) == before


def test_a_lease_that_was_created_here_and_deleted_is_forgotten() -> None:
    world = World(hosts=1)
    world.delete(world.create(start=60, end=120))
    assert not any(allocations for _, allocations in contents(world.calendars.copy(HOSTS)).values())
