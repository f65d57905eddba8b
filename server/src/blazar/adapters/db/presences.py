"""The programs that run, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import services
from blazar.service.ports import Presence


class SqlPresences:
    """The PresenceRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, presence: Presence) -> None:
        values = asdict(presence)
        if not self._connection.execute(update(services).where(_is(presence.id)).values(values)).rowcount:
            self._connection.execute(insert(services), values)

    def remove(self, id: str) -> None:
        self._connection.execute(delete(services).where(_is(id)))

    def forget(self, before: datetime) -> None:
        # Looked for first, for it is next to nothing, and a deletion would lock all that it looks at.
        ids = self._connection.scalars(select(services.c.id).where(services.c.seen_at < before)).all()
        for some in chunks(ids):
            self._connection.execute(delete(services).where(services.c.id.in_(some)))

    def list(self) -> Sequence[Presence]:
        order = services.c.program, services.c.host, services.c.started_at
        found = self._connection.execute(select(services).order_by(*order))
        return [Presence(**row._mapping) for row in found]


def _is(id: str) -> ColumnElement[bool]:
    return services.c.id == id
