"""Leases that wait: read as they were written, in line, and nothing to all else."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import update

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.waiting import Waiting
from blazar.domain.resource import Pool
from blazar.domain.time import Interval
from blazar.service.ports import Database, LeaseQuery, ListPage, UnitOfWork

from .builders import NOW, START, host, hours, lease, minutes, new_id

FIXED = Waiting(NOW, START, NOW)
FULL = Waiting(
    since=NOW,
    until=NOW + hours(30),
    turn=NOW + hours(1),
    starts_now=True,
    is_flexible=True,
    duration=minutes(90),
    latest_end=START + hours(20),
    before_end=START + hours(19),
    expected=START + hours(3),
)


def waiting(how: Waiting = FIXED, **fields: object) -> Lease:
    value = lease(events=(), status=LeaseStatus.WAITING, quantities={}, waiting=how)
    return replace(value, **fields)  # type: ignore[arg-type]


def add(database: Database, value: Lease) -> Lease:
    return database.transact(lambda u: u.leases.add(value, NOW))


@pytest.mark.parametrize("how", [FIXED, FULL], ids=["fixed", "full"])
def test_a_waiting_lease_is_read_as_it_was_written(database: Database, how: Waiting) -> None:
    value = waiting(how)
    stored = add(database, value)
    assert stored.waiting == how
    with database.read() as u:
        assert u.leases.get(value.id) == stored
        for (listed,) in (u.leases.page(ListPage(10)), u.leases.find(LeaseQuery(limit=10)).leases):
            assert (listed.status, listed.waiting) == (LeaseStatus.WAITING, how)
        (place,) = u.waitlist.line()
    assert (place.lease_id, place.project_id) == (value.id, "project-1")
    assert (place.revision, place.waiting) == (stored.revision, how)


def test_the_line_is_sorted_by_turn_then_by_since_then_by_id(database: Database) -> None:
    first, second, third, fourth = sorted(new_id() for _ in range(4))
    early = replace(FIXED, since=NOW - minutes(5))
    for lease_id, how in (
        (third, FIXED),
        (fourth, early),
        (second, replace(early, turn=NOW + hours(1))),
        (first, FIXED),
    ):
        add(database, waiting(how, id=lease_id, reservations=()))
    add(database, lease("1"))
    with database.read() as u:
        assert [each.lease_id for each in u.waitlist.line()] == [fourth, first, third, second]


def test_what_leaves_the_line_is_not_in_it(database: Database) -> None:
    promoted, over, gone = (add(database, waiting()) for _ in range(3))
    with database.read() as u:
        assert len(u.waitlist.line()) == 3
    database.transact(
        lambda u: (
            u.leases.save(replace(promoted, status=LeaseStatus.PENDING, waiting=None), promoted, NOW),
            u.leases.save(replace(over, status=LeaseStatus.TERMINATED, waiting=None), over, NOW),
            u.leases.remove(gone),
        )
    )
    with database.read() as u:
        assert list(u.waitlist.line()) == []
        assert [each.waiting for each in u.leases.list()] == [None, None]


def test_a_waiting_lease_takes_nothing(database: Database) -> None:
    database.transact(lambda u: u.resources.add(host("1"), NOW))
    stored = add(database, waiting(FULL))
    with database.read() as u:
        assert [list(taken) for _, taken in u.resources.occupancy(Pool("host"))] == [[]]
        uses, unknown = u.quotas.uses("project-1", stored.interval, NOW)
        assert ([use.quantities for use in uses], unknown) == ([{}], [])
        assert u.quotas.leases_ahead("project-1", NOW) == 1
        assert u.events.next_due(NOW) is None
        assert list(u.leases.on_resources(["1"], Interval(START, START + hours(1)))) == []
        assert u.leases.count_over(START + hours(9000)) == 0


def test_one_that_has_waited_in_vain_is_over_with_its_end(database: Database) -> None:
    stored = add(database, waiting())
    given_up = replace(stored, status=LeaseStatus.TERMINATED, waiting=None)
    database.transact(lambda u: u.leases.save(given_up, stored, NOW))
    with database.read() as u:
        assert u.leases.count_over(stored.interval.end - minutes(1)) == 0
        assert list(u.leases.over(stored.interval.end, 10)) == [stored.id]


def test_two_changes_of_a_waiting_lease(database: Database) -> None:
    stored = add(database, waiting())
    later = replace(stored, waiting=replace(FIXED, until=FIXED.until + hours(1)))
    told = database.transact(lambda u: u.leases.save(later, stored, NOW))
    with pytest.raises(Stale):
        database.transact(
            lambda u: u.leases.save(replace(stored, status=LeaseStatus.PENDING, waiting=None), stored, NOW)
        )
    with database.read() as u:
        assert u.leases.get(stored.id) == told
        assert u.waitlist.line()[0].waiting.until == FIXED.until + hours(1)


def test_those_who_join_the_line_do_so_one_after_the_other(database: Database) -> None:
    """Each counts those that wait already: without a turn, two would count the same."""
    most, refused = 3, []
    begun = threading.Barrier(6)

    def join() -> None:
        value = waiting()

        def work(u: UnitOfWork) -> None:
            u.waitlist.queue_up()
            if len(u.waitlist.line()) < most:
                u.leases.add(value, NOW)
            else:
                refused.append(value.id)

        begun.wait()
        database.transact(work)

    threads = [threading.Thread(target=join) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with database.read() as u:
        assert len(u.waitlist.line()) == most
    assert len(set(refused)) == 3


def test_a_newer_version_may_write_more(sql: SqlDatabase) -> None:
    """And without what a place in line needs, a lease is in no line of this version."""
    stored = add(sql, waiting(FULL))
    with sql.engine.begin() as connection:
        mine = tables.leases.c.id == stored.id
        document = {
            "since": NOW.isoformat(),
            "until": START.isoformat(),
            "turn": NOW.isoformat(),
            "mood": "patient",
        }
        connection.execute(update(tables.leases).where(mine).values(waiting=document))
    with sql.read() as u:
        assert u.waitlist.line()[0].waiting == FIXED
