"""Quotas in the database: limits, use, and that the transactions of a project wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from service.world import ALT, DEMO, World, instances, whole_hosts
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.domain.errors import Busy, CloudUnavailable, QuotaExceeded
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.quota import LEASES, Use
from blazar.domain.time import Interval
from blazar.service.calendars import Calendars
from blazar.service.commands import CreateLease, ReservationChange, UpdateLease
from blazar.service.leases import Leases, LeaseSettings
from blazar.service.ports import Database, UnitOfWork
from blazar.service.ports.kind import Dependencies
from blazar.service.quotas import Quotas, QuotaSettings
from blazar.service.turns import Turns
from blazar.service.use_cases import UseCases

from .builders import NOW, START, lease, minutes

MANAGERS = 3
CLIENTS = 16


def test_limits_are_of_a_project(database: Database) -> None:
    database.transact(lambda u: u.quotas.set("p1", {"hosts": 1, "leases": -1}))
    database.transact(lambda u: u.quotas.set("p2", {"hosts": 2**53}))
    database.transact(lambda u: u.quotas.set("p1", {"hosts": 3, "vcpus": 0}))
    database.transact(lambda u: u.quotas.set("p3", {}))
    with database.read() as u:
        assert u.quotas.limits("p1") == {"hosts": 3, "leases": -1, "vcpus": 0}
        assert u.quotas.limits("P1") == u.quotas.limits("p4") == {}
        assert list(u.quotas.all_limits().items()) == [
            ("p1", {"hosts": 3, "leases": -1, "vcpus": 0}),
            ("p2", {"hosts": 2**53}),
        ]
    database.transact(lambda u: u.quotas.unset("p1", ["hosts", "unheard-of"]))
    database.transact(lambda u: u.quotas.unset("p1", []))
    database.transact(lambda u: u.quotas.unset("p2"))
    with database.read() as u:
        assert u.quotas.all_limits() == {"p1": {"leases": -1, "vcpus": 0}}


def counted(quantities: dict[str, int] | None, start: float, end: float, **more: object) -> Lease:
    interval = Interval(START + minutes(start), START + minutes(end))
    return replace(lease("1"), interval=interval, quantities=quantities, project_id="p1", **more)  # type: ignore[arg-type]


def test_the_use_of_a_project_in_an_interval(database: Database) -> None:
    inside, older = counted({"hosts": 2}, 0, 60), counted(None, 30, 90)
    others = [
        counted({"hosts": 1}, -60, 0),
        counted({"hosts": 1}, 60, 90),
        counted({"hosts": 1}, 0, 60, status=LeaseStatus.DELETING),
        replace(counted({"hosts": 1}, 0, 60), project_id="p2"),
    ]
    over = counted({}, 10, 20, status=LeaseStatus.TERMINATED)
    for each in (inside, older, over, *others):
        database.transact(lambda u, each=each: u.leases.add(each, NOW))  # type: ignore[misc]
    with database.read() as u:
        known, unknown = u.quotas.uses("p1", Interval(START, START + minutes(60)), START)
        assert unknown == [older.id]
        assert {use.lease_id: use for use in known} == {
            inside.id: Use(inside.id, inside.interval, {"hosts": 2}),
            over.id: Use(over.id, over.interval, {}),
        }
        assert u.quotas.leases_ahead("p1", START - minutes(1)) == 4
        assert u.quotas.leases_ahead("p1", START) == 3
        assert u.quotas.leases_ahead("p1", START + minutes(60)) == 2
        assert u.quotas.leases_ahead("p3", START) == 0


def test_what_was_used_is_remembered_for_a_while(database: Database) -> None:
    first = Use("1", Interval(START, START + minutes(10)), {"hosts": 2})
    second = Use("1", Interval(START + minutes(5), START + minutes(20)), {"hosts": -1})

    def spend(u: UnitOfWork) -> None:
        u.quotas.spend("p1", first)
        u.quotas.spend("p1", second)
        u.quotas.spend("p2", first)

    database.transact(spend)
    with database.read() as u:
        assert set(map(repr, u.quotas.spent("p1", first.interval))) == {repr(first), repr(second)}
        assert u.quotas.spent("p1", Interval(START + minutes(10), START + minutes(30))) == [second]
        assert u.quotas.spent("p1", Interval(START + minutes(20), START + minutes(30))) == []
    database.transact(lambda u: u.quotas.forget_spent(START + minutes(10)))
    with database.read() as u:
        assert u.quotas.spent("p1", first.interval) == [second]
        assert u.quotas.spent("p2", first.interval) == []


# what is read


def sent(sql: SqlDatabase, limits: dict[str, int]) -> list[tuple[str, object]]:
    """Return the statements by which a project's leases are counted."""
    statements: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        if "count(" in statement:
            statements.append((statement, parameters))

    def work(u: UnitOfWork) -> None:
        Quotas({}, QuotaSettings(limits)).outlook(u, "project-1", NOW, NOW)

    event.listen(sql.engine, "before_cursor_execute", note)
    sql.transact(work)
    event.remove(sql.engine, "before_cursor_execute", note)
    return statements


