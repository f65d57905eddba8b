"""The resource properties that some resource has or had, with the mark of the private ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Insert, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite

from blazar.adapters.db.tables import resource_properties
from blazar.service.ids import new_id
from blazar.service.ports import PropertyRecord


class SqlProperties:
    """The records of resource properties in one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def by_name(self, resource_type: str) -> Mapping[str, PropertyRecord]:
        c = resource_properties.c
        statement = select(resource_properties).where(c.resource_type == resource_type).order_by(c.name)
        return {row.name: _record(row) for row in self._connection.execute(statement)}

    def add(self, resource_type: str, names: Iterable[str], now: datetime) -> None:
        missing = sorted(set(names) - self.by_name(resource_type).keys())
        if not missing:
            return
        same = {"resource_type": resource_type, "private": False, "created_at": now}
        # Another transaction may be adding the same name: one of the two records is enough.
        self._connection.execute(
            _insert_if_absent(self._connection.dialect.name),
            [{"id": new_id(), "name": name, **same} for name in missing],
        )

    def set_private(
        self, resource_type: str, name: str, private: bool, now: datetime
    ) -> PropertyRecord | None:
        c = resource_properties.c
        this = (c.resource_type == resource_type) & (c.name == name)
        self._connection.execute(
            update(resource_properties).where(this).values(private=private, updated_at=now)
        )
        row = self._connection.execute(select(resource_properties).where(this)).one_or_none()
        return None if row is None else _record(row)


def _record(row: Any) -> PropertyRecord:
    return PropertyRecord(row.id, row.resource_type, row.name, row.private, row.created_at, row.updated_at)


def _insert_if_absent(dialect: str) -> Insert:
    if dialect == "postgresql":
        return postgresql.insert(resource_properties).on_conflict_do_nothing()
    if dialect == "sqlite":
        return sqlite.insert(resource_properties).on_conflict_do_nothing()
    # Not INSERT IGNORE, which would store what is cut or wrong as well.
    return mysql.insert(resource_properties).on_duplicate_key_update(id=resource_properties.c.id)
