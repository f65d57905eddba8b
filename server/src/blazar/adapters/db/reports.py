"""Reports to usage filters that were committed with what they tell, and wait until they are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import usage_reports
from blazar.domain.errors import Stale
from blazar.service.ports import LONGEST_DELAY, Report, ReportType

FIRST = usage_reports.alias("first")


class SqlReports:
    """The ReportRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, report: Report, due: datetime) -> None:
        if report.type is ReportType.ENDED:
            self.withdraw(report.filter, report.lease_id)
        row = {
            "filter": report.filter,
            "lease_id": report.lease_id,
            "type": report.type.value,
            "documents": dict(report.documents),
            "only_if_absent": report.only_if_absent,
            "attempts": report.attempts,
            "due": due,
            "created_at": report.created_at,
        }
        self._connection.execute(insert(usage_reports), row)

    def withdraw(self, filter: str, lease_id: str) -> None:
        r = usage_reports.c
        of_lease = and_(r.lease_id == lease_id, r.filter == filter, r.only_if_absent == true())
        self._connection.execute(delete(usage_reports).where(of_lease))

    def is_any_due(self, filter: str, now: datetime) -> bool:
        return self._connection.execute(_ready(filter, now).limit(1)).first() is not None

    def take(self, filter: str, limit: int, now: datetime, until: datetime) -> Sequence[Report]:
        r = usage_reports.c
        found = list(self._connection.execute(_ready(filter, now).order_by(r.due, r.id).limit(limit)))
        ids = [row.id for row in found]
        taken = update(usage_reports).where(r.id.in_(ids), _is_due(r.due, now)).values(due=until)
        if ids and self._connection.execute(taken).rowcount != len(ids):
            raise Stale()  # another manager was faster
        return [_report(row) for row in found]

    def put_off(self, report: Report, due: datetime) -> None:
        put_off = update(usage_reports).where(usage_reports.c.id == report.id)
        self._connection.execute(put_off.values(due=due, attempts=report.attempts))

    def remove(self, ids: Sequence[int]) -> None:
        for some in chunks(ids):
            self._connection.execute(delete(usage_reports).where(usage_reports.c.id.in_(some)))

    def depth(self) -> int:
        told = usage_reports.c.only_if_absent == false()
        return self._connection.scalar(select(func.count()).select_from(usage_reports).where(told)) or 0


def _is_due(due: Column[Any], now: datetime) -> ColumnElement[bool]:
    return or_(due <= now, due > now + LONGEST_DELAY)


def _ready(filter: str, now: datetime) -> Select[Any]:
    """Select the due reports that no older one of the same lease stands before."""
    r, first = usage_reports.c, FIRST.c
    older = exists().where(
        first.lease_id == r.lease_id,
        first.filter == r.filter,
        first.id < r.id,
        first.only_if_absent == false(),
    )
    is_known = r.type.in_([each.value for each in ReportType])  # the rest is for a newer version to tell
    return select(usage_reports).where(r.filter == filter, _is_due(r.due, now), is_known, ~older)


def _report(row: Row[Any]) -> Report:
    return Report(
        row.filter,
        row.lease_id,
        ReportType(row.type),
        row.documents,
        row.created_at,
        row.only_if_absent,
        row.attempts,
        row.id,
    )
