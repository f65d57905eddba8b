"""The databases and the clouds that the suite runs on. None is skipped: those that need a server carry the
marker ``servers``; the lab is one of the clouds where the environment names its clouds.yaml, as ``make
test-lab`` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import URL, ClauseElement, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import UnsupportedCompilationError

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.engine import parse_url
from blazar.adapters.db.schema import upgrade
from blazar.adapters.db.tables import metadata
from blazar.adapters.memory import MemoryDatabase
from blazar.service.ports import Database

from .places import Place, lab, memory, memory_of_two_cells, sandbox, sandbox_of_two_cells

MYSQL, MARIADB = (make_url(f"{name}+pymysql://").get_dialect()() for name in ("mysql", "mariadb"))
MARIADB.insert_returning = False  # how SQLAlchemy gets the ids of new rows is its own affair
SERVERS = {
    "postgresql": ("BLAZAR_TEST_POSTGRESQL", "postgresql://postgres@127.0.0.1/postgres"),
    "mariadb": ("BLAZAR_TEST_MARIADB", "mariadb://root@127.0.0.1/mysql"),
}
ON_SERVERS = [pytest.param(name, marks=[pytest.mark.servers, pytest.mark.by_turns(2)]) for name in SERVERS]
SQL = ("sqlite", *ON_SERVERS)

PLACES = {"memory": memory, "sandbox": sandbox}
CLOUDS: list[Any] = [*PLACES]
if clouds_yaml := os.environ.get("BLAZAR_TEST_CLOUDS_YAML"):
    PLACES["lab"] = lab(clouds_yaml)
    CLOUDS.append(pytest.param("lab", marks=[pytest.mark.lab, pytest.mark.by_turns(3)]))

Empty = Callable[[str], URL]


def text_for_both(statement: ClauseElement) -> str:
    """Return the text of a statement that is the same to MySQL and to MariaDB, but for the quotes of reserved
    words."""
    text, other = (str(statement.compile(dialect=each)).replace("`", "") for each in (MYSQL, MARIADB))
    assert text == other
    assert " RETURNING " not in text
    return text


@pytest.fixture(scope="session", autouse=True)
def statements_of_mysql() -> Iterator[set[str]]:
    """Every statement that any test of the suite sends to any database means the same to MySQL 8 as to
    MariaDB. Those texts."""
    seen: set[object] = set()
    texts: set[str] = set()

    def compare(connection: Connection, statement: object, *_: object) -> None:
        if not isinstance(statement, ClauseElement):
            return
        key = statement._generate_cache_key()
        if key is not None and key.key in seen:
            return
        try:
            texts.add(text_for_both(statement))
        except UnsupportedCompilationError:
            # The others have statements of their own; MariaDB is sent what MySQL is.
            assert connection.dialect.name in ("sqlite", "postgresql")
        if key is not None:
            seen.add(key.key)

    event.listen(Engine, "before_execute", compare)
    yield texts
    event.remove(Engine, "before_execute", compare)


@pytest.fixture(params=CLOUDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A cloud in which nothing is left of other tests."""
    with PLACES[request.param]() as place:
        yield place


@pytest.fixture(params=[memory_of_two_cells, sandbox_of_two_cells], ids=["memory", "sandbox"])
def cells(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A cloud whose two hosts have the same number, each in a cell of its own."""
    with request.param() as place:
        yield place


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # openstacksdk warns of its own next releases with every connection and request
    for item in items:
        if {"place", "cells"} & {*getattr(item, "fixturenames", ())}:
            for release in ("50", "60"):
                item.add_marker(
                    pytest.mark.filterwarnings(f"ignore::openstack.warnings.RemovedInSDK{release}Warning")
                )


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Empty]:
    """Makes empty databases of a dialect, with names of their own, and drops them at the end."""
    dropped_last: list[tuple[URL, str]] = []

    def make(dialect: str) -> URL:
        name = f"blazar_test_{uuid4().hex[:12]}"
        if dialect == "sqlite":
            directory: Path = tmp_path_factory.mktemp("sqlite")
            return parse_url(f"sqlite:///{directory / name}.db")
        variable, usual = SERVERS[dialect]
        server = parse_url(make_url(os.environ.get(variable, usual)))
        # An unsuitable default, as old installations have it: the tables must choose for themselves.
        _run(server, f"CREATE DATABASE {name}" + (" CHARACTER SET utf8mb3" if dialect == "mariadb" else ""))
        dropped_last.append((server, name))
        return server.set(database=name)

    yield make
    for server, name in dropped_last:
        _run(server, f"DROP DATABASE {name}")


@pytest.fixture(scope="session")
def migrated(empty_database: Empty) -> Iterator[Callable[[str], SqlDatabase]]:
    """One database of each dialect with the current schema, for all tests."""
    known: dict[str, SqlDatabase] = {}

    def get(dialect: str) -> SqlDatabase:
        if dialect not in known:
            known[dialect] = SqlDatabase(empty_database(dialect))
            upgrade(known[dialect].engine)
        return known[dialect]

    yield get
    for database in known.values():
        database.close()


@pytest.fixture(params=SQL)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sql(dialect: str, migrated: Callable[[str], SqlDatabase]) -> Iterator[SqlDatabase]:
    """An SQL database without rows."""
    yield from _emptied(migrated(dialect))


@pytest.fixture(params=["memory", *SQL])
def database(request: pytest.FixtureRequest, migrated: Callable[[str], SqlDatabase]) -> Iterator[Database]:
    """A database without rows."""
    if request.param == "memory":
        yield MemoryDatabase()
    else:
        yield from _emptied(migrated(request.param))


def _emptied(database: SqlDatabase) -> Iterator[SqlDatabase]:
    yield database
    with database.engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())


def _run(server: URL, statement: str) -> None:
    engine: Any = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
