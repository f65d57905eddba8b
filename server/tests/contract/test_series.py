"""Series: how they are kept, found and forgotten."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from blazar.domain.errors import Stale
from blazar.domain.series import OnConflict, Series, SeriesOccurrence, SeriesRequest, SeriesReservation
from blazar.domain.time import Interval
from blazar.service.ports import Database, LeaseQuery

from .builders import HOUR, NOW, START, hours, lease, new_id

KEPT = SeriesOccurrence(date(2030, 1, 2), Interval(START, START + HOUR), "lease-1")
SKIPPED = SeriesOccurrence(date(2030, 1, 9), Interval(START + hours(168), START + hours(169)), None, "full ☃")


def series(**fields: Any) -> Series:
    value = Series(
        id=new_id(),
        name="lunch",
        user_id="u1",
        project_id="p1",
        rule="FREQ=WEEKLY;COUNT=3",
        time_zone="Europe/Berlin",
        on_conflict=OnConflict.SKIP,
        occurrences=(KEPT, SKIPPED),
        exceptions=(date(2030, 1, 16),),
    )
    return replace(value, **fields)


def add(database: Database, value: Series, key: tuple[str, str] | None = None) -> Series:
    return database.transact(lambda u: u.series.add(value, NOW, key))


def found(database: Database, value: Series) -> Series | None:
    with database.read() as u:
        return u.series.get(value.id)


def test_it_is_found_as_it_was_stored(database: Database) -> None:
    stored = add(database, series())
    assert (stored.created_at, stored.revision) == (NOW, 0)
    assert found(database, stored) == stored
    assert stored.lease_ids == ("lease-1",)
    assert found(database, series()) is None
    with pytest.raises(Stale):
        add(database, stored)


def test_it_is_kept_what_its_leases_were_asked_to_be(database: Database) -> None:
    hosts = SeriesReservation("physical:host", {"min": 1, "hypervisor_properties": '["=", "$x", "☃"]'})
    for claim_by in (hours(2), None):
        asked, value = SeriesRequest((hosts, hosts), "low", claim_by), series()
        stored = database.transact(lambda u: u.series.add(value, NOW, None, asked))  # noqa: B023 - called here
        database.transact(lambda u: u.series.save(stored, NOW))  # noqa: B023 - called here
        with database.read() as u:
            assert u.series.request(stored.id) == asked
            assert u.series.request(new_id()) is None
    unknown = add(database, series())
    with database.read() as u:
        assert u.series.request(unknown.id) is None


def test_it_is_found_by_the_key_of_its_request(database: Database) -> None:
    stored = add(database, series(), ("lunch", "f" * 64))
    add(database, series(project_id="p2"), ("lunch", "e" * 64))
    add(database, series())
    with database.read() as u:
        assert u.series.with_key("p1", "lunch") == (stored, "f" * 64)
        assert u.series.with_key("p1", "lunch ") is None
        assert u.series.with_key("p3", "lunch") is None
    with pytest.raises(Stale):
        add(database, series(), ("lunch", "d" * 64))


def test_pages_are_in_the_order_of_ids(database: Database) -> None:
    ours = sorted((add(database, series()) for _ in range(3)), key=lambda each: each.id)
    other = add(database, series(project_id="p2"))
    with database.read() as u:
        assert list(u.series.page("p1", 2, None)) == ours[:2]
        assert list(u.series.page("p1", 2, ours[1].id)) == ours[2:]
        assert {each.id for each in u.series.page(None, 10, None)} == {each.id for each in (*ours, other)}


def test_pages_of_one_name_have_no_other(database: Database) -> None:
    names = ("lunch", "Lunch", "lunch ", "lunch 2")
    lunch = add(database, series(name=names[0]))
    for name in names[1:]:
        add(database, series(name=name))
    other = add(database, series(name=names[0], project_id="p2"))
    with database.read() as u:
        assert list(u.series.page("p1", 10, None, "lunch")) == [lunch]
        assert {each.id for each in u.series.page(None, 10, None, "lunch")} == {lunch.id, other.id}
        assert list(u.series.page("p1", 10, lunch.id, "lunch")) == []
        assert [each.name for each in u.series.page("p1", 10, None, "lunch ")] == ["lunch "]


def test_leases_are_found_by_their_series(database: Database) -> None:
    first, second = (add(database, series()) for _ in range(2))
    of = (first.id, second.id, first.id, None)
    made = [database.transact(lambda u, i=i: u.leases.add(lease(series_id=i), NOW)) for i in of]  # type: ignore[misc]
    with database.read() as u:
        found = u.leases.find(LeaseQuery(10, series_id=first.id))
        assert {each.id for each in found.leases} == {made[0].id, made[2].id}
        assert found.next is None
        page = u.leases.find(LeaseQuery(1, series_id=first.id))
        (rest,) = u.leases.find(LeaseQuery(10, series_id=first.id, after=page.next)).leases
        assert {page.leases[0].id, rest.id} == {made[0].id, made[2].id}
        assert not u.leases.find(LeaseQuery(10, series_id=first.id, project_id="another")).leases
        assert not u.leases.find(LeaseQuery(10, series_id=new_id())).leases


def test_only_what_was_read_last_is_changed(database: Database) -> None:
    old = add(database, series())
    new = replace(old, name="dinner", occurrences=(KEPT,), exceptions=(date(2030, 1, 9), date(2030, 1, 16)))
    stored = database.transact(lambda u: u.series.save(new, NOW + HOUR))
    assert stored == replace(new, revision=1, updated_at=NOW + HOUR)
    assert found(database, old) == stored
    with pytest.raises(Stale):
        database.transact(lambda u: u.series.save(new, NOW))
    database.transact(lambda u: u.series.remove(old.id))
    with pytest.raises(Stale):
        database.transact(lambda u: u.series.remove(old.id))
    with pytest.raises(Stale):
        database.transact(lambda u: u.series.save(stored, NOW))


def test_those_that_ended_long_ago_are_forgotten(database: Database) -> None:
    early = add(database, series(occurrences=(KEPT,)))
    late = add(database, series())
    assert database.transact(lambda u: u.series.forget(early.ends_at - HOUR, 10)) == 0
    assert database.transact(lambda u: u.series.forget(early.ends_at, 10)) == 1
    assert (found(database, early), found(database, late)) == (None, late)
    add(database, series())
    assert [database.transact(lambda u: u.series.forget(late.ends_at, 1)) for _ in range(3)] == [1, 1, 0]


def test_a_lease_tells_its_series(database: Database) -> None:
    stored = database.transact(lambda u: u.leases.add(lease(series_id="series-1"), NOW))
    with database.read() as u:
        assert u.leases.get(stored.id) == stored
    renamed = database.transact(lambda u: u.leases.save(replace(stored, name="x"), stored, NOW))
    assert renamed.series_id == "series-1"
    with database.read() as u:
        assert [each.series_id for each in u.leases.list()] == ["series-1"]
