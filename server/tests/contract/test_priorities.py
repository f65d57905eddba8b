"""Do all databases keep the priority of a lease, and find leases by it?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select, update

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.lease.priority import Priority
from blazar.service.ports import Database, LeaseQuery, ListPage

from .builders import NOW, lease


@pytest.mark.parametrize("priority", list(Priority))
def test_a_lease_is_read_as_it_was_written(database: Database, priority: Priority) -> None:
    stored = database.transact(lambda u: u.leases.add(lease(priority=priority), NOW))
    for other in (priority, *Priority):
        changed = replace(stored, priority=other)
        stored = database.transact(lambda u, c=changed, o=stored: u.leases.save(c, o, NOW))  # type: ignore[misc]
        with database.read() as u:
            found = u.leases.get(stored.id)
            (listed,) = u.leases.page(ListPage(10))
        assert found is not None
        assert found.priority == listed.priority == other


def test_leases_are_found_by_their_priority(database: Database) -> None:
    made = {
        each: database.transact(lambda u, p=each: u.leases.add(lease(priority=p), NOW))  # type: ignore[misc]
        for each in Priority
    }
    for each, stored in made.items():
        with database.read() as u:
            (found,) = u.leases.find(LeaseQuery(10, priority=each)).leases
        assert (found.id, found.priority) == (stored.id, each)


def test_a_lease_of_the_version_before_is_normal(sql: SqlDatabase) -> None:
    stored = sql.transact(lambda u: u.leases.add(lease(), NOW))
    with sql.engine.connect() as connection:
        assert connection.execute(select(tables.leases.c.priority)).scalar_one() is None
    with sql.read() as u:
        (found,) = u.leases.find(LeaseQuery(10, priority=Priority.NORMAL)).leases
    assert (found.id, found.priority) == (stored.id, Priority.NORMAL)


def test_a_class_of_a_newer_version_is_read_as_the_highest_and_stays(sql: SqlDatabase) -> None:
    stored = sql.transact(lambda u: u.leases.add(lease(), NOW))
    with sql.engine.begin() as connection:
        connection.execute(update(tables.leases).values(priority="urgent"))
    with sql.read() as u:
        found = u.leases.get(stored.id)
    assert found is not None
    assert found.priority is Priority.HIGH
    sql.transact(lambda u: u.leases.save(replace(found, name="dinner"), found, NOW))
    with sql.engine.connect() as connection:
        assert connection.execute(select(tables.leases.c.priority)).scalar_one() == "urgent"
