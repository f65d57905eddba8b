"""Leases in the database, with their reservations, allocations and events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    insert,
    not_,
    select,
    true,
    update,
)
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


@dataclass(frozen=True, slots=True)
class _Selection:
    """The statements that read some leases and all that belongs to them. They are made once: a lease is read many times in
    its life, and to make the statements takes longer than to run them."""

    leases: Select[Any]
    reservations: Select[Any]
    allocations: Select[Any]
    events: Select[Any]


def _selection(leases: ColumnElement[bool], parts_of: Callable[[Table], ColumnElement[bool]]) -> _Selection:
    lease, reservations, events = tables.leases, tables.reservations, tables.events
    return _Selection(
        select(lease).where(leases).order_by(lease.c.created_at, lease.c.id),
        select(reservations).where(parts_of(reservations)).order_by(reservations.c.position),
        allocations_where(parts_of(tables.allocations)),
        select(events).where(parts_of(events)).order_by(events.c.position),
    )


IN_PROJECT = tables.leases.c.project_id == bindparam("project_id")


def _of_project(table: Table) -> ColumnElement[bool]:
    return table.c.lease_id.in_(select(tables.leases.c.id).where(IN_PROJECT))


ONE = _selection(tables.leases.c.id == bindparam("lease_id"), lambda table: table.c.lease_id == bindparam("lease_id"))
OF_PROJECT = _selection(IN_PROJECT, _of_project)
ALL = _selection(true(), lambda _: true())


def _unfinished() -> Select[Any]:
    a, r, lease = tables.allocations.c, tables.reservations.c, tables.leases.c
    never_started = and_(r.status == ReservationStatus.PENDING, lease.status == LeaseStatus.TERMINATED)
    unfinished = allocations_where(
        a.resource_id.in_(bindparam("resource_ids", expanding=True)),
        a.end_date <= bindparam("ending_by"),
        r.status != ReservationStatus.DELETED,
        not_(never_started),
    )
    return unfinished.join(tables.reservations, r.id == a.reservation_id).join(tables.leases, lease.id == a.lease_id)


UNFINISHED = _unfinished()


class SqlLeases:
    """The LeaseRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, lease_id: str) -> Lease | None:
        return next(self._load(ONE, {"lease_id": lease_id}), None)

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        return list(self._load(ALL, {}) if project_id is None else self._load(OF_PROJECT, {"project_id": project_id}))

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
        found: list[Allocation] = []
        read = rows.AllocationReader()
        for some in chunks(resource_ids):
            which = {"resource_ids": some, "ending_by": ending_by}
            found += map(read, self._connection.execute(UNFINISHED, which))
        return sorted(found, key=rows.allocation_key)

    # ----------------------------------------------------------------------------------- reading

    def _load(self, selection: _Selection, which: Mapping[str, str]) -> Iterator[Lease]:
        """The leases of the selection, in four selects however many they are.

        The lease's own row is read first: what another transaction commits between the selects then shows in
        the revision, and ``save`` refuses what was decided on a mixture.
        """
        found = self._connection.execute(selection.leases, which).all()
        if not found:
            return
        reservations, events = self._reservations(selection, which), self._events(selection, which)
        for row in found:
            yield rows.to_lease(row, tuple(reservations[row.id]), tuple(events[row.id]))

    def _reservations(self, selection: _Selection, which: Mapping[str, str]) -> Mapping[str, Sequence[Reservation]]:
        found = self._connection.execute(selection.reservations, which).all()
        read = rows.AllocationReader()
        by_reservation: dict[str, list[Allocation]] = defaultdict(list)
        for allocation in map(read, self._connection.execute(selection.allocations, which)):
            by_reservation[allocation.reservation_id].append(allocation)
        result: dict[str, list[Reservation]] = defaultdict(list)
        for row in found:
            allocations = sorted(by_reservation[row.id], key=rows.allocation_key)
            result[row.lease_id].append(rows.to_reservation(row, tuple(allocations)))
        return result

    def _events(self, selection: _Selection, which: Mapping[str, str]) -> Mapping[str, Sequence[Event]]:
        result: dict[str, list[Event]] = defaultdict(list)
        for row in self._connection.execute(selection.events, which):
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
