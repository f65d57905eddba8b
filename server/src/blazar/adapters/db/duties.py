"""Duties in the database: who has them, until when, and when they were done last."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, and_, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db.tables import duties
from blazar.domain.errors import Stale


class SqlDuties:
    """The DutyRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def take(self, name: str, token: str, now: datetime, until: datetime, before: datetime) -> bool:
        if self._connection.scalar(select(duties.c.name).where(duties.c.name == name)) is None:
            return self._add(name, token, until)
        farthest = until + (until - now)
        held, done = duties.c.held_until, duties.c.done_at
        is_free = or_(held.is_(None), held <= now, held > farthest, duties.c.token == token)
        is_due = or_(done.is_(None), done <= before, done > now)
        taken = update(duties).where(and_(duties.c.name == name, is_free, is_due))
        return self._connection.execute(taken.values(token=token, held_until=until)).rowcount == 1

    def _add(self, name: str, token: str, until: datetime) -> bool:
        try:
            self._connection.execute(insert(duties), {"name": name, "token": token, "held_until": until})
        except IntegrityError as error:
            raise Stale() from error  # another manager was faster to take it for the first time
        return True

    def done_at(self, name: str) -> datetime | None:
        return self._connection.scalar(select(duties.c.done_at).where(duties.c.name == name))

    def extend(self, name: str, token: str, now: datetime, until: datetime) -> bool:
        holds = and_(duties.c.name == name, duties.c.token == token, duties.c.held_until > now)
        return self._connection.execute(update(duties).where(holds).values(held_until=until)).rowcount == 1

    def give_back(self, name: str, token: str, done_at: datetime | None) -> bool:
        holds = and_(duties.c.name == name, duties.c.token == token)
        given_back = update(duties).where(holds).values(token=None, held_until=None)
        if done_at is not None:
            given_back = given_back.values(done_at=done_at)
        return self._connection.execute(given_back).rowcount == 1
