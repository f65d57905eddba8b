"""Translate errors of database drivers: no database, contention, an interrupted statement, or a defect."""

from __future__ import annotations

import re
import sqlite3
from enum import Enum, auto

from sqlalchemy import exc

from blazar.domain.errors import BlazarError, Busy, CloudUnavailable


class Failure(Enum):
    """The kinds of failure that are not defects."""

    UNREACHABLE = auto()
    FULL = auto()
    CONTENDED = auto()
    """A deadlock, a serialization failure or a lock that did not come: repeating the transaction may help."""
    INTERRUPTED = auto()
    """A time limit or an operator cut the statement off. Repeating may help; a commit that was cut off may or
    may not have happened."""
    BROKEN = auto()
    """The database reports a failure of its own that is not listed here: it is asked again later."""
    DENIED = auto()
    """The database's user lacks a privilege: the operator's mistake, and not ours."""
    LOCKED = auto()
    """SQLite's one write lock did not come in half a minute: another connection keeps it."""


REASONS = {
    Failure.UNREACHABLE: "the connection failed or was lost",
    Failure.FULL: "the disk is full or cannot be written",
    Failure.BROKEN: "it reports a failure of its own",
    Failure.DENIED: "its user lacks a privilege for this",
}
NOT_CONNECTED: tuple[tuple[str, frozenset[int], str], ...] = (
    (
        "it does not accept the service's user or password",
        frozenset({1044, 1045, 1698}),
        r'authentication failed|role ".*" does not exist',
    ),
    ("it has no database of that name", frozenset({1049}), r'database ".*" does not exist'),
    ("the file of its authority cannot be read", frozenset(), "root certificate file"),
    ("its certificate is not accepted", frozenset(), "certificate"),
    ("nothing listens at its address", frozenset(), "connection refused"),
)
"""Why there is no connection, by MySQL's number or by the driver's sentence: PostgreSQL's driver tells no
SQLSTATE then. The sentence is not passed on, for it is long and names users. The first that fits counts."""
REPEATED = frozenset({Failure.CONTENDED, Failure.INTERRUPTED})
"""What a transaction is repeated after at once."""
UNKNOWN_AT_COMMIT = frozenset({Failure.UNREACHABLE, Failure.INTERRUPTED, Failure.BROKEN})
"""What leaves open whether a commit was carried out."""

SQLITE = {
    sqlite3.SQLITE_BUSY: Failure.LOCKED,
    sqlite3.SQLITE_LOCKED: Failure.LOCKED,
    sqlite3.SQLITE_FULL: Failure.FULL,
    sqlite3.SQLITE_READONLY: Failure.FULL,
    sqlite3.SQLITE_IOERR: Failure.FULL,
    sqlite3.SQLITE_CANTOPEN: Failure.UNREACHABLE,
    sqlite3.SQLITE_INTERRUPT: Failure.INTERRUPTED,
}

MYSQL = {
    1205: Failure.CONTENDED,  # lock wait timeout
    1213: Failure.CONTENDED,  # deadlock; on Galera also: another node committed a conflicting change
    1020: Failure.CONTENDED,  # record has changed since last read
    1317: Failure.INTERRUPTED,  # query execution was interrupted
    1969: Failure.INTERRUPTED,  # MariaDB: max_statement_time exceeded
    3024: Failure.INTERRUPTED,  # MySQL: max_execution_time exceeded
    1180: Failure.BROKEN,  # an error during COMMIT
    1021: Failure.FULL,
    1114: Failure.FULL,  # the table is full
    1290: Failure.FULL,  # read-only
    1836: Failure.FULL,  # read-only
    1040: Failure.UNREACHABLE,  # too many connections
    1044: Failure.UNREACHABLE,  # access denied
    1045: Failure.UNREACHABLE,  # access denied
    1142: Failure.DENIED,  # on a table
    1143: Failure.DENIED,  # on a column
    1227: Failure.DENIED,
    1370: Failure.DENIED,  # on a routine
    1047: Failure.UNREACHABLE,  # a Galera node that has left its cluster
    1049: Failure.UNREACHABLE,  # unknown database
    1053: Failure.UNREACHABLE,  # shutdown in progress
    1077: Failure.UNREACHABLE,  # normal shutdown
    1152: Failure.UNREACHABLE,  # aborted connection
    1927: Failure.UNREACHABLE,  # connection was killed
    2002: Failure.UNREACHABLE,
    2003: Failure.UNREACHABLE,
    2006: Failure.UNREACHABLE,
    2013: Failure.UNREACHABLE,
    2055: Failure.UNREACHABLE,
}

