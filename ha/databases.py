"""Private servers of PostgreSQL and MariaDB, which tests stop and kill.

The servers of the machine are left alone. A private server is new for each run and has default settings, so
its commits are durable."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from free_ports import free_port
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from .programs import HOST, Program, as_user, eventually, new_folder
from .tls import NAME, Certificate

PACKAGES = {
    "postgresql": ("PostgreSQL", "postgresql"),
    "mariadb": ("MariaDB", "mariadb-server"),
}
USERS = {"postgresql": "postgres", "mariadb": "mysql"}
"""Root may not run these servers, so they run as the system users of their packages."""
ORDERLY = {"postgresql": signal.SIGINT, "mariadb": signal.SIGTERM}
"""The signal of a restart: the server ends all connections, and then itself."""
CONNECTIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = :name",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = :name",
}
END = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}
STATEMENTS = {
    "postgresql": f"{CONNECTIONS['postgresql']} AND state = 'active'",
    "mariadb": f"{CONNECTIONS['mariadb']} AND command = 'Query'",
}
"""The connections that carry out a statement."""
CANCEL = {"postgresql": "SELECT pg_cancel_backend({})", "mariadb": "KILL QUERY {}"}
LOCK = {"postgresql": "LOCK TABLE leases", "mariadb": "LOCK TABLES leases WRITE"}
UNLOCK = {"postgresql": "ROLLBACK", "mariadb": "UNLOCK TABLES"}
CANCELLED = {"postgresql": "canceling statement due to user request", "mariadb": "ERROR 1317"}
"""What the server logs of a statement that was cut off."""
ERRORS = "errors.log"
"""Where MariaDB logs the errors that it answers to statements."""


class DatabaseServer:
    """A database server on its own port. Its databases survive ``stop`` and ``kill``."""

    def __init__(self, dialect: str, certificate: Certificate | None = None) -> None:
        """With a ``certificate``, clients without TLS are refused."""
        self.dialect = dialect
        self._user = USERS[dialect] if os.geteuid() == 0 else None
        self._folder = new_folder(dialect)
        # Not among the logs, which may be in a home directory that other users cannot enter.
        self._place = TemporaryDirectory(prefix="blazar-ha-", ignore_cleanup_errors=True)
        self._data = Path(self._place.name)
        if self._user:
            shutil.chown(self._data, self._user)
        port = free_port()
        if dialect == "postgresql":
            self.url = URL.create("postgresql+psycopg", "postgres", None, HOST, port, "postgres")
            self._make(
                "initdb", "--pgdata", self._data, "--username=postgres", "--auth=trust", "--encoding=UTF8"
            )
            # Three managers may have 90 connections together, and the checks have some as well.
            settings = [
                f"port={port}",
                f"listen_addresses={HOST}",
                "unix_socket_directories=",
                "max_connections=150",
            ]
            if certificate:
                (self._data / "tls.conf").write_text("hostssl all all all trust\n")
                files = {"ssl_cert_file": certificate.file, "ssl_key_file": certificate.key}
                settings += [f"{name}={self._copied(file)}" for name, file in files.items()]
                settings += ["ssl=on", f"hba_file={self._data / 'tls.conf'}"]
                self._use(sslmode="verify-full", sslrootcert=str(certificate.authority))
            words = ["-D", self._data, *(word for setting in settings for word in ("-c", setting))]
            self._program = self._server("postgres", *words)
        else:
            self.url = URL.create("mysql+pymysql", "root", None, HOST, port, "mysql")
            place = ["--no-defaults", f"--datadir={self._data}"]
            self._make(
                "mariadb-install-db", *place, "--auth-root-authentication-method=normal", "--skip-test-db"
            )
            address = [f"--bind-address={HOST}", f"--port={port}", "--socket=socket", "--pid-file=pid"]
            # MariaDB's own log does not have the errors of statements.
            errors = ["--plugin-load-add=sql_errlog", f"--sql-error-log-filename={self._data / ERRORS}"]
            if certificate:
                address += [f"--ssl-cert={self._copied(certificate.file)}", "--require-secure-transport=ON"]
                address += [f"--ssl-key={self._copied(certificate.key)}"]
                self._use(ssl_ca=str(certificate.authority))
            self._program = self._server("mariadbd", *place, *address, *errors)

    def _copied(self, file: Path) -> Path:
        """Put a file where the server, and no other user, may read it."""
        copy = self._data / file.name
        copy.write_bytes(file.read_bytes())
        copy.chmod(0o600)
        if self._user:
            shutil.chown(copy, self._user)
        return copy

    def _use(self, **query: str) -> None:
        self.url = self.url.set(host=NAME).update_query_dict(query)

    @property
    def runs(self) -> bool:
        return self._program.runs

    def start(self) -> None:
        """Start the server unless it runs, and wait until it answers; after a kill it recovers first."""
        eventually(f"{self.dialect} to answer", self._answers, 60)

    def stop(self) -> None:
        """Stop the server as a restart does, although clients are connected."""
        self._program.tell(ORDERLY[self.dialect])
        assert self._program.wait(60) == 0, self._program.log

    def kill(self) -> None:
        """Send SIGKILL to all its processes; those of PostgreSQL are in groups of their own."""
        self._program.send(signal.SIGSTOP)
        children = self._program.children()
        self._program.kill()
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """Delete all its data."""
        self._place.cleanup()

    def create(self, name: str) -> URL:
        """Create a database, and return its URL."""
        with self._administration().connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        return self.url.set(database=name)

    def cut(self, name: str) -> None:
        """End all connections to the database of this name; accept new ones."""
        with self._administration().connect() as connection:
            for pid in connection.execute(text(CONNECTIONS[self.dialect]), {"name": name}).scalars().all():
                with contextlib.suppress(OperationalError):  # it has ended meanwhile
                    connection.exec_driver_sql(END[self.dialect].format(int(pid)))

    def cancel(self, name: str) -> None:
        """Cut off the statements that connections to this database carry out, again and again, for two
        seconds. The connections stay.

        Most statements are over before they are met. So the table of leases is locked for longer than a
        manager takes between two looks at it, and what waits for it is cut off."""
        ours = create_engine(self.url.set(database=name), poolclass=NullPool)
        with ours.connect() as keeper, self._administration().connect() as connection:
            keeper.exec_driver_sql(LOCK[self.dialect])
            self._cancel_for(1.2, name, connection)
            keeper.exec_driver_sql(UNLOCK[self.dialect])
            self._cancel_for(0.8, name, connection)

    def _cancel_for(self, seconds: float, name: str, connection: Connection) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for pid in connection.execute(text(STATEMENTS[self.dialect]), {"name": name}).scalars().all():
                with contextlib.suppress(OperationalError):  # it has ended meanwhile
                    connection.exec_driver_sql(CANCEL[self.dialect].format(int(pid)))
            time.sleep(0.002)

    @property
    def cancelled(self) -> int:
        """Return how many statements were cut off by ``cancel``, which the server tells itself."""
        errors = self._data / ERRORS
        log = errors.read_text(errors="replace") if errors.exists() else self._program.log
        return log.count(CANCELLED[self.dialect])

    def _administration(self) -> Engine:
        return create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=NullPool)

    def _answers(self) -> bool:
        if not self._program.runs:
            self._program.start()
        with self._administration().connect() as connection:
            return bool(connection.scalar(text("SELECT 1")))

    def _make(self, program: str, *words: object) -> None:
        command = [found(program, self.dialect), *map(str, words)]
        made = subprocess.run(command, cwd=self._data, capture_output=True, text=True, **as_user(self._user))
        if made.returncode:
            pytest.fail(f"{program} failed: {made.stdout}{made.stderr}", pytrace=False)

    def _server(self, program: str, *words: object) -> Program:
        return Program("server", [found(program, self.dialect), *words], self._folder, user=self._user)


def found(program: str, dialect: str) -> str:
    """Return the path of a program; fail where it is missing, since a skipped test would prove nothing."""
    places = [
        os.environ.get("PATH", ""),
        "/usr/sbin",
        *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"))),
    ]
    place = shutil.which(program, path=os.pathsep.join(places))
    if place is None:
        name, package = PACKAGES[dialect]
        pytest.fail(
            f"there is no {program}. These tests need {name}: on Debian, apt install {package}.",
            pytrace=False,
        )
    return place


_running: list[DatabaseServer] = []


@cache
def database_server(dialect: str) -> DatabaseServer:
    """Return the server of this run, which starts at the first use."""
    server = DatabaseServer(dialect)
    _running.append(server)
    server.start()
    return server


def stop_all() -> None:
    while _running:
        server = _running.pop()
        server.kill()
        server.remove()
