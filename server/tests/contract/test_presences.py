"""Is each program that runs known once, with what it tells?"""

from __future__ import annotations

from dataclasses import replace

from blazar.service.ports import Database, Presence

from .builders import NOW, minutes

FIRST = Presence("1", "blazar-manager", "one", NOW, NOW, "19.0.0", 3, 2, 0.25)
SECOND = Presence("2", "blazar-manager", "two", NOW, NOW)


def put(database: Database, *presences: Presence) -> None:
    for each in presences:
        database.transact(lambda u, each=each: u.presences.put(each))  # type: ignore[misc]


def known(database: Database) -> list[Presence]:
    with database.read() as uow:
        return list(uow.presences.list())


def test_what_a_program_tells_is_kept_and_what_it_does_not_tell_is_none(database: Database) -> None:
    put(database, SECOND, FIRST)
    assert known(database) == [FIRST, SECOND]


def test_a_program_is_known_once_however_often_it_tells(database: Database) -> None:
    later = replace(FIRST, seen_at=NOW + minutes(1), events=0, late_seconds=None)
    put(database, FIRST, SECOND, later, later)
    assert known(database) == [later, SECOND]


def test_another_start_on_the_same_host_is_another_one(database: Database) -> None:
    restarted = replace(FIRST, id="3", started_at=NOW + minutes(1))
    put(database, restarted, FIRST)
    assert known(database) == [FIRST, restarted]


def test_what_has_ended_is_removed(database: Database) -> None:
    put(database, FIRST, SECOND)
    for id in ("1", "absent"):
        database.transact(lambda u, id=id: u.presences.remove(id))  # type: ignore[misc]
    assert known(database) == [SECOND]


def test_what_was_not_seen_for_long_is_forgotten(database: Database) -> None:
    put(database, FIRST, replace(SECOND, seen_at=NOW + minutes(1)))
    database.transact(lambda u: u.presences.forget(NOW))
    assert len(known(database)) == 2
    database.transact(lambda u: u.presences.forget(NOW + minutes(1)))
    assert [each.id for each in known(database)] == ["2"]
