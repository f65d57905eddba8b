"""Offers: held like a lease, seen by no list of leases, and gone once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import update

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.errors import Stale
from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.offer import Offer
from blazar.domain.resource import Pool
from blazar.domain.time import Interval
from blazar.service.ports import Database, LeaseQuery, ListPage

from .builders import NOW, START, host, hours, lease, minutes, new_id

EXPIRY = NOW + minutes(15)
HOSTS = Pool("host")


def offer(*hosts: str, **fields: object) -> Offer:
    value = lease(*hosts, name="", events=(), quantities={"hosts": len(hosts)})
    return Offer(replace(value, **fields), EXPIRY)  # type: ignore[arg-type]


@pytest.fixture
def stored(database: Database) -> Offer:
    value = offer("1", "2")
    database.transact(lambda u: [u.resources.add(host(i), NOW) for i in ("1", "2")])
    return database.transact(lambda u: u.offers.add(value, NOW))


def named(found: Offer) -> Lease:
    events = (Event(new_id(), found.id, EventType.START, found.lease.interval.start),)
    return replace(found.lease, name="lunch", user_id="user-2", events=events)


def test_an_offer_is_read_as_it_was_written(database: Database, stored: Offer) -> None:
    assert stored.lease.created_at == NOW
    other = database.transact(lambda u: u.offers.add(offer(project_id="project-2"), NOW))
    later = database.transact(lambda u: u.offers.add(offer(), NOW + minutes(1)))
    with database.read() as u:
        assert u.offers.get(stored.id) == stored
        assert u.offers.get("none") is None
        assert u.offers.of_project("project-1", NOW) == [stored, later]
        assert u.offers.of_project("project-2", NOW) == [other]
        assert u.offers.of_project("project-1", EXPIRY) == []
        assert (u.offers.count("project-1", EXPIRY - minutes(1)), u.offers.count("project-1", EXPIRY)) == (
            2,
            0,
        )


def test_no_list_of_leases_knows_it(database: Database, stored: Offer) -> None:
    with database.read() as u:
        assert u.leases.get(stored.id) is None
        assert list(u.leases.get_many([stored.id])) == []
        assert list(u.leases.list()) == list(u.leases.list("project-1")) == []
        assert list(u.leases.page(ListPage(10))) == list(u.leases.page(ListPage(10), "project-1")) == []
        for query in (LeaseQuery(limit=10), LeaseQuery(limit=10, ids=(stored.id,), project_id="project-1")):
            assert list(u.leases.find(query).leases) == []
        assert list(u.leases.ids_with_status([status.value for status in LeaseStatus])) == []
        assert list(u.leases.on_resources(["1"], Interval(START, START + hours(1)))) == []
        assert list(u.leases.unfinished_on(["1"], START + hours(9))) == []
        assert u.leases.unfinished_reservations([r.id for r in stored.lease.reservations]) == frozenset()
        assert (u.leases.count_over(START + hours(9000)), u.events.next_due(NOW)) == (0, None)


def test_what_it_holds_is_taken(database: Database, stored: Offer) -> None:
    with database.read() as u:
        found = {registration.id: list(taken) for registration, taken in u.resources.occupancy(HOSTS)}
        assert found == {a.resource_id: [a] for a in stored.lease.allocations}
        assert list(u.resources.allocations(HOSTS)) == list(stored.lease.allocations)
        assert u.quotas.leases_ahead("project-1", NOW) == 1
        assert u.quotas.leases_ahead("project-1", EXPIRY) == 0
        uses, unknown = u.quotas.uses("project-1", stored.lease.interval, NOW)
        assert ([use.quantities for use in uses], unknown) == ([{"hosts": 2}], [])
        assert u.quotas.uses("project-1", stored.lease.interval, EXPIRY) == ([], [])
        assert u.leases.exists(stored.id)  # so that filters are not told that it was never stored
        assert list(u.leases.ids_of_other_kinds([])) == [stored.id]


def test_an_id_is_that_of_one_lease_or_offer(database: Database, stored: Offer) -> None:
    for again in (stored.lease, replace(lease("1"), id=stored.id, reservations=())):
        with pytest.raises(Stale):
            database.transact(lambda u, v=again: u.leases.add(replace(v, events=()), NOW))  # type: ignore[misc]
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.add(stored, NOW))
    other = database.transact(lambda u: u.leases.add(lease("1"), NOW))
    with pytest.raises(Stale):
        database.transact(
            lambda u: u.offers.add(replace(stored, lease=replace(stored.lease, id=other.id)), NOW)
        )


def test_a_claim_makes_it_a_lease(database: Database, stored: Offer) -> None:
    later = NOW + minutes(5)
    told = database.transact(lambda u: u.offers.claim(stored, named(stored), later))
    with database.read() as u:
        assert u.leases.get(stored.id) == told
        assert list(u.leases.list()) == [told]
        assert u.offers.get(stored.id) is None
        assert u.offers.first_expiry() is None
        assert u.quotas.leases_ahead("project-1", EXPIRY) == 1
        assert list(u.resources.allocations(HOSTS)) == list(told.allocations)
    assert (told.name, told.user_id, told.created_at, told.updated_at) == ("lunch", "user-2", later, None)
    assert told.quantities == {"hosts": 2}
    assert [(a.id, a.interval) for a in told.allocations] == [
        (a.id, a.interval) for a in stored.lease.allocations
    ]


@pytest.mark.parametrize("how", ["claim", "remove"])
def test_it_ends_once(database: Database, stored: Offer, how: str) -> None:
    if how == "claim":
        database.transact(lambda u: u.offers.claim(stored, named(stored), NOW))
    else:
        database.transact(lambda u: u.offers.remove(stored.id))
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.claim(stored, named(stored), NOW))
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.remove(stored.id))
    with database.read() as u:
        assert (u.leases.get(stored.id) is not None) == (how == "claim")
        assert len(u.resources.allocations(HOSTS)) == (2 if how == "claim" else 0)


def test_a_lease_is_not_removed_as_an_offer(database: Database) -> None:
    value = database.transact(lambda u: u.leases.add(lease("1"), NOW))
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.remove(value.id))
    with pytest.raises(Stale):
        database.transact(lambda u: u.offers.claim(Offer(value, EXPIRY), value, NOW))


def test_those_that_have_expired_are_found(database: Database, stored: Offer) -> None:
    first = replace(offer(), expires_at=EXPIRY - minutes(2))
    second = replace(offer(), expires_at=EXPIRY - minutes(1))
    for each in (second, first):
        database.transact(lambda u, v=each: u.offers.add(v, NOW))  # type: ignore[misc]
    with database.read() as u:
        assert u.offers.first_expiry() == first.expires_at
        assert list(u.offers.overdue(NOW, 10)) == []
        assert [each.id for each in u.offers.overdue(EXPIRY, 10)] == [first.id, second.id, stored.id]
        assert [each.id for each in u.offers.overdue(EXPIRY, 2)] == [first.id, second.id]


def test_what_a_program_of_the_version_before_makes_of_it(sql: SqlDatabase) -> None:
    """Such a program reads a lease with a status that it does not know: it counts what is held, and touches
    nothing. It may flag a reservation; the claim takes the offer as it is then."""
    sql.transact(lambda u: u.resources.add(host("1"), NOW))
    stored = sql.transact(lambda u: u.offers.add(offer("1"), NOW))
    assert LeaseStatus("OFFERED") is LeaseStatus.UNKNOWN
    with sql.engine.begin() as connection:
        mine = tables.leases.c.id == stored.id
        connection.execute(update(tables.leases).where(mine).values(revision=7, degraded=True))
    with pytest.raises(Stale):
        sql.transact(lambda u: u.offers.claim(stored, named(stored), NOW))
    with sql.read() as u:
        found = u.offers.get(stored.id)
    assert found is not None
    told = sql.transact(lambda u: u.offers.claim(found, named(found), NOW))
    assert (told.revision, told.degraded, told.status) == (8, True, LeaseStatus.PENDING)
