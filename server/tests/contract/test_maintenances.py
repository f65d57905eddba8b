"""Maintenances: taken like a lease, seen by no list of leases, and gone at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.adapters.db import SqlDatabase
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.domain.lease.maintenance import (
    Lifetime,
    Maintenance,
    Purpose,
    closures,
    lifetime_row,
    lifetimes,
)
from blazar.domain.lease.offer import Offer
from blazar.domain.resource import Pool
from blazar.domain.time import FOREVER, Interval
from blazar.service.ports import Database, LeaseQuery, ListPage

from .builders import NOW, START, allocations_on, host, hours, lease, minutes, new_id

HOSTS = Pool("host")
WINDOW = Interval(START, START + hours(2))


def maintenance(*hosts: str, interval: Interval = WINDOW, **fields: object) -> Maintenance:
    id_ = new_id()
    value = Maintenance(
        id=id_,
        name="new disks",
        user_id="admin-1",
        interval=interval,
        allocations=allocations_on(hosts, id_, id_, interval),
        reason="ticket 7",
    )
    return replace(value, **fields)  # type: ignore[arg-type]


@pytest.fixture
def stored(database: Database) -> Maintenance:
    value = maintenance("10", "2")
    database.transact(lambda u: [u.resources.add(host(i), NOW) for i in ("2", "10")])
    return database.transact(lambda u: u.maintenances.add(value, NOW))


def test_it_is_read_as_it_was_written(database: Database, stored: Maintenance) -> None:
    assert (stored.created_at, stored.resource_ids) == (NOW, ("2", "10"))
    early = Interval(START - hours(5), START - hours(4))
    first = database.transact(lambda u: u.maintenances.add(maintenance(interval=early, reason=None), NOW))
    with database.read() as u:
        assert u.maintenances.get(stored.id) == stored
        assert u.maintenances.get("none") is None
        assert list(u.maintenances.list()) == [first, stored]
        assert u.maintenances.count() == 2
        assert closures(u.maintenances.list()) == {"2": [WINDOW], "10": [WINDOW]}


@pytest.fixture
def bounds(database: Database) -> Maintenance:
    """What bounds the lifetime of host 3: it comes, is there for two hours, and goes."""
    value = lifetime_row(new_id(), "3", Lifetime(WINDOW.start, WINDOW.end), "admin-1", NOW, new_id)
    assert value is not None
    database.transact(lambda u: u.resources.add(host("3"), NOW))
    return database.transact(lambda u: u.maintenances.add(value, NOW))


def test_a_lifetime_is_read_as_it_was_written(
    database: Database, stored: Maintenance, bounds: Maintenance
) -> None:
    with database.read() as u:
        assert u.maintenances.get(bounds.id) == bounds
        assert list(u.maintenances.lifetimes(["2", "3", "none"])) == [bounds]
        assert list(u.maintenances.lifetimes(["2"])) == list(u.maintenances.lifetimes([])) == []
        counts = [u.maintenances.count(each) for each in (None, Purpose.MAINTENANCE, Purpose.LIFETIME)]
        assert counts == [2, 1, 1]
        assert lifetimes(u.maintenances.list(), NOW) == {"3": Lifetime(WINDOW.start, WINDOW.end)}
        assert closures(u.maintenances.list())["3"] == [
            Interval(NOW, WINDOW.start),
            Interval(WINDOW.end, FOREVER),
        ]
        assert [each.id for each in u.maintenances.over(WINDOW.end + hours(9000))] == [stored.id]
        found = {registration.id: taken for registration, taken in u.resources.occupancy(HOSTS)}
        assert sorted(found["3"], key=lambda each: each.interval) == list(bounds.allocations)


def test_no_list_of_leases_knows_a_lifetime(database: Database, bounds: Maintenance) -> None:
    with database.read() as u:
        assert u.leases.get(bounds.id) is None
        assert list(u.leases.list()) == list(u.leases.page(ListPage(10))) == []
        assert list(u.leases.find(LeaseQuery(limit=10)).leases) == []
        assert list(u.leases.ids_of_other_kinds([])) == []
        assert list(u.leases.on_resources(["3"], bounds.interval)) == []
        assert list(u.leases.unfinished_on(["3"], FOREVER)) == []
        assert u.quotas.uses("", bounds.interval, NOW)[1] == []
    database.transact(lambda u: u.maintenances.remove(bounds.id))
    with database.read() as u:
        assert (u.maintenances.count(), list(u.resources.allocations(HOSTS))) == (0, [])


def test_no_list_of_leases_knows_it(database: Database, stored: Maintenance) -> None:
    with database.read() as u:
        assert u.leases.get(stored.id) is None
        assert u.offers.get(stored.id) is None
        assert list(u.leases.get_many([stored.id])) == []
        assert list(u.leases.list()) == list(u.leases.list("")) == []
        assert list(u.leases.page(ListPage(10))) == []
        for query in (LeaseQuery(limit=10), LeaseQuery(limit=10, ids=(stored.id,))):
            assert list(u.leases.find(query).leases) == []
        assert list(u.leases.ids_with_status([status.value for status in LeaseStatus])) == []
        assert list(u.leases.ids_of_other_kinds([])) == []
        assert list(u.leases.on_resources(["2"], WINDOW)) == []
        assert list(u.leases.degraded()) == []
        assert (u.leases.count_over(START + hours(9000)), u.events.next_due(NOW)) == (0, None)
        assert u.leases.exists(stored.id)


def test_it_takes_whole_hosts_and_is_the_use_of_no_project(database: Database, stored: Maintenance) -> None:
    with database.read() as u:
        found = {registration.id: list(taken) for registration, taken in u.resources.occupancy(HOSTS)}
        assert found == {a.resource_id: [a] for a in stored.allocations}
        assert all(a.usage.whole and a.interval == WINDOW for a in stored.allocations)
        assert list(u.resources.allocations(HOSTS, resource_ids=["2"])) == [stored.allocations[0]]
        for project in ("", "project-1"):
            assert u.quotas.uses(project, WINDOW, NOW)[1] == []
        assert u.quotas.leases_ahead("project-1", NOW) == 0


def test_no_lease_waits_for_its_end(database: Database, stored: Maintenance) -> None:
    with database.read() as u:
        assert list(u.leases.unfinished_on(["2", "10"], WINDOW.end + hours(1))) == []
        assert u.leases.unfinished_reservations([stored.id]) == frozenset()


def test_an_id_is_that_of_one_thing(database: Database, stored: Maintenance) -> None:
    taken = lease("2", id=stored.id, reservations=(), events=())
    with pytest.raises(Stale):
        database.transact(lambda u: u.leases.add(taken, NOW))
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.add(Offer(taken, NOW + hours(1)), NOW))
    with pytest.raises(Stale):
        database.transact(lambda u: u.maintenances.add(stored, NOW))
    other = database.transact(lambda u: u.leases.add(lease("2"), NOW))
    with pytest.raises(Stale):
        database.transact(lambda u: u.maintenances.add(maintenance(id=other.id), NOW))


def test_it_is_removed_once_and_nothing_is_left(database: Database, stored: Maintenance) -> None:
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.remove(stored.id))
    database.transact(lambda u: u.maintenances.remove(stored.id))
    with pytest.raises(Stale):
        database.transact(lambda u: u.maintenances.remove(stored.id))
    with database.read() as u:
        assert (u.maintenances.get(stored.id), u.maintenances.count()) == (None, 0)
        assert list(u.resources.allocations(HOSTS)) == []
        assert not u.leases.exists(stored.id)


def test_a_lease_is_not_removed_as_a_maintenance(database: Database) -> None:
    value = database.transact(lambda u: u.leases.add(lease(), NOW))
    with pytest.raises(Stale):
        database.transact(lambda u: u.maintenances.remove(value.id))


def test_those_that_are_over_are_found(database: Database, stored: Maintenance) -> None:
    later = maintenance(interval=Interval(START - hours(1), WINDOW.end + minutes(1)))
    database.transact(lambda u: u.maintenances.add(later, NOW))
    with database.read() as u:
        assert list(u.maintenances.over(WINDOW.end - minutes(1))) == []
        assert [each.id for each in u.maintenances.over(WINDOW.end)] == [stored.id]
        assert [each.id for each in u.maintenances.over(WINDOW.end + minutes(1))] == [stored.id, later.id]


def test_what_a_program_of_the_version_before_makes_of_it(sql: SqlDatabase) -> None:
    """Such a program reads a lease with a status that it does not know: it touches nothing."""
    assert {LeaseStatus(each) for each in Purpose} == {LeaseStatus.UNKNOWN}
    value = sql.transact(lambda u: u.maintenances.add(maintenance("1"), NOW))
    with sql.read() as u:
        (seen,) = u.leases.maintained([value.id])  # type: ignore[attr-defined]
    assert (seen.status, seen.is_understood, seen.project_id) == (LeaseStatus.UNKNOWN, False, "")
    (reservation,) = seen.reservations
    assert (reservation.resource_type, reservation.parameters) == ("physical:host", {"min": 1, "max": 1})
    assert reservation.status is ReservationStatus.DELETED, "no lease that starts waits for its end"
