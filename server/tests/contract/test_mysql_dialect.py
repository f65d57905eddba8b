"""MySQL 8 itself is no part of the suite, but its dialect is: every other test here compares what it sends
with what MySQL would be sent (``statements_of_mysql``)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Index, PrimaryKeyConstraint, String, Table, UniqueConstraint

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.tables import metadata
from blazar.service.ports import ImportRecord

from .builders import NOW, host, lease
from .conftest import text_for_both

LONGEST_KEY = 3072
"""Bytes of a key of InnoDB; a character of utf8mb4 takes four."""
OF_OTHERS = 8
"""Bytes of the longest column that is no text."""


def test_statements_are_compared(sql: SqlDatabase, statements_of_mysql: set[str]) -> None:
    sql.transact(lambda uow: uow.leases.add(lease(), NOW))
    sql.transact(lambda uow: uow.resources.add(host("1"), NOW))
    sql.transact(lambda uow: uow.imports.add(ImportRecord("host", "1", "1"), NOW))
    verbs = {text.split()[0] for text in statements_of_mysql}
    assert verbs >= {"CREATE", "ALTER", "INSERT"}
    assert any("INSERT INTO imports" in text for text in statements_of_mysql)


def test_what_only_one_of_the_two_has_would_be_found() -> None:
    statement = metadata.tables["outbox"].insert().returning(metadata.tables["outbox"].c.id)
    with pytest.raises(AssertionError):
        text_for_both(statement)


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_every_key_is_short_enough(table: Table) -> None:
    for name, size in keys(table):
        assert size <= LONGEST_KEY, name


def keys(table: Table) -> Iterator[tuple[object, int]]:
    wanted = (PrimaryKeyConstraint, UniqueConstraint)
    parts: list[PrimaryKeyConstraint | UniqueConstraint | Index] = [*table.indexes]
    parts += [each for each in table.constraints if isinstance(each, wanted)]
    for part in parts:
        lengths = (c.type.length if isinstance(c.type, String) else None for c in part.columns)
        yield part.name, sum(OF_OTHERS if length is None else 4 * length for length in lengths)
