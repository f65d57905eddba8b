"""Reports to usage filters wait until they are delivered: of each lease in order, and to one manager at a
time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from blazar.service.ports import LONGEST_DELAY, Database, Report, ReportType

from .builders import NOW, minutes
from .test_concurrency import all_at_once

FILTER = "ExternalServiceFilter"
UNTIL = NOW + minutes(3)


def report(lease_id: str, type: ReportType = ReportType.ENDED, **more: object) -> Report:
    return replace(Report(FILTER, lease_id, type, {"lease": {"id": lease_id, "name": "🙂"}}, NOW), **more)  # type: ignore[arg-type]


def put(database: Database, *reports: Report, due: datetime = NOW) -> None:
    for each in reports:
        database.transact(lambda u, r=each: u.reports.put(r, due))  # type: ignore[misc]


def take(database: Database, now: datetime = NOW, limit: int = 10, filter: str = FILTER) -> Sequence[Report]:
    return database.transact(lambda u: u.reports.take(filter, limit, now, now + minutes(3)))


def depth(database: Database) -> int:
    with database.read() as u:
        return u.reports.depth()


def is_any_due(database: Database, now: datetime = NOW, filter: str = FILTER) -> bool:
    with database.read() as u:
        return u.reports.is_any_due(filter, now)


def test_none_waits(database: Database) -> None:
    assert (take(database), depth(database), is_any_due(database)) == ([], 0, False)


def test_keeps_what_is_told(database: Database) -> None:
    put(database, report("a"))
    assert (depth(database), is_any_due(database)) == (1, True)
    (found,) = take(database)
    assert replace(found, id=0) == report("a")
    assert found.id


def test_what_is_taken_is_left_to_its_manager_for_a_while(database: Database) -> None:
    put(database, report("a"))
    (first,) = take(database)
    assert (take(database, UNTIL - minutes(1)), is_any_due(database, UNTIL - minutes(1))) == ([], False)
    assert take(database, UNTIL) == [first], "its manager is dead"
    assert depth(database) == 1
    database.transact(lambda u: u.reports.remove([first.id, 10**9]))
    assert depth(database) == 0


def test_those_that_are_due_longest_come_first(database: Database) -> None:
    put(database, report("later"), due=NOW - minutes(1))
    put(database, report("first"), due=NOW - minutes(2))
    put(database, report("not yet"), due=NOW + minutes(1))
    assert [r.lease_id for r in take(database, limit=1)] == ["first"]
    assert [r.lease_id for r in take(database)] == ["later"]


def test_each_filter_has_its_own(database: Database) -> None:
    put(database, report("a"), report("a", filter="Other"))
    assert [r.filter for r in take(database)] == [FILTER]
    assert is_any_due(database, filter="Other")
    assert [r.filter for r in take(database, filter="Other")] == ["Other"]


def test_of_each_lease_the_oldest_is_told_first(database: Database) -> None:
    put(database, report("a", ReportType.CREATED), due=NOW + minutes(1))
    put(database, report("a", ReportType.ENDED), report("b"))
    assert [r.lease_id for r in take(database)] == ["b"]
    (created,) = take(database, NOW + minutes(2))
    assert created.type is ReportType.CREATED
    assert take(database, NOW + minutes(2)) == []
    database.transact(lambda u: u.reports.remove([created.id]))
    assert [r.type for r in take(database, NOW + minutes(2))] == [ReportType.ENDED]


def test_puts_off_with_the_number_of_attempts(database: Database) -> None:
    put(database, report("a"))
    (first,) = take(database)
    database.transact(lambda u: u.reports.put_off(replace(first, attempts=4), NOW + minutes(1)))
    assert take(database) == []
    assert [r.attempts for r in take(database, NOW + minutes(1))] == [4]
    database.transact(lambda u: u.reports.put_off(replace(first, id=10**9), NOW))  # it is gone


def test_what_a_clock_ahead_has_put_off_is_due(database: Database) -> None:
    put(database, report("a"), due=NOW + LONGEST_DELAY)
    put(database, report("b"), due=NOW + LONGEST_DELAY + minutes(1))
    assert [r.lease_id for r in take(database)] == ["b"]


def test_what_is_told_only_of_an_absent_lease_holds_nothing_up_and_goes(database: Database) -> None:
    absent = report("a", only_if_absent=True)
    put(database, absent, absent, report("b", only_if_absent=True), due=NOW + minutes(5))
    put(database, report("a", ReportType.CREATED))
    assert depth(database) == 1
    assert [r.type for r in take(database)] == [ReportType.CREATED]
    put(database, report("a", ReportType.ENDED))
    told = take(database, NOW + minutes(6))
    assert {(r.lease_id, r.only_if_absent) for r in told} == {("b", True), ("a", False)}
    database.transact(lambda u: u.reports.withdraw(FILTER, "a"))
    database.transact(lambda u: u.reports.withdraw(FILTER, "b"))
    assert depth(database) == 2, "what is told in any case stays"


def test_is_committed_with_what_it_tells(database: Database) -> None:
    with pytest.raises(LookupError):
        database.transact(lambda u: (u.reports.put(report("a"), NOW), {}["no"]))
    assert depth(database) == 0


def test_each_is_taken_once(database: Database) -> None:
    put(database, *(report(f"lease-{n}") for n in range(5)))

    found = all_at_once(lambda _: [each.id for each in take(database)])
    taken = [id_ for ids in found if not isinstance(ids, Exception) for id_ in ids]
    assert len(taken) == len(set(taken)) > 0
