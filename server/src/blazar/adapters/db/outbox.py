"""Notifications that were committed with what they tell and wait for the relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import outbox
from blazar.domain.errors import Stale
from blazar.service.ports import Notification


class SqlOutbox:
    """The Outbox of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, event_type: str, payload: Mapping[str, Any], now: datetime) -> int:
        row = {"event_type": event_type, "payload": dict(payload), "created_at": now}
        key = self._connection.execute(insert(outbox), row).inserted_primary_key
        return int(key[0]) if key else 0

    def put_all(self, told: Sequence[tuple[str, Mapping[str, Any]]], now: datetime) -> None:
        rows = [
            {"event_type": event_type, "payload": dict(payload), "created_at": now}
            for event_type, payload in told
        ]
        if rows:
            self._connection.execute(insert(outbox), rows)

    def peek(self, limit: int) -> Sequence[Notification]:
        found = self._connection.execute(select(outbox).order_by(outbox.c.id).limit(limit))
        return [_notification(row) for row in found]

    def take(self, limit: int, now: datetime, until: datetime) -> Sequence[Notification]:
        found = list(self._connection.execute(select(outbox).order_by(outbox.c.id).limit(limit)))
        farthest = until + (until - now)
        if not found or any(row.held_until is not None and now < row.held_until <= farthest for row in found):
            return []
        ids = [row.id for row in found]
        is_free = or_(
            outbox.c.held_until.is_(None), outbox.c.held_until <= now, outbox.c.held_until > farthest
        )
        held = update(outbox).where(outbox.c.id.in_(ids), is_free).values(held_until=until)
        if self._connection.execute(held).rowcount != len(ids):
            raise Stale()  # another relay was faster: nothing is held, and nothing is lost
        return [_notification(row) for row in found]

    def unmatched(self, limit: int) -> Sequence[Notification]:
        waiting = select(outbox).where(outbox.c.matched.is_(None)).order_by(outbox.c.id).limit(limit)
        return [_notification(row) for row in self._connection.execute(waiting)]

    def mark_matched(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            these = update(outbox).where(outbox.c.id.in_(some), outbox.c.matched.is_(None))
            if self._connection.execute(these.values(matched=True)).rowcount != len(some):
                raise Stale()

    def give_back(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            self._connection.execute(update(outbox).where(outbox.c.id.in_(some)).values(held_until=None))

    def remove(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            self._connection.execute(delete(outbox).where(outbox.c.id.in_(some)))

    def depth(self) -> int:
        return self._connection.scalar(select(func.count()).select_from(outbox)) or 0


def _notification(row: Row[Any]) -> Notification:
    return Notification(row.id, row.event_type, row.payload, row.created_at, row.matched is not None)
