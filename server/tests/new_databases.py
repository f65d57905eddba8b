"""The schema of new databases, which SQLite copies instead of following all revisions each time."""

from __future__ import annotations

import sqlite3
from functools import cache

from sqlalchemy import Engine, create_engine, inspect
from sqlalchemy.pool import StaticPool

from blazar.adapters.db.schema import upgrade


def give_schema(engine: Engine) -> None:
    """Give a database the current schema."""
    if engine.dialect.name != "sqlite" or inspect(engine).get_table_names():
        upgrade(engine)
        return
    connection = engine.raw_connection()
    try:
        _current().backup(connection.driver_connection)
    finally:
        connection.close()


@cache
def _current() -> sqlite3.Connection:
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    upgrade(engine)
    found = engine.raw_connection().driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found
