"""Reading a database of upstream Blazar: at one moment, and without changing anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, Column, Connection, Table, create_engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from blazar.adapters.db.engine import parse_url
from blazar.adapters.db.schema import known_revisions
from blazar.domain.errors import CloudUnavailable
from blazar.upstream import tables

AT_ONCE = 200
"""Leases that are read at once, with all that belongs to them."""
NEWEST = "553383923ca0"
"""The revision of the schema of 17 and 18."""


class UnsuitableSource(Exception):
    """The database is none of upstream Blazar 17 or 18; the message says what it is."""


@dataclass(frozen=True, slots=True)
class HostRows:
    """A row of computehosts with those that belong to it; properties are pairs of name and value."""

    host: Any
    capabilities: Sequence[tuple[str, str]] = ()
    inventories: Sequence[Any] = ()
    traits: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ReservationRows:
    """A row of reservations with those of its kind: the request itself (None where it is lost), and the ids
    of allocations with those of their resources."""

    reservation: Any
    host: Any = None
    instance: Any = None
    floatingip: Any = None
    required: Sequence[str] = ()
    allocations: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class LeaseRows:
    """A row of leases with those that belong to it, in the order in which they were made."""

    lease: Any
    reservations: Sequence[ReservationRows] = ()
    events: Sequence[Any] = ()


class Source:
    """An upstream database at one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def private_properties(self) -> Mapping[tuple[str, str], bool]:
        """Return whether a property is private, by resource type and name."""
        rows = self._connection.execute(select(tables.resource_properties))
        return {(row.resource_type, row.property_name): bool(row.private) for row in rows}

    def hosts(self) -> Sequence[HostRows]:
        """Return all hosts, the oldest first."""
        names = {row.id: row.property_name for row in self._all(tables.resource_properties)}
        capabilities: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in self._all(tables.capabilities):
            capabilities[row.computehost_id].append((names.get(row.property_id, ""), row.capability_value))
        inventories = _by(self._all(tables.inventories), "computehost_id")
        traits = _by(self._all(tables.traits), "computehost_id")
        return [
            HostRows(
                row,
                sorted(capabilities[row.id]),
                inventories[row.id],
                sorted({each.trait for each in traits[row.id]}),
            )
            for row in self._all(tables.hosts)
        ]

    def floatingips(self) -> Sequence[Any]:
        return self._all(tables.floatingips)

    def statuses(self) -> Sequence[Any]:
        """Return id and status of all leases, the oldest first."""
        lease = tables.leases.c
        statement = select(lease.id, lease.status, lease.created_at)
        return sorted(self._connection.execute(statement), key=_age)

    def leases(self, ids: Sequence[str]) -> Iterator[LeaseRows]:
        """Yield these leases in the order of the ids."""
        for first in range(0, len(ids), AT_ONCE):
            yield from self._some(ids[first : first + AT_ONCE])

    def _some(self, ids: Sequence[str]) -> Iterator[LeaseRows]:
        found = {row.id: row for row in self._where(tables.leases.c.id, ids)}
        events = _by(self._where(tables.events.c.lease_id, ids), "lease_id")
        reservations = self._reservations(ids)
        for id_ in ids:
            yield LeaseRows(found[id_], reservations[id_], events[id_])

    def _reservations(self, lease_ids: Sequence[str]) -> Mapping[str, list[ReservationRows]]:
        rows = self._where(tables.reservations.c.lease_id, lease_ids)
        ids = [row.id for row in rows]
        hosts = self._one_each(tables.host_reservations, ids)
        instances = self._one_each(tables.instance_reservations, ids)
        floatingips = self._one_each(tables.floatingip_reservations, ids)
        wanted = tables.required_floatingips.c.floatingip_reservation_id
        required = _by(self._where(wanted, [row.id for row in floatingips.values()]), wanted.name)
        allocations = self._allocations(ids)
        found: dict[str, list[ReservationRows]] = defaultdict(list)
        for row in rows:
            own = floatingips.get(row.id)
            addresses = [each.address for each in required[own.id]] if own is not None else []
            found[row.lease_id].append(
                ReservationRows(
                    row, hosts.get(row.id), instances.get(row.id), own, addresses, allocations[row.id]
                )
            )
        return found

    def _allocations(self, reservation_ids: Sequence[str]) -> Mapping[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        hosts, floatingips = tables.host_allocations.c, tables.floatingip_allocations.c
        for row in self._where(hosts.reservation_id, reservation_ids):
            found[row.reservation_id].append((row.id, row.compute_host_id))
        for row in self._where(floatingips.reservation_id, reservation_ids):
            found[row.reservation_id].append((row.id, row.floatingip_id))
        return found

    def _one_each(self, table: Table, reservation_ids: Sequence[str]) -> Mapping[str, Any]:
        return {row.reservation_id: row for row in self._where(table.c.reservation_id, reservation_ids)}

    def _all(self, table: Table) -> Sequence[Any]:
        return sorted(self._connection.execute(select(table)), key=_age)

    def _where(self, column: Column[Any], values: Sequence[str]) -> Sequence[Any]:
        rows: list[Any] = []
        for first in range(0, len(values), AT_ONCE):
            statement = select(column.table).where(column.in_(values[first : first + AT_ONCE]))
            rows += self._connection.execute(statement)
        return sorted(rows, key=_age)


@contextmanager
def open_source(url: str | URL) -> Iterator[Source]:
    """Open the database for reading. Raises UnsuitableSource, CloudUnavailable, and what ``parse_url``
    raises."""
    address = parse_url(url)
    is_file = address.get_backend_name() == "sqlite"
    if is_file:
        # Opened in the usual way, a file that is not there would be made.
        address = READ_ONLY_FILE.set(database=f"file:{address.database}")
    engine = create_engine(address, isolation_level=None if is_file else "REPEATABLE READ")
    try:
        with engine.connect() as connection:
            _require_known(connection)
            yield Source(connection)
    except SQLAlchemyError as error:
        # Not the error's own words, which may show a password.
        raise CloudUnavailable(
            service="The database to import", reason=f"it does not answer ({type(error).__name__})."
        ) from error
    finally:
        engine.dispose()


READ_ONLY_FILE = URL.create("sqlite", query={"mode": "ro", "uri": "true"})


def _require_known(connection: Connection) -> None:
    looked_at = inspect(connection)
    there = set(looked_at.get_table_names())
    revision = _revision(connection) if "alembic_version" in there else None
    if revision in known_revisions():
        raise UnsuitableSource("That is a database of this service, not one to import from.")
    missing = sorted(set(tables.metadata.tables) - there)
    if not missing:
        for name, table in tables.metadata.tables.items():
            columns = {column["name"] for column in looked_at.get_columns(name)}
            missing += [f"{name}.{c.name}" for c in table.columns if c.name not in columns]
    if missing:
        raise UnsuitableSource(
            f"It has not the schema of upstream Blazar 17 or 18 (revision {NEWEST}) but "
            f"{revision or 'none that is known'}: {', '.join(missing[:5])} is missing. Upgrade it with the "
            "upstream release that it belongs to, and then with upstream's 17 or 18."
        )


def _revision(connection: Connection) -> str | None:
    rows = connection.exec_driver_sql("SELECT version_num FROM alembic_version").all()
    return str(rows[0][0]) if rows else None


def _by(rows: Iterable[Any], column: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        found[getattr(row, column)].append(row)
    return found


def _age(row: Any) -> tuple[str, str]:
    return (row.created_at.isoformat() if row.created_at else "", row.id)
