"""Who still has a resource: leases that are late, in whatever status. What is over has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import update

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.domain.resource import Allocation, Pool
from blazar.service.ports import Database

from .builders import NOW, host, hours, lease, with_reservation

HOSTS = Pool("host")
ENDED = NOW - hours(3)


@pytest.fixture
def late(database: Database) -> Lease:
    """A lease whose end was hours ago, and that has its host still."""
    return _late(database)


def _late(database: Database) -> Lease:
    value = lease("1", start=ENDED - hours(1), status=LeaseStatus.ACTIVE)
    value = with_reservation(value, status=ReservationStatus.ACTIVE)
    database.transact(lambda u: u.resources.add(host("1"), NOW))
    return database.transact(lambda u: u.leases.add(value, NOW))


def occupied(database: Database) -> list[Allocation]:
    """Return what is on the host, to which the calendar as a whole and a part of it agree."""
    with database.read() as u:
        ((_, whole),) = [(r, list(found)) for r, found in u.resources.occupancy(HOSTS)]
        ((_, some),) = [(r, list(found)) for r, found in u.resources.occupancy(HOSTS, ["1"])]
    assert whole == some
    return whole


def unfinished(database: Database) -> list[Allocation]:
    with database.read() as u:
        return list(u.leases.unfinished_on(["1"], NOW))


def of_other_kinds(database: Database) -> list[str]:
    with database.read() as u:
        return list(u.leases.ids_of_other_kinds(["licence:token"]))


@pytest.mark.parametrize("status", sorted(set(LeaseStatus) - {LeaseStatus.UNKNOWN, LeaseStatus.TERMINATED}))
def test_a_late_lease_has_its_host_in_each_status(
    database: Database, late: Lease, status: LeaseStatus
) -> None:
    database.transact(lambda u: u.leases.save(replace(late, status=status), late, NOW))
    assert occupied(database) == unfinished(database) == list(late.allocations)
    assert of_other_kinds(database) == [late.id]


def test_what_has_ended_has_nothing(database: Database, late: Lease) -> None:
    released = with_reservation(late, status=ReservationStatus.DELETED, allocations=(), surplus=())
    ended = replace(released, status=LeaseStatus.TERMINATED)
    database.transact(lambda u: u.leases.save(ended, late, NOW))
    assert occupied(database) == unfinished(database) == of_other_kinds(database) == []
    with database.read() as u:
        assert u.resources.allocations(HOSTS) == []


def test_what_is_deleted_has_nothing(database: Database, late: Lease) -> None:
    database.transact(lambda u: u.leases.remove(late))
    assert occupied(database) == unfinished(database) == of_other_kinds(database) == []


@pytest.mark.parametrize("status", ["PAUSED", "TERMINATE", "TERMINATED_LATE", "ZOMBIE", "terminated"])
def test_a_lease_of_an_unknown_status_has_its_host(sql: SqlDatabase, status: str) -> None:
    """A newer program has written it. In order, the status stands before TERMINATED or after it."""
    late = _late(sql)
    _write(sql, status)
    assert occupied(sql) == unfinished(sql) == list(late.allocations)
    assert of_other_kinds(sql) == [late.id]


def test_an_offer_holds_its_host_and_is_not_waited_for(sql: SqlDatabase) -> None:
    late = _late(sql)
    _write(sql, "OFFERED")
    assert occupied(sql) == list(late.allocations)
    assert unfinished(sql) == []


def _write(sql: SqlDatabase, status: str) -> None:
    with sql.engine.begin() as connection:
        connection.execute(update(tables.leases).values(status=status))
