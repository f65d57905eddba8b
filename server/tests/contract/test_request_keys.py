"""A create is carried out once for each key, by whichever manager is first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from service.world import ALT, DEMO, SetClock, World, servers, whole_hosts

from blazar.domain.errors import BlazarError, KeyReused, NotEnoughResources, Stale, TooLate
from blazar.domain.lease.lease import Lease
from blazar.service.commands import NOW as NOW_DATE
from blazar.service.commands import CreateLease, RequestKey, ReservationRequest
from blazar.service.context import Caller
from blazar.service.ports import Database, KeptKey
from blazar.service.retention import purge

from .builders import NOW, lease
from .test_concurrency import THREADS, all_at_once
from .test_purge import DAY, Clock, over

KEY = RequestKey("one", "f" * 64)


def keep(database: Database, value: Lease, name: str = "one") -> KeptKey:
    key = KeptKey(value.project_id, name, "f" * 64, value.id)
    database.transact(lambda u: (u.leases.add(value, NOW - 12 * DAY), u.leases.keep_key(key)))
    return key


def kept(database: Database, key: KeptKey) -> KeptKey | None:
    with database.read() as uow:
        return uow.leases.kept_key(key.project_id, key.name)


@pytest.mark.parametrize("name", ["one", "x" * 255, "a b'\"%~"])
def test_a_key_is_kept_once_in_a_project(database: Database, name: str) -> None:
    first = lease("1")
    key = keep(database, first, name)
    assert kept(database, key) == key
    with pytest.raises(Stale):
        keep(database, replace(lease("1"), project_id=first.project_id), name)
    with database.read() as uow:
        assert [each.id for each in uow.leases.list()] == [first.id]
    assert kept(database, keep(database, replace(lease("1"), project_id="p" * 255), name))
    assert kept(database, keep(database, lease("1"), name[:-1] + "!"))


def test_names_differ_by_case(database: Database) -> None:
    assert kept(database, replace(keep(database, lease("1"), "one"), name="ONE")) is None


def test_a_key_goes_with_its_lease(database: Database) -> None:
    removed, purged, stays = lease("1"), over(), lease("1")
    keys = [keep(database, each, each.id) for each in (removed, purged, stays)]
    database.transact(lambda u: u.leases.remove(removed))
    assert sum(purge(database, Clock(), NOW - DAY)) == 1
    assert [kept(database, key) for key in keys] == [None, None, keys[2]]
    keep(database, removed, removed.id)  # it may be used again


def command(world: World, *reservations: ReservationRequest, id: str | None = None) -> CreateLease:
    return CreateLease("lease", NOW_DATE, world.in_minutes(60), None, reservations or (whole_hosts(),), id)


def create(
    world: World, key: RequestKey | None = KEY, caller: Caller = DEMO, *what: ReservationRequest
) -> Lease:
    return world.leases.create(command(world, *what), caller, key=key)


def test_the_same_request_finds_its_lease_at_any_time(database: Database) -> None:
    world = World(database=database)
    made = create(world)
    for wait in (0, 1, 58, 5):
        world.advance(wait)
        assert create(world).id == made.id
        assert create(world.beside()).id == made.id
    assert len(world.leases.list(None)) == 1
    assert world.notifications().count("lease.create") == 1
    world.delete(made)
    world.advance(seconds=1)
    assert create(world).id != made.id


def test_another_request_is_told_whose_key_it_has(database: Database) -> None:
    world = World(database=database)
    made = create(world)
    with pytest.raises(KeyReused) as told:
        create(world, RequestKey("one", "e" * 64))
    assert told.value.fields == {"key": "one"}
    assert create(world, RequestKey("two", "f" * 64)).id != made.id
    assert create(world, caller=ALT).id != made.id


def test_a_refused_request_leaves_no_key(database: Database) -> None:
    world = World(database=database)
    with pytest.raises(NotEnoughResources):
        create(world, KEY, DEMO, whole_hosts(min=5, max=5))
    assert create(world)


def test_what_could_not_be_made_leaves_no_key(database: Database) -> None:
    world = World(database=database)
    failures = iter([True])

    def fail(call: str) -> None:
        if "create_server_group" in call and next(failures, False):
            raise BlazarError("no")

    world.cloud.before = fail
    what = servers(affinity=False)
    with pytest.raises(BlazarError, match="no"):
        create(world, KEY, DEMO, what)
    assert next(failures, None) is None
    world.advance(minutes=2)
    assert create(world, KEY, DEMO, what)


def test_a_lease_that_is_being_deleted_is_no_answer(database: Database) -> None:
    world = World(database=database)
    made = create(world)
    world.advance(1)
    world.delete(made)
    with pytest.raises(TooLate):
        create(world)
    world.advance(1)
    assert create(world).id != made.id


@pytest.mark.parametrize(
    "what", [whole_hosts(min=4, max=4), servers(affinity=False)], ids=["hosts", "servers"]
)
def test_managers_that_are_asked_at_once_make_one_lease(database: Database, what: ReservationRequest) -> None:
    """The four hosts are all there are: the others must not be told of a shortage."""
    world = World(database=database)
    world.clock = SetClock()  # type: ignore[assignment]
    asked = command(world, what)
    managers = [world.beside() for _ in range(THREADS)]
    within = replace(DEMO, deadline=world.clock.now() + timedelta(seconds=60))
    gate = Barrier(THREADS)

    def ask(number: int) -> Lease:
        gate.wait()
        return managers[number].leases.create(asked, within, key=KEY)

    answers = all_at_once(ask)
    assert {each.id for each in answers} == {each.id for each in world.leases.list(None)}
    assert len(world.leases.list(None)) == 1
    assert world.notifications().count("lease.create") == 1
