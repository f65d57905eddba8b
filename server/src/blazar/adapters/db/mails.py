"""What users are to be told by mail. A row for each user says how much waits, and when the next mail is due:
it is taken, and given back, by one comparison of this row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Insert, Row, Table, and_, case, delete, func, insert, or_, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.sql.elements import ColumnElement

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import mail_choices, mail_items, mail_lanes
from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import LONGEST_MAIL_DELAY, MOST_FORGOTTEN, MailBatch, MailItem

L = mail_lanes.c
M = mail_items.c
C = mail_choices.c
EVENTS = frozenset(each.value for each in LeaseEvent)


class SqlMails:
    """The MailRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def waiting(self, user_ids: Collection[str]) -> Mapping[str, int]:
        found = select(L.user_id, L.waiting).where(L.user_id.in_(sorted(user_ids)))
        return {row.user_id: row.waiting for row in self._connection.execute(found)}

    def put(self, user_id: str, items: Sequence[MailItem], left_out: int, due: datetime) -> None:
        # The row is locked from here on: the items of a user are committed in the order of their ids.
        lane = {"user_id": user_id, "waiting": len(items), "left_out": left_out, "due": due, "attempts": 0}
        # MySQL goes by this order: the first one has to see what waited before.
        more = [
            ("due", case((and_(L.waiting <= 0, L.due < due), due), else_=L.due)),
            ("waiting", L.waiting + len(items)),
            ("left_out", L.left_out + left_out),
        ]
        self._connection.execute(_put(self._connection.dialect.name, mail_lanes, lane, more))
        rows = [
            {
                "user_id": user_id,
                "event": each.event.value,
                "document": dict(each.document),
                "created_at": each.created_at,
                "due": due,
            }
            for each in items
        ]
        if rows:
            self._connection.execute(insert(mail_items), rows)

    def ready(self, now: datetime, limit: int) -> Sequence[str]:
        found = select(L.user_id).where(_is_due(now)).order_by(L.attempts, L.due, L.user_id).limit(limit)
        return list(self._connection.scalars(found))

    def take(self, user_id: str, token: str, now: datetime, until: datetime) -> MailBatch | None:
        if not self._update(user_id, _is_due(now), token=token, due=until):
            return None
        lane = self._connection.execute(select(mail_lanes).where(L.user_id == user_id)).one()
        of_user = select(mail_items).where(M.user_id == user_id).order_by(M.id)
        # What a newer version may have written is for that version to tell.
        found = [row for row in self._connection.execute(of_user) if row.event in EVENTS]
        tried = [row for row in found if lane.last_item is None or row.id <= lane.last_item] or found
        if not tried:
            return None
        self._update(user_id, last_item=tried[-1].id)
        return MailBatch(user_id, [_item(row) for row in tried], lane.left_out, lane.attempts, token)

    def settle(self, batch: MailBatch, due: datetime) -> None:
        ids = [each.id for each in batch.items]
        rest = L.waiting - self._connection.execute(delete(mail_items).where(M.id.in_(ids))).rowcount
        is_ours = self._update(
            batch.user_id,
            L.token == batch.token,
            waiting=rest,
            left_out=L.left_out - batch.left_out,
            due=due,
            attempts=0,
            token=None,
            last_item=None,
        )
        if not is_ours:
            self._update(batch.user_id, waiting=rest)

    def put_off(self, batch: MailBatch, due: datetime, attempts: int) -> None:
        self._update(batch.user_id, L.token == batch.token, token=None, due=due, attempts=attempts)

    def choices(self, user_ids: Collection[str]) -> Mapping[str, MailChoice]:
        found = select(mail_choices).where(C.user_id.in_(sorted(user_ids)))
        return {row.user_id: _choice(row) for row in self._connection.execute(found)}

    def choose(
        self, user_id: str, choice: MailChoice, unwanted: Collection[LeaseEvent], due: datetime
    ) -> None:
        if choice == MailChoice():
            self._connection.execute(delete(mail_choices).where(C.user_id == user_id))
        else:
            events = None if choice.events is None else [each.value for each in choice.events]
            row = {"user_id": user_id, "events": events, "is_daily": choice.is_daily}
            self._connection.execute(_put(self._connection.dialect.name, mail_choices, row, [*row.items()]))
        words = [each.value for each in unwanted]
        gone = delete(mail_items).where(M.user_id == user_id, M.event.in_(words))
        self._update(user_id, waiting=L.waiting - self._connection.execute(gone).rowcount)
        self._update(user_id, L.token.is_(None), L.attempts == 0, L.waiting > 0, due=due)

    def count(self) -> int:
        return int(self._connection.scalar(select(func.sum(L.waiting)).where(L.waiting > 0)) or 0)

    def forget(self, before: datetime, now: datetime) -> int:
        old = select(M.id, M.user_id).where(M.due <= before).order_by(M.due, M.id)
        found = self._connection.execute(old.limit(MOST_FORGOTTEN)).all()
        for some in chunks([row.id for row in found]):
            self._connection.execute(delete(mail_items).where(M.id.in_(some)))
        for user_id, number in sorted(Counter(row.user_id for row in found).items()):
            self._update(user_id, waiting=L.waiting - number)
        self._connection.execute(delete(mail_lanes).where(L.waiting <= 0, L.due <= now))
        return len(found)

    def _update(self, user_id: str, *conditions: ColumnElement[bool], **values: Any) -> bool:
        statement = update(mail_lanes).where(L.user_id == user_id, *conditions).values(**values)
        return self._connection.execute(statement).rowcount == 1


def _is_due(now: datetime) -> ColumnElement[bool]:
    return and_(L.waiting > 0, or_(L.due <= now, L.due > now + LONGEST_MAIL_DELAY))


def _item(row: Row[Any]) -> MailItem:
    return MailItem(row.user_id, LeaseEvent(row.event), row.document, row.created_at, row.id)


def _choice(row: Row[Any]) -> MailChoice:
    # What a newer version may have written is for that version to tell.
    events = None if row.events is None else tuple(LeaseEvent(each) for each in row.events if each in EVENTS)
    return MailChoice(events, row.is_daily)


def _put(dialect: str, table: Table, row: Mapping[str, Any], changes: Sequence[tuple[str, Any]]) -> Insert:
    """Return what makes the row of a user, or changes it where it is there."""
    if dialect == "postgresql":
        added = postgresql.insert(table).values(**row)
        return added.on_conflict_do_update(index_elements=["user_id"], set_=dict(changes))
    if dialect == "sqlite":
        here = sqlite.insert(table).values(**row)
        return here.on_conflict_do_update(index_elements=["user_id"], set_=dict(changes))
    return mysql.insert(table).values(**row).on_duplicate_key_update(list(changes))
