"""Connections to the database: pools, isolation, and what each database needs to behave like the others.

Reading transactions see one moment (a snapshot). Writing ones see what is committed at each statement;
what they were decided on is proven by compare-and-set (revisions, generations, claims), not by locks.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import URL, Connection, Dialect, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, InvalidatePoolError, NoSuchModuleError

LOCK_WAIT = 5
"""Seconds that PostgreSQL and MariaDB wait for a row's lock; our transactions hold them for milliseconds."""

SQLITE_WAIT = 30
"""Seconds that SQLite waits for its one write lock."""

IDLE = 10
"""Seconds after which the database ends a transaction whose owner does nothing: a manager that is suspended,
or cut off by the network, must not keep rows locked. PostgreSQL and MariaDB can do that, MySQL cannot."""

ANSWER = 60
"""Seconds after which a silent database is taken for lost; the network itself may take a quarter of an hour
to notification."""

UNUSED = 1.0
"""Seconds after which a pooled connection is tried before it is used again: the database may have ended it.
One that was used just now is not, for that would be a question more in each transaction."""

CANNOT_CONNECT = 2003
"""MySQL's number for a server that is not reached."""

WRITES, USED = "blazar_writes", "blazar_used"

ON_CONNECT = {
    "sqlite": (
        f"PRAGMA busy_timeout = {SQLITE_WAIT * 1000}",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",  # what was acknowledged survives a power cut
        "PRAGMA foreign_keys = ON",
    ),
    "mysql": (
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        f"SET SESSION sql_mode = 'TRADITIONAL', SESSION innodb_lock_wait_timeout = {LOCK_WAIT}",
        f"/*M!100300 SET SESSION idle_write_transaction_timeout = {IDLE} */",  # read by MariaDB only
    ),
    "postgresql": (
        f"SET lock_timeout = '{LOCK_WAIT}s'",
        f"SET idle_in_transaction_session_timeout = '{IDLE}s'",
    ),
}

# How a connection that leads nowhere any more is noticed.
NETWORK: dict[str, dict[str, int]] = {
    "sqlite": {},
    "mysql": {"connect_timeout": 10, "read_timeout": ANSWER, "write_timeout": ANSWER},
    "postgresql": {
        "connect_timeout": 10,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    },
}

DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}


class DriverMissing(LookupError):
    """The driver of the database is not installed, or not known; the message tells where one is."""


def parse_url(url: str | URL) -> URL:
    """Return the address with the driver that we ship for it, where it names none; MySQL talks utf8mb4.
    Raises ValueError."""
    try:
        address = make_url(url)
    except ArgumentError as unreadable:
        raise ValueError("[database] connection is not the address of a database") from unreadable
    address = address.set(drivername=DRIVERS.get(address.drivername, address.drivername))
    family = _family(address.get_backend_name())
    if family not in ON_CONNECT:
        raise ValueError(f"{address.get_backend_name()} is none of SQLite, PostgreSQL, MariaDB and MySQL")
    if family == "sqlite" and address.database in (None, "", ":memory:"):
        raise ValueError("SQLite needs a file; adapters.memory keeps everything in memory")
    if family == "mysql" and "charset" not in address.query:
        address = address.update_query_dict({"charset": "utf8mb4"})
    return address


