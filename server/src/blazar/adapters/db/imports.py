"""What the database has taken from another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db import tables
from blazar.adapters.db.selections import chunks
from blazar.domain.errors import Stale
from blazar.service.ports import ImportRecord


class SqlImports:
    """The ImportRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def known(self, noun: str, source_ids: Sequence[str]) -> Mapping[str, str]:
        c = tables.imports.c
        statement = select(c.source_id, c.target_id).where(c.noun == noun)
        return {
            row.source_id: row.target_id
            for some in chunks(source_ids)
            for row in self._connection.execute(statement.where(c.source_id.in_(some)))
        }

    def add(self, record: ImportRecord, now: datetime) -> None:
        row = {"noun": record.noun, "source_id": record.source_id, "target_id": record.target_id}
        try:
            self._connection.execute(insert(tables.imports), {**row, "imported_at": now})
        except IntegrityError as error:
            raise Stale() from error
