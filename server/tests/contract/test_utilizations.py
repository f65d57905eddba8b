"""What reservations were promised and have used: rows that outlive the leases, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from blazar.domain.errors import Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.utilization import QuantityUse, Utilization
from blazar.service.ports import Database, UsageQuestion, UsageRow

from .builders import NOW, hours, lease, new_id

START = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = 3600


def row(begin: float = 0, end: float = 10, **fields: Any) -> Utilization:
    """A host from one hour to another, of which half of the time is known and a quarter was used."""
    seconds = int((end - begin) * HOUR)
    made = Utilization(
        new_id(),
        new_id(),
        "p1",
        "u1",
        "physical:host",
        START + hours(begin),
        START + hours(end),
        units=1,
        promised=seconds,
        known=seconds // 2,
        used=seconds // 4,
        used_now=1,
        looked_at=NOW,
        quantities_now={"volumes": QuantityUse(1, 2), "volume_gigabytes": QuantityUse(10, 0)},
    )
    return replace(made, **fields)


def put(database: Database, *rows: Utilization) -> None:
    database.transact(lambda u: u.utilizations.save([(None, each) for each in rows]))


def change(database: Database, old: Utilization, new: Utilization) -> None:
    database.transact(lambda u: u.utilizations.save([(old, new)]))


def stored(database: Database, *rows: Utilization) -> list[Utilization]:
    with database.read() as u:
        return list(u.utilizations.of_leases([each.lease_id for each in rows]))


def report(
    database: Database, begin: float = 0, end: float = 24, limit: int = 100, **fields: Any
) -> Sequence[UsageRow]:
    question = UsageQuestion(START + hours(begin), START + hours(end), **fields)
    with database.read() as u:
        return u.utilizations.report(question, limit)


def in_hours(found: UsageRow) -> tuple[float, float, float]:
    return tuple(round(each / HOUR, 6) for each in (found.promised, found.known, found.used))  # type: ignore[return-value]


def test_a_row_is_added_and_replaced(database: Database) -> None:
    one = row()
    two = row(lease_id=one.lease_id, used_now=None, looked_at=None, quantities_now={})
    put(database, one)
    later = replace(one, is_over=True, is_no_show=True, promised=7)
    database.transact(lambda u: u.utilizations.save([(one, later), (None, two)]))
    expected = [replace(one, is_over=True, is_no_show=True, promised=7), two]
    assert stored(database, one) == sorted(expected, key=lambda each: each.reservation_id)
    assert stored(database, row()) == []


def test_what_has_changed_since_it_was_read_stays(database: Database) -> None:
    old = row()
    put(database, old)
    over, later = replace(old, is_over=True), replace(old, until=old.until + hours(1))
    change(database, old, over)
    change(database, old, later)
    assert stored(database, old) == [over]
    change(database, over, later)
    change(database, old, replace(old, used=9))
    assert stored(database, old) == [later]


def test_what_another_transaction_has_added_is_not_added_again(database: Database) -> None:
    new = row()
    put(database, new)
    with pytest.raises(Stale):
        database.transact(lambda u: u.utilizations.save([(None, replace(new, used=1))]))
    assert stored(database, new) == [new]


def test_only_what_is_open_without_an_active_lease_is_left_open(database: Database) -> None:
    active, over = lease(status=LeaseStatus.ACTIVE), lease(status=LeaseStatus.TERMINATED)
    for each in (active, over):
        database.transact(lambda u, each=each: u.leases.add(each, NOW))  # type: ignore[misc]
    put(database, row(lease_id=active.id), row(lease_id=over.id), row(lease_id=over.id))
    gone = row()
    put(database, gone, row(is_over=True))
    with database.read() as u:
        assert list(u.utilizations.left_open(10)) == sorted([over.id, gone.lease_id])
        assert len(u.utilizations.left_open(1)) == 1


def test_hours_are_added_up_by_project_user_and_kind(database: Database) -> None:
    put(
        database,
        row(),
        row(),
        row(user_id="u2"),
        row(project_id="p2", resource_type="virtual:instance", units=3, promised=30 * HOUR),
    )
    one, two = report(database)
    assert (one.project_id, one.user_id, one.resource_type, one.leases) == ("p1", None, "physical:host", 3)
    assert in_hours(one) == (30, 15, 7.5)
    assert (two.project_id, two.resource_type) == ("p2", "virtual:instance")
    assert in_hours(two) == (30, 5, 2.5)
    by_user = report(database, by_user=True)
    assert [(each.project_id, each.user_id) for each in by_user] == [("p1", "u1"), ("p1", "u2"), ("p2", "u1")]
    users = report(database, by_project=False, by_user=True)
    kinds = [(each.project_id, each.user_id, each.resource_type) for each in users]
    host, instance = "physical:host", "virtual:instance"
    assert kinds == [(None, "u1", host), (None, "u1", instance), (None, "u2", host)]
    assert [each.leases for each in report(database, by_project=False)] == [3, 1]
    assert len(report(database, limit=1)) == 1


def test_filters(database: Database) -> None:
    put(database, row(), row(user_id="u2"), row(project_id="p2", resource_type="virtual:instance"))
    assert [each.leases for each in report(database, project_id="p1")] == [2]
    assert [each.leases for each in report(database, user_id="u1")] == [1, 1]
    assert [each.project_id for each in report(database, resource_type="virtual:instance")] == ["p2"]
    assert report(database, project_id="p3") == []


def test_of_what_is_partly_in_the_window_a_part_counts(database: Database) -> None:
    put(database, row(0, 10))
    (found,) = report(database, 4, 7)
    assert in_hours(found) == (3, 1.5, 0.75)
    (found,) = report(database, -5, 1)
    assert in_hours(found) == (1, 0.5, 0.25)
    assert report(database, 10, 12) == report(database, -2, 0) == []


def test_what_has_just_begun_is_no_division_by_zero(database: Database) -> None:
    put(database, row(3, 3))
    assert report(database) == []


def test_a_no_show_counts_once_where_it_ended(database: Database) -> None:
    missed = row(0, 10, is_over=True, is_no_show=True, used=0)
    put(database, missed, replace(missed, reservation_id=new_id()), row())
    (found,) = report(database)
    assert (found.leases, found.no_shows) == (2, 1)
    (found,) = report(database, 0, 5)
    assert (found.leases, found.no_shows) == (2, 0)


def test_sums_of_large_numbers_are_exact_to_the_second(database: Database) -> None:
    years = 3 * 365 * 24
    many = row(0, years, promised=100_000 * years * HOUR, known=0, used=0)
    put(database, many)
    (found,) = report(database, 0, years / 3)
    assert found.promised == pytest.approx(100_000 * years * HOUR / 3, abs=1)


def test_what_is_over_for_long_is_forgotten(database: Database) -> None:
    old, late, still_open = row(0, 1, is_over=True), row(0, 3, is_over=True), row(0, 1)
    put(database, old, late, still_open)
    database.transact(lambda u: u.utilizations.forget(START + hours(2), 10))
    assert {each.reservation_id for each in stored(database, old, late, still_open)} == {
        late.reservation_id,
        still_open.reservation_id,
    }
    database.transact(lambda u: u.utilizations.forget(START + hours(4), 0))
    assert stored(database, late) == [late]
