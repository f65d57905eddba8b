"""A manager that is suspended within a transaction keeps the rows of its leases locked. The engine of another
manager does not wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from service.world import SetClock, World
from sqlalchemy import URL, create_engine, text

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.engine import LOCK_WAIT
from blazar.adapters.db.schema import upgrade
from blazar.domain.errors import LeaseLocked
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.service.ports import StandingClaim, UnitOfWork

from .builders import NOW, START, event_of, lease, minutes
from .conftest import SERVERS, Empty

OTHERS = 3
UNTIL = START + minutes(1)
LOCKED = lease("1")
OTHER = lease("2")
ID = event_of(LOCKED, EventType.START).id
pytestmark = pytest.mark.servers


class Waited(AssertionError):
    """A transaction was repeated, for the lock that it waited for did not come."""


def repeated() -> None:
    raise Waited


@pytest.fixture(scope="module", params=SERVERS)
def database(request: pytest.FixtureRequest, empty_database: Empty) -> Iterator[SqlDatabase]:
    """A database in which a transaction of another connection has changed one of two claimed leases."""
    url = empty_database(request.param)
    upgrade(url)
    database = SqlDatabase(url, repeated=repeated)
    database.transact(lambda u: [u.leases.add(value, NOW) for value in (LOCKED, OTHER)])
    assert database.transact(lambda u: u.events.claim(ID, "token", START, UNTIL))
    try:
        with rows_locked(url, LOCKED.id):
            yield database
    finally:
        database.close()


@contextmanager
def rows_locked(url: URL, lease_id: str) -> Iterator[None]:
    """Change the lease in a transaction that is not committed."""
    engine = create_engine(url)
    with engine.connect() as suspended:
        suspended.execute(text("UPDATE leases SET name = 'changed' WHERE id = :id"), {"id": lease_id})
        yield
    engine.dispose()


@pytest.mark.parametrize(
    "work",
    [
        lambda u: u.events.claim(ID, "another", START + minutes(2), START + minutes(3)),
        lambda u: u.events.claim_lease(LOCKED.id, "another", START, UNTIL, START),
        lambda u: u.events.extend(ID, "token", START, START + minutes(2)),
        lambda u: u.events.void(StandingClaim(LOCKED.id, "token", UNTIL)),
    ],
    ids=["claim", "claim_lease", "extend", "void"],
)
def test_a_locked_lease_is_told_at_once(database: SqlDatabase, work: Callable[[UnitOfWork], object]) -> None:
    with pytest.raises(LeaseLocked):
        database.transact(work)


def test_another_lease_is_claimed_beside_it(database: SqlDatabase) -> None:
    event = event_of(OTHER, EventType.START)
    assert database.transact(lambda u: u.events.claim(event.id, "another", START, UNTIL))


def test_a_claim_that_was_locked_is_what_it_was(database: SqlDatabase) -> None:
    with database.read() as u:
        assert StandingClaim(LOCKED.id, "token", UNTIL) in u.events.claims()


def test_a_lease_that_is_gone_is_not_locked(database: SqlDatabase) -> None:
    assert database.transact(lambda u: u.events.claim("no event", "another", START, UNTIL)) is False
    assert database.transact(lambda u: u.events.extend("no event", "token", START, UNTIL)) is False


@pytest.mark.parametrize("dialect", SERVERS)
def test_all_other_leases_start_meanwhile(dialect: str, empty_database: Empty) -> None:
    url = empty_database(dialect)
    upgrade(url)
    database = SqlDatabase(url)
    world = World(hosts=OTHERS + 1, database=database)
    world.clock = SetClock()  # type: ignore[assignment]
    world.restart()
    locked, *others = (world.create(name=str(number)) for number in range(OTHERS + 1))
    loop = EventLoop(world.database, world.events, world.clock, EngineSettings(workers=2))
    try:
        with rows_locked(url, locked.id):
            loop.start()
            world_reaches(world, others)
            assert world.lease(locked).status is LeaseStatus.PENDING
        world_reaches(world, [locked])
    finally:
        loop.stop()
        database.close()


def world_reaches(world: World, leases: Sequence[Lease]) -> None:
    """Wait until the leases are ACTIVE: for less time than a transaction waits for a lock."""
    end = time.monotonic() + LOCK_WAIT - 1
    while any(world.lease(lease).status is not LeaseStatus.ACTIVE for lease in leases):
        assert time.monotonic() < end, [str(world.lease(lease).status) for lease in leases]
        time.sleep(0.02)
