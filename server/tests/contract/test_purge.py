"""Is what was over long ago removed with all that belongs to it, and nothing else?"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, insert, select

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.service.ports import Database
from blazar.service.retention import BATCH, count_over, purge

from .builders import NOW, lease, new_id, with_event, with_reservation

DAY = timedelta(days=1)


class Clock:
    """Lets no time pass."""

    def now(self) -> datetime:
        return NOW

    def pause(self, seconds: float) -> None: ...


def over(**fields: object) -> Lease:
    """A lease that ended as leases do, ten days before NOW."""
    value = lease(start=NOW - 11 * DAY, length=DAY, status=LeaseStatus.TERMINATED)
    events = tuple(replace(event, status=EventStatus.DONE) for event in value.events)
    value = with_reservation(value, status=ReservationStatus.DELETED, cloud_state={})
    return replace(value, events=events, **fields)  # type: ignore[arg-type]


def store(database: Database, *leases: Lease) -> None:
    database.transact(lambda u: [u.leases.add(value, NOW - 12 * DAY) for value in leases])


def stored(database: Database) -> set[str]:
    with database.read() as u:
        return {value.id for value in u.leases.list()}


def purged(database: Database, days: float) -> int:
    before = NOW - days * DAY
    expected = count_over(database, before)
    removed = sum(purge(database, Clock(), before))
    assert removed == expected
    return removed


@pytest.mark.parametrize(
    "value",
    [
        over(),
        over(status=LeaseStatus.ERROR),
        with_reservation(over(), status=ReservationStatus.PENDING),
        with_event(over(), EventType.START, status=EventStatus.ERROR),
        over(reservations=()),
    ],
    ids=["ended", "failed and released", "never started", "with an event that failed", "empty"],
)
def test_what_is_over_is_removed_after_that_time(database: Database, value: Lease) -> None:
    store(database, value)
    assert purged(database, 10.01) == 0
    assert stored(database) == {value.id}
    assert purged(database, 10) == 1
    assert stored(database) == set()


@pytest.mark.parametrize(
    "value",
    [
        *(
            over(status=status)
            for status in LeaseStatus
            if status not in (LeaseStatus.TERMINATED, LeaseStatus.ERROR)
        ),
        *(
            with_event(over(), EventType.END, status=status)
            for status in (EventStatus.UNDONE, EventStatus.IN_PROGRESS)
        ),
        *(
            with_reservation(over(status=status), status=reservation)
            for status in (LeaseStatus.TERMINATED, LeaseStatus.ERROR)
            for reservation in ReservationStatus
            if reservation is not ReservationStatus.DELETED
            and (status, reservation) != (LeaseStatus.TERMINATED, ReservationStatus.PENDING)
        ),
        over(trust_id="trust"),
        over(interval=lease(start=NOW - DAY, length=2 * DAY).interval),
    ],
    ids=lambda value: (
        f"{value.status}-{value.reservations[0].status}-{value.trust_id}-{value.events[1].status}"
    ),
)
def test_what_is_not_over_stays(database: Database, value: Lease) -> None:
    store(database, value)
    assert purged(database, 1) == 0
    assert stored(database) == {value.id}


def test_the_time_begins_with_the_last_change(database: Database) -> None:
    value = over()
    store(database, value)
    with database.read() as u:
        old = u.leases.get(value.id)
    assert old is not None
    database.transact(lambda u: u.leases.save(replace(old, name="other"), old, NOW - 5 * DAY))
    assert purged(database, 5.01) == 0
    assert purged(database, 5) == 1


def test_what_was_changed_since_it_was_found_stays(database: Database) -> None:
    value, other = over(), over()
    store(database, value, other)
    with database.read() as u:
        old, found = u.leases.get(value.id), u.leases.over(NOW - DAY, 10)
    assert old is not None
    assert set(found) == {value.id, other.id}
    database.transact(lambda u: u.leases.save(replace(old, status=LeaseStatus.DELETING), old, NOW))
    assert database.transact(lambda u: u.leases.remove_over([*found, "absent"], NOW - DAY)) == 1
    assert stored(database) == {value.id}


def test_each_transaction_is_small(database: Database) -> None:
    values = [over() for _ in range(2 * BATCH + 3)]
    store(database, *values, kept := lease("1"))
    assert list(purge(database, Clock(), NOW - DAY)) == [BATCH, BATCH, 3]
    assert stored(database) == {kept.id}


def test_two_that_purge_do_not_disturb_each_other(database: Database) -> None:
    store(database, *(over() for _ in range(2 * BATCH)))
    first, second = (purge(database, Clock(), NOW - DAY) for _ in range(2))
    removed = [next(first), next(second)]
    assert [*first, *second] == []
    assert removed == [BATCH, BATCH]
    assert stored(database) == set()


def test_no_row_is_left(sql: SqlDatabase) -> None:
    values = [over(), with_reservation(lease("1", start=NOW - 3 * DAY), status=ReservationStatus.DELETED)]
    failed = replace(
        values[1], status=LeaseStatus.ERROR, events=()
    )  # with an allocation that was never taken back
    store(sql, values[0], failed)
    assert purged(sql, 2) == 2
    with sql.engine.connect() as connection:
        for table in (tables.leases, tables.reservations, tables.allocations, tables.events):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0


@pytest.mark.parametrize(
    ("event_type", "status", "stays"),
    [
        ("archive_lease", "UNDONE", True),
        ("archive_lease", "SLEEPING", True),
        ("archive_lease", "DONE", False),
    ],
)
def test_a_lease_with_open_work_of_a_newer_version_stays(
    sql: SqlDatabase, event_type: str, status: str, stays: bool
) -> None:
    value = over()
    store(sql, value)
    row = {
        "id": new_id(),
        "lease_id": value.id,
        "position": 9,
        "event_type": event_type,
        "time": NOW,
        "due": NOW,
        "status": status,
        "attempts": 0,
    }
    with sql.engine.begin() as connection:
        connection.execute(insert(tables.events), row)
    assert purged(sql, 1) == (not stays)
    assert stored(sql) == ({value.id} if stays else set())
