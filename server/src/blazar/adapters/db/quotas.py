"""Quotas in the database: limits of projects, the turns of their transactions, and what their leases use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Insert,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite

from blazar.adapters.db.tables import leases, quota_turns, quotas, spent_uses
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.quota import Use
from blazar.domain.time import Interval

_PROJECT: BindParameter[Any] = bindparam("project_id")
LIMITS = select(quotas.c.name, quotas.c.maximum).where(quotas.c.project_id == _PROJECT)
_HAS_NOT_EXPIRED = leases.c.expires_at.is_(None) | (leases.c.expires_at > bindparam("now"))
LEASES_AHEAD = select(func.count()).where(
    leases.c.project_id == _PROJECT,
    leases.c.end_date > bindparam("now"),
    leases.c.status.not_in([LeaseStatus.TERMINATED.value, LeaseStatus.DELETING.value]),
    _HAS_NOT_EXPIRED,
)


def _overlapping(table: Table) -> ColumnElement[bool]:
    is_in = (table.c.end_date > bindparam("start")) & (table.c.start_date < bindparam("end"))
    return is_in & (table.c.project_id == _PROJECT)


USES = select(leases.c.id, leases.c.start_date, leases.c.end_date, leases.c.quantities).where(
    _overlapping(leases), leases.c.status != LeaseStatus.DELETING.value, _HAS_NOT_EXPIRED
)
SPENT = select(
    spent_uses.c.lease_id, spent_uses.c.start_date, spent_uses.c.end_date, spent_uses.c.quantities
).where(_overlapping(spent_uses))


class SqlQuotas:
    """The QuotaRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def queue_up(self, project_id: str) -> None:
        turn = _next_turn(self._connection.dialect.name)
        self._connection.execute(turn, {"project_id": project_id, "turns": 1})

    def limits(self, project_id: str) -> Mapping[str, int]:
        found = self._connection.execute(LIMITS, {"project_id": project_id})
        return {row.name: row.maximum for row in found}

    def all_limits(self) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for row in self._connection.execute(select(quotas)):
            found[row.project_id][row.name] = row.maximum
        return dict(sorted(found.items()))

    def set(self, project_id: str, limits: Mapping[str, int]) -> None:
        self.unset(project_id, limits)
        if limits:
            rows = [{"project_id": project_id, "name": name, "maximum": n} for name, n in limits.items()]
            self._connection.execute(insert(quotas), rows)

    def unset(self, project_id: str, names: Collection[str] | None = None) -> None:
        of_project = delete(quotas).where(quotas.c.project_id == project_id)
        self._connection.execute(
            of_project if names is None else of_project.where(quotas.c.name.in_(sorted(names)))
        )

    def leases_ahead(self, project_id: str, now: datetime) -> int:
        return self._connection.execute(LEASES_AHEAD, {"project_id": project_id, "now": now}).scalar_one()

    def uses(self, project_id: str, interval: Interval, now: datetime) -> tuple[Sequence[Use], Sequence[str]]:
        found = self._connection.execute(USES, {**_which(project_id, interval), "now": now}).all()
        known = [_use(row) for row in found if row.quantities is not None]
        return known, [row.id for row in found if row.quantities is None]

    def spend(self, project_id: str, use: Use) -> None:
        row = {
            "project_id": project_id,
            "lease_id": use.lease_id,
            "start_date": use.interval.start,
            "end_date": use.interval.end,
            "quantities": dict(use.quantities),
        }
        self._connection.execute(insert(spent_uses), row)

    def spent(self, project_id: str, interval: Interval) -> Sequence[Use]:
        return [_use(row) for row in self._connection.execute(SPENT, _which(project_id, interval))]

    def forget_spent(self, before: datetime) -> None:
        self._connection.execute(delete(spent_uses).where(spent_uses.c.end_date <= before))


def _which(project_id: str, interval: Interval) -> dict[str, Any]:
    return {"project_id": project_id, "start": interval.start, "end": interval.end}


def _use(row: Any) -> Use:
    lease_id, start, end, quantities = row
    return Use(lease_id, Interval(start, end), quantities)


@cache
def _next_turn(dialect: str) -> Insert:
    """Return what locks the project's row up to the end of the transaction, whether it is there or not."""
    one_more = quota_turns.c.turns + 1
    if dialect == "postgresql":
        added = postgresql.insert(quota_turns)
        return added.on_conflict_do_update(index_elements=["project_id"], set_={"turns": one_more})
    if dialect == "sqlite":
        here = sqlite.insert(quota_turns)
        return here.on_conflict_do_update(index_elements=["project_id"], set_={"turns": one_more})
    return mysql.insert(quota_turns).on_duplicate_key_update(turns=one_more)
