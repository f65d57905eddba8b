"""Leases in the database, with their reservations, allocations and events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, delete, insert, not_, select, update
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db import rows, tables
from blazar.adapters.db.rows import Columns
from blazar.adapters.db.selections import allocations_where, chunks
from blazar.domain.event import Event
from blazar.domain.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Allocation
from blazar.service.ports import Stale

# In the order that keeps foreign keys whole: reservations before their allocations.
CHILDREN = (
    (tables.reservations, rows.of_reservations),
    (tables.allocations, rows.of_allocations),
    (tables.events, rows.of_events),
)


class SqlLeases:
    """The LeaseRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, lease_id: str) -> Lease | None:
        return next(self._load(tables.leases.c.id == lease_id, lease_id), None)

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        owned = None if project_id is None else tables.leases.c.project_id == project_id
        return list(self._load(owned))

    def add(self, lease: Lease, now: datetime) -> None:
        row = {"id": lease.id, **rows.of_lease(lease), "revision": lease.revision, "created_at": now}
        try:
            self._connection.execute(insert(tables.leases), row)
            for table, columns_of in CHILDREN:
                self._insert(table, columns_of(lease), now)
        except IntegrityError as error:
            raise Stale() from error

    def save(self, new: Lease, old: Lease, now: datetime) -> None:
        changes = [(table, of(old), of(new)) for table, of in CHILDREN]
        before = rows.of_lease(old)
        columns = {name: value for name, value in rows.of_lease(new).items() if value != before[name]}
        if columns or any(was != is_now for _, was, is_now in changes):
            columns["updated_at"] = now
        self._compare_and_set(old, columns)
        for table, was, is_now in changes:
            self._insert(table, {key: row for key, row in is_now.items() if key not in was}, now)
            self._update(table, was, is_now, now)
        for table, was, is_now in reversed(changes):
            self._delete(table, [key for key in was if key not in is_now])

    def remove(self, lease: Lease) -> None:
        statement = delete(tables.leases).where(_is_unchanged(lease))  # the rest goes with it by foreign keys
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def ids_with_status(self, statuses: Sequence[str]) -> Sequence[str]:
        leases = tables.leases.c
        statement = select(leases.id).where(leases.status.in_(statuses)).order_by(leases.created_at, leases.id)
        return self._connection.scalars(statement).all()

    def unfinished_on(self, resource_ids: Sequence[str], ending_by: datetime) -> Sequence[Allocation]:
        a, r, lease = tables.allocations.c, tables.reservations.c, tables.leases.c
        never_started = and_(r.status == ReservationStatus.PENDING, lease.status == LeaseStatus.TERMINATED)
        unfinished = allocations_where(
            a.end_date <= ending_by, r.status != ReservationStatus.DELETED, not_(never_started)
        )
        statement = unfinished.join(tables.reservations, r.id == a.reservation_id).join(
            tables.leases, lease.id == a.lease_id
        )
        found: list[Allocation] = []
        read = rows.AllocationReader()
        for some in chunks(resource_ids):
            found += map(read, self._connection.execute(statement.where(a.resource_id.in_(some))))
        return sorted(found, key=rows.allocation_key)

    # ----------------------------------------------------------------------------------- reading

    def _load(self, condition: ColumnElement[bool] | None, lease_id: str | None = None) -> Iterator[Lease]:
        """The leases that meet the condition, in four selects however many they are.

        The lease's own row is read first: what another transaction commits between the selects then shows in
        the revision, and ``save`` refuses what was decided on a mixture.
        """
        leases = select(tables.leases).order_by(tables.leases.c.created_at, tables.leases.c.id)
        found = self._connection.execute(_where(leases, condition)).all()
        if not found:
            return
        reservations, events = self._reservations(condition, lease_id), self._events(condition, lease_id)
        for row in found:
            yield rows.to_lease(row, tuple(reservations[row.id]), tuple(events[row.id]))

    def _reservations(
        self, condition: ColumnElement[bool] | None, lease_id: str | None
    ) -> Mapping[str, Sequence[Reservation]]:
        statement = _of_leases(select(tables.reservations), tables.reservations, condition, lease_id)
        found = self._connection.execute(statement.order_by(tables.reservations.c.position)).all()
        read = rows.AllocationReader()
        by_reservation: dict[str, list[Allocation]] = defaultdict(list)
        statement = _of_leases(allocations_where(), tables.allocations, condition, lease_id)
        for allocation in map(read, self._connection.execute(statement)):
            by_reservation[allocation.reservation_id].append(allocation)
        result: dict[str, list[Reservation]] = defaultdict(list)
        for row in found:
            allocations = sorted(by_reservation[row.id], key=rows.allocation_key)
            result[row.lease_id].append(rows.to_reservation(row, tuple(allocations)))
        return result

    def _events(self, condition: ColumnElement[bool] | None, lease_id: str | None) -> Mapping[str, Sequence[Event]]:
        statement = _of_leases(select(tables.events), tables.events, condition, lease_id)
        result: dict[str, list[Event]] = defaultdict(list)
        for row in self._connection.execute(statement.order_by(tables.events.c.position)):
            result[row.lease_id].append(rows.to_event(row))
        return result

    # ----------------------------------------------------------------------------------- writing

    def _compare_and_set(self, old: Lease, columns: Columns) -> None:
        statement = update(tables.leases).where(_is_unchanged(old)).values(revision=old.revision + 1, **columns)
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def _insert(self, table: Table, added: Mapping[str, Columns], now: datetime) -> None:
        if added:
            parameters = [{"id": key, "created_at": now, **row} for key, row in added.items()]
            self._connection.execute(insert(table), parameters)

    def _update(self, table: Table, was: Mapping[str, Columns], is_now: Mapping[str, Columns], now: datetime) -> None:
        """One statement for all rows that get the same new values, as all allocations of a moved lease do."""
        for columns, ids in _alike(_changes(was, is_now)):
            if "updated_at" in table.c and columns.keys() != {"position"}:
                columns["updated_at"] = now
            for some in chunks(ids):
                self._connection.execute(update(table).where(table.c.id.in_(some)).values(**columns))

    def _delete(self, table: Table, ids: Sequence[str]) -> None:
        for some in chunks(ids):
            self._connection.execute(delete(table).where(table.c.id.in_(some)))