def make_engine(
    url: str | URL,
    *,
    pool_size: int = 10,
    max_overflow: int = 30,
    pool_timeout: float = 30.0,
    is_impatient: bool = False,
) -> Engine:
    """Return an engine with a pool of checked connections, and transactions as described above.

    ``is_impatient`` is for services; a migration may take its time. Raises DriverMissing."""
    address = parse_url(url)
    family = _family(address.get_backend_name())
    try:
        engine = create_engine(
            address,
            pool_size=pool_size,
            max_overflow=max_overflow,
            pool_timeout=pool_timeout,
            pool_recycle=1800,
            # Each transaction is ended before its connection goes back, or the connection is closed. PyMySQL
            # would ask the database for the end of one that is over.
            pool_reset_on_return=None,
            connect_args=NETWORK[family] if is_impatient else {},
        )
    except ModuleNotFoundError as missing:
        raise DriverMissing(
            f"[database] connection needs a driver that is not installed: {missing.name}. The extra "
            f"blazar[{family}] has one."
        ) from missing
    except NoSuchModuleError as unknown:
        raise DriverMissing(
            f"[database] connection names a driver that is not known: {address.drivername}. With "
            f"{address.get_backend_name()}:// alone, the usual one is taken."
        ) from unknown

    if family == "mysql":

        @event.listens_for(engine, "do_connect")
        def on_do_connect(dialect: Dialect, _record: Any, words: Any, options: Any) -> Any:
            try:
                return _connect_mysql(dialect, *words, **options)
            except OSError as unreadable:
                # PyMySQL reads the files of TLS before it connects, and tells what happens as it is. What the
                # network does it tells as an error of the database.
                failure: type[Exception] = dialect.loaded_dbapi.OperationalError
                raise failure(CANNOT_CONNECT, f"root certificate file: {unreadable}") from unreadable

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        _prepare(family, connection)

    @event.listens_for(engine, "checkin")
    def on_checkin(_connection: Any, record: Any) -> None:
        record.info[USED] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def on_checkout(connection: Any, record: Any, _proxy: Any) -> None:
        used = record.info.get(USED)
        if family != "sqlite" and used is not None and time.monotonic() - used > UNUSED:
            _try(engine, connection)

    if family == "sqlite":
        _hold_open(engine)

    if family in BEGINS:  # a listener costs something at each statement

        @event.listens_for(engine, "begin")
        def on_begin(connection: Connection) -> None:
            BEGINS[family](connection)

    return engine


def for_reading(engine: Engine) -> Engine:
    """Return the same pool, with transactions that see one moment."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="REPEATABLE READ")
    return engine


def for_writing(engine: Engine) -> Engine:
    """Return the same pool, with transactions that may write."""
    return engine.execution_options(**{WRITES: True})


def _connect_mysql(dialect: Dialect, *words: Any, **options: Any) -> Any:
    if dialect.driver != "pymysql":
        return dialect.connect(*words, **options)
    from blazar.adapters.db.mysql_rows import RowsConnection  # its driver is there only where MySQL is

    return RowsConnection(*words, **options)


def _family(dialect: str) -> str:
    return "mysql" if dialect == "mariadb" else dialect


def _prepare(family: str, connection: Any) -> None:
    if family == "sqlite":
        # The driver must not begin transactions by itself: it begins them late, and never IMMEDIATE.
        connection.isolation_level = None
    cursor = connection.cursor()
    for statement in ON_CONNECT[family]:
        cursor.execute(statement)
    cursor.close()
    if family != "sqlite":
        connection.commit()


def _hold_open(engine: Engine) -> None:
    """Keep a connection beside the pool's open, from the first one of these on until the engine is disposed
    of.

    With the last connection SQLite removes its log and the index of it, which take space to be made anew. The
    pool closes connections whose transaction has failed, so on a full disk nothing could be read any more."""
    held: list[Any] = []

    @event.listens_for(engine, "connect")
    def on_connect(_connection: Any, _record: Any) -> None:
        if not held:
            words, options = engine.dialect.create_connect_args(engine.url)
            connection = engine.dialect.connect(*words, **options)
            held.append(connection)
            _prepare("sqlite", connection)

    @event.listens_for(engine, "engine_disposed")
    def on_disposed(_engine: Engine) -> None:
        while held:
            held.pop().close()


def _try(engine: Engine, connection: Any) -> None:
    """Ask the database something. Where it does not answer, for it was started anew or has ended this
    connection, raises InvalidatePoolError, upon which the pool opens new connections."""
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as error:
        raise InvalidatePoolError from error


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails where another connection wrote in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if _writes(connection) else "BEGIN")


def _begin_mysql(connection: Connection) -> None:
    if _writes(connection):
        # Of the coming transaction only. Fewer gap locks, and compare-and-set sees what is committed.
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _writes(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get(WRITES, False))


BEGINS = {"sqlite": _begin_sqlite, "mysql": _begin_mysql}
