"""Rows that a newer version has written: they are shown as far as they are understood, and left as they
are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import insert, select, update

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.domain.resource import Pool
from blazar.service.ports import Report, ReportType

from .builders import NOW, START, event_of, host, hours, lease, new_id, with_event

LATER = NOW + hours(1)


@pytest.fixture
def stored(sql: SqlDatabase) -> Lease:
    sql.transact(lambda u: [u.resources.add(host("1"), NOW), u.leases.add(lease("2"), NOW)])
    return sql.transact(lambda u: u.leases.add(lease("1"), NOW))


def read(sql: SqlDatabase, value: Lease) -> Lease:
    with sql.read() as u:
        found = u.leases.get(value.id)
        assert found in u.leases.list()
        assert len(u.leases.list()) == 2
    assert found is not None
    return found


def test_an_unknown_status_of_a_lease(sql: SqlDatabase, stored: Lease) -> None:
    with sql.engine.begin() as connection:
        connection.execute(
            update(tables.leases).where(tables.leases.c.id == stored.id).values(status="PAUSED")
        )
    found = read(sql, stored)
    assert found == replace(stored, status=LeaseStatus.UNKNOWN)
    assert not found.is_understood
    sql.transact(lambda u: u.leases.save(replace(found, name="dinner"), found, LATER))
    with sql.engine.connect() as connection:
        columns = select(tables.leases.c.status, tables.leases.c.name).where(tables.leases.c.id == stored.id)
        assert tuple(connection.execute(columns).one()) == ("PAUSED", "dinner")


def test_an_unknown_report_is_left_to_a_newer_version(sql: SqlDatabase) -> None:
    for lease_id in ("1", "2"):
        ended = Report("Filter", lease_id, ReportType.ENDED, {}, NOW)
        sql.transact(lambda u, r=ended: u.reports.put(r, NOW))  # type: ignore[misc]
    with sql.engine.begin() as connection:
        of_first = tables.usage_reports.c.lease_id == "1"
        connection.execute(update(tables.usage_reports).where(of_first).values(type="paused"))
    found = sql.transact(lambda u: u.reports.take("Filter", 10, NOW, LATER))
    assert [each.lease_id for each in found] == ["2"]
    with sql.read() as u:
        assert (u.reports.is_any_due("Filter", NOW), u.reports.depth()) == (False, 2)


def test_what_such_a_lease_occupies_stays_occupied(sql: SqlDatabase, stored: Lease) -> None:
    with sql.engine.begin() as connection:
        connection.execute(update(tables.leases).values(status="PAUSED"))
        connection.execute(update(tables.reservations).values(status="frozen"))
    with sql.read() as u:
        ((_, occupied),) = list(u.resources.occupancy(Pool("host")))
        assert list(occupied) == list(stored.allocations)
        assert list(u.leases.unfinished_on(["1"], START + hours(9))) == list(stored.allocations)


def test_an_unknown_status_of_a_reservation(sql: SqlDatabase, stored: Lease) -> None:
    with sql.engine.begin() as connection:
        mine = tables.reservations.c.lease_id == stored.id
        connection.execute(update(tables.reservations).where(mine).values(status="frozen"))
    found = read(sql, stored)
    assert [reservation.status for reservation in found.reservations] == [ReservationStatus.UNKNOWN]
    assert not found.is_understood
    changed = replace(found.reservations[0], missing_resources=True)
    sql.transact(lambda u: u.leases.save(replace(found, reservations=(changed,)), found, LATER))
    with sql.engine.connect() as connection:
        assert connection.scalar(select(tables.reservations.c.status).where(mine)) == "frozen"


@pytest.mark.parametrize(
    "unknown", [{"event_type": "audit_lease"}, {"status": "PAUSED"}], ids=["type", "status"]
)
def test_an_unknown_event(sql: SqlDatabase, stored: Lease, unknown: dict[str, str]) -> None:
    row = {
        "id": new_id(),
        "lease_id": stored.id,
        "position": 7,
        "event_type": "start_lease",
        "time": NOW,
        "due": NOW,
        "status": "UNDONE",
        "attempts": 0,
        **unknown,
    }
    with sql.engine.begin() as connection:
        connection.execute(insert(tables.events), row)
    found = read(sql, stored)
    assert found == stored
    moved = with_event(replace(found, name="dinner"), EventType.END, time=START + hours(2))
    sql.transact(lambda u: u.leases.save(moved, found, LATER))
    assert event_of(read(sql, stored), EventType.END).time == START + hours(2)
    with sql.engine.connect() as connection:
        kept = connection.execute(select(tables.events).where(tables.events.c.id == row["id"])).one()
    assert {name: kept._mapping[name] for name in row} == row
    sql.transact(lambda u: u.leases.remove(read(sql, stored)))
    with sql.engine.connect() as connection:
        assert not connection.scalars(
            select(tables.events.c.id).where(tables.events.c.lease_id == stored.id)
        ).all()
