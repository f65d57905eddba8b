"""The lists of leases in the database: which leases are on a page, and what lists show of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Row,
    Select,
    String,
    Table,
    Text,
    and_,
    any_,
    bindparam,
    or_,
    select,
    true,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import ARRAY

from blazar.adapters.db import rows, tables
from blazar.adapters.db.selections import IS_LEASE, chunks
from blazar.adapters.db.types import Json, UtcDateTime
from blazar.adapters.lease_lists import LeaseScan, page_of
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.priority import Priority
from blazar.service.ports import LeasePage, LeasePlace, LeaseQuery, LeaseSort, ListPage

LEASE = tables.leases.c
SHARE = tables.lease_shares.c


def _listed(table: Table, names: Sequence[str]) -> Select[Any]:
    """Select columns with moments and JSON as the database has them: rows.ListedReader reads them, for the
    column types would take longer than all else."""
    raw: dict[type, Any] = {UtcDateTime: DateTime(), Json: Text()}
    columns = [table.c[name] for name in names]
    return select(
        *(type_coerce(c, raw[type(c.type)]).label(c.name) if type(c.type) in raw else c for c in columns)
    )


LEASES = _listed(tables.leases, rows.LISTED_LEASE)
RESERVATIONS = _listed(tables.reservations, rows.LISTED_RESERVATION)
EVENTS = _listed(tables.events, rows.LISTED_EVENT)


@dataclass(frozen=True, slots=True)
class _Selection:
    """The statements that read some leases, and what lists show of them."""

    leases: Select[Any]
    reservations: Select[Any]
    events: Select[Any]


def _selection(is_one_of: Callable[[ColumnElement[str]], ColumnElement[bool]]) -> _Selection:
    reservation, event = tables.reservations.c, tables.events.c
    return _Selection(
        LEASES.where(is_one_of(LEASE.id)),
        RESERVATIONS.where(is_one_of(reservation.lease_id)).order_by(reservation.position),
        EVENTS.where(is_one_of(event.lease_id)).order_by(event.position),
    )


OF_IDS = _selection(lambda column: column.in_(bindparam("lease_ids", expanding=True)))
OF_ARRAY = _selection(lambda column: column == any_(bindparam("lease_ids", type_=ARRAY(String))))
"""The same in PostgreSQL, where one array is bound in a fraction of the time of hundreds of ids."""

_AFTER = and_(
    LEASE.created_at >= bindparam("created_at", type_=UtcDateTime),
    or_(LEASE.created_at > bindparam("created_at", type_=UtcDateTime), LEASE.id > bindparam("id")),
)
"""What comes after a key, written so that MariaDB too begins to read an index at the key."""
IN_PROJECT = LEASE.project_id == bindparam("project_id")


def _page(*conditions: ColumnElement[bool]) -> Select[Any]:
    return LEASES.where(IS_LEASE, *conditions).order_by(LEASE.created_at, LEASE.id).limit(bindparam("limit"))


PAGES = {
    (of_project, has_key): _page(*(IN_PROJECT,) * of_project, *(_AFTER,) * has_key)
    for of_project in (False, True)
    for has_key in (False, True)
}
"""The leases of a page by whether one project is asked for, and whether it is not the first page."""


class ListedLeases:
    """Reads lists of leases in one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._selection = OF_ARRAY if connection.dialect.name == "postgresql" else OF_IDS

    def page(self, page: ListPage, project_id: str | None) -> Sequence[Lease]:
        which: dict[str, Any] = {"limit": page.limit}
        if project_id is not None:
            which["project_id"] = project_id
        if page.after is not None:
            which |= {"created_at": page.after.created_at, "id": page.after.id}
        statement = PAGES[project_id is not None, page.after is not None]
        return self._with_parts(self._connection.execute(statement, which).all())

    def find(self, query: LeaseQuery) -> LeasePage:
        places, goes_on = page_of(query, [self._scan(query, branch) for branch in _branches(query)])
        found = self._all(self._selection.leases, [place.id for place in places])
        by_id = {lease.id: lease for lease in self._with_parts(found)}
        leases = [by_id[place.id] for place in places]
        # MariaDB takes a name for the same with blanks at its end.
        return LeasePage([each for each in leases if query.name in (None, each.name)], goes_on)

    def _scan(self, query: LeaseQuery, branch: _Branch) -> LeaseScan:
        """Look at the leases of the branch that follow ``query.after``, as far as an answer may need."""
        order = _order(query)
        statement = select(*order, _all_of(branch.filters).label("fits")).where(branch.is_in, IS_LEASE)
        statement = statement.order_by(*((c.desc() if query.descending else c.asc()) for c in order))
        window = max(query.limit + 1, query.scan if branch.filters else 0)
        found: list[tuple[LeasePlace, bool]] = []
        for follows in _following(query):
            rest = statement.where(follows).limit(window - len(found))
            found += (_place(query.sort, row) for row in self._connection.execute(rest).all())
            if len(found) == window:
                return LeaseScan(found, is_whole=False)
        return LeaseScan(found, is_whole=True)

    def _all(self, statement: Select[Any], lease_ids: Sequence[str]) -> list[Row[Any]]:
        return [
            row
            for some in chunks(lease_ids)
            for row in self._connection.execute(statement, {"lease_ids": list(some)}).all()
        ]

    def _with_parts(self, found: Sequence[Row[Any]]) -> Sequence[Lease]:
        ids = [row.id for row in found]
        reservations, events = (
            self._all(each, ids) for each in (self._selection.reservations, self._selection.events)
        )
        return rows.ListedReader().leases(found, reservations, events)


