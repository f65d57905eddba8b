"""Leases that were over long ago are moved into a file: is each of them there before it is gone?"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from new_databases import give_schema
from sqlalchemy import URL

from blazar.adapters.db import SqlDatabase
from blazar.cmd.archive import NotArchived, archive_file
from blazar.cmd.db_manage import main
from blazar.domain.lease.lease import Lease
from blazar.domain.time import Interval
from blazar.service.ports import Database
from blazar.service.retention import BATCH, archive

from .builders import NOW, lease, with_reservation
from .test_purge import DAY, Clock, over, store, stored

LONG_AGO = NOW - 5 * DAY


def test_leases_are_kept_before_they_are_removed(database: Database) -> None:
    old, new = [over() for _ in range(BATCH + 1)], lease()
    store(database, *old, new)
    kept: list[Lease] = []

    def keep(leases: Sequence[Lease]) -> None:
        assert {each.id for each in leases} <= stored(database)
        kept.extend(leases)

    assert list(archive(database, Clock(), LONG_AGO, keep)) == [BATCH, 1]
    assert {each.id for each in kept} == {each.id for each in old}
    assert all(each.reservations and each.events for each in kept)
    assert stored(database) == {new.id}


def test_what_cannot_be_kept_stays(database: Database) -> None:
    store(database, *(over() for _ in range(BATCH + 1)))
    written: list[int] = []

    def keep(leases: Sequence[Lease]) -> None:
        if written:
            raise NotArchived
        written.append(len(leases))

    with pytest.raises(NotArchived):
        list(archive(database, Clock(), LONG_AGO, keep))
    assert len(stored(database)) == 1


def test_what_has_changed_since_it_was_kept_stays(database: Database) -> None:
    store(database, over())

    def rename(leases: Sequence[Lease]) -> None:
        (old,) = leases
        database.transact(lambda uow: uow.leases.save(replace(old, name="new"), old, NOW))

    assert list(archive(database, Clock(), LONG_AGO, rename)) == [0]
    assert len(stored(database)) == 1


# the file


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    path, (first, second) = tmp_path / "archive", (over(name="Grün 🙂"), over())
    for value in (first, second):
        with archive_file(path, {}) as keep:
            keep([value])
    assert [each["id"] for each in lines(path)] == [first.id, second.id]
    assert lines(path)[0]["name"] == "Grün 🙂"
    assert lines(path)[0]["end_date"] == first.interval.end.isoformat()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_cut_off_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_text('{"id": "cut')
    value = over()
    with archive_file(path, {}) as keep:
        keep([value])
    assert json.loads(path.read_text().splitlines()[1])["id"] == value.id


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(NotArchived, match="No such file"), archive_file(tmp_path / "no" / "archive", {}):
        pass
    with pytest.raises(NotArchived, match="No space left"), archive_file(Path("/dev/full"), {}) as keep:
        keep([over()])
    path = tmp_path / "archive"
    with path.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(NotArchived, match="another archive"), archive_file(path, {}):
            pass


# the command


def test_the_command(
    dialect: str,
    empty_database: Callable[[str], URL],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = empty_database(dialect)
    database = SqlDatabase(url)
    give_schema(database.engine)
    past = Interval(NOW.replace(year=2001), NOW.replace(year=2002))
    asked = {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
    old, new = with_reservation(over(interval=past), parameters=asked), lease()
    store(database, old, new)
    path = tmp_path / "archive.jsonl"
    address = url.render_as_string(hide_password=False)
    command = ["--connection", address, "archive", "--older-than", "1", "--to", str(path)]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out == "1 leases are over for more than 1 days. Nothing was moved.\n"
    assert not path.exists()
    assert main(command) == 0
    assert capsys.readouterr().out == f"1 leases are in {path} that were over for more than 1 days.\n"
    (found,) = lines(path)
    assert (found["id"], found["status"]) == (old.id, "TERMINATED")
    assert [each["id"] for each in found["reservations"]] == [each.id for each in old.reservations]
    assert stored(database) == {new.id}
    assert main([*command[:-1], "/no/such/folder/file"]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    database.close()
