"""Leases that were read to see whether they may move are kept, and what changes meanwhile is noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Allocation, PlannedMove, Pool
from blazar.service.commands import CreateLease, ReservationChange
from blazar.service.leases import LateBindingSettings, movable_leases
from blazar.service.leases.movable_leases import MovableLeases
from blazar.service.ports import Database
from blazar.service.ports.database import UnitOfWork

from .world import DEMO, World, whole_hosts

DAY = 24 * 60


class Counted:
    """A database whose reads are counted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reads = 0

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        self.reads += 1
        with self._database.read() as uow:
            yield uow


@pytest.fixture
def world() -> World:
    return World(hosts=3)


@pytest.fixture
def database(world: World) -> Counted:
    return Counted(world.database)


def kept(world: World, database: Counted, **settings: timedelta) -> MovableLeases:
    return MovableLeases(database, world.kinds, LateBindingSettings(**settings))  # type: ignore[arg-type]


def rows(*leases: Lease) -> dict[str, Sequence[Allocation]]:
    return {lease.id: lease.allocations for lease in leases}


def planned(world: World, name: str) -> Lease:
    return world.create(name, start=DAY, end=2 * DAY)


def moves(*leases: Lease) -> list[PlannedMove]:
    return [PlannedMove(row, "elsewhere", 1) for lease in leases for row in lease.allocations]


def test_a_lease_is_read_once_and_again_where_it_is_to_move(world: World, database: Counted) -> None:
    one, two = planned(world, "one"), planned(world, "two")
    leases = kept(world, database)
    known = leases.known(rows(one))
    assert leases.known(rows(one)) == known
    assert database.reads == 1
    assert leases.known(rows(one, two)).keys() == {one.id, two.id}
    assert database.reads == 2
    assert leases.read_again(moves(one), known) == {one.id: world.lease(one)}
    assert database.reads == 3
    assert leases.read_again((), known) == {}
    assert database.reads == 3


def test_it_may_move_until_the_lead(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    known = kept(world, database, lead=timedelta(hours=1)).known(rows(lease))[lease.id]
    pool, lead = Pool("host"), timedelta(hours=1)
    (demand,) = known.demands(lease.allocations, pool, lease.interval.start - lead)
    assert demand.current == lease.allocations
    assert [*known.demands(lease.allocations, pool, lease.interval.start - lead + timedelta(minutes=1))] == []
    assert [*known.demands(lease.allocations, Pool("other"), world.clock.now())] == []


def test_a_lease_for_which_something_is_under_way_is_not_kept(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    leases = kept(world, database)
    known = leases.known(rows(lease))
    world.advance(DAY + 1)
    assert leases.read_again(moves(lease), known) is None
    assert leases.known(rows(lease)) == {}
    assert leases.known(rows(lease)) == {}
    assert database.reads == 4


def test_a_lease_that_lacks_something_is_not_kept(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    stored = world.lease(lease)
    lacking = replace(stored, degraded=True)
    world.database.transact(lambda uow: uow.leases.save(lacking, stored, world.clock.now()))
    assert kept(world, database).known(rows(lease)) == {}


def test_another_requirement_is_noticed(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    leases = kept(world, database)
    known = leases.known(rows(lease))
    require_own_host(world, lease)
    assert leases.known(rows(lease)) == known
    assert leases.read_again(moves(lease), known) is None
    now_known = leases.known(rows(lease))
    assert now_known != known
    assert leases.read_again(moves(lease), now_known) == {lease.id: world.lease(lease)}


def test_a_lease_that_is_not_where_the_calendar_says_is_noticed(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    leases = kept(world, database)
    known = leases.known(rows(lease))
    (row,) = lease.allocations
    moved = replace(
        lease, reservations=(replace(lease.reservations[0], allocations=(replace(row, id="x"),)),)
    )
    assert leases.read_again(moves(moved), known) is None


def test_a_lease_with_another_reservation_is_read_again(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    leases = kept(world, database)
    leases.known(rows(lease))
    (row,) = lease.allocations
    other = {lease.id: [row, replace(row, id="x", reservation_id="x")]}
    leases.known(other)
    assert database.reads == 2


def test_a_lease_that_is_deleted_is_noticed(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    leases = kept(world, database)
    known = leases.known(rows(lease))
    world.delete(lease)
    assert leases.read_again(moves(lease), known) is None


def test_a_reservation_of_a_kind_that_never_moves_keeps_what_it_has(world: World, database: Counted) -> None:
    lease = planned(world, "one")
    leases = MovableLeases(
        database,  # type: ignore[arg-type]
        world.kinds,
        LateBindingSettings(leads={"physical:host": None}),
    )
    known = leases.known(rows(lease))
    assert [*known[lease.id].demands(lease.allocations, Pool("host"), world.clock.now())] == []
    leases.known(rows(lease))
    assert database.reads == 1


def test_those_used_last_are_kept(world: World, database: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movable_leases, "MOST_KEPT", 2)
    one, two, three = (planned(world, name) for name in ("one", "two", "three"))
    leases = kept(world, database)
    for lease in (one, two, one, three, one):
        leases.known(rows(lease))
    assert database.reads == 3
    leases.known(rows(two))
    assert database.reads == 4


def require_own_host(world: World, lease: Lease) -> None:
    (host,) = world.hosts_of(lease)
    query = f'["==", "$hypervisor_hostname", "host{host}"]'
    asked = ReservationChange(lease.reservations[0].id, {"hypervisor_properties": query})
    world.update(lease, reservations=(asked,))


def test_a_lease_that_must_stay_since_it_was_looked_at_does_not_move() -> None:
    world = World(hosts=2)
    first = world.create("other", start=DAY, end=DAY + 120)
    early = world.create("early", start=DAY, end=DAY + 60)
    late = world.create("late", start=DAY + 120, end=DAY + 180)
    world.delete(first)
    asked = CreateLease("new", world.in_minutes(DAY), world.in_minutes(DAY + 180), None, (whole_hosts(),))
    assert world.leases.preview_displacing(asked, DEMO).lease.allocations
    beside = world.beside()
    for lease in (early, late):
        require_own_host(beside, lease)
    before = world.lease(early), world.lease(late)
    with pytest.raises(NotEnoughResources):
        world.create("new", start=DAY, end=DAY + 180)
    assert (world.lease(early), world.lease(late)) == before
