"""The engine's view on events in the database: which are due, and who works on which lease."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    ScalarSelect,
    Update,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    update,
)

from blazar.adapters.db import rows, tables
from blazar.adapters.db.selections import chunks
from blazar.domain.event import OPEN, PUBLIC, Event, EventStatus
from blazar.domain.lease import LeaseStatus
from blazar.domain.ordering import PRECEDENCE
from blazar.service.ports import ClaimLost, StandingClaim

_e, _lease = tables.events.c, tables.leases.c
_open = _e.status.in_(sorted(OPEN))
LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)
_rank = case({kind.value: rank for kind, rank in PRECEDENCE.items()}, value=_e.event_type)

EVENT: BindParameter[str] = bindparam("event_id")
TOKEN: BindParameter[str] = bindparam("token")
NOW: BindParameter[datetime] = bindparam("now")
UNTIL: BindParameter[datetime] = bindparam("until")

# By its primary key, so that an update waits for no other lease's lock.
_is_lease = _lease.id == select(_e.lease_id).where(_e.id == EVENT).scalar_subquery()
_is_due = exists().where(_e.id == EVENT, _open, _e.due <= NOW)
# Not the bare comparison: MariaDB would find the rows to update by the index on the column, and wait for other managers'
# locks there. Nor a default for NULL: MariaDB would compare moments as texts.
_is_claimed = case((_lease.claimed_until.is_(None), false()), else_=_lease.claimed_until > NOW)
_is_claimed_with = and_(_lease.claimed_event_id == EVENT, _lease.claim_token == TOKEN, _is_claimed)

# Made once, for they are used at each event.
UNCLAIMED = {"claimed_event_id": None, "claim_token": None, "claimed_until": None}
CLAIM = (
    update(tables.leases)
    .where(_is_lease, not_(_is_claimed), _is_due)
    .values(claimed_event_id=EVENT, claim_token=TOKEN, claimed_until=UNTIL)
)
EXTEND = update(tables.leases).where(_is_lease, _is_claimed_with).values(claimed_until=UNTIL)
SETTLE = update(tables.leases).where(_is_lease, _is_claimed_with).values(UNCLAIMED)


class SqlEvents:
    """The EventRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def due(self, now: datetime, limit: int) -> Sequence[Event]:
        statement = select(tables.events).where(_open, _e.due <= now, _is_free(now))
        statement = statement.order_by(_e.time, _rank, _e.id).limit(limit)
        return [rows.to_event(row) for row in self._connection.execute(statement)]

    def claim(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        return self._is_one(CLAIM, event_id=event_id, token=token, now=now, until=until)

    def extend(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        return self._is_one(EXTEND, event_id=event_id, token=token, now=now, until=until)

    def settle(self, event_id: str, token: str, now: datetime) -> None:
        if not self._is_one(SETTLE, event_id=event_id, token=token, now=now):
            raise ClaimLost(event=event_id)

    def claims(self) -> Sequence[StandingClaim]:
        # Not IS NOT NULL, for which SQLite does not use the index.
        statement = select(_lease.id, _lease.claim_token, _lease.claimed_until).where(_lease.claimed_until > LONG_AGO)
        return [StandingClaim(*row) for row in self._connection.execute(statement)]

    def void(self, claim: StandingClaim) -> bool:
        is_the_claim = and_(_lease.claim_token == claim.token, _lease.claimed_until == claim.until)
        return self._is_one(update(tables.leases).where(_lease.id == claim.lease_id, is_the_claim).values(UNCLAIMED))

    def bring_forward(self, now: datetime, retry: datetime, confirmation: datetime) -> int:
        is_late = _e.due > retry
        is_begun = and_(_e.status == EventStatus.IN_PROGRESS.value, is_late)
        is_put_off = and_(_e.status == EventStatus.UNDONE.value, is_late, _e.due > _e.time)
        is_creating = _e.lease_id.in_(select(_lease.id).where(_lease.status == LeaseStatus.CREATING.value))
        is_work = and_(_open, _e.due > now, _e.event_type.not_in(sorted(PUBLIC)))
        is_work_ahead = and_(is_work, _e.time > now, or_(not_(is_creating), _e.time > confirmation))
        moved = self._set(is_work_ahead, time=now, due=now)
        return moved + self._set(is_begun, due=now) + self._set(is_put_off, due=_e.time)

    def _is_one(self, statement: Update, **which: Any) -> bool:
        return self._connection.execute(statement, which).rowcount == 1

    def _set(self, condition: ColumnElement[bool], **values: Any) -> int:
        # Looked for first, for it is next to nothing, and an update would lock all that it looks at.
        ids = self._connection.scalars(select(_e.id).where(condition)).all()
        found = (update(tables.events).where(_e.id.in_(some), condition).values(**values) for some in chunks(ids))
        return sum(self._connection.execute(statement).rowcount for statement in found)

    def next_due(self, now: datetime) -> datetime | None:
        free = self._connection.execute(select(*(_first_free(status, now) for status in sorted(OPEN)))).one()
        moments = [moment for moment in free if moment is not None]
        return min([*moments, *self._kept_back(now)], default=None)

    def lag(self, now: datetime) -> float:
        oldest = select(func.min(_e.due)).where(_open, _e.due <= now, _is_free(now))
        due: datetime | None = self._connection.scalar(oldest)
        return 0.0 if due is None else (now - due).total_seconds()

    def _kept_back(self, now: datetime) -> Iterator[datetime]:
        """When the events of claimed leases can be claimed next.

        In two statements: joined to one, they make databases walk through all open events.
        """
        claimed = select(_lease.id, _lease.claimed_until).where(_lease.claimed_until > now)
        until: dict[str, datetime] = {row.id: row.claimed_until for row in self._connection.execute(claimed)}
        for some in chunks(list(until)):
            events = select(_e.lease_id, _e.due, _e.status).where(_e.lease_id.in_(some))
            for row in self._connection.execute(events):
                if row.status in OPEN:
                    yield max(row.due, until[row.lease_id])


def _is_free(now: datetime) -> ColumnElement[bool]:
    """Nobody works on the event's lease. Few leases are claimed at a time; a join would look at all of them."""
    return _e.lease_id.not_in(select(_lease.id).where(_lease.claimed_until > now))


def _first_free(status: EventStatus, now: datetime) -> ScalarSelect[Any]:
    """The index on (status, due) yields it without sorting, whatever the number of future events."""
    free = select(_e.due).where(_e.status == status.value, _is_free(now))
    return free.order_by(_e.due).limit(1).scalar_subquery()