# SQLSTATE, or the class that it begins with.
POSTGRESQL = {
    "40001": Failure.CONTENDED,
    "40P01": Failure.CONTENDED,
    "55P03": Failure.CONTENDED,  # lock not available
    "25006": Failure.FULL,  # read-only transaction: a standby
    "25P03": Failure.UNREACHABLE,  # idle for too long in a transaction: this process was suspended
    "53100": Failure.FULL,
    "53": Failure.UNREACHABLE,  # insufficient resources: too many connections, out of memory
    "42501": Failure.DENIED,
    "57014": Failure.INTERRUPTED,  # statement timeout, or cancelled by an operator
    "25P02": Failure.INTERRUPTED,  # what came before it in the transaction was cut off, BEGIN itself perhaps
    "58": Failure.BROKEN,  # system error: input and output, missing files
    "XX": Failure.BROKEN,  # internal error, corrupted data
    "57P": Failure.UNREACHABLE,  # shutdown, crash, cannot connect now
    "08": Failure.UNREACHABLE,
    "28": Failure.UNREACHABLE,  # authorization
    "3D": Failure.UNREACHABLE,  # no such database
}

DEFECTS = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, 1054, 1146})
"""Wrong statements and missing tables or columns, which some drivers report as failures of the database."""


def classify(error: BaseException) -> Failure | None:
    """Return the class of the failure; None for a defect of the service."""
    if isinstance(error, exc.TimeoutError):  # no connection of the pool became free
        return Failure.UNREACHABLE
    if not isinstance(error, exc.DBAPIError):
        return None
    known = _of_driver(error.orig)
    if known is None and error.connection_invalidated:
        return Failure.UNREACHABLE
    if (
        known is None
        and isinstance(error, exc.OperationalError | exc.InternalError)
        and not _is_defect(error)
    ):
        return Failure.BROKEN
    return known


def _is_defect(error: exc.DBAPIError) -> bool:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is None and error.orig is not None and error.orig.args:
        code = error.orig.args[0]
    # An SQLSTATE of the classes 25 and 42 is about our statement, not about the server.
    sqlstate = getattr(error.orig, "sqlstate", None) or ""
    return code in DEFECTS or sqlstate[:2] in ("25", "42")


def translate(error: BaseException) -> BlazarError | None:
    """Return the error of the error tree that the caller gets; None for a defect of the service."""
    failure = classify(error)
    if failure is None:
        return None
    if failure is Failure.UNREACHABLE:
        return CloudUnavailable(service="database", reason=_why_unreachable(error))
    if failure in REASONS:
        return CloudUnavailable(service="database", reason=REASONS[failure])
    return Busy()


def _why_unreachable(error: BaseException) -> str:
    """Return why there is no connection, where the driver tells it."""
    told = getattr(error, "orig", None)
    code = told.args[0] if told is not None and told.args else None
    for reason, codes, words in NOT_CONNECTED:
        if code in codes or re.search(words, str(told), re.IGNORECASE):
            return reason
    return REASONS[Failure.UNREACHABLE]


def _of_driver(error: BaseException | None) -> Failure | None:
    if isinstance(error, sqlite3.Error):
        code: int | None = getattr(error, "sqlite_errorcode", None)
        return None if code is None else SQLITE.get(code & 0xFF)
    code = error.args[0] if error is not None and error.args else None
    if isinstance(code, int):  # before the SQLSTATE, which MySQL's errors have as well, but a vague one
        return MYSQL.get(code)
    sqlstate = getattr(error, "sqlstate", None)
    if isinstance(sqlstate, str):
        return POSTGRESQL.get(sqlstate) or POSTGRESQL.get(sqlstate[:3]) or POSTGRESQL.get(sqlstate[:2])
    # psycopg has no SQLSTATE for a connection that was not made; PyMySQL no number for one that was closed.
    return Failure.UNREACHABLE if type(error).__name__ in ("OperationalError", "InterfaceError") else None
