"""How many statements does an operation need? As many for a thousand rows as for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseKey, Reservation
from blazar.domain.resource import Pool
from blazar.domain.time import Interval
from blazar.service.leases.store import LeaseStore
from blazar.service.ports import ListPage, Report, ReportType, UnitOfWork
from blazar.service.quotas import Quotas, QuotaSettings

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
    assert counted(lambda u: u.leases.exists(stored.id)) == ["SELECT"]
    assert counted(lambda u: u.leases.list()) == ["SELECT"] * 4
    assert counted(lambda u: u.leases.list("project-1")) == ["SELECT"] * 4
    assert counted(lambda u: u.leases.page(ListPage(5), "project-1")) == ["SELECT"] * 3
    assert counted(lambda u: u.leases.page(ListPage(5, LeaseKey(NOW + hours(1), "")))) == ["SELECT"]
    assert counted(lambda u: u.leases.unfinished_on(IDS, START + hours(9))) == ["SELECT"]


def test_looking_whether_a_deletion_is_done(counted: Counted, sql: SqlDatabase, stored: Lease) -> None:
    clock = SystemClock()
    store = LeaseStore(sql, {}, clock, Quotas({}, QuotaSettings()))
    soon = timedelta(milliseconds=1)  # time for one look
    assert counted(lambda _: store.wait_until_gone(stored.id, clock.now() + soon)) == ["SELECT"]


def longer(value: Lease) -> Lease:
    interval = Interval(value.interval.start, value.interval.end + hours(1))
    reservations = tuple(
        replace(r, allocations=tuple(replace(a, interval=interval) for a in r.allocations))
        for r in value.reservations
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
        (lambda value: with_reservation(value, cloud_state={"aggregate": 9}), ["UPDATE", "UPDATE"]),
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


def test_saving_many_leases(counted: Counted, sql: SqlDatabase) -> None:
    """As many statements for forty leases as for one."""
    few = [lease("1"), lease("2")]
    many = [lease(str(n)) for n in range(HOSTS)]
    sql.transact(lambda u: [u.leases.add(each, NOW) for each in few + many])

    def moved(u: UnitOfWork, leases: list[Lease]) -> None:
        stored = u.leases.get_many([each.id for each in leases])
        changed = [with_reservation(elsewhere(each), missing_resources=True) for each in stored]
        degraded = [replace(with_event(each, EventType.END, attempts=1), degraded=True) for each in changed]
        u.leases.save_all(list(zip(degraded, stored, strict=True)), NOW)

    expected = ["SELECT"] * 4 + ["UPDATE"] * 3 + ["INSERT", "DELETE"]
    assert sorted(counted(lambda u: moved(u, few))) == sorted(expected)
    assert sorted(counted(lambda u: moved(u, many))) == sorted(expected)


def test_finding_leases_for_healing(counted: Counted, stored: Lease) -> None:
    assert counted(lambda u: u.leases.on_resources(IDS, Interval(START, START + hours(1)))) == ["SELECT"]
    assert counted(lambda u: u.leases.degraded()) == ["SELECT"]
    assert counted(lambda u: u.resources.failed(Pool("host"))) == ["SELECT"]
    assert counted(lambda u: u.resources.unreservable(Pool("host"))) == ["SELECT"]
    assert counted(lambda u: u.duties.take("monitor", "me", NOW, NOW + hours(1), NOW)) == ["SELECT", "INSERT"]
    assert counted(lambda u: u.duties.extend("monitor", "me", NOW, NOW + hours(1))) == ["UPDATE"]
    assert counted(lambda u: u.duties.give_back("monitor", "me", NOW)) == ["UPDATE"]


def test_reporting_to_a_filter(counted: Counted, sql: SqlDatabase) -> None:
    """As many statements for forty reports as for one."""
    ended = Report("Filter", "lease", ReportType.ENDED, {}, NOW)
    assert counted(lambda u: u.reports.put(ended, NOW)) == ["DELETE", "INSERT"]
    assert counted(lambda u: u.reports.put(replace(ended, type=ReportType.CREATED), NOW)) == ["INSERT"]
    sql.transact(lambda u: [u.reports.put(replace(ended, lease_id=str(n)), NOW) for n in range(HOSTS)])
    assert counted(lambda u: u.reports.is_any_due("Filter", NOW)) == ["SELECT"]
    assert counted(lambda u: u.reports.take("Filter", HOSTS, NOW, NOW + hours(1))) == ["SELECT", "UPDATE"]
    assert counted(lambda u: u.reports.remove(list(range(HOSTS)))) == ["DELETE"]
    assert counted(lambda u: u.reports.depth()) == ["SELECT"]


def test_removing_a_lease(counted: Counted, stored: Lease) -> None:
    assert counted(lambda u: u.leases.remove(stored)) == ["DELETE"]


def test_committing_a_plan(counted: Counted, stored: Lease) -> None:
    def work(u: UnitOfWork) -> None:
        u.resources.bump(dict.fromkeys(IDS, 0), NOW)
        u.leases.add(large_lease(), NOW)
        u.outbox.put("lease.create", {}, NOW)

    assert counted(work) == ["UPDATE"] + ["INSERT"] * 5


def test_changing_a_resource(counted: Counted, stored: Lease) -> None:
    """What is stored is told by the statement that stores it: nothing is read again."""

    def work(u: UnitOfWork) -> None:
        registered = u.resources.add(host("another"), NOW)
        u.resources.save(replace(registered, reservable=False), NOW)

    assert counted(work) == ["INSERT", "UPDATE"]


def test_asking_for_resources(counted: Counted, stored: Lease) -> None:
    assert counted(lambda u: u.resources.get("1")) == ["SELECT"]
    assert counted(lambda u: u.resources.list(Pool("host"))) == ["SELECT"]
    assert counted(lambda u: u.resources.generations(Pool("host"), NOW)) == ["SELECT"]
    assert counted(lambda u: list(u.resources.occupancy(Pool("host")))) == ["SELECT"] * 2
    assert counted(lambda u: list(u.resources.occupancy(Pool("host"), IDS))) == ["SELECT"] * 2
    assert counted(lambda u: u.resources.allocations(Pool("host"), ending_after=NOW)) == ["SELECT"]
    assert counted(lambda u: u.resources.touch(IDS, NOW)) == ["UPDATE"]


def test_the_engines_questions(counted: Counted, stored: Lease) -> None:
    event_id, until = event_of(stored, EventType.START).id, START + minutes(1)
    assert counted(lambda u: u.events.due(START, 100)) == ["SELECT"]
    assert counted(lambda u: u.events.claim(event_id, "me", START, until)) == ["SELECT", "UPDATE"]
    assert counted(lambda u: u.events.extend(event_id, "me", START, until)) == ["SELECT", "UPDATE"]
    assert counted(lambda u: u.events.next_due(START)) == ["SELECT"] * 3
    assert counted(lambda u: u.events.lag(START)) == ["SELECT"]
    assert counted(lambda u: u.events.waiting(START, 100)) == ["SELECT"]
    assert counted(lambda u: u.events.release_claim(event_id, "me", START)) == ["UPDATE"]
