"""Registered resources in the database: their generations and their allocations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    String,
    Update,
    and_,
    bindparam,
    cast,
    delete,
    false,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from blazar.adapters.changes import LONGEST_CHANGES, changed_since, leases_of
from blazar.adapters.db import rows, tables
from blazar.adapters.db.properties import SqlProperties
from blazar.adapters.db.selections import (
    IS_NOT_TERMINATED,
    allocations_where,
    chunks,
    listed_registrations,
    registrations_where,
)
from blazar.adapters.stored import added_registration, allocation_key, saved_registration
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import Allocation, Pool, Registration, database_order
from blazar.service.ports import PropertyRecord, ResourceChange

STREAM = 2000
"""Rows fetched at a time when a whole calendar is read."""
DIGITS_OF_A_TEXT = 99
"""What the column ``digits`` has for an id that is no number."""

WITH_IDS = registrations_where(tables.resources.c.id.in_(bindparam("ids", expanding=True)))
GENERATIONS = select(tables.resources.c.id, tables.resources.c.generation).where(
    tables.resources.c.pool == bindparam("pool")
)
TOUCHED = GENERATIONS.where(tables.resources.c.touched_at >= bindparam("since"))


def _raised(statement: Update) -> Update:
    """Return the statement that raises generations by one at ``now``, and notes as ``noted`` does that
    ``leases`` did so. MariaDB reads what it has set before, so what reads the generation comes first."""
    r = tables.resources.c
    change = cast(r.generation, String) + "=" + bindparam("leases", type_=String) + ";"
    changes = func.substr(change + func.coalesce(r.changes, ""), 1, LONGEST_CHANGES)
    return statement.ordered_values(
        (r.changes, changes), (r.generation, r.generation + 1), (r.touched_at, bindparam("now"))
    )


BUMP = _raised(
    update(tables.resources).where(
        tables.resources.c.id == bindparam("resource_id"),
        tables.resources.c.generation == bindparam("before"),
    )
)
"""The usual case, of one resource: the statement is made once."""
CHANGED = WITH_IDS.add_columns(tables.resources.c.changes)
FAILED = registrations_where(
    tables.resources.c.pool == bindparam("pool"), tables.resources.c.failed_at.is_not(None)
)
UNRESERVABLE = registrations_where(
    tables.resources.c.pool == bindparam("pool"), tables.resources.c.reservable == false()
)
EVERY = registrations_where(tables.resources.c.pool == bindparam("pool"))
# Begun with the resources, it would look up the leases that are over as well.
RESERVED = (
    allocations_where(
        IS_NOT_TERMINATED,
        tables.allocations.c.resource_id.in_(
            select(tables.resources.c.id).where(tables.resources.c.pool == bindparam("pool"))
        ),
    )
    .select_from(tables.leases)
    .join(tables.allocations, tables.allocations.c.lease_id == tables.leases.c.id)
    .prefix_with("STRAIGHT_JOIN", dialect="mysql")
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)


@dataclass(frozen=True, slots=True)
class _Pages:
    """The statements that read what follows an id: first the resources whose ids have as many digits, then
    those with more. Each reads nothing but its answer from an index, which one statement for both would not
    in every database."""

    first: Select[Any]
    as_long: Select[Any]
    longer: Select[Any]


def _pages(columns: Select[Any]) -> _Pages:
    r = tables.resources.c
    first = columns.where(r.pool == bindparam("pool")).order_by(r.digits, r.id).limit(bindparam("limit"))
    as_long = first.where(r.digits == bindparam("digits"), r.id > bindparam("after"))
    return _Pages(first, as_long, first.where(r.digits > bindparam("digits")))


IDS = _pages(select(tables.resources.c.id))
LISTED = _pages(listed_registrations())

_ByResource = defaultdict[str, list[Allocation]]


class SqlResources:
    """The ResourceRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._properties = SqlProperties(connection)

    def get(self, resource_id: str) -> Registration | None:
        return self._one(tables.resources.c.id == resource_id)

    def find(self, pool: Pool, name: str) -> Registration | None:
        return self._one(and_(tables.resources.c.pool == pool, tables.resources.c.name == name))

    def find_by_cloud_id(self, pool: Pool, cloud_id: str) -> Registration | None:
        r = tables.resources.c
        return self._one(and_(r.pool == pool, r.cloud_id == cloud_id))

    def failed(self, pool: Pool) -> Sequence[Registration]:
        return _in_order(self._connection.execute(FAILED, {"pool": pool}))

    def unreservable(self, pool: Pool) -> Sequence[Registration]:
        return _in_order(self._connection.execute(UNRESERVABLE, {"pool": pool}))

    def list(self, pool: Pool, ids: Sequence[str] | None = None) -> Sequence[Registration]:
        return _in_order(self._rows(pool, ids))

    def ids(self, pool: Pool, limit: int, after: str | None = None) -> Sequence[str]:
        return [row.id for row in self._page(IDS, pool, limit, after)]

    def page(self, pool: Pool, limit: int, after: str | None = None) -> Sequence[Registration]:
        return rows.to_listed(self._page(LISTED, pool, limit, after))

    def add(self, registration: Registration, now: datetime) -> Registration:
        stored = added_registration(registration, now)
        row = {
            "id": stored.id,
            "pool": stored.pool,
            "name": stored.name,
            **rows.of_registration(stored),
            "generation": stored.generation,
            "touched_at": now,
            "created_at": now,
        }
        try:
            self._connection.execute(insert(tables.resources), row)
        except IntegrityError as error:
            raise Stale() from error
        return stored

    def save(self, registration: Registration, now: datetime) -> Registration:
        stored = saved_registration(registration, now)
        raised = {"generation": stored.generation, "touched_at": now, "updated_at": now}
        statement = (
            update(tables.resources)
            .where(_is_at(registration.id, registration.generation))
            .values(**rows.of_registration(stored), **raised)
        )
        try:
            saved = self._connection.execute(statement).rowcount
        except IntegrityError as error:
            raise Stale() from error
        if saved != 1:
            raise Stale()
        return stored

    def remove(self, resource_id: str, generation: int) -> None:
        statement = delete(tables.resources).where(_is_at(resource_id, generation))
        if self._connection.execute(statement).rowcount != 1:
            raise Stale()

    def bump(self, generations: Mapping[str, int], now: datetime, lease_ids: Iterable[str] = ()) -> None:
        r, what = tables.resources.c, {"now": now, "leases": leases_of(lease_ids)}
        if len(generations) == 1:
            ((resource_id, generation),) = generations.items()
            which = {"resource_id": resource_id, "before": generation, **what}
            if self._connection.execute(BUMP, which).rowcount != 1:
                raise Stale()
            return
        # Everybody in the same order, so that two transactions with many common resources rarely deadlock.
        for some in chunks(sorted(generations.items())):
            # The ids once more: not every database finds rows by an index when it is given pairs.
            are_those = r.id.in_([id_ for id_, _ in some]), tuple_(r.id, r.generation).in_(some)
            statement = _raised(update(tables.resources).where(*are_those))
            if self._connection.execute(statement, what).rowcount != len(some):
                raise Stale()

    def touch(self, resource_ids: Sequence[str], now: datetime, lease_ids: Iterable[str] = ()) -> None:
        what = {"now": now, "leases": leases_of(lease_ids)}
        for some in chunks(sorted(set(resource_ids))):
            statement = _raised(update(tables.resources).where(tables.resources.c.id.in_(some)))
            self._connection.execute(statement, what)

    def generations(self, pool: Pool, touched_since: datetime | None = None) -> Mapping[str, int]:
        found = (
            self._connection.execute(GENERATIONS, {"pool": pool})
            if touched_since is None
            else self._connection.execute(TOUCHED, {"pool": pool, "since": touched_since})
        )
        return {row.id: row.generation for row in found}

    def occupancy(
        self, pool: Pool, ids: Sequence[str] | None = None
    ) -> Iterable[tuple[Registration, Sequence[Allocation]]]:
        # The generations are read before the allocations: a commit in between makes the later bump Stale.
        registrations = list(self.every(pool) if ids is None else self._some(pool, ids))
        by_resource = _by_resource(self.reserved(pool)) if ids is None else self._on(ids)
        return [(registration, by_resource[registration.id]) for registration in registrations]

    def every(self, pool: Pool) -> Iterable[Registration]:
        return map(rows.RegistrationReader(), self._stream(EVERY, pool))

    def reserved(self, pool: Pool) -> Iterable[Allocation]:
        return map(rows.AllocationReader(), self._stream(RESERVED, pool))

    def changes(self, pool: Pool, known: Mapping[str, int | None]) -> Iterable[ResourceChange]:
        # The generations are read before the allocations, as for ``occupancy``.
        read = rows.RegistrationReader()
        found: list[tuple[Registration, frozenset[str] | None]] = []
        for some in chunks(list(known)):
            for row in self._connection.execute(CHANGED, {"ids": some}):
                if row.pool == pool:
                    found.append((read(row), changed_since(row.changes, known[row.id], row.generation)))
        entire = self._on([registration.id for registration, leases in found if leases is None])
        parts = self._of_leases(sorted({id_ for _, leases in found for id_ in leases or ()}))
        for registration, leases in found:
            if leases is None:
                yield ResourceChange(registration, None, entire[registration.id])
            else:
                theirs = [each for each in parts[registration.id] if each.lease_id in leases]
                yield ResourceChange(registration, leases, theirs)

    def allocations(
        self,
        pool: Pool,
        *,
        resource_ids: Sequence[str] | None = None,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        ending_after: datetime | None = None,
    ) -> Sequence[Allocation]:
        a = tables.allocations.c
        statement = _in_pool(allocations_where(), pool)
        equal = ((a.lease_id, lease_id), (a.reservation_id, reservation_id))
        statement = statement.where(*(column == value for column, value in equal if value is not None))
        if ending_after is not None:
            statement = statement.where(a.end_date >= ending_after)
        statements = [statement]
        if resource_ids is not None:
            statements = [statement.where(a.resource_id.in_(some)) for some in chunks(resource_ids)]
        read = rows.AllocationReader()
        found = (read(row) for each in statements for row in self._connection.execute(each))
        return sorted(found, key=allocation_key)

    def private_properties(self, resource_type: str) -> Mapping[str, PropertyRecord]:
        return self._properties.by_name(resource_type)

    def add_properties(self, resource_type: str, names: Iterable[str], now: datetime) -> None:
        self._properties.add(resource_type, names, now)

    def set_property_private(
        self, resource_type: str, name: str, private: bool, now: datetime
    ) -> PropertyRecord | None:
        return self._properties.set_private(resource_type, name, private, now)

    # ----------------------------------------------------------------------------------- reading

    def _page(self, pages: _Pages, pool: Pool, limit: int, after: str | None) -> Sequence[Row[Any]]:
        execute, which = self._connection.execute, {"pool": pool, "limit": limit}
        if after is None:
            return execute(pages.first, which).all()
        digits = DIGITS_OF_A_TEXT if database_order(after)[0] else len(after)
        found = execute(pages.as_long, {**which, "digits": digits, "after": after}).all()
        if len(found) == limit:
            return found
        more = execute(pages.longer, {**which, "digits": digits, "limit": limit - len(found)})
        return [*found, *more]

    def _one(self, condition: ColumnElement[bool]) -> Registration | None:
        row = self._connection.execute(registrations_where(condition)).one_or_none()
        return None if row is None else rows.RegistrationReader()(row)

    def _rows(self, pool: Pool, ids: Sequence[str] | None) -> Iterator[Row[Any]]:
        if ids is None:
            r = tables.resources.c
            statement = registrations_where(r.pool == pool).order_by(r.id)
            yield from self._connection.execute(statement)
            return
        for some in chunks(ids):
            # With a condition on the pool as well, SQLite would walk through the whole pool.
            found = self._connection.execute(WITH_IDS, {"ids": some})
            yield from (row for row in found if row.pool == pool)

    def _some(self, pool: Pool, ids: Sequence[str]) -> Iterable[Registration]:
        return map(rows.RegistrationReader(), self._rows(pool, ids))

    def _stream(self, statement: Select[Any], pool: Pool) -> Iterator[Row[Any]]:
        """Ask when the first row is used, and read rows as they are."""
        options = {"stream_results": True, "yield_per": STREAM}
        yield from self._connection.execute(statement, {"pool": pool}, execution_options=options)

    def _on(self, resource_ids: Sequence[str]) -> _ByResource:
        """Return what is reserved on these resources."""
        return self._by_resource(tables.allocations.c.resource_id, resource_ids)

    def _of_leases(self, lease_ids: Sequence[str]) -> _ByResource:
        """Return what these leases have. Only their rows are read, however many others are on a resource."""
        return self._by_resource(tables.allocations.c.lease_id, lease_ids)

    def _by_resource(self, column: Column[str], ids: Sequence[str]) -> _ByResource:
        """Return the allocations of leases that are not over and have one of the ids, by resource."""
        read = rows.AllocationReader()
        statements = (allocations_where(column.in_(some), _lease_is_not_over()) for some in chunks(ids))
        return _by_resource(read(row) for each in statements for row in self._connection.execute(each))


def _by_resource(allocations: Iterable[Allocation]) -> _ByResource:
    by_resource: _ByResource = defaultdict(list)
    for allocation in allocations:
        by_resource[allocation.resource_id].append(allocation)
    return by_resource


def _is_at(resource_id: str, generation: int) -> ColumnElement[bool]:
    return and_(tables.resources.c.id == resource_id, tables.resources.c.generation == generation)


def _lease_is_not_over() -> ColumnElement[bool]:
    """Return the condition that an allocation's lease is not over. It is for few allocations: as a subquery
    it is looked up for each, where a join may walk through all leases."""
    lease = tables.leases.c
    status = select(lease.status).where(lease.id == tables.allocations.c.lease_id).scalar_subquery()
    return status != LeaseStatus.TERMINATED.value


def _in_pool(statement: Select[Any], pool: Pool) -> Select[Any]:
    r = tables.resources.c
    return statement.join(tables.resources, r.id == tables.allocations.c.resource_id).where(r.pool == pool)


def _in_order(found: Iterable[Row[Any]]) -> Sequence[Registration]:
    return sorted(map(rows.RegistrationReader(), found), key=lambda each: database_order(each.id))
