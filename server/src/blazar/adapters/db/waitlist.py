"""The line of waiting leases in the database.

A waiting lease is a row of a lease, whose status no program of a version before knows: such a program shows
it, and leaves it alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from blazar.adapters.db import rows, tables
from blazar.adapters.db.quotas import SqlQuotas
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.waiting import in_line
from blazar.service.ports import PlaceInLine

LEASE = tables.leases.c
LINE = select(LEASE.id, LEASE.project_id, LEASE.revision, LEASE.waiting).where(
    LEASE.status == LeaseStatus.WAITING.value
)
EVERY_PROJECT = ""
"""No project has this id. Its row of turns is that of the line."""


class SqlWaitlist:
    """The WaitlistRepository of one transaction."""

    def __init__(self, connection: Connection, quotas: SqlQuotas) -> None:
        self._connection = connection
        self._quotas = quotas

    def queue_up(self) -> None:
        self._quotas.queue_up(EVERY_PROJECT)

    def line(self) -> Sequence[PlaceInLine]:
        places = {
            row.id: PlaceInLine(row.id, row.project_id, row.revision, rows.to_waiting(row.waiting))
            for row in self._connection.execute(LINE)
            if row.waiting is not None
        }
        return [places[id_] for id_ in in_line((id_, each.waiting) for id_, each in places.items())]
