"""Run SQL statements on a MariaDB server, also before the lab's own user exists.

python -m blazar_lab_parts.statements HOST PORT SOCKET USER PASSWORD STATEMENT...
"""

from __future__ import annotations

import sys
from pathlib import Path

import pymysql


def main(host: str, port: str, socket: str, user: str, password: str, *statements: str) -> None:
    with _connect(host, int(port), socket, user, password) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _connect(host: str, port: int, socket: str, user: str, password: str) -> pymysql.Connection:
    try:
        return pymysql.connect(host=host, port=port, user=user, password=password)
    except pymysql.OperationalError:
        # Debian lets the database's root in through the socket only, and only the system's root
        if user != "root" or not Path(socket).exists():
            raise
        return pymysql.connect(unix_socket=socket, user=user, password=password)


if __name__ == "__main__":
    main(*sys.argv[1:])
