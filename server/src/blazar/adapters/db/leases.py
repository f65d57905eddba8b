"""Leases in the database, with their reservations, allocations and events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    false,
    func,
    insert,
    not_,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db import rows, tables
from blazar.adapters.db.listed_leases import ListedLeases
from blazar.adapters.db.rows import Columns
from blazar.adapters.db.selections import (
    IS_LEASE,
    IS_MAINTENANCE,
    IS_NOT_TERMINATED,
    IS_OFFER,
    allocations_where,
    chunks,
    surplus_where,
)
from blazar.adapters.stored import added_lease, allocation_key, saved_lease
from blazar.domain.errors import Stale
from blazar.domain.lease.event import Event, EventStatus
from blazar.domain.lease.lease import AHEAD, Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval
from blazar.service.ports import KeptKey, LeaseHeading, LeasePage, LeaseQuery, ListPage

# In the order that keeps foreign keys whole: reservations before their allocations.
CHILDREN = (
    (tables.reservations, rows.of_reservations),
    (tables.allocations, rows.of_allocations),
    (tables.surplus, rows.of_surplus),
    (tables.events, rows.of_events),
)
INSERTS = {table: insert(table) for table in (tables.leases, *(table for table, _ in CHILDREN))}
"""Made once, as what reads leases is."""


@dataclass(frozen=True, slots=True)
class _Selection:
    """The statements that read some leases and all that belongs to them. They are made once: a lease is read
    many times in its life, and to make the statements takes longer than to run them."""

    leases: Select[Any]
    reservations: Select[Any]
    allocations: CompoundSelect[Any]
    """With surplus, which the last column tells."""
    events: Select[Any]


def _selection(
    leases: ColumnElement[bool],
    parts_of: Callable[[Table], ColumnElement[bool]],
    sort: ColumnElement[bool] = IS_LEASE,
) -> _Selection:
    lease, reservations, events = tables.leases, tables.reservations, tables.events
    return _Selection(
        select(lease).where(leases, sort).order_by(lease.c.created_at, lease.c.id),
        select(reservations).where(parts_of(reservations)).order_by(reservations.c.position),
        allocations_where(parts_of(tables.allocations))
        .add_columns(false())
        .union_all(surplus_where(parts_of(tables.surplus)).add_columns(true())),
        select(events).where(parts_of(events)).order_by(events.c.position),
    )


IN_PROJECT = tables.leases.c.project_id == bindparam("project_id")


def _of_project(table: Table) -> ColumnElement[bool]:
    return table.c.lease_id.in_(select(tables.leases.c.id).where(IN_PROJECT))


ONE = _selection(
    tables.leases.c.id == bindparam("lease_id"), lambda table: table.c.lease_id == bindparam("lease_id")
)
OF_PROJECT = _selection(IN_PROJECT, _of_project)
EXISTS = select(tables.leases.c.id).where(tables.leases.c.id == bindparam("lease_id"))
KEPT_KEY = select(tables.request_keys).where(
    tables.request_keys.c.project_id == bindparam("project_id"),
    tables.request_keys.c.name == bindparam("name"),
)
ALL = _selection(true(), lambda _: true())
_IDS: BindParameter[Any] = bindparam("lease_ids", expanding=True)
MANY = _selection(tables.leases.c.id.in_(_IDS), lambda table: table.c.lease_id.in_(_IDS))
_L = tables.leases.c
HEADINGS = select(_L.id, _L.name, _L.status, _L.project_id, _L.user_id).where(_L.id.in_(_IDS), IS_LEASE)
OFFERED_ONES = _selection(tables.leases.c.id.in_(_IDS), lambda table: table.c.lease_id.in_(_IDS), IS_OFFER)

MAINTAINED = _selection(
    tables.leases.c.id.in_(_IDS), lambda table: table.c.lease_id.in_(_IDS), IS_MAINTENANCE
)


def _unfinished(selected: Select[Any], table: Table) -> Select[Any]:
    a, r, lease = table.c, tables.reservations.c, tables.leases.c
    never_started = and_(r.status == ReservationStatus.PENDING, lease.status == LeaseStatus.TERMINATED)
    unfinished = selected.where(
        a.resource_id.in_(bindparam("resource_ids", expanding=True)),
        a.end_date <= bindparam("ending_by"),
        r.status != ReservationStatus.DELETED,
        not_(never_started),
        IS_LEASE,
    )
    return unfinished.join(tables.reservations, r.id == a.reservation_id).join(
        tables.leases, lease.id == a.lease_id
    )


UNFINISHED = _unfinished(allocations_where(), tables.allocations).union_all(
    _unfinished(surplus_where(), tables.surplus)
)
_IS_AHEAD = tables.leases.c.status.in_(sorted(AHEAD))
ON_RESOURCES = (
    select(tables.allocations.c.lease_id)
    .join(tables.leases, tables.leases.c.id == tables.allocations.c.lease_id)
    .where(
        tables.allocations.c.resource_id.in_(bindparam("resource_ids", expanding=True)),
        tables.allocations.c.end_date > bindparam("start"),
        tables.allocations.c.start_date < bindparam("end"),
        _IS_AHEAD,
    )
    .distinct()
)
UNFINISHED_RESERVATIONS = (
    select(tables.reservations.c.id)
    .join(tables.leases, tables.leases.c.id == tables.reservations.c.lease_id)
    .where(
        tables.reservations.c.id.in_(bindparam("reservation_ids", expanding=True)),
        tables.leases.c.status != LeaseStatus.TERMINATED,
        IS_LEASE,
    )
)
# Counted for each lease that is not over: a join, or EXISTS, may read the reservations of all leases.
_OTHERS = (
    select(func.count())
    .where(
        tables.reservations.c.lease_id == tables.leases.c.id,
        tables.reservations.c.resource_type.not_in(bindparam("resource_types", expanding=True)),
    )
    .correlate(tables.leases)
    .scalar_subquery()
)
OF_OTHER_KINDS = select(tables.leases.c.id).where(IS_NOT_TERMINATED, not_(IS_MAINTENANCE), _OTHERS > 0)
DEGRADED = select(tables.leases.c.id).where(tables.leases.c.degraded == true(), _IS_AHEAD)


def _is_over() -> ColumnElement[bool]:
    lease, r, e = tables.leases.c, tables.reservations.c, tables.events.c
    released = or_(
        r.status == ReservationStatus.DELETED,
        and_(r.status == ReservationStatus.PENDING, lease.status == LeaseStatus.TERMINATED),
    )
    # Whatever else a newer version writes is open.
    closed = e.status.in_([EventStatus.DONE, EventStatus.ERROR])
    return and_(
        lease.status.in_([LeaseStatus.TERMINATED, LeaseStatus.ERROR]),
        lease.end_date <= bindparam("before"),
        or_(lease.updated_at.is_(None), lease.updated_at <= bindparam("before")),
        lease.trust_id.is_(None),
        not_(exists().where(r.lease_id == lease.id, not_(released))),
        not_(exists().where(e.lease_id == lease.id, not_(closed))),
    )


IS_OVER = _is_over()
STARTING = (
    select(tables.leases.c.id)
    .where(
        tables.leases.c.start_date > bindparam("after"),
        tables.leases.c.start_date <= bindparam("until"),
        tables.leases.c.status == LeaseStatus.PENDING.value,
    )
    .order_by(tables.leases.c.start_date, tables.leases.c.id)
)
OVER = select(tables.leases.c.id).where(IS_OVER).limit(bindparam("limit"))
COUNT_OVER = select(func.count()).select_from(tables.leases).where(IS_OVER)
REMOVE_OVER = delete(tables.leases).where(
    tables.leases.c.id.in_(bindparam("lease_ids", expanding=True)), IS_OVER
)
"""The rest goes with the leases by foreign keys."""


_Rows = tuple[Table, Mapping[str, Columns], Mapping[str, Columns]]
"""A table with the rows that were there and those that are to be, by id."""


class SqlLeases:
    """The LeaseRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._listed = ListedLeases(connection)

    def get(self, lease_id: str) -> Lease | None:
        return next(self._load(ONE, {"lease_id": lease_id}), None)

    def get_many(self, lease_ids: Sequence[str]) -> Sequence[Lease]:
        found = (
            lease
            for some in chunks(sorted(set(lease_ids)))
            for lease in self._load(MANY, {"lease_ids": some})
        )
        return sorted(found, key=lambda lease: lease.key)

    def exists(self, lease_id: str) -> bool:
        return self._connection.execute(EXISTS, {"lease_id": lease_id}).first() is not None

    def list(self, project_id: str | None = None) -> Sequence[Lease]:
        return list(
            self._load(ALL, {}) if project_id is None else self._load(OF_PROJECT, {"project_id": project_id})
        )

    def page(self, page: ListPage, project_id: str | None = None) -> Sequence[Lease]:
        return self._listed.page(page, project_id)

    def find(self, query: LeaseQuery) -> LeasePage:
        return self._listed.find(query)

    def headings(self, lease_ids: Sequence[str]) -> Sequence[LeaseHeading]:
        return [
            LeaseHeading(row.id, row.name, LeaseStatus(row.status), row.project_id, row.user_id)
            for some in chunks(lease_ids)
            for row in self._connection.execute(HEADINGS, {"lease_ids": list(some)})
        ]

    def offered(self, offer_ids: Sequence[str]) -> Sequence[Lease]:
        """Return the leases of these offers."""
        return [
            lease
            for some in chunks(offer_ids)
            for lease in self._load(OFFERED_ONES, {"lease_ids": list(some)})
        ]

    def maintained(self, maintenance_ids: Sequence[str]) -> Sequence[Lease]:
        """Return the rows of these maintenances as leases."""
        return [
            lease
            for some in chunks(maintenance_ids)
            for lease in self._load(MAINTAINED, {"lease_ids": list(some)})
        ]

    def add(self, lease: Lease, now: datetime) -> Lease:
        return self.insert(lease, now, {})

    def insert(self, lease: Lease, now: datetime, columns: Columns) -> Lease:
        """Do as ``add`` does, with other columns in the lease's own row."""
        stored = added_lease(lease, now)
        row = {"id": lease.id, **rows.of_lease(stored), "revision": stored.revision, "created_at": now}
        row |= columns
        try:
            self._connection.execute(INSERTS[tables.leases], row)
            for table, columns_of in CHILDREN:
                self._insert(table, columns_of(stored), now)
        except IntegrityError as error:
            raise Stale() from error
        return stored

    def keep_key(self, key: KeptKey) -> None:
        try:
            self._connection.execute(insert(tables.request_keys), asdict(key))
        except IntegrityError as error:
            raise Stale() from error

    def kept_key(self, project_id: str, name: str) -> KeptKey | None:
        which = {"project_id": project_id, "name": name}
        row = self._connection.execute(KEPT_KEY, which).first()
        return None if row is None else KeptKey(project_id, name, row.fingerprint, row.lease_id)

    def save(self, new: Lease, old: Lease, now: datetime) -> Lease:
        stored = saved_lease(new, old, now)
        before = rows.of_lease(old)
        columns = {name: value for name, value in rows.of_lease(stored).items() if value != before[name]}
        self._compare_and_set(old, {**columns, "revision": stored.revision, "updated_at": stored.updated_at})
        self.write_parts(stored, old, now)
        return stored

    def write_parts(self, stored: Lease, old: Lease, now: datetime) -> None:
        """Write what differs in all that belongs to the lease."""
        self._write([(table, of(old), of(stored)) for table, of in CHILDREN], now)

    def save_all(self, changes: Sequence[tuple[Lease, Lease]], now: datetime) -> None:
        stored = [(saved_lease(new, old, now), old) for new, old in changes]
        self._compare_and_set_all(stored)
        written = [
            (
                table,
                _joined(columns_of(old) for _, old in stored),
                _joined(columns_of(new) for new, _ in stored),
            )
            for table, columns_of in CHILDREN
        ]
        self._write(written, now)

    def remove(self, lease: Lease) -> None:
        statement = delete(tables.leases).where(_is_unchanged(lease))  # the rest goes with it by foreign keys
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def ids_with_status(self, statuses: Sequence[str]) -> Sequence[str]:
        leases = tables.leases.c
        statement = (
            select(leases.id).where(leases.status.in_(statuses)).order_by(leases.created_at, leases.id)
        )
        return self._connection.scalars(statement).all()

    def ids_of_other_kinds(self, resource_types: Sequence[str]) -> Sequence[str]:
        return sorted(self._connection.scalars(OF_OTHER_KINDS, {"resource_types": list(resource_types)}))

    def count_over(self, before: datetime) -> int:
        return self._connection.execute(COUNT_OVER, {"before": before}).scalar_one()

    def over(self, before: datetime, limit: int) -> Sequence[str]:
        return self._connection.scalars(OVER, {"before": before, "limit": limit}).all()

    def remove_over(self, lease_ids: Sequence[str], before: datetime) -> int:
        removed = 0
        for some in chunks(lease_ids):
            which = {"lease_ids": some, "before": before}
            removed += self._connection.execute(REMOVE_OVER, which).rowcount
        return removed

    def on_resources(self, resource_ids: Sequence[str], interval: Interval) -> Sequence[str]:
        found: set[str] = set()
        for some in chunks(resource_ids):
            which = {"resource_ids": some, "start": interval.start, "end": interval.end}
            found.update(self._connection.scalars(ON_RESOURCES, which))
        return sorted(found)

    def starting(self, after: datetime, until: datetime) -> Sequence[str]:
        return self._connection.scalars(STARTING, {"after": after, "until": until}).all()

    def degraded(self) -> Sequence[str]:
        return sorted(self._connection.scalars(DEGRADED))

    def unfinished_reservations(self, reservation_ids: Sequence[str]) -> frozenset[str]:
        found: set[str] = set()
        for some in chunks(reservation_ids):
            found.update(self._connection.scalars(UNFINISHED_RESERVATIONS, {"reservation_ids": some}))
        return frozenset(found)

    def unfinished_on(self, resource_ids: Sequence[str], ending_by: datetime) -> Sequence[Allocation]:
        found: list[Allocation] = []
        read = rows.AllocationReader()
        for some in chunks(resource_ids):
            which = {"resource_ids": some, "ending_by": ending_by}
            found += map(read, self._connection.execute(UNFINISHED, which))
        return sorted(found, key=allocation_key)

    # ----------------------------------------------------------------------------------- reading

    def _load(self, selection: _Selection, which: Mapping[str, Any]) -> Iterator[Lease]:
        """Return the leases of the selection, in four selects however many they are.

        The lease's own row is read first: what another transaction commits between the selects then shows in
        the revision, and ``save`` refuses what was decided on a mixture.
        """
        found = self._connection.execute(selection.leases, which).all()
        if not found:
            return
        reservations, events = self._reservations(selection, which), self._events(selection, which)
        for row in found:
            yield rows.to_lease(row, tuple(reservations[row.id]), tuple(events[row.id]))

    def _reservations(
        self, selection: _Selection, which: Mapping[str, Any]
    ) -> Mapping[str, Sequence[Reservation]]:
        found = self._connection.execute(selection.reservations, which).all()
        read = rows.AllocationReader()
        allocations: dict[str, list[Allocation]] = defaultdict(list)
        surplus: dict[str, list[Allocation]] = defaultdict(list)
        for *columns, is_surplus in self._connection.execute(selection.allocations, which):
            allocation = read(columns)
            (surplus if is_surplus else allocations)[allocation.reservation_id].append(allocation)
        result: dict[str, list[Reservation]] = defaultdict(list)
        for row in found:
            reservation = rows.to_reservation(row, _sorted(allocations[row.id]), _sorted(surplus[row.id]))
            result[row.lease_id].append(reservation)
        return result

    def _events(self, selection: _Selection, which: Mapping[str, Any]) -> Mapping[str, Sequence[Event]]:
        result: dict[str, list[Event]] = defaultdict(list)
        for row in filter(rows.is_known_event, self._connection.execute(selection.events, which)):
            result[row.lease_id].append(rows.to_event(row))
        return result

    # ----------------------------------------------------------------------------------- writing

    def _write(self, changes: Sequence[_Rows], now: datetime) -> None:
        for table, was, is_now in changes:
            self._insert(table, {key: row for key, row in is_now.items() if key not in was}, now)
            self._update(table, was, is_now, now)
        for table, was, is_now in reversed(changes):
            self._delete(table, [key for key in was if key not in is_now])

    def _compare_and_set_all(self, changes: Sequence[tuple[Lease, Lease]]) -> None:
        """Write the leases' own rows. Those that get the same new values are written by one statement."""
        lease = tables.leases.c
        alike: dict[str, tuple[Columns, list[Lease]]] = {}
        for new, old in changes:
            before = rows.of_lease(old)
            columns = {name: value for name, value in rows.of_lease(new).items() if value != before[name]}
            columns["updated_at"] = new.updated_at
            alike.setdefault(repr(columns), (columns, []))[1].append(old)
        for columns, leases in alike.values():
            for some in chunks(sorted(leases, key=lambda each: each.id)):
                pairs = [(each.id, each.revision) for each in some]
                statement = (
                    update(tables.leases)
                    # The ids once more: not every database finds rows by an index when it is given pairs.
                    .where(lease.id.in_([i for i, _ in pairs]), tuple_(lease.id, lease.revision).in_(pairs))
                    .values(revision=lease.revision + 1, **columns)
                )
                if self._connection.execute(statement).rowcount != len(some):
                    raise Stale()

    def _compare_and_set(self, old: Lease, columns: Columns) -> None:
        statement = update(tables.leases).where(_is_unchanged(old)).values(**columns)
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def _insert(self, table: Table, added: Mapping[str, Columns], now: datetime) -> None:
        if added:
            parameters = [{"id": key, "created_at": now, **row} for key, row in added.items()]
            self._connection.execute(INSERTS[table], parameters)

    def _update(
        self, table: Table, was: Mapping[str, Columns], is_now: Mapping[str, Columns], now: datetime
    ) -> None:
        """Update all rows that get the same new values, such as the allocations of a moved lease, by one
        statement."""
        for columns, ids in _alike(_changes(was, is_now)):
            if "updated_at" in table.c and columns.keys() != {"position"}:
                columns["updated_at"] = now
            for some in chunks(ids):
                self._connection.execute(update(table).where(table.c.id.in_(some)).values(**columns))

    def _delete(self, table: Table, ids: Sequence[str]) -> None:
        for some in chunks(ids):
            self._connection.execute(delete(table).where(table.c.id.in_(some)))


def _sorted(allocations: Iterable[Allocation]) -> tuple[Allocation, ...]:
    return tuple(sorted(allocations, key=allocation_key))


def _joined(parts: Iterable[Mapping[str, Columns]]) -> Mapping[str, Columns]:
    return {key: row for part in parts for key, row in part.items()}


def _is_unchanged(lease: Lease) -> ColumnElement[bool]:
    return and_(tables.leases.c.id == lease.id, tables.leases.c.revision == lease.revision)


def _changes(was: Mapping[str, Columns], is_now: Mapping[str, Columns]) -> Iterable[tuple[str, Columns]]:
    """Return the rows in both that differ, with the columns that do."""
    for key, row in is_now.items():
        if key in was and was[key] != row:
            yield key, {name: value for name, value in row.items() if value != was[key][name]}


def _alike(changed: Iterable[tuple[str, Columns]]) -> Iterable[tuple[Columns, list[str]]]:
    """Return groups of rows that get the same new values."""
    groups: dict[str, tuple[Columns, list[str]]] = {}
    for key, columns in changed:
        groups.setdefault(repr(columns), (columns, []))[1].append(key)
    return groups.values()
