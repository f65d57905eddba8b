"""Databases that upstream's own program has made, on a server that upstream runs on: are they taken over?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from environments import UPSTREAM, Environment
from functional.upstream_rows import UpstreamRows
from sqlalchemy import URL, Boolean, MetaData, Table, create_engine, event, inspect, make_url
from sqlalchemy.dialects.mysql import TINYINT

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.engine import parse_url
from blazar.adapters.db.schema import upgrade
from blazar.kinds.floatingip.names import POOL as FLOATING_IPS
from blazar.kinds.registered_hosts.pool import POOL as HOSTS
from blazar.upstream import tables

pytestmark = pytest.mark.thorough

BIN = Path(sys.executable).parent
SERVER = os.environ.get("BLAZAR_TEST_MARIADB", "mariadb://root@127.0.0.1/mysql")
POSTGRESQL = os.environ.get("BLAZAR_TEST_POSTGRESQL", "postgresql://postgres@127.0.0.1/postgres")
RELEASES = pytest.mark.parametrize("release", UPSTREAM)
STATUSES = {
    "PENDING": "PENDING",
    "STARTING": "STARTING",
    "ACTIVE": "ACTIVE",
    "TERMINATING": "TERMINATING",
    "TERMINATED": "TERMINATED",
    "ERROR": "ERROR",
    "UPDATING": "ACTIVE",
    "CREATING": "DELETING",
    "DELETING": "DELETING",
}
"""What becomes of leases in each status."""


@dataclass
class Databases:
    """Upstream's database, and ours, both empty."""

    upstream: URL
    ours: SqlDatabase
    folder: Path

    def upgrade_upstream(self, environment: Environment) -> None:
        path = self.folder / "upstream.conf"
        path.write_text(f"[database]\nconnection = {self.upstream.render_as_string(hide_password=False)}\n")
        command = [environment.ready().bin / "blazar-db-manage", "--config-file", path, "upgrade", "head"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-4000:]

    def run(self, *words: str) -> list[str]:
        """Return the lines of an import in which something is refused."""
        ours = self.ours.engine.url.render_as_string(hide_password=False)
        source = self.upstream.render_as_string(hide_password=False)
        command = [BIN / "blazar-db-manage", "--connection", ours, "import", "--from", source, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1, done.stderr[-4000:]
        return done.stdout.splitlines()


def on_server(statement: str, server: str = SERVER) -> None:
    engine: Any = create_engine(parse_url(make_url(server)), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Databases]:
    names = [f"{name}_{uuid4().hex[:10]}" for name in ("upstream", "ours")]
    for name in names:
        on_server(f"CREATE DATABASE {name}")
    upstream, ours = (parse_url(make_url(SERVER)).set(database=name) for name in names)
    # As upstream's configuration has it.
    made = Databases(upstream.set(drivername="mysql+pymysql"), SqlDatabase(ours), tmp_path)
    upgrade(made.ours.engine)
    yield made
    made.ours.close()
    for name in names:
        on_server(f"DROP DATABASE {name}")


@pytest.fixture
def on_postgresql() -> Iterator[URL]:
    """An empty database on PostgreSQL."""
    name = f"upstream_{uuid4().hex[:10]}"
    on_server(f"CREATE DATABASE {name}", POSTGRESQL)
    yield parse_url(make_url(POSTGRESQL)).set(database=name)
    on_server(f"DROP DATABASE {name}", POSTGRESQL)


@RELEASES
def test_a_database_of_upstream(databases: Databases, release: int) -> None:
    databases.upgrade_upstream(UPSTREAM[release])
    is_taken_over(databases)


@RELEASES
def test_a_database_of_upstream_on_postgresql(databases: Databases, on_postgresql: URL, release: int) -> None:
    """Upstream's own migrations do not run there any more, so its tables are copied from MariaDB."""
    databases.upgrade_upstream(UPSTREAM[release])
    copy_tables(databases.upstream, on_postgresql)
    is_taken_over(replace(databases, upstream=on_postgresql))


def copy_tables(source: URL, target: URL) -> None:
    """Make all tables of the source in the target, with types and defaults of any database."""
    found, engines = MetaData(), [create_engine(url) for url in (source, target)]

    def translate(_: object, table: Table, column: Any) -> None:
        is_boolean = isinstance(column["type"], TINYINT) and column["type"].display_width == 1
        column["type"] = Boolean() if is_boolean else column["type"].as_generic()
        column["default"] = None

    event.listen(found, "column_reflect", translate)
    found.reflect(engines[0])
    names = {table.name for table in found.sorted_tables}
    assert names >= {*tables.metadata.tables, "alembic_version"}
    for table in found.sorted_tables:
        table.indexes.clear()  # their names are not their table's alone on PostgreSQL
    found.create_all(engines[1])
    for engine in engines:
        engine.dispose()


def is_taken_over(databases: Databases) -> None:
    rows = UpstreamRows(databases.upstream, SystemClock().now().replace(second=0, microsecond=0))
    leases = fill(rows)
    dry = databases.run("--dry-run")
    assert databases.run() == dry[:-1]
    with databases.ours.read() as uow:
        stored = {lease.id: lease for lease in uow.leases.list()}
        assert [host.id for host in uow.resources.list(HOSTS)] == ["1", "2"]
        assert len(uow.resources.list(FLOATING_IPS)) == 2
    assert {id_: lease.status for id_, lease in stored.items()} == {
        id_: STATUSES[status] for id_, status in leases.items()
    }
    kinds = {r.resource_type for lease in stored.values() for r in lease.reservations}
    assert kinds == {"physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"}
    again = databases.run()
    assert len([line for line in again if line.endswith("there already")]) > len(stored)
    assert "lease: 1 refused, 9 there already" in again
    with databases.ours.read() as uow:
        assert {lease.id: lease for lease in uow.leases.list()} == stored
    rows.close()


def fill(rows: UpstreamRows) -> dict[str, str]:
    """Put a lease in each status, with reservations of each kind, and one that is refused. Return the
    statuses by id."""
    for number in (1, 2):
        rows.host(number)
        rows.inventory(str(number), "VCPU", 8, ratio=4.0)
        rows.trait(str(number), "HW_CPU_X86_AVX2")
    rows.capability("1", rows.property("gpu", private=True), "A100")
    floatingips = [rows.floatingip(f"172.24.4.{number}") for number in (10, 11)]
    leases = {}
    for day, status in enumerate(STATUSES):
        start = -1 if status in ("ACTIVE", "UPDATING") else 24 * (day + 1)
        lease_id = rows.lease(status, start, start + 2, name=f"{status} \N{LATIN SMALL LETTER E WITH ACUTE}")
        leases[lease_id] = status
        rows.event(lease_id, "before_end_lease", start + 1, "UNDONE")
        if status == "UPDATING":
            rows.instances_of(lease_id, status, ["2", "2"], affinity=True, server_group_id=str(uuid4()))
            continue
        rows.hosts_of(lease_id, status, ["1"], aggregate=day)
        rows.floatingips_of(lease_id, status, floatingips, required=["172.24.4.11"])
        if status == "PENDING":
            rows.flavors_of(lease_id, status, ["2"])
    unknown = rows.lease("ACTIVE", -1, 1)
    rows.reservation(unknown, "network", "ACTIVE")
    return leases


@RELEASES
def test_the_tables_are_those_of_upstream(databases: Databases, release: int) -> None:
    """Other tests make upstream's tables by themselves."""
    databases.upgrade_upstream(UPSTREAM[release])
    engine = create_engine(databases.upstream)
    found = inspect(engine)
    for name, table in tables.metadata.tables.items():
        columns = {column["name"]: column["nullable"] for column in found.get_columns(name)}
        assert columns.keys() >= {column.name for column in table.columns}
        required = {column for column, is_nullable in columns.items() if not is_nullable}
        assert required <= {column.name for column in table.columns}
    engine.dispose()
