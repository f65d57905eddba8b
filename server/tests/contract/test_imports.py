"""What was taken from another database is taken once."""

from __future__ import annotations

import pytest

from blazar.domain.errors import Stale
from blazar.service.ports import Database, ImportRecord

from .builders import NOW


def add(database: Database, noun: str, source_id: str, target_id: str) -> None:
    database.transact(lambda uow: uow.imports.add(ImportRecord(noun, source_id, target_id), NOW))


def test_what_was_taken_is_known(database: Database) -> None:
    add(database, "host", "1", "7")
    add(database, "lease", "1", "1")
    with database.read() as uow:
        assert uow.imports.known("host", ["1", "2"]) == {"1": "7"}
        assert uow.imports.known("lease", ["1"]) == {"1": "1"}
        assert uow.imports.known("floating IP", ["1"]) == {}


def test_nothing_is_taken_twice(database: Database) -> None:
    add(database, "host", "1", "7")
    with pytest.raises(Stale):
        add(database, "host", "1", "8")
