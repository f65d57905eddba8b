"""The engine's view on events in the database: due events, and the claims on leases."""

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
from blazar.adapters.db.types import UtcDateTime
from blazar.domain.errors import ClaimLost, LeaseLocked
from blazar.domain.lease.event import OPEN, WORK, Event, EventStatus, EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.ordering import PRECEDENCE
from blazar.service.ports import ANY_NUMBER, StandingClaim

_e, _lease = tables.events.c, tables.leases.c
# Event types that only a newer version knows are left alone.
_is_known = _e.event_type.in_(sorted(EventType))
_open = and_(_e.status.in_(sorted(OPEN)), _is_known)
LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)
_rank = case({kind.value: rank for kind, rank in PRECEDENCE.items()}, value=_e.event_type)

EVENT: BindParameter[str] = bindparam("event_id")
TOKEN: BindParameter[str] = bindparam("token")
NOW: BindParameter[datetime] = bindparam("now")
UNTIL: BindParameter[datetime] = bindparam("until")

# By its primary key, so that an update waits for no other lease's lock. A claim on the lease itself, for the
# comparison with the cloud, has the lease's id in place of an event's.
_is_lease = _lease.id == func.coalesce(select(_e.lease_id).where(_e.id == EVENT).scalar_subquery(), EVENT)
_is_due = exists().where(_e.id == EVENT, _open, _e.due <= NOW)
# Not the bare comparison: MariaDB would find the rows to update by the index on the column, and wait for
# other managers' locks there. Nor a default for NULL: MariaDB would compare moments as texts.
_is_claimed = case((_lease.claimed_until.is_(None), false()), else_=_lease.claimed_until > NOW)
# Few leases are claimed at a time; a join would look at all of them.
_is_free = _e.lease_id.not_in(select(_lease.id).where(_lease.claimed_until > NOW))
_is_claimed_with = and_(_lease.claimed_event_id == EVENT, _lease.claim_token == TOKEN, _is_claimed)

# Made once, for they are used at each event.
UNCLAIMED = {"claimed_event_id": None, "claim_token": None, "claimed_until": None}
CLAIM = (
    update(tables.leases)
    .where(_is_lease, not_(_is_claimed), _is_due)
    .values(claimed_event_id=EVENT, claim_token=TOKEN, claimed_until=UNTIL)
)
BEFORE: BindParameter[datetime] = bindparam("before")
_was_compared = _lease.reconciled_at <= BEFORE
_never_was = and_(_lease.reconciled_at.is_(None), _lease.start_date <= BEFORE)
_is_active = _lease.status == LeaseStatus.ACTIVE.value
CLAIM_LEASE = (
    update(tables.leases)
    .where(_lease.id == EVENT, not_(_is_claimed), _is_active, or_(_was_compared, _never_was))
    .values(claimed_event_id=EVENT, claim_token=TOKEN, claimed_until=UNTIL)
)
_is_unclaimed = or_(_lease.claimed_until.is_(None), _lease.claimed_until <= NOW)
# Two statements, each of which walks along the index on (status, reconciled_at).
UNRECONCILED = (
    select(_lease.id).where(_is_active, _never_was, _is_unclaimed).limit(bindparam("limit")),
    select(_lease.id)
    .where(_is_active, _was_compared, _is_unclaimed)
    .order_by(_lease.reconciled_at)
    .limit(bindparam("limit")),
)
MARK_RECONCILED = update(tables.leases).where(_lease.id == EVENT).values(reconciled_at=NOW)
PUT_OFF = update(tables.events).where(_e.id == EVENT).values(due=UNTIL, attempts=_e.attempts + 1)
LEASE_ID = select(_lease.id).where(_is_lease)
# A manager that is suspended within a transaction keeps its rows until the database ends that. The engine
# claims for all leases, and extends all claims, so it does not wait for one of them.
LOCK = LEASE_ID.with_for_update(skip_locked=True)
EXTEND = update(tables.leases).where(_is_lease, _is_claimed_with).values(claimed_until=UNTIL)
RELEASE = update(tables.leases).where(_is_lease, _is_claimed_with).values(UNCLAIMED)

DUE = (
    select(tables.events)
    .where(_open, _e.due <= NOW, _is_free)
    .where(_e.attempts >= bindparam("least"), _e.attempts < bindparam("most"))
    .order_by(_e.due, _rank, _e.id)
    .limit(bindparam("limit"))
)
# Not IS NOT NULL, for which SQLite does not use the index.
CLAIMS = select(_lease.id, _lease.claim_token, _lease.claimed_until).where(_lease.claimed_until > LONG_AGO)
CLAIMED = select(_lease.id, _lease.claimed_until).where(_lease.claimed_until > NOW)
OF_CLAIMED = select(_e.lease_id, _e.due, _e.status, _e.event_type).where(
    _e.lease_id.in_(bindparam("lease_ids", expanding=True))
)


def _first_free(status: EventStatus) -> ScalarSelect[Any]:
    """Return when the first free event is due. The index that begins with status and due yields it without
    sorting, whatever the number of future events."""
    free = select(_e.due).where(_e.status == status.value, _is_known, _is_free)
    return free.order_by(_e.due).limit(1).scalar_subquery()


