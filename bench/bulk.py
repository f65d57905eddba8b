"""Fills a database on MariaDB with many hosts and leases within minutes. One lease is made as the service
makes it, and the database itself writes rows like its rows."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from seed import TRAITS, YEAR, host, ids, lease_of
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    FromClause,
    Table,
    cast,
    column,
    func,
    insert,
    literal,
    select,
    table,
    text,
)

from blazar.adapters.db import rows, tables
from blazar.domain.time import Interval, floor_minute

MODELS = 20
"""Models of hosts: those of one model have the same traits."""
LEASES_OF_A_PROJECT = 1000
BATCH = 100_000
YEAR_OF_MINUTES = YEAR * 1440
Columns = Mapping[str, Any]
Expression = ColumnElement[Any]


@dataclass(frozen=True)
class Leases:
    """Leases of one host each, one after another on each host, spread over the year that begins at
    ``since``."""

    name: str
    number: int
    since: datetime
    made: datetime
    """When the last of them was made, a second after the one before it."""
    are_over: bool = False
    at_once: bool = False
    """Whether they all begin at ``since``, one on each host."""


def fill(engine: Engine, hosts: int, future: int, ended: int, now: datetime) -> None:
    """Write hosts with the names of the sandbox's hosts, and leases of the next and of the last year."""
    fill_hosts(engine, hosts, now)
    minute = floor_minute(now)
    begun = minute - timedelta(days=YEAR + 1)
    fill_leases(engine, hosts, Leases("ended", ended, begun, begun, are_over=True))
    fill_leases(engine, hosts, Leases("future", future, minute + timedelta(days=2), minute))


def fill_hosts(engine: Engine, hosts: int, now: datetime) -> None:
    rng = random.Random(7)
    models = [rng.sample(TRAITS, 100) for _ in range(MODELS)]
    with engine.begin() as connection:
        made = (host(n, f"compute-{n:02d}", models[n % MODELS], rng) for n in range(1, hosts + 1))
        while some := list(islice(made, 2000)):
            given = [
                {"id": each.id, "pool": each.pool, "name": each.name, "generation": each.generation}
                | rows.of_registration(each)
                | {"touched_at": now, "created_at": now}
                for each in some
            ]
            connection.execute(insert(tables.resources), given)
        connection.execute(text("ANALYZE TABLE resources"))


def fill_leases(engine: Engine, hosts: int, leases: Leases) -> None:
    with engine.connect() as connection:
        # What is written fits together, and no program uses the database yet.
        connection.execute(text("SET SESSION foreign_key_checks = 0, SESSION unique_checks = 0"))
        for first in range(0, leases.number, BATCH):
            _Batch(connection, hosts, leases, first, min(first + BATCH, leases.number)).write()
            connection.commit()
        for name in ("leases", "reservations", "allocations", "events"):
            connection.execute(text(f"ANALYZE TABLE {name}"))
        connection.invalidate()  # with what was set for it


class _Batch:
    """The leases from the number ``first`` up to ``end``."""

    def __init__(self, connection: Connection, hosts: int, leases: Leases, first: int, end: int) -> None:
        self._connection = connection
        self._leases = leases
        self._numbers: FromClause = table(f"seq_{first}_to_{end - 1}", column("seq", BigInteger))
        self._number = number = cast(self._numbers.c.seq, BigInteger)  # with a sign
        # One after another on each host, each somewhere in its part of the year.
        part = YEAR_OF_MINUTES * hosts // max(leases.number, hosts)
        begin = func.floor(number.op("DIV")(hosts) * part + self._share("begin") * part * 0.4)
        if leases.at_once:
            begin = literal(0)
        length = func.floor(self._share("length") * part * 0.4 + part * 0.1) + 1
        self._start, self._end = self._minute(begin), self._minute(begin + length)
        self._host = cast(number % hosts + 1, tables.resources.c.id.type)
        self._project = func.concat("bench-", number.op("DIV")(LEASES_OF_A_PROJECT))
        self._created = func.timestampadd(text("SECOND"), number - leases.number, _utc(leases.made))

    def write(self) -> None:
        moment = self._leases.since
        made = lease_of(ids(random.Random(7)), "1", Interval(moment, moment + timedelta(hours=1)))
        (reservation,) = rows.of_reservations(made).values()
        (allocation,) = rows.of_allocations(made).values()
        lease_id, reservation_id = self._id("lease"), self._id("reservation")
        dates = {"start_date": self._start, "end_date": self._end}
        own = {
            "id": lease_id,
            "name": func.concat(f"{self._leases.name}-", self._number),
            "user_id": self._project,
            "project_id": self._project,
            "quantities": {"hosts": 1},
            "revision": 1,
            **dates,
        }
        part = {"lease_id": lease_id}
        over = self._leases.are_over
        self._write(tables.leases, rows.of_lease(made) | own | ({"status": "TERMINATED"} if over else {}))
        own = {"id": reservation_id, "resource_id": self._id("of-kind"), **part}
        self._write(tables.reservations, reservation | own | ({"status": "deleted"} if over else {}))
        own = {"id": self._id("allocation"), "reservation_id": reservation_id, "resource_id": self._host}
        self._write(tables.allocations, allocation | own | part | dates)
        for event in rows.of_events(made).values():
            time = self._start if event["event_type"] == "start_lease" else self._end
            own = {"id": self._id(event["event_type"]), "time": time, "due": time}
            self._write(tables.events, event | own | part | ({"status": "DONE"} if over else {}))

    def _write(self, written: Table, columns: Columns) -> None:
        columns = {**columns, "created_at": self._created}
        given = [
            value if isinstance(value, ColumnElement) else literal(value, written.c[name].type)
            for name, value in columns.items()
        ]
        copied = select(*given).select_from(self._numbers)
        self._connection.execute(insert(written).from_select(list(columns), copied))

    def _id(self, noun: str) -> Expression:
        """Return an id. They come in their order, which is the fastest to write, and spread over all ids, so
        that a new one falls anywhere."""
        first = func.lpad(func.hex(func.floor((self._number + 0.5) / self._leases.number * 2**32)), 8, "0")
        rest = func.md5(func.concat(f"{self._leases.name}-{noun}-", self._number))
        parts = [func.substr(rest, at, length) for at, length in ((1, 4), (5, 4), (9, 4), (13, 12))]
        return func.lower(func.concat_ws("-", first, *parts))

    def _share(self, what: str) -> Expression:
        """Return a number from 0 up to 1, which looks random."""
        return func.crc32(func.concat(f"{self._leases.name}-{what}-", self._number)) / literal(2.0**32)

    def _minute(self, minutes: Expression) -> Expression:
        return func.timestampadd(text("MINUTE"), minutes, _utc(self._leases.since))


def _utc(moment: datetime) -> Expression:
    return literal(moment, tables.leases.c.start_date.type)
