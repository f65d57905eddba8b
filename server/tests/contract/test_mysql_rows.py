"""Rows of MariaDB are those that the driver itself reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymysql
import pytest
from pymysql.converters import convert_datetime
from pymysql.cursors import SSCursor
from sqlalchemy import URL

from blazar.adapters.db.engine import make_engine
from blazar.adapters.db.mysql_rows import RowsConnection, moment

STATEMENTS = (
    "SELECT 1",
    "SELECT NULL, '', 'x', NULL, ''",
    "SELECT -1, 18446744073709551615, 1.5, 1e300, CAST(2.50 AS DECIMAL(9, 4)), TRUE, b'101', x'00ff'",
    "SELECT 'ä', '漢字', '🜚', CONVERT('é' USING latin1), CAST('b' AS BINARY), '\\\\0'",
    *(f"SELECT REPEAT('ä', {n}), {n}" for n in (125, 126, 127, 128, 32767, 32768, 2**20)),
    *(f"SELECT REPEAT('x', {n}), {n}" for n in (250, 251, 252, 255, 256, 65535, 65536, 2**20)),
    "SELECT CAST('2026-11-20 14:58:06' AS DATETIME), CAST('2026-11-20' AS DATE)",
    "SELECT CAST('-25:01:02.5' AS TIME(3)), CAST('00:00:00' AS TIME)",
    *(f"SELECT CAST('2026-11-20 14:58:06.123456' AS DATETIME({n}))" for n in range(7)),
    "SELECT CAST('0001-01-01 00:00:00' AS DATETIME(6)), CAST('9999-12-31 23:59:59.999999' AS DATETIME(6))",
    "SELECT moment, stamp, day, year, flag, document FROM rows_read ORDER BY id",
    "SELECT * FROM rows_read WHERE id = 0",
    "SELECT a.id, b.id, a.document FROM rows_read a JOIN rows_read b ORDER BY a.id, b.id",
    # More rows than the connection has in its buffer at once; none, some and all of them cut in two there.
    "SELECT seq, REPEAT('x', seq % 700) FROM seq_1_to_5000",
    "SELECT REPEAT('x', seq % 20000), NULL FROM seq_1_to_400",
    "SELECT NULL, seq FROM seq_1_to_5000",
    "SELECT '' FROM seq_1_to_5000",
    f"SELECT REPEAT('x', {2**24 - 20}), 1 UNION ALL SELECT 'y', 2",
    f"SELECT REPEAT('x', {2**24 + 20}), 1 UNION ALL SELECT 'y', 2",
)
TABLE = """CREATE TABLE rows_read (id INT PRIMARY KEY AUTO_INCREMENT, moment DATETIME(6),
stamp TIMESTAMP(3) NULL, day DATE, year YEAR, flag BIT(9), document JSON) CHARACTER SET utf8mb4"""
FILL = """INSERT INTO rows_read (moment, stamp, day, year, flag, document) VALUES
('0000-00-00 00:00:00', '2026-11-20 14:58:06.5', '0000-00-00', 2026, b'100000001', '{"a": "ä"}'),
('2026-00-20 14:58:06', NULL, '2026-00-00', 0, b'0', '[]'), (NULL, NULL, NULL, NULL, NULL, NULL)"""


@pytest.fixture(scope="module")
def connections(empty_database: Callable[[str], URL]) -> Any:
    url = empty_database("mariadb")
    words = {
        "host": url.host,
        "port": url.port or 3306,
        "user": url.username,
        "password": url.password or "",
        "database": url.database,
        "charset": "utf8mb4",
        "autocommit": True,
        "sql_mode": "",
    }
    both = pymysql.connect(**words), RowsConnection(**words)
    with both[0].cursor() as cursor:
        cursor.execute("SET GLOBAL max_allowed_packet = 64 * 1024 * 1024")
        cursor.execute(TABLE)
        cursor.execute(FILL)
    yield both
    for each in both:
        each.close()


def read(connection: Any, statement: str, kind: Any = None) -> Any:
    with connection.cursor(kind) as cursor:
        cursor.execute(statement)
        found = cursor.fetchall()
        return [[(type(cell), cell) for cell in row] for row in found], cursor.description, cursor.rowcount


@pytest.mark.servers
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: text[:40])
def test_the_drivers_rows(connections: Any, statement: str) -> None:
    theirs, ours = connections
    expected = read(theirs, statement)
    assert read(ours, statement) == expected
    assert read(ours, statement, SSCursor) == read(theirs, statement, SSCursor)


@pytest.mark.servers
def test_what_returns_no_rows_and_what_fails(connections: Any) -> None:
    told = []
    for connection in connections:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO rows_read (year) VALUES (1999), (2000)")
            told.append((cursor.rowcount, cursor.description, connection.affected_rows()))
            with pytest.raises(pymysql.err.ProgrammingError) as failure:
                cursor.execute("SELECT * FROM nowhere")
            told[-1] += failure.value.args
            cursor.execute("SELECT 7")
            told[-1] += cursor.fetchall()
    assert told[0] == told[1]


FAILS_LATE = "SELECT IF(seq < 4000, seq, (SELECT 1 UNION SELECT seq)) FROM seq_1_to_5000"


@pytest.mark.servers
def test_a_stream_that_fails_after_many_rows(connections: Any) -> None:
    told: list[list[Any]] = []
    for connection in connections:
        told.append([])
        with connection.cursor(SSCursor) as cursor, pytest.raises(pymysql.err.OperationalError) as failure:
            cursor.execute(FAILS_LATE)
            while (row := cursor.fetchone()) is not None:
                told[-1].append(row)
        told[-1].append(failure.value.args)
    assert told[0] == told[1]
    assert len(told[0]) == 4000
    assert read(connections[1], "SELECT 7") == read(connections[0], "SELECT 7")


@pytest.mark.servers
def test_a_stream_that_is_left_early(connections: Any) -> None:
    _, ours = connections
    with ours.cursor(SSCursor) as cursor:
        cursor.execute("SELECT seq FROM seq_1_to_5000")
        assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
    with ours.cursor() as cursor:
        cursor.execute("SELECT 7")
        assert cursor.fetchall() == ((7,),)


@pytest.mark.servers
def test_a_stream_whose_connection_is_cut(connections: Any, empty_database: Callable[[str], URL]) -> None:
    theirs, _ = connections
    engine = make_engine(empty_database("mariadb"))
    with engine.connect() as connection:
        ours = connection.connection.driver_connection
        assert isinstance(ours, RowsConnection)
        cursor = ours.cursor(SSCursor)
        cursor.execute("SELECT REPEAT('x', 10000), seq FROM seq_1_to_5000")
        assert cursor.fetchone()[1] == 1
        with theirs.cursor() as other:
            other.execute(f"KILL {ours.thread_id()}")
        with pytest.raises(pymysql.err.OperationalError):
            cursor.fetchall()
        connection.invalidate()
    engine.dispose()


@pytest.mark.servers
def test_the_service_reads_so(empty_database: Callable[[str], URL]) -> None:
    engine = make_engine(empty_database("mariadb"))
    with engine.connect() as connection:
        assert isinstance(connection.connection.driver_connection, RowsConnection)
    engine.dispose()


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20 14:58:06",
        "2026-11-20 14:58:06.123456",
        "2026-11-20 14:58:06.120000",
        "2026-11-20 14:58:06.1",
        "2026-11-20",
        "0000-00-00 00:00:00",
        "2026-02-30 00:00:00",
        "2026-00-20 14:58:06.000000",
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59.999999",
        "nonsense",
        "nonsense of 19 chars",
        "",
    ],
)
def test_moments_are_the_drivers(text: str) -> None:
    theirs, ours = convert_datetime(text), moment(text)
    assert (type(ours), ours) == (type(theirs), theirs)