# The events that a clock which was ahead may have put off. Millions may be ahead: only their index is read,
# an entry for each.
UNUSUALLY_AHEAD = select(_e.id).where(
    _open,
    _e.due > NOW,
    or_(_e.status == EventStatus.IN_PROGRESS.value, _e.event_type.in_(sorted(WORK)), _e.due > _e.time),
)
FIRST_FREE = select(*map(_first_free, sorted(OPEN)))
_since = case((_e.created_at > _e.due, _e.created_at), else_=_e.due)
OLDEST_DUE = select(func.min(_since, type_=UtcDateTime())).where(_open, _e.due <= NOW, _is_free)
SOME_DUE = select(_e.id).where(_open, _e.due <= NOW, _is_free).limit(bindparam("limit"))
COUNT_DUE = select(func.count()).select_from(SOME_DUE.subquery())


class SqlEvents:
    """The EventRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def due(self, now: datetime, limit: int, attempts: range = ANY_NUMBER) -> Sequence[Event]:
        which = {"now": now, "limit": limit, "least": attempts.start, "most": attempts.stop}
        return [rows.to_event(row) for row in self._connection.execute(DUE, which)]

    def put_off(self, event_id: str, token: str, now: datetime, due: datetime) -> None:
        self.release_claim(event_id, token, now)
        self._connection.execute(PUT_OFF, {"event_id": event_id, "until": due})

    def unreconciled(self, before: datetime, now: datetime, limit: int) -> Sequence[str]:
        which = {"before": before, "now": now, "limit": limit}
        found = [id_ for each in UNRECONCILED for id_ in self._connection.scalars(each, which)]
        return found[:limit]

    def claim_lease(
        self, lease_id: str, token: str, now: datetime, until: datetime, before: datetime
    ) -> bool:
        self._require_unlocked(lease_id)
        return self._is_one(CLAIM_LEASE, event_id=lease_id, token=token, now=now, until=until, before=before)

    def mark_reconciled(self, lease_id: str, now: datetime) -> None:
        self._connection.execute(MARK_RECONCILED, {"event_id": lease_id, "now": now})

    def claim(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        self._require_unlocked(event_id)
        return self._is_one(CLAIM, event_id=event_id, token=token, now=now, until=until)

    def extend(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        self._require_unlocked(event_id)
        return self._is_one(EXTEND, event_id=event_id, token=token, now=now, until=until)

    def release_claim(self, event_id: str, token: str, now: datetime) -> None:
        if not self._is_one(RELEASE, event_id=event_id, token=token, now=now):
            raise ClaimLost(event=event_id)

    def claims(self) -> Sequence[StandingClaim]:
        return [StandingClaim(*row) for row in self._connection.execute(CLAIMS)]

    def void(self, claim: StandingClaim) -> bool:
        self._require_unlocked(claim.lease_id)
        is_the_claim = and_(_lease.claim_token == claim.token, _lease.claimed_until == claim.until)
        return self._is_one(
            update(tables.leases).where(_lease.id == claim.lease_id, is_the_claim).values(UNCLAIMED)
        )

    def bring_forward(self, now: datetime, retry: datetime, confirmation: datetime) -> int:
        is_late = _e.due > retry
        is_begun = and_(_e.status == EventStatus.IN_PROGRESS.value, _is_known, is_late)
        is_put_off = and_(_e.status == EventStatus.UNDONE.value, _is_known, is_late, _e.due > _e.time)
        is_creating = _e.lease_id.in_(select(_lease.id).where(_lease.status == LeaseStatus.CREATING.value))
        is_work = and_(_open, _e.due > now, _e.event_type.in_(sorted(WORK)))
        is_work_ahead = and_(is_work, _e.time > now, or_(not_(is_creating), _e.time > confirmation))
        # Looked for first, for it is next to nothing, and an update would lock all that it looks at.
        ids = self._connection.scalars(UNUSUALLY_AHEAD, {"now": now}).all()
        moved = self._set(ids, is_work_ahead, time=now, due=now)
        return moved + self._set(ids, is_begun, due=now) + self._set(ids, is_put_off, due=_e.time)

    def _require_unlocked(self, event_id: str) -> None:
        """Lock the lease's row, if there is one. Raises LeaseLocked where another transaction has it."""
        which = {"event_id": event_id}
        if not self._connection.scalar(LOCK, which) and self._connection.scalar(LEASE_ID, which):
            raise LeaseLocked()

    def _is_one(self, statement: Update, **which: Any) -> bool:
        return self._connection.execute(statement, which).rowcount == 1

    def _set(self, ids: Sequence[str], condition: ColumnElement[bool], **values: Any) -> int:
        found = (
            update(tables.events).where(_e.id.in_(some), condition).values(**values) for some in chunks(ids)
        )
        return sum(self._connection.execute(statement).rowcount for statement in found)

    def next_due(self, now: datetime) -> datetime | None:
        free = self._connection.execute(FIRST_FREE, {"now": now}).one()
        moments = [moment for moment in free if moment is not None]
        return min([*moments, *self._kept_back(now)], default=None)

    def lag(self, now: datetime) -> float:
        due: datetime | None = self._connection.scalar(OLDEST_DUE, {"now": now})
        return 0.0 if due is None else max((now - due).total_seconds(), 0.0)

    def waiting(self, now: datetime, limit: int) -> int:
        return self._connection.scalar(COUNT_DUE, {"now": now, "limit": limit}) or 0

    def _kept_back(self, now: datetime) -> Iterator[datetime]:
        """Yield the moments at which the events of claimed leases can be claimed next.

        In two statements: joined to one, they make databases walk through all open events.
        """
        claimed = self._connection.execute(CLAIMED, {"now": now})
        until: dict[str, datetime] = {row.id: row.claimed_until for row in claimed}
        for some in chunks(list(until)):
            for row in self._connection.execute(OF_CLAIMED, {"lease_ids": some}):
                if rows.is_known_event(row) and row.status in OPEN:
                    yield max(row.due, until[row.lease_id])