@dataclass(frozen=True, slots=True)
class _Branch:
    """Leases that stand one after another in an index, in the order of the list, and the further conditions,
    which each that is looked at has to meet."""

    is_in: ColumnElement[bool]
    filters: Sequence[ColumnElement[bool]] = ()


def _branches(query: LeaseQuery) -> Sequence[_Branch]:
    """Return what is to be looked at: as little as the indexes of ``tables.leases`` allow."""
    conditions = _conditions(query)
    if query.shared_with is not None and query.ids is None:
        filters = [condition for name, condition in conditions.items() if name != "shared_with"]
        return [_Branch(conditions["shared_with"], filters)]
    if query.ids is not None or query.series_id is not None:  # some hundred leases: no limit is needed
        return [_Branch(_all_of(conditions.values()))]
    indexed = {"project_id"} | _OF_SORT[query.sort]
    if query.name is not None and query.sort in (LeaseSort.NAME, LeaseSort.CREATED_AT):
        indexed |= {"name"}
    elif query.statuses is not None and query.sort is LeaseSort.CREATED_AT:
        indexed |= {"statuses"}
    is_in = [condition for name, condition in conditions.items() if name in indexed - {"statuses"}]
    filters = [condition for name, condition in conditions.items() if name not in indexed]
    if "statuses" in indexed:
        each = [LEASE.status == status for status in dict.fromkeys(query.statuses or ())]
        return [_Branch(_all_of([*is_in, status]), filters) for status in each]
    return [_Branch(_all_of(is_in), filters)]


_OF_SORT: Mapping[LeaseSort, frozenset[str]] = {
    LeaseSort.CREATED_AT: frozenset(),
    LeaseSort.START_DATE: frozenset({"starts_after", "starts_before"}),
    LeaseSort.END_DATE: frozenset({"ends_after", "ends_before"}),
    LeaseSort.NAME: frozenset(),
}
"""The conditions on what the list is sorted by: they limit a part of the index."""


def _conditions(query: LeaseQuery) -> Mapping[str, ColumnElement[bool]]:
    """Return the conditions of the query by name."""
    r = tables.reservations.c
    asked: dict[str, tuple[object, Callable[[Any], ColumnElement[bool]]]] = {
        "project_id": (query.project_id, lambda value: LEASE.project_id == value),
        "ids": (query.ids, LEASE.id.in_),
        "shared_with": (
            query.shared_with,
            lambda value: and_(SHARE.lease_id == LEASE.id, SHARE.project_id == value),
        ),
        "series_id": (query.series_id, lambda value: LEASE.series_id == value),
        "name": (query.name, lambda value: LEASE.name == value),
        "statuses": (query.statuses, LEASE.status.in_),
        "starts_after": (query.starts_after, lambda value: LEASE.start_date >= value),
        "starts_before": (query.starts_before, lambda value: LEASE.start_date < value),
        "ends_after": (query.ends_after, lambda value: LEASE.end_date > value),
        "ends_before": (query.ends_before, lambda value: LEASE.end_date <= value),
        "priority": (
            query.priority,
            lambda value: (
                LEASE.priority.is_(None) if value is Priority.NORMAL else LEASE.priority == value.value
            ),
        ),
        "resource_type": (
            query.resource_type,
            # For exists(), PostgreSQL would read all reservations: it does not see that few are asked about.
            lambda value: (
                select(r.lease_id)
                .where(r.lease_id == LEASE.id, r.resource_type == value)
                .limit(1)
                .scalar_subquery()
                .is_not(None)
            ),
        ),
    }
    return {name: condition(value) for name, (value, condition) in asked.items() if value is not None}


def _all_of(conditions: Iterable[ColumnElement[bool]]) -> ColumnElement[bool]:
    return and_(true(), *conditions)


def _order(query: LeaseQuery) -> Sequence[Column[Any]]:
    if query.shared_with is not None:
        return SHARE.lease_created_at, SHARE.lease_id
    first = LEASE[query.sort.value]
    return (first, LEASE.created_at, LEASE.id) if query.sort is LeaseSort.NAME else (first, LEASE.id)


def _place(sort: LeaseSort, row: Sequence[Any]) -> tuple[LeasePlace, bool]:
    text = row[0] if sort is LeaseSort.NAME else ""
    return LeasePlace(text, row[-3], row[-2]), bool(row[-1])


def _following(query: LeaseQuery) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions for what follows ``query.after``, from the nearest on: first those that have all
    but the id in common with it, and so on.

    One condition for all of them would be shorter, but MariaDB would walk through an index from its
    beginning, or from the first that has the moment in common."""
    if query.after is None:
        yield true()
        return
    order, after = _order(query), query.after
    values = (after.text, after.moment, after.id)[-len(order) :]
    for last in reversed(range(len(order))):
        in_common = [column == value for column, value in zip(order[:last], values, strict=False)]
        follows = order[last] < values[last] if query.descending else order[last] > values[last]
        yield and_(*in_common, follows)
