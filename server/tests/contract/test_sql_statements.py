"""How many statements does an operation need? As many for a thousand rows as for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.domain.event import EventType
from blazar.domain.lease import Lease, Reservation
from blazar.domain.resource import Pool
from blazar.domain.time import Interval
from blazar.service.ports import UnitOfWork

from .builders import (
    NOW,
    START,
    allocations_on,
    event_of,
    host,
    hours,
    lease,
    minutes,
    new_id,
    with_event,
    with_reservation,
)

HOSTS = 40
IDS = [str(n) for n in range(HOSTS)]

Counted = Callable[[Callable[[UnitOfWork], object]], list[str]]


@pytest.fixture
def counted(sql: SqlDatabase) -> Iterator[Counted]:
    """Runs work in a transaction and tells the first words of its statements."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        verb = statement.split()[0]
        if verb not in ("BEGIN", "SET"):
            statements.append(verb)

    def run(work: Callable[[UnitOfWork], object]) -> list[str]:
        statements.clear()
        sql.transact(work)
        return list(statements)

    event.listen(sql.engine, "before_cursor_execute", note)
    yield run
    event.remove(sql.engine, "before_cursor_execute", note)


def large_lease() -> Lease:
    """Three reservations on all hosts."""
    value = lease(*IDS)
    more = [Reservation(new_id(), value.id, new_id(), "virtual:instance", {}) for _ in range(2)]
    more = [replace(r, allocations=allocations_on(IDS, value.id, r.id, value.interval)) for r in more]
    return replace(value, reservations=(*value.reservations, *more))


@pytest.fixture
def stored(sql: SqlDatabase) -> Lease:
    def work(u: UnitOfWork) -> None:
        for id_ in IDS:
            u.resources.add(host(id_), NOW)
        for _ in range(20):
            u.leases.add(lease("1", "2"), NOW)
        u.leases.add(value, NOW)

    value = large_lease()
    sql.transact(work)
    with sql.read() as u:
        found = u.leases.get(value.id)
    assert found is not None
    return found


def test_adding_a_lease(counted: Counted) -> None:
    assert counted(lambda u: u.leases.add(large_lease(), NOW)) == ["INSERT"] * 4


def test_reading_leases(counted: Counted, stored: Lease) -> None:
    assert counted(lambda u: u.leases.get(stored.id)) == ["SELECT"] * 4
    assert counted(lambda u: u.leases.get("absent")) == ["SELECT"]
    assert counted(lambda u: u.leases.list()) == ["SELECT"] * 4
    assert counted(lambda u: u.leases.list("project-1")) == ["SELECT"] * 4
    assert counted(lambda u: u.leases.unfinished_on(IDS, START + hours(9))) == ["SELECT"]


def longer(value: Lease) -> Lease:
    interval = Interval(value.interval.start, value.interval.end + hours(1))
    reservations = tuple(
        replace(r, allocations=tuple(replace(a, interval=interval) for a in r.allocations)) for r in value.reservations
    )
    return replace(value, interval=interval, reservations=reservations)


def elsewhere(value: Lease) -> Lease:
    reservation = value.reservations[0]
    others = allocations_on(IDS, value.id, reservation.id, value.interval)
    return with_reservation(value, allocations=others)


@pytest.mark.parametrize(
    ("change", "statements"),
    [
        (lambda value: value, ["UPDATE"]),
        (lambda value: replace(value, name="other"), ["UPDATE"]),
        (longer, ["UPDATE", "UPDATE"]),
        (lambda value: with_reservation(value, cloud={"aggregate": 9}), ["UPDATE", "UPDATE"]),
        (lambda value: with_event(value, EventType.END, attempts=1), ["UPDATE", "UPDATE"]),
        (lambda value: with_reservation(value, allocations=()), ["UPDATE", "DELETE"]),
        (elsewhere, ["UPDATE", "INSERT", "DELETE"]),
    ],
    ids=["nothing", "name", "longer", "reservation", "event", "fewer", "elsewhere"],
)
def test_saving_a_lease_writes_what_differs(
    counted: Counted, stored: Lease, change: Callable[[Lease], Lease], statements: list[str]
) -> None:
    assert counted(lambda u: u.leases.save(change(stored), stored, NOW)) == statements


def test_removing_a_lease(counted: Counted, stored: Lease) -> None:
    assert counted(lambda u: u.leases.remove(stored)) == ["DELETE"]


def test_committing_a_plan(counted: Counted, stored: Lease) -> None:
    def work(u: UnitOfWork) -> None:
        u.resources.bump(dict.fromkeys(IDS, 0), NOW)
        u.leases.add(large_lease(), NOW)
        u.outbox.put("lease.create", {}, NOW)

    assert counted(work) == ["UPDATE"] + ["INSERT"] * 5


def test_asking_for_resources(counted: Counted, stored: Lease) -> None:
    assert counted(lambda u: u.resources.get("1")) == ["SELECT"]
    assert counted(lambda u: u.resources.list(Pool.HOST)) == ["SELECT"]
    assert counted(lambda u: u.resources.generations(Pool.HOST, NOW)) == ["SELECT"]
    assert counted(lambda u: list(u.resources.occupancy(Pool.HOST))) == ["SELECT"] * 2
    assert counted(lambda u: list(u.resources.occupancy(Pool.HOST, IDS))) == ["SELECT"] * 2
    assert counted(lambda u: u.resources.allocations(Pool.HOST, ending_after=NOW)) == ["SELECT"]
    assert counted(lambda u: u.resources.touch(IDS, NOW)) == ["UPDATE"]


def test_the_engines_questions(counted: Counted, stored: Lease) -> None:
    event_id, until = event_of(stored, EventType.START).id, START + minutes(1)
    assert counted(lambda u: u.events.due(START, 100)) == ["SELECT"]
    assert counted(lambda u: u.events.claim(event_id, "me", START, until)) == ["UPDATE"]
    assert counted(lambda u: u.events.extend(event_id, "me", START, until)) == ["UPDATE"]
    assert counted(lambda u: u.events.next_due(START)) == ["SELECT"] * 3
    assert counted(lambda u: u.events.lag(START)) == ["SELECT"]
    assert counted(lambda u: u.events.settle(event_id, "me", START)) == ["UPDATE"]
