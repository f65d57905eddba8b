"""Calls in the database that were begun."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db import tables
from blazar.domain.errors import Stale

BEGIN = insert(tables.calls)


class SqlCalls:
    """The CallRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self, call_id: str, now: datetime) -> None:
        try:
            self._connection.execute(BEGIN, {"id": call_id, "begun_at": now})
        except IntegrityError as error:
            raise Stale() from error

    def forget(self, before: datetime) -> None:
        self._connection.execute(delete(tables.calls).where(tables.calls.c.begun_at < before))
