"""Maintenances in the database. A maintenance is a row of a lease whose status no program of a version before
knows, with a reservation of whole hosts.

Such a program counts what is taken away, shows the row as a lease of no project, and leaves it alone. See
decision 36."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, select

from blazar.adapters.db import tables
from blazar.adapters.db.leases import SqlLeases
from blazar.adapters.db.selections import IS_MAINTENANCE, chunks
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease, Reservation, ReservationStatus
from blazar.domain.lease.maintenance import Maintenance, Purpose

LEASE = tables.leases.c
NO_PROJECT = ""
RESOURCE_TYPE = "physical:host"
"""As what a program of the version before shows it."""
IDS = select(LEASE.id, LEASE.status).where(IS_MAINTENANCE)
ONE = IDS.where(LEASE.id == bindparam("maintenance_id"))
OVER = IDS.where(LEASE.end_date <= bindparam("now"))
LIFETIMES = IDS.where(
    LEASE.status == Purpose.LIFETIME.value,
    LEASE.id.in_(
        select(tables.allocations.c.lease_id).where(
            tables.allocations.c.resource_id.in_(bindparam("resource_ids", expanding=True))
        )
    ),
)
COUNT = select(func.count()).select_from(tables.leases)


class SqlMaintenances:
    """The MaintenanceRepository of one transaction."""

    def __init__(self, connection: Connection, leases: SqlLeases) -> None:
        self._connection = connection
        self._leases = leases

    def get(self, maintenance_id: str) -> Maintenance | None:
        return next(iter(self._found(ONE, {"maintenance_id": maintenance_id})), None)

    def list(self) -> Sequence[Maintenance]:
        return sorted(self._found(IDS, {}), key=lambda each: (each.interval.start, each.id))

    def lifetimes(self, resource_ids: Sequence[str]) -> Sequence[Maintenance]:
        found = {
            each.id: each
            for some in chunks(sorted(set(resource_ids)))
            for each in self._found(LIFETIMES, {"resource_ids": list(some)})
        }
        return [found[id_] for id_ in sorted(found)]

    def count(self, purpose: Purpose | None = None) -> int:
        which = IS_MAINTENANCE if purpose is None else LEASE.status == purpose.value
        return self._connection.execute(COUNT.where(which)).scalar_one()

    def add(self, maintenance: Maintenance, now: datetime) -> Maintenance:
        status = {"status": maintenance.purpose.value}
        return _of_row(self._leases.insert(_row(maintenance), now, status), maintenance.purpose)

    def remove(self, maintenance_id: str) -> None:
        statement = delete(tables.leases).where(LEASE.id == maintenance_id, IS_MAINTENANCE)
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def over(self, now: datetime) -> Sequence[Maintenance]:
        return sorted(self._found(OVER, {"now": now}), key=lambda each: (each.interval.end, each.id))

    def _found(self, statement: Select[Any], which: dict[str, Any]) -> Sequence[Maintenance]:
        purposes = {row.id: Purpose(row.status) for row in self._connection.execute(statement, which)}
        return [_of_row(lease, purposes[lease.id]) for lease in self._leases.maintained(list(purposes))]


def _row(maintenance: Maintenance) -> Lease:
    hosts = len(maintenance.resource_ids)
    reservation = Reservation(
        id=maintenance.id,
        lease_id=maintenance.id,
        resource_id=maintenance.id,
        resource_type=RESOURCE_TYPE,
        parameters={"min": hosts, "max": hosts},
        # Nothing of it is in the cloud, so no lease that starts waits for its end.
        status=ReservationStatus.DELETED,
        allocations=maintenance.allocations,
    )
    return Lease(
        id=maintenance.id,
        name=maintenance.name,
        user_id=maintenance.user_id,
        project_id=NO_PROJECT,
        interval=maintenance.interval,
        status_reason=maintenance.reason,
        reservations=(reservation,),
        quantities={},
    )


def _of_row(lease: Lease, purpose: Purpose) -> Maintenance:
    return Maintenance(
        id=lease.id,
        name=lease.name,
        user_id=lease.user_id,
        interval=lease.interval,
        allocations=lease.allocations,
        reason=lease.status_reason,
        created_at=lease.created_at,
        purpose=purpose,
    )
