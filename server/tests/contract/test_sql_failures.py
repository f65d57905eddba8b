"""What do callers see when the database fails: is it repeated, reported as unavailable, or shown as a
defect?"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pymysql
import pytest
from sqlalchemy import URL, create_engine, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.schema import upgrade
from blazar.domain.errors import Busy, CloudUnavailable, OutcomeUnknown, Stale
from blazar.domain.resource import Pool
from blazar.service.ports import UnitOfWork

from .builders import NOW, host, lease
from .conftest import ON_SERVERS


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqlDatabase]:
    """An SQLite database of this test alone."""
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db")
    upgrade(database.engine)
    yield database
    database.close()


def test_the_log_of_sqlite_outlives_the_connections_of_the_pool(file: SqlDatabase) -> None:
    """On a full disk it could not be made anew, and nothing could be read."""
    path = Path(str(file.engine.url.database))
    with file.engine.connect() as connection:
        connection.invalidate()
    assert path.with_name("blazar.db-shm").exists()
    file.close()
    assert not path.with_name("blazar.db-shm").exists()
    with file.read() as u:
        assert u.outbox.depth() == 0


# --------------------------------------------------------------------------------------------------
# unavailable


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://blazar:secret@127.0.0.1:1/blazar",
        "mysql://blazar:secret@127.0.0.1:1/blazar",
        "mariadb+pymysql://blazar:secret@127.0.0.1:1/blazar",
        "sqlite:////no/such/directory/blazar.db",
    ],
)
def test_a_database_that_is_not_there_is_unavailable(url: str) -> None:
    database = SqlDatabase(url)
    with pytest.raises(CloudUnavailable) as reading, database.read() as u:
        u.outbox.depth()
    with pytest.raises(CloudUnavailable) as writing:
        database.transact(lambda u: u.outbox.depth())
    with pytest.raises(CloudUnavailable):
        upgrade(url)
    reason = "nothing listens at its address" if ":1/" in url else "the connection failed or was lost"
    for raised in (reading, writing):
        assert raised.value.fields == {"service": "database", "reason": reason}
        assert "secret" not in str(raised.value)
    database.close()


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_missing_database_is_unavailable(dialect: str, empty_database: Callable[[str], URL]) -> None:
    database = SqlDatabase(empty_database(dialect).set(database="blazar_no_such_database"))
    with pytest.raises(CloudUnavailable, match="it has no database of that name"):
        database.transact(lambda u: u.outbox.depth())
    database.close()


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_user_that_the_database_does_not_know_is_told_as_that(
    dialect: str, empty_database: Callable[[str], URL]
) -> None:
    database = SqlDatabase(empty_database(dialect).set(username="no_such_user", password="secret"))
    with pytest.raises(CloudUnavailable, match="it does not accept the service's user or password") as told:
        database.transact(lambda u: u.outbox.depth())
    assert "secret" not in str(told.value)
    database.close()


def test_no_free_connection_is_unavailable(tmp_path: Path) -> None:
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db", pool_size=1, max_overflow=0, pool_timeout=0.01)
    upgrade(database.engine)
    with database.read(), pytest.raises(CloudUnavailable):
        database.transact(lambda u: u.outbox.depth())
    assert database.transact(lambda u: u.outbox.depth()) == 0
    database.close()


def test_a_full_disk_is_unavailable_and_nothing_is_half_written(file: SqlDatabase) -> None:
    with file.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    is_full = True
    file.engine.dispose()

    @event.listens_for(file.engine, "checkout")
    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages + 3 if is_full else 1_000_000}")

    def work(u: UnitOfWork) -> None:
        for _ in range(50):
            u.leases.add(lease("1"), NOW)

    with pytest.raises(CloudUnavailable) as raised:
        file.transact(work)
    assert raised.value.fields["reason"] == "the disk is full or cannot be written"
    is_full = False
    with file.read() as u:
        assert list(u.leases.list()) == []
    file.transact(work)
    with file.read() as u:
        assert len(u.leases.list()) == 50


def test_sqlite_acknowledges_what_survives_a_power_cut(file: SqlDatabase) -> None:
    with file.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL


def test_that_it_takes_no_changes_is_known_until_it_does_again(file: SqlDatabase) -> None:
    is_full = True

    @event.listens_for(file.engine, "checkout")
    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA query_only = {is_full}")

    with pytest.raises(CloudUnavailable):
        file.transact(lambda u: u.outbox.put("lease.create", {}, NOW))
    assert not file.takes_changes()
    is_full = False
    assert file.takes_changes()
    with file.read() as u:
        assert u.outbox.depth() == 0


def kill_all(database: SqlDatabase) -> None:
    """What a restart of the server does to the connections."""
    name = database.engine.url.database
    with database.engine.connect() as connection:
        if database.engine.dialect.name == "postgresql":
            find = "SELECT pid FROM pg_stat_activity WHERE datname = :name AND pid != pg_backend_pid()"
            kill = "SELECT pg_terminate_backend({})"
        else:
            find = "SELECT id FROM information_schema.processlist WHERE db = :name AND id != connection_id()"
            kill = "KILL {}"
        for id_ in connection.execute(text(find), {"name": name}).scalars().all():
            connection.exec_driver_sql(kill.format(int(id_)))


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_idle_connections_that_died_are_replaced(sql: SqlDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blazar.adapters.db.engine.UNUSED", 0.1)

    def work(_: int) -> int:
        gate.wait()
        return sql.transact(lambda u: u.outbox.depth())

    gate = threading.Barrier(3)
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3))) == [0, 0, 0]
        kill_all(sql)
        time.sleep(0.2)
        assert list(pool.map(work, range(3))) == [0, 0, 0]


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_connection_that_dies_in_a_transaction(sql: SqlDatabase) -> None:
    def work(u: UnitOfWork) -> None:
        u.leases.add(lease("1"), NOW)
        kill_all(sql)
        u.outbox.put("lease.create", {}, NOW)

    with pytest.raises(CloudUnavailable):
        sql.transact(work)
    with pytest.raises(CloudUnavailable), sql.read() as u:
        u.outbox.depth()
        kill_all(sql)
        u.outbox.depth()
    with sql.read() as u:
        assert list(u.leases.list()) == []


@pytest.mark.parametrize("dialect", ON_SERVERS)
@pytest.mark.parametrize("is_failing", [False, True])
def test_a_reading_transaction_that_cannot_be_ended_costs_its_connection(
    sql: SqlDatabase, monkeypatch: pytest.MonkeyPatch, is_failing: bool
) -> None:
    """The database cuts the end off, and the transaction goes on, at the moment that it sees."""

    def cut_off(_: object) -> None:
        monkeypatch.undo()
        raise sql.engine.dialect.loaded_dbapi.OperationalError(1317, "Query execution was interrupted")

    with sql.read() as u:
        assert u.outbox.depth() == 0
    monkeypatch.setattr(sql.engine.dialect, "do_rollback", cut_off)
    with suppress(Stale), sql.read() as u:
        assert u.outbox.depth() == 0
        if is_failing:
            raise Stale
    assert sql.engine.pool.checkedout() == 0
    sql.transact(lambda u: u.outbox.put("lease.create", {}, NOW))
    with sql.read() as u:
        assert u.outbox.depth() == 1


# ----------------------------------------------------------------------------------------------------
# repetition


def broken(error: Exception) -> DBAPIError:
    return OperationalError("UPDATE", {}, error)


CONTENDED = {
    "mysql deadlock": pymysql.err.OperationalError(1213, "Deadlock found when trying to get lock"),
    "mysql lock wait": pymysql.err.OperationalError(1205, "Lock wait timeout exceeded"),
    "postgresql deadlock": psycopg.errors.DeadlockDetected("deadlock detected"),
    "postgresql serialization": psycopg.errors.SerializationFailure("could not serialize access"),
    "postgresql lock timeout": psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"),
    "postgresql cancel": psycopg.errors.QueryCanceled("canceling statement due to statement timeout"),
    "postgresql cancelled before": psycopg.errors.InFailedSqlTransaction("current transaction is aborted"),
    "mysql interrupt": pymysql.err.OperationalError(1317, "Query execution was interrupted"),
    "mariadb time limit": pymysql.err.OperationalError(1969, "max_statement_time exceeded"),
    "mysql time limit": pymysql.err.OperationalError(3024, "maximum statement execution time exceeded"),
}


@pytest.mark.parametrize("error", CONTENDED.values(), ids=CONTENDED.keys())
def test_contention_is_repeated_with_growing_pauses_and_then_busy(tmp_path: Path, error: Exception) -> None:
    pauses: list[float] = []
    runs: list[int] = []
    database = SqlDatabase(
        f"sqlite:///{tmp_path}/blazar.db",
        attempts=6,
        pause=pauses.append,
    )
    upgrade(database.engine)

    def work(u: UnitOfWork) -> None:
        runs.append(u.outbox.depth())
        u.outbox.put("lease.create", {}, NOW)
        raise broken(error)

    with pytest.raises(Busy):
        database.transact(work)
    assert runs == [0] * 6
    assert len(pauses) == 5
    assert all(0 <= pause <= 0.01 * 2**n for n, pause in enumerate(pauses))
    database.close()


def test_contention_that_passes_is_not_seen(tmp_path: Path) -> None:
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db", pause=lambda _: None)
    upgrade(database.engine)
    errors = list(CONTENDED.values())[-7:]  # one fewer than a transaction is tried

    def work(u: UnitOfWork) -> int:
        u.outbox.put("lease.create", {}, NOW)
        if errors:
            raise broken(errors.pop())
        return u.outbox.depth()

    assert database.transact(work) == 1
    database.close()


BROKEN = {
    "postgresql io": psycopg.errors.IoError("could not read block 0"),
    "postgresql missing file": psycopg.errors.UndefinedFile("could not open file"),
    "postgresql internal": psycopg.errors.InternalError_("cache lookup failed"),
    "postgresql unlisted": psycopg.errors.OperationalError("a failure of a later version"),
    "mysql commit": pymysql.err.OperationalError(1180, "Got error 5 during COMMIT"),
    "mysql unlisted": pymysql.err.OperationalError(4999, "a failure of a later version"),
    "sqlite unlisted": sqlite3.OperationalError("a failure of a later version"),
}


@pytest.mark.parametrize("error", BROKEN.values(), ids=BROKEN.keys())
def test_a_failure_of_the_databases_own_is_unavailable(file: SqlDatabase, error: Exception) -> None:
    """Callers know it and ask again later, as they do when the database is away."""

    def work(_: UnitOfWork) -> None:
        raise broken(error)

    with pytest.raises(CloudUnavailable):
        file.transact(work)
    with pytest.raises(CloudUnavailable), file.read() as u:
        work(u)


@pytest.mark.parametrize("name", ["postgresql cancel", "mysql interrupt", "mysql commit", "postgresql io"])
def test_a_commit_that_is_cut_off_is_not_repeated(file: SqlDatabase, name: str) -> None:
    runs: list[int] = []

    @event.listens_for(file.engine, "commit")
    def fail(_: object) -> None:
        raise broken({**CONTENDED, **BROKEN}[name])

    with pytest.raises(OutcomeUnknown):
        file.transact(lambda u: runs.append(u.outbox.put("lease.create", {}, NOW)))
    event.remove(file.engine, "commit", fail)
    assert len(runs) == 1


TRIPLED = [f"information_schema.columns c{n}" for n in range(3)]


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_real_time_limit_is_a_known_failure(sql: SqlDatabase) -> None:
    limit, sleep = {
        "postgresql": ("SET LOCAL statement_timeout = '50ms'", "SELECT pg_sleep(5)"),
        "mariadb": ("SET max_statement_time = 0.05", f"SELECT COUNT(*) FROM {', '.join(TRIPLED)}"),
    }["postgresql" if sql.engine.dialect.name == "postgresql" else "mariadb"]
    runs = []

    def work(u: UnitOfWork) -> None:
        runs.append(1)
        connection = u.events._connection  # type: ignore[attr-defined]
        connection.exec_driver_sql(limit)
        try:
            connection.exec_driver_sql(sleep).all()
        finally:
            if not limit.startswith("SET LOCAL"):
                connection.exec_driver_sql("SET max_statement_time = 0")

    with pytest.raises(Busy):
        sql.transact(work)
    assert len(runs) == 8


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_real_deadlock_is_resolved(sql: SqlDatabase) -> None:
    """Two transactions take the same two rows in opposite order, and meet between the first and the
    second."""
    sql.transact(lambda u: [u.resources.add(host(id_), NOW) for id_ in ("1", "2")])
    meeting, runs = threading.Barrier(2, timeout=30), [0, 0]

    def run(number: int) -> None:
        def work(u: UnitOfWork) -> None:
            runs[number] += 1
            first, second = ("1", "2") if number else ("2", "1")
            u.resources.touch([first], NOW)
            if runs[number] == 1:
                meeting.wait()
            u.resources.touch([second], NOW)

        sql.transact(work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))
    assert sum(runs) > 2
    with sql.read() as u:
        assert u.resources.generations(Pool("host")) == {"1": 2, "2": 2}


def test_sqlite_kept_by_another_process_is_busy(file: SqlDatabase) -> None:
    @event.listens_for(file.engine, "checkout")
    def be_impatient(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA busy_timeout = 1")

    other = sqlite3.connect(str(file.engine.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy):
        file.transact(lambda u: u.outbox.depth())
    with file.read() as u:
        assert u.outbox.depth() == 0
    other.execute("ROLLBACK")
    assert file.transact(lambda u: u.outbox.depth()) == 0
    other.close()


# -------------------------------------------------------------------------------------------------------
# defects


def test_a_defect_is_neither_repeated_nor_hidden(sql: SqlDatabase) -> None:
    runs = []

    def work(u: UnitOfWork) -> None:
        runs.append(1)
        u.outbox.put(None, {}, NOW)  # type: ignore[arg-type]

    with pytest.raises(IntegrityError):
        sql.transact(work)
    assert runs == [1]


def test_a_wrong_statement_and_a_missing_table_are_defects(sql: SqlDatabase) -> None:
    for statement in ("SELECT nothing FROM leases", "SELECT 1 FROM no_such_table", "SELEKT 1"):
        with pytest.raises(DBAPIError), sql.read() as u:
            u.events._connection.exec_driver_sql(statement)  # type: ignore[attr-defined]


def test_stale_is_not_repeated(sql: SqlDatabase) -> None:
    runs = []

    def work(u: UnitOfWork) -> None:
        runs.append(1)
        u.resources.bump({"1": 0}, NOW)

    with pytest.raises(Stale):
        sql.transact(work)
    assert runs == [1]


@pytest.mark.parametrize("url", ["oracle://x/y", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="SQLite"):
        SqlDatabase(url)


# ----------------------------------------------------------------------------------------------------
# privileges

GRANTS = {
    "postgresql": (
        "CREATE ROLE {user} LOGIN",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {user}",
        "ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO {user}",
    ),
    "mariadb": (
        "CREATE USER {user}@'%%'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON `{database}`.* TO {user}@'%%'",
    ),
}
REVOKES = {
    "postgresql": ("DROP OWNED BY {user}", "DROP ROLE {user}"),
    "mariadb": ("DROP USER {user}@'%%'",),
}


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_user_who_may_not_change_the_schema(empty_database: Callable[[str], URL], dialect: str) -> None:
    """As docs/operator/hardening.md has it: all but upgrades works."""
    empty_url = empty_database(dialect)
    words = {"user": f"u{uuid4().hex[:10]}", "database": str(empty_url.database)}
    owner = create_engine(empty_url, isolation_level="AUTOCOMMIT")

    def run(statements: Sequence[str]) -> None:
        with owner.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.format(**words))

    run(GRANTS[dialect])
    restricted = SqlDatabase(empty_url.set(username=words["user"], password=None))
    try:
        with pytest.raises(CloudUnavailable, match="its user lacks a privilege"):
            upgrade(restricted.engine)
        upgrade(empty_url)
        restricted.transact(lambda u: u.leases.add(lease("1"), NOW))
        restricted.transact(lambda u: u.outbox.put("lease.create", {}, NOW))
        with restricted.read() as u:
            assert u.outbox.depth() == 1
    finally:
        restricted.close()
        run(REVOKES[dialect])
        owner.dispose()
