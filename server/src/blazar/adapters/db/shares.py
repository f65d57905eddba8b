"""Shares of leases in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db.quotas import SqlQuotas
from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import lease_shares as table
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.share import LeaseShare, ShareRight

S = table.c
RIGHTS = frozenset(ShareRight)


class SqlShares:
    """The ShareRepository of one transaction."""

    def __init__(self, connection: Connection, quotas: SqlQuotas) -> None:
        self._connection = connection
        self._quotas = quotas

    def queue_up(self, project_id: str) -> None:
        self._quotas.queue_up(project_id)

    def of_lease(self, lease_id: str) -> Sequence[LeaseShare]:
        return self.of_leases([lease_id])

    def of_leases(self, lease_ids: Sequence[str]) -> Sequence[LeaseShare]:
        found = [
            _share(row)
            for some in chunks(lease_ids)
            for row in self._connection.execute(select(table).where(S.lease_id.in_(some)))
        ]
        # The databases sort texts differently.
        return sorted(found, key=lambda each: (each.lease_id, each.project_id))

    def rights(self, lease_ids: Sequence[str], project_id: str) -> Mapping[str, ShareRight]:
        return {
            row.lease_id: right_of(row.access)
            for some in chunks(lease_ids)
            for row in self._connection.execute(
                select(S.lease_id, S.access).where(S.lease_id.in_(some), S.project_id == project_id)
            )
        }

    def add(self, share: LeaseShare, lease: Lease, now: datetime) -> LeaseShare:
        row = {
            "lease_id": lease.id,
            "project_id": share.project_id,
            "lease_created_at": lease.created_at or now,
            "access": share.right.value,
            "user_id": share.user_id,
            "created_at": now,
        }
        try:
            self._connection.execute(insert(table), row)
        except IntegrityError:
            raise Stale() from None
        return replace(share, created_at=now, updated_at=None)

    def save(self, share: LeaseShare, now: datetime) -> LeaseShare:
        row = {"access": share.right.value, "user_id": share.user_id, "updated_at": now}
        statement = update(table).where(_is(share.lease_id, share.project_id)).values(**row)
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()
        return replace(share, updated_at=now)

    def remove(self, lease_id: str, project_id: str) -> None:
        statement = delete(table).where(_is(lease_id, project_id))
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()


def _is(lease_id: str, project_id: str) -> ColumnElement[bool]:
    return and_(S.lease_id == lease_id, S.project_id == project_id)


def _share(row: Row[Any]) -> LeaseShare:
    return LeaseShare(
        lease_id=row.lease_id,
        project_id=row.project_id,
        right=right_of(row.access),
        user_id=row.user_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def right_of(word: str) -> ShareRight:
    """Return the right; of one that only a later version knows, the least."""
    return ShareRight(word) if word in RIGHTS else ShareRight.READ
