"""What a manager has committed itself stands in its calendar as the database has it, without being read
again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from new_databases import give_schema
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.adapters.memory import MemoryDatabase
from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import BlazarError, NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Allocation, Pool
from blazar.kinds.port.port_pool import POOL
from blazar.service.calendars import Calendars
from blazar.service.commands import SplitLease, SplitReservation
from blazar.service.ports import Database, UnitOfWork

from .test_maintenances import take
from .test_offers import hold
from .world import DEMO, START, World, instances, ports, whole_hosts

HOSTS = Pool("host")


Contents = dict[str, tuple[int | None, list[Allocation]]]


def contents(calendar: Calendar) -> Contents:
    """Return the generation and the allocations of each resource. Whether they are bound no plan asks, and a
    lease that starts does not tell."""

    def on(id_: str) -> list[Allocation]:
        return [replace(each, bound=False) for each in calendar.allocations_of(id_)]

    return {id_: (calendar.generation_of(id_), sorted(on(id_), key=lambda each: each.id)) for id_ in calendar}


def stored(world: World, pool: Pool = HOSTS) -> Contents:
    """Return what a manager knows that starts now."""
    return contents(Calendars(world.database, world.clock).copy(pool))


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


ACTIONS = ("create", "create", "ports", "ports", "move", "delete", "split", "hold", "away", "later", "older")


class Managers:
    """Two managers on one database, one of which does something at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = World(database=MemoryDatabase())
        self.world.register_ports()
        self.all = (self.world, self.world.beside())
        self.leases: list[Lease] = []

    def act(self) -> None:
        world, rng = self.rng.choice(self.all), self.rng
        start = rng.randrange(60, 600)
        one = rng.choice(self.leases) if self.leases else None
        action = rng.choice(
            (*["create", "ports"] * 2, "move", "delete", "split", "hold", "away", "later", "older")
        )
        if action == "create":
            some = rng.choice((whole_hosts(max=rng.choice((1, 2))), instances(amount=rng.choice((1, 3)))))
            self.leases.append(world.reserve(some, start=start, end=start + 60))
        elif action == "ports":
            self.leases.append(world.reserve(ports(2), ports(1), start=start, end=start + 60))
        elif action == "hold":
            hold(world, whole_hosts(), ports(1), start=start, end=start + 60, minutes=rng.randrange(1, 40))
        elif action == "away":
            take(world, str(rng.randrange(1, 5)), start=start, end=start + rng.randrange(1, 60))
        elif action == "later":
            world.advance(rng.randrange(120))
        elif one is not None and action == "move":
            world.update(one, end=one.interval.end + timedelta(minutes=rng.randrange(1, 300)))
        elif one is not None and action == "split":
            parts = tuple(SplitReservation(each.id, 1) for each in one.reservations)
            world.leases.split(one.id, SplitLease("part", parts), DEMO)
        elif one is not None:
            self.leases.remove(one)
            (self.forget if action == "older" else world.delete)(one)

    def forget(self, lease: Lease) -> None:
        """Delete the lease as a program before 0037 does, which raises generations and does not tell why."""

        def work(uow: UnitOfWork) -> None:
            current = uow.leases.get(lease.id)
            if current is not None:
                uow.leases.remove(current)
                for found in map(uow.resources.get, current.resource_ids):
                    assert found is not None
                    uow.resources.save(found, self.world.clock.now())

        self.world.database.transact(work)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_managers_side_by_side_know_what_the_database_has(seed: int) -> None:
    managers = Managers(seed)
    for _ in range(60):
        with suppress(BlazarError):
            managers.act()
        for pool in (HOSTS, POOL):
            for each in managers.all:
                assert contents(each.calendars.copy(pool)) == stored(each, pool)


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
