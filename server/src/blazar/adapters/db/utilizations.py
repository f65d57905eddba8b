"""What reservations were promised and have used, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    case,
    delete,
    distinct,
    false,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import leases, utilizations
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.utilization import QuantityUse, Utilization
from blazar.domain.time import epoch, from_epoch
from blazar.service.ports import UsageQuestion, UsageRow

U = utilizations.c
OF_LEASES = (
    select(utilizations)
    .where(U.lease_id.in_(bindparam("lease_ids", expanding=True)))
    .order_by(U.lease_id, U.reservation_id)
)
LEFT_OPEN = (
    select(U.lease_id)
    .distinct()
    .select_from(utilizations.outerjoin(leases, leases.c.id == U.lease_id))
    .where(U.is_over == false(), or_(leases.c.status.is_(None), leases.c.status != LeaseStatus.ACTIVE.value))
    .order_by(U.lease_id)
    .limit(bindparam("limit"))
)
CHANGED = update(utilizations).where(
    U.reservation_id == bindparam("which"),
    U.until_second == bindparam("was_until"),
    U.is_over == bindparam("was_over"),
)
EXACTLY: ColumnElement[Any] = literal_column("1.0")
"""A factor with which every database divides without cutting fractions off."""


class SqlUtilizations:
    """The UtilizationRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of_leases(self, lease_ids: Sequence[str]) -> Sequence[Utilization]:
        return [
            _utilization(row)
            for some in chunks(sorted(set(lease_ids)))
            for row in self._connection.execute(OF_LEASES, {"lease_ids": some})
        ]

    def left_open(self, limit: int) -> Sequence[str]:
        return self._connection.scalars(LEFT_OPEN, {"limit": limit}).all()

    def save(self, changes: Sequence[tuple[Utilization | None, Utilization]]) -> None:
        # All transactions lock them in this order.
        in_order = sorted(changes, key=lambda pair: pair[1].reservation_id)
        added = [{**_ids(new), **_columns(new)} for old, new in in_order if old is None]
        changed = [{**_which(old), **_columns(new)} for old, new in in_order if old is not None]
        try:
            if added:
                self._connection.execute(insert(utilizations), added)
            if changed:
                self._connection.execute(CHANGED, changed)
        except IntegrityError as error:
            raise Stale() from error

    def report(self, question: UsageQuestion, limit: int) -> Sequence[UsageRow]:
        start, end = epoch(question.start), epoch(question.end)
        begin = case((U.start_second > start, U.start_second), else_=start)
        stop = case((U.until_second < end, U.until_second), else_=end)

        def part(seconds: ColumnElement[int], name: str) -> ColumnElement[Any]:
            whole = U.until_second - U.start_second
            return func.sum(seconds * EXACTLY * (stop - begin) / whole).label(name)

        ended_here = and_(U.is_no_show == true(), U.until_second <= end)
        project = U.project_id if question.by_project else None
        user = U.user_id if question.by_user else None
        keys = [each for each in (project, user, U.resource_type) if each is not None]
        rows = (
            select(
                (null() if project is None else project).label("project_id"),
                (null() if user is None else user).label("user_id"),
                U.resource_type,
                func.count(distinct(U.lease_id)).label("leases"),
                func.count(distinct(case((ended_here, U.lease_id), else_=null()))).label("no_shows"),
                part(U.promised, "promised"),
                part(U.known, "known"),
                part(U.used, "used"),
            )
            .where(U.until_second > start, U.start_second < end, U.until_second > U.start_second)
            .where(*_asked(question))
            .group_by(*keys)
            .order_by(*keys)
            .limit(limit)
        )
        return [_usage_row(row) for row in self._connection.execute(rows)]

    def forget(self, before: datetime, limit: int) -> None:
        is_old = and_(U.is_over == true(), U.until_second <= epoch(before))
        found = self._connection.scalars(select(U.reservation_id).where(is_old).limit(limit)).all()
        for some in chunks(found):
            self._connection.execute(delete(utilizations).where(U.reservation_id.in_(some)))


def _asked(question: UsageQuestion) -> list[ColumnElement[bool]]:
    filters = (
        (U.project_id, question.project_id),
        (U.user_id, question.user_id),
        (U.resource_type, question.resource_type),
    )
    return [column == value for column, value in filters if value is not None]


def _which(read: Utilization) -> dict[str, Any]:
    return {"which": read.reservation_id, "was_until": epoch(read.until), "was_over": read.is_over}


def _ids(value: Utilization) -> dict[str, Any]:
    return {
        "reservation_id": value.reservation_id,
        "lease_id": value.lease_id,
        "project_id": value.project_id,
        "user_id": value.user_id,
        "resource_type": value.resource_type,
        "start_second": epoch(value.start),
    }


def _columns(value: Utilization) -> dict[str, Any]:
    return {
        "until_second": epoch(value.until),
        "units": value.units,
        "promised": value.promised,
        "known": value.known,
        "used": value.used,
        "used_now": value.used_now,
        "looked_at": value.looked_at,
        "quantities_now": {name: [each.used, each.left] for name, each in value.quantities_now.items()}
        or None,
        "is_over": value.is_over,
        "is_no_show": value.is_no_show,
    }


def _utilization(row: Row[Any]) -> Utilization:
    return Utilization(
        reservation_id=row.reservation_id,
        lease_id=row.lease_id,
        project_id=row.project_id,
        user_id=row.user_id,
        resource_type=row.resource_type,
        start=from_epoch(row.start_second),
        until=from_epoch(row.until_second),
        units=row.units,
        promised=row.promised,
        known=row.known,
        used=row.used,
        used_now=row.used_now,
        looked_at=row.looked_at,
        quantities_now={name: QuantityUse(*each) for name, each in (row.quantities_now or {}).items()},
        is_over=row.is_over,
        is_no_show=row.is_no_show,
    )


def _usage_row(row: Row[Any]) -> UsageRow:
    return UsageRow(
        row.project_id,
        row.user_id,
        row.resource_type,
        row.leases,
        row.no_shows,
        float(row.promised),
        float(row.known),
        float(row.used),
    )