def test_the_leases_of_a_project_are_counted_where_their_number_is_limited(sql: SqlDatabase) -> None:
    assert len(sent(sql, {LEASES: 5})) == 1
    assert sent(sql, {}) == []


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_project_s_leases_are_not_read_to_be_counted(sql: SqlDatabase) -> None:
    """An index has all that is asked, beginning with the leases that are not over."""
    ((statement, parameters),) = sent(sql, {LEASES: 5})
    with sql.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    ((*_, detail),) = plan
    assert "COVERING INDEX" in detail
    assert "(project_id=? AND end_date>?)" in detail


# many at once

Managers = list[Leases]


@pytest.fixture
def managers(sql: SqlDatabase) -> Iterator[Callable[[int, dict[str, int]], Managers]]:
    """Three managers, each with calendars and connections of its own, on one database and cloud."""
    databases = [
        SqlDatabase(sql.engine.url, pool_size=4, attempts=30)  # as many clients meet on so few rows nowhere
        for _ in range(MANAGERS)
    ]

    def make(hosts: int, limits: dict[str, int]) -> Managers:
        world = World(hosts, database=sql)
        return [
            UseCases(
                Dependencies(each, world.cloud, world.kinds, world.clock),
                (),
                Calendars(each, world.clock, turns=Turns(8)),
                world.selection,
                LeaseSettings(delete_wait=timedelta(0)),
                nudge=lambda due=None: None,
                quota=QuotaSettings(limits),
            ).leases
            for each in databases
        ]

    yield make
    for each in databases:
        each.close()


def all_clients(work: Callable[[int], int]) -> list[int]:
    """What the clients return, who begin together."""
    gate = threading.Barrier(CLIENTS)

    def run(number: int) -> int:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(run, range(CLIENTS)))


def test_a_quota_holds_against_many_managers_and_clients(
    sql: SqlDatabase, managers: Callable[[int, dict[str, int]], Managers]
) -> None:
    """Each client wants hosts of its own, so that no two requests meet on a resource."""
    leases = managers(2 * CLIENTS, {"hosts": 5, "vcpus": 7})

    def ask(number: int) -> int:
        caller = (DEMO, ALT)[number % 2]
        made = 0
        for host in (number, CLIENTS + number):
            mine = {"resource_properties": f'["==", "$hypervisor_hostname", "host{host + 1}"]'}
            reservations = (instances(**mine) if number % 4 < 2 else whole_hosts(**mine),)
            command = CreateLease(str(host), START, START + minutes(60), None, reservations)
            try:
                leases[number % MANAGERS].create(command, caller)
                made += 1
            except QuotaExceeded:
                continue
        return made

    assert sum(all_clients(ask)) == 2 * (5 + 7)
    with sql.read() as u:
        for caller in (DEMO, ALT):
            stored = u.leases.list(caller.project_id)
            assert sum((each.quantities or {}).get("hosts", 0) for each in stored) == 5
            assert sum((each.quantities or {}).get("vcpus", 0) for each in stored) == 7


def test_a_quota_holds_while_leases_grow_and_go(
    sql: SqlDatabase, managers: Callable[[int, dict[str, int]], Managers]
) -> None:
    leases = managers(CLIENTS, {"leases": 6, "instances": 10})

    def ask(number: int) -> int:
        own, seen = leases[number % MANAGERS], []
        for attempt in range(3):
            command = CreateLease(str(number), START, START + minutes(60), None, (instances(),))
            with suppress(QuotaExceeded, Busy, CloudUnavailable):  # so many want the same host
                made = own.create(command, DEMO)
                change = ReservationChange(made.reservations[0].id, {"amount": 2 + attempt})
                own.update(made.id, UpdateLease(reservations=(change,)), DEMO)
                seen.append(_used(sql))
                own.delete(made.id, DEMO)
        return max(seen, default=0)

    most = all_clients(ask)
    assert 2 <= max(most) <= 10
    assert _used(sql) <= 10


def _used(sql: SqlDatabase) -> int:
    with sql.read() as u:
        assert u.quotas.leases_ahead("demo", START) <= 6
        return sum((each.quantities or {}).get("instances", 0) for each in u.leases.list("demo"))


def test_projects_do_not_wait_for_each_other(sql: SqlDatabase) -> None:
    if sql.engine.dialect.name == "sqlite":
        return  # it has one writer at a time

    def while_it_is_another_projects_turn(u: UnitOfWork) -> None:
        u.quotas.queue_up("p1")
        with ThreadPoolExecutor(1) as other:
            other.submit(sql.transact, lambda u: u.quotas.queue_up("p2")).result(timeout=3)

    for _ in range(2):  # the rows are made first, and then are there
        sql.transact(while_it_is_another_projects_turn)
