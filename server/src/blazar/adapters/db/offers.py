"""Offers in the database. An offer is a row of a lease whose status no program of a version before knows.

Such a program counts what the lease has, shows it, and leaves it alone: so it gives nothing away that an
offer holds. See decision 30."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, select, update

from blazar.adapters.db import rows, tables
from blazar.adapters.db.leases import SqlLeases
from blazar.adapters.db.selections import IS_OFFER, OFFERED
from blazar.adapters.stored import claimed_lease
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.offer import Offer

LEASE = tables.leases.c
EXPIRES = select(LEASE.id, LEASE.expires_at).where(IS_OFFER)
ONE = EXPIRES.where(LEASE.id == bindparam("offer_id"))
_IS_OPEN = (LEASE.project_id == bindparam("project_id")) & (LEASE.expires_at > bindparam("now"))
OF_PROJECT = EXPIRES.where(_IS_OPEN)
COUNT = select(func.count()).select_from(tables.leases).where(IS_OFFER, _IS_OPEN)
FIRST_EXPIRY = select(LEASE.expires_at).where(IS_OFFER).order_by(LEASE.expires_at).limit(1)
OVERDUE = (
    EXPIRES.where(LEASE.expires_at <= bindparam("now"))
    .order_by(LEASE.expires_at, LEASE.id)
    .limit(bindparam("limit"))
)


class SqlOffers:
    """The OfferRepository of one transaction."""

    def __init__(self, connection: Connection, leases: SqlLeases) -> None:
        self._connection = connection
        self._leases = leases

    def get(self, offer_id: str) -> Offer | None:
        return next(iter(self._found(ONE, {"offer_id": offer_id})), None)

    def of_project(self, project_id: str, now: datetime) -> Sequence[Offer]:
        found = self._found(OF_PROJECT, {"project_id": project_id, "now": now})
        return sorted(found, key=lambda offer: offer.lease.key)

    def count(self, project_id: str, now: datetime) -> int:
        which = {"project_id": project_id, "now": now}
        return self._connection.execute(COUNT, which).scalar_one()

    def add(self, offer: Offer, now: datetime) -> Offer:
        columns = {"status": OFFERED, "expires_at": offer.expires_at}
        return replace(offer, lease=self._leases.insert(offer.lease, now, columns))

    def claim(self, offer: Offer, lease: Lease, now: datetime) -> Lease:
        stored = claimed_lease(lease, offer.lease, now)
        columns = {
            **rows.of_lease(stored),
            "revision": stored.revision,
            "created_at": now,
            "updated_at": None,
            "expires_at": None,
        }
        is_unchanged = (LEASE.id == offer.id) & (LEASE.revision == offer.lease.revision)
        self._require_one(update(tables.leases).where(is_unchanged, IS_OFFER).values(**columns))
        self._leases.write_parts(stored, offer.lease, now)
        return stored

    def remove(self, offer_id: str) -> None:
        self._require_one(delete(tables.leases).where(LEASE.id == offer_id, IS_OFFER))

    def first_expiry(self) -> datetime | None:
        first: datetime | None = self._connection.scalar(FIRST_EXPIRY)
        return first

    def overdue(self, now: datetime, limit: int) -> Sequence[Offer]:
        found = self._found(OVERDUE, {"now": now, "limit": limit})
        return sorted(found, key=lambda offer: (offer.expires_at, offer.id))

    def _require_one(self, statement: Any) -> None:
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def _found(self, statement: Select[Any], which: dict[str, Any]) -> Sequence[Offer]:
        expiry = {row.id: row.expires_at for row in self._connection.execute(statement, which)}
        # The status of the row is one that no lease has.
        return [
            Offer(replace(lease, status=LeaseStatus.PENDING), expiry[lease.id])
            for lease in self._leases.offered(list(expiry))
        ]
