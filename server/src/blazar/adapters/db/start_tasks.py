"""What is started with leases, in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import leases
from blazar.adapters.db.tables import start_tasks as table
from blazar.adapters.stored import fitting
from blazar.domain.errors import Stale
from blazar.domain.lease.start_task import StackRequest, StartTask, StartTaskStatus, StartTaskType
from blazar.service.ports import LONGEST_START_TASK_DELAY

T = table.c
# What only a newer version knows is left to that one.
IS_KNOWN = and_(
    T.status.in_([each.value for each in StartTaskStatus if each is not StartTaskStatus.UNKNOWN]),
    T.type.in_([each.value for each in StartTaskType if each is not StartTaskType.UNKNOWN]),
)


class SqlStartTasks:
    """The StartTaskRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, task: StartTask, now: datetime) -> StartTask:
        row = {
            **_of_state(task),
            "lease_id": task.lease_id,
            "project_id": task.project_id,
            "user_id": task.user_id,
            "type": task.type.value,
            "region": task.region,
            "url": task.url,
            "due": task.due,
            "revision": task.revision,
            "created_at": now,
        }
        try:
            self._connection.execute(insert(table), row)
        except IntegrityError:
            raise Stale() from None
        return replace(task, created_at=now, updated_at=None)

    def get(self, lease_id: str) -> StartTask | None:
        row = self._connection.execute(select(table).where(T.lease_id == lease_id)).first()
        return None if row is None else _task(row)

    def wake(self, lease_id: str, now: datetime) -> None:
        self._connection.execute(
            update(table).where(T.lease_id == lease_id).values(due=now, revision=T.revision + 1)
        )

    def ready(self, now: datetime, limit: int) -> Sequence[StartTask]:
        found = select(table).where(_is_ready(now)).order_by(T.due, T.lease_id).limit(limit)
        return [_task(row) for row in self._connection.execute(found)]

    def take(self, lease_id: str, token: str, now: datetime, until: datetime) -> StartTask | None:
        taken = (
            update(table).where(T.lease_id == lease_id, _is_ready(now)).values(token=token, held_until=until)
        )
        return self.get(lease_id) if self._connection.execute(taken).rowcount == 1 else None

    def keep(self, task: StartTask, token: str, now: datetime) -> bool:
        return self._write(task, token, now, {})

    def settle(self, task: StartTask, token: str, now: datetime) -> bool:
        return self._write(task, token, now, {"token": None, "held_until": None})

    def _write(self, task: StartTask, token: str, now: datetime, more: Mapping[str, Any]) -> bool:
        due = case((T.revision == task.revision, task.due), else_=now)
        row = {**_of_state(task), **more, "due": due, "updated_at": now}
        written = update(table).where(T.lease_id == task.lease_id, T.token == token).values(**row)
        return self._connection.execute(written).rowcount == 1

    def remove(self, lease_id: str, token: str) -> bool:
        removed = delete(table).where(T.lease_id == lease_id, T.token == token)
        return self._connection.execute(removed).rowcount == 1

    def forget(self, lease_ids: Sequence[str]) -> None:
        for some in chunks(lease_ids):
            kept = set(self._connection.scalars(select(leases.c.id).where(leases.c.id.in_(some))))
            gone = [each for each in some if each not in kept]
            self._connection.execute(delete(table).where(T.lease_id.in_(gone), T.due.is_(None)))


def _is_ready(now: datetime) -> ColumnElement[bool]:
    is_free = or_(T.token.is_(None), T.held_until <= now, T.held_until > now + LONGEST_START_TASK_DELAY)
    return and_(T.due <= now, is_free, IS_KNOWN)


def _of_state(task: StartTask) -> dict[str, Any]:
    """Return what changes in the life of a task, but for when it is due."""
    return {
        "status": task.status.value,
        "reason": fitting(task.reason),
        "request": None if task.request is None else asdict(task.request),
        "trust_id": task.trust_id,
        "stack_id": task.stack_id,
        "subscription_id": task.subscription_id,
        "attempts": task.attempts,
        "asked_at": task.asked_at,
        "ending_since": task.ending_since,
        "is_late": task.is_late,
    }


def _task(row: Row[Any]) -> StartTask:
    return StartTask(
        lease_id=row.lease_id,
        project_id=row.project_id,
        user_id=row.user_id,
        type=StartTaskType(row.type),
        status=StartTaskStatus(row.status),
        reason=row.reason,
        request=None if row.request is None else StackRequest(**row.request),
        region=row.region,
        trust_id=row.trust_id,
        stack_id=row.stack_id,
        subscription_id=row.subscription_id,
        url=row.url,
        attempts=row.attempts,
        asked_at=row.asked_at,
        ending_since=row.ending_since,
        is_late=row.is_late,
        due=row.due,
        revision=row.revision,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
