"""Calendar feeds in the database, and the deleted leases that they still tell of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, or_, select

from blazar.adapters.db.quotas import SqlQuotas
from blazar.adapters.db.selections import IS_LEASE
from blazar.adapters.db.shares import right_of
from blazar.adapters.db.tables import cancelled_leases, feeds, lease_shares, leases
from blazar.domain.errors import Stale
from blazar.domain.feed import CancelledLease, Feed
from blazar.domain.time import Interval
from blazar.service.ports import LeaseRevision, SharedRevision

F = feeds.c
C = cancelled_leases.c
LEASE = leases.c
SHARE = lease_shares.c


class SqlFeeds:
    """The FeedRepository of one transaction."""

    def __init__(self, connection: Connection, quotas: SqlQuotas) -> None:
        self._connection = connection
        self._quotas = quotas

    def queue_up(self, project_id: str) -> None:
        self._quotas.queue_up(project_id)

    def count(self, project_id: str, user_id: str) -> int:
        found = select(func.count()).select_from(feeds)
        return self._connection.scalar(found.where(F.project_id == project_id, F.user_id == user_id)) or 0

    def add(self, feed: Feed, secret_hash: str, now: datetime) -> Feed:
        row = {
            "id": feed.id,
            "name": feed.name,
            "project_id": feed.project_id,
            "user_id": feed.user_id,
            "watched_project": feed.watched_project,
            "watched_user": feed.watched_user,
            "lease_id": feed.lease_id,
            "secret_hash": secret_hash,
            "created_at": now,
        }
        self._connection.execute(insert(feeds), row)
        return replace(feed, created_at=now)

    def get(self, feed_id: str) -> Feed | None:
        return self._first(select(feeds).where(F.id == feed_id))

    def find(self, secret_hash: str) -> Feed | None:
        return self._first(select(feeds).where(F.secret_hash == secret_hash))

    def page(
        self, project_id: str | None, user_id: str | None, limit: int, after: str | None
    ) -> Sequence[Feed]:
        found = select(feeds).order_by(F.id).limit(limit)
        for column, value in ((F.project_id, project_id), (F.user_id, user_id)):
            if value is not None:
                found = found.where(column == value)
        if after is not None:
            found = found.where(F.id > after)
        return [_feed(row) for row in self._connection.execute(found)]

    def remove(self, feed_id: str) -> None:
        if self._connection.execute(delete(feeds).where(F.id == feed_id)).rowcount != 1:
            raise Stale()

    def revisions(self, feed: Feed, since: datetime, now: datetime, limit: int) -> Sequence[LeaseRevision]:
        shown = select(LEASE.id, LEASE.revision).where(
            IS_LEASE, *_shown(feed, LEASE.project_id, LEASE.user_id, LEASE.id)
        )
        ahead = shown.where(LEASE.end_date > now).order_by(LEASE.end_date, LEASE.id)
        found = self._revisions(ahead, limit)
        if len(found) < limit:
            over = shown.where(LEASE.end_date > since, LEASE.end_date <= now)
            over = over.order_by(LEASE.end_date.desc(), LEASE.id.desc())
            found += self._revisions(over, limit - len(found))
        return found

    def _revisions(self, statement: Select[Any], limit: int) -> list[LeaseRevision]:
        rows = self._connection.execute(statement.limit(limit))
        return [LeaseRevision(row.id, row.revision) for row in rows]

    def shared(self, feed: Feed, since: datetime, limit: int) -> Sequence[SharedRevision]:
        made = SHARE.lease_created_at.desc(), SHARE.lease_id.desc()
        newest = select(SHARE.lease_id, SHARE.lease_created_at, SHARE.access).order_by(*made).limit(limit)
        newest = newest.where(SHARE.project_id == feed.watched_project)
        if feed.lease_id is not None:
            newest = newest.where(SHARE.lease_id == feed.lease_id)
        of = newest.subquery().c
        found = (
            select(LEASE.id, LEASE.revision, of.access)
            .where(LEASE.id == of.lease_id, LEASE.end_date > since)
            .order_by(of.lease_created_at.desc(), of.lease_id.desc())
        )
        return [
            SharedRevision(row.id, row.revision, right_of(row.access))
            for row in self._connection.execute(found)
        ]

    def keep_cancelled(self, lease: CancelledLease) -> None:
        is_watching = (
            F.watched_project == lease.project_id,
            or_(F.watched_user.is_(None), F.watched_user == lease.user_id),
            or_(F.lease_id.is_(None), F.lease_id == lease.lease_id),
        )
        if self._connection.scalar(select(F.id).where(*is_watching).limit(1)) is None:
            return
        row = {
            "lease_id": lease.lease_id,
            "name": lease.name,
            "project_id": lease.project_id,
            "user_id": lease.user_id,
            "start_date": lease.interval.start,
            "end_date": lease.interval.end,
            "revision": lease.revision,
            "cancelled_at": lease.cancelled_at,
        }
        self._connection.execute(delete(cancelled_leases).where(C.lease_id == lease.lease_id))
        self._connection.execute(insert(cancelled_leases), row)

    def cancelled(self, feed: Feed, since: datetime, limit: int) -> Sequence[CancelledLease]:
        found = select(cancelled_leases).where(
            C.cancelled_at > since, *_shown(feed, C.project_id, C.user_id, C.lease_id)
        )
        in_order = found.order_by(C.cancelled_at.desc(), C.lease_id.desc()).limit(limit)
        return [_cancelled(row) for row in self._connection.execute(in_order)]

    def forget_cancelled(self, before: datetime) -> None:
        self._connection.execute(delete(cancelled_leases).where(C.cancelled_at <= before))

    def _first(self, statement: Select[Any]) -> Feed | None:
        row = self._connection.execute(statement).first()
        return None if row is None else _feed(row)


def _shown(
    feed: Feed, project: ColumnElement[str], user: ColumnElement[str], lease: ColumnElement[str]
) -> Sequence[ColumnElement[bool]]:
    """Return the conditions that a lease meets which the feed shows."""
    asked = ((project, feed.watched_project), (user, feed.watched_user), (lease, feed.lease_id))
    return [column == value for column, value in asked if value is not None]


def _feed(row: Row[Any]) -> Feed:
    return Feed(
        id=row.id,
        name=row.name,
        project_id=row.project_id,
        user_id=row.user_id,
        watched_project=row.watched_project,
        watched_user=row.watched_user,
        lease_id=row.lease_id,
        created_at=row.created_at,
    )


def _cancelled(row: Row[Any]) -> CancelledLease:
    return CancelledLease(
        lease_id=row.lease_id,
        name=row.name,
        project_id=row.project_id,
        user_id=row.user_id,
        interval=Interval(row.start_date, row.end_date),
        revision=row.revision,
        cancelled_at=row.cancelled_at,
    )
