"""Notifications that were committed with what they tell and wait for the relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import outbox
from blazar.domain.errors import Stale
from blazar.service.ports import Notification

NOT_MATCHED = outbox.c.matched.is_(None)
PUT = insert(outbox)
NOT_DELIVERED = outbox.c.delivered.is_(None)


def _oldest(condition: ColumnElement[bool]) -> Select[Any]:
    return select(outbox).where(condition).order_by(outbox.c.id).limit(bindparam("limit"))


OLDEST_NOT_DELIVERED, OLDEST_NOT_MATCHED = _oldest(NOT_DELIVERED), _oldest(NOT_MATCHED)


class SqlOutbox:
    """The Outbox of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, event_type: str, payload: Mapping[str, Any], now: datetime) -> int:
        row = {"event_type": event_type, "payload": dict(payload), "created_at": now}
        key = self._connection.execute(PUT, row).inserted_primary_key
        return int(key[0]) if key else 0

    def put_all(self, told: Sequence[tuple[str, Mapping[str, Any]]], now: datetime) -> None:
        rows = [
            {"event_type": event_type, "payload": dict(payload), "created_at": now}
            for event_type, payload in told
        ]
        if rows:
            self._connection.execute(PUT, rows)

    def peek(self, limit: int) -> Sequence[Notification]:
        found = self._connection.execute(OLDEST_NOT_DELIVERED, {"limit": limit})
        return [_notification(row) for row in found]

    def take(self, limit: int, now: datetime, until: datetime) -> Sequence[Notification]:
        found = list(self._connection.execute(OLDEST_NOT_DELIVERED, {"limit": limit}))
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
        found = self._connection.execute(OLDEST_NOT_MATCHED, {"limit": limit})
        return [_notification(row) for row in found]

    def mark_matched(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            these = update(outbox).where(outbox.c.id.in_(some), NOT_MATCHED)
            if self._connection.execute(these.values(matched=True)).rowcount != len(some):
                raise Stale()
            self._remove_settled(some)

    def give_back(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            self._connection.execute(update(outbox).where(outbox.c.id.in_(some)).values(held_until=None))

    def mark_delivered(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            self._connection.execute(update(outbox).where(outbox.c.id.in_(some)).values(delivered=True))
            self._remove_settled(some)

    def _remove_settled(self, ids: Sequence[int]) -> None:
        """Remove those that were delivered and compared.

        Who delivers and who compares may be two processes. Both have marked the rows before, and who locks
        them second sees the other's mark: so one of the two removes them."""
        settled = and_(outbox.c.id.in_(ids), ~NOT_DELIVERED, ~NOT_MATCHED)
        self._connection.execute(delete(outbox).where(settled))

    def remove(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            self._connection.execute(delete(outbox).where(outbox.c.id.in_(some)))

    def depth(self) -> int:
        waiting = select(func.count()).select_from(outbox).where(NOT_DELIVERED)
        return self._connection.scalar(waiting) or 0


def _notification(row: Row[Any]) -> Notification:
    return Notification(row.id, row.event_type, row.payload, row.created_at, row.matched is not None)