def _is_unchanged(lease: Lease) -> ColumnElement[bool]:
    return and_(tables.leases.c.id == lease.id, tables.leases.c.revision == lease.revision)


def _where(statement: Select[Any], condition: ColumnElement[bool] | None) -> Select[Any]:
    return statement if condition is None else statement.where(condition)


def _of_leases(
    statement: Select[Any], table: Table, condition: ColumnElement[bool] | None, lease_id: str | None
) -> Select[Any]:
    """Only the rows that belong to the leases meeting the condition."""
    if lease_id is not None:
        return statement.where(table.c.lease_id == lease_id)
    if condition is None:
        return statement
    return statement.where(table.c.lease_id.in_(select(tables.leases.c.id).where(condition)))


def _changes(was: Mapping[str, Columns], is_now: Mapping[str, Columns]) -> Iterable[tuple[str, Columns]]:
    """The rows in both that differ, with the columns that do."""
    for key, row in is_now.items():
        if key in was and was[key] != row:
            yield key, {name: value for name, value in row.items() if value != was[key][name]}


def _alike(changed: Iterable[tuple[str, Columns]]) -> Iterable[tuple[Columns, list[str]]]:
    """Groups of rows that get the same new values."""
    groups: dict[str, tuple[Columns, list[str]]] = {}
    for key, columns in changed:
        groups.setdefault(repr(columns), (columns, []))[1].append(key)
    return groups.values()
