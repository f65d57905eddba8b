"""A PostgreSQL and a MariaDB of the suite's own, which it may stop and kill as it likes; those that run on the machine are
left alone. Each is made anew for a run, with the settings that it has by default, durable ones among them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import URL, Engine, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from .programs import HOST, Program, as_user, eventually, free_port, new_folder

PACKAGES = {
    "postgresql": ("PostgreSQL", "postgresql"),
    "mariadb": ("MariaDB", "mariadb-server"),
}
USERS = {"postgresql": "postgres", "mariadb": "mysql"}
"""Root may not run these servers, so they run as the users of their packages."""
ORDERLY = {"postgresql": signal.SIGINT, "mariadb": signal.SIGTERM}
"""What a restart sends: the server ends all connections, and then itself."""
CONNECTIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = :name",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = :name",
}
END = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}


class DatabaseServer:
    """A server on a port of its own. Its databases survive ``stop`` and ``kill``."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._user = USERS[dialect] if os.geteuid() == 0 else None
        self._folder = new_folder(dialect)
        # Not among the logs, which may be in a home that no other user may enter.
        self._place = TemporaryDirectory(prefix="blazar-ha-", ignore_cleanup_errors=True)
        self._data = Path(self._place.name)
        if self._user:
            shutil.chown(self._data, self._user)
        port = free_port()
        if dialect == "postgresql":
            self.url = URL.create("postgresql+psycopg", "postgres", None, HOST, port, "postgres")
            self._make("initdb", "--pgdata", self._data, "--username=postgres", "--auth=trust", "--encoding=UTF8")
            # Three managers may have 90 connections together, and the checks have some as well.
            settings = [f"port={port}", f"listen_addresses={HOST}", "unix_socket_directories=", "max_connections=150"]
            words = ["-D", self._data, *(word for setting in settings for word in ("-c", setting))]
            self._program = self._server("postgres", *words)
        else:
            self.url = URL.create("mysql+pymysql", "root", None, HOST, port, "mysql")
            place = ["--no-defaults", f"--datadir={self._data}"]
            self._make("mariadb-install-db", *place, "--auth-root-authentication-method=normal", "--skip-test-db")
            address = [f"--bind-address={HOST}", f"--port={port}", "--socket=socket", "--pid-file=pid"]
            self._program = self._server("mariadbd", *place, *address)

    @property
    def runs(self) -> bool:
        return self._program.runs

    def start(self) -> None:
        """Start it unless it runs, and wait until it answers; after a kill it has something to recover."""
        eventually(f"{self.dialect} to answer", self._answers, 60)

    def stop(self) -> None:
        """As for a restart, whoever is connected."""
        self._program.tell(ORDERLY[self.dialect])
        assert self._program.wait(60) == 0, self._program.log

    def kill(self) -> None:
        """kill -9 of all its processes: those of PostgreSQL are no group."""
        self._program.send(signal.SIGSTOP)
        children = self._program.children()
        self._program.kill()
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """All that was stored in it."""
        self._place.cleanup()

    def create(self, name: str) -> URL:
        """A new database."""
        with self._administration().connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        return self.url.set(database=name)

    def cut(self, name: str) -> None:
        """End all connections to the database of this name; new ones are taken."""
        with self._administration().connect() as connection:
            for pid in connection.execute(text(CONNECTIONS[self.dialect]), {"name": name}).scalars().all():
                with contextlib.suppress(OperationalError):  # it has ended meanwhile
                    connection.exec_driver_sql(END[self.dialect].format(int(pid)))

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
    """Where the program is. A test that is skipped proves nothing: so it fails, with what to do, where it is missing."""
    places = [os.environ.get("PATH", ""), "/usr/sbin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    place = shutil.which(program, path=os.pathsep.join(places))
    if place is None:
        name, package = PACKAGES[dialect]
        pytest.fail(f"there is no {program}. These tests need {name}: on Debian, apt install {package}.", pytrace=False)
    return place


_running: list[DatabaseServer] = []


@cache
def database_server(dialect: str) -> DatabaseServer:
    """The one of this run."""
    server = DatabaseServer(dialect)
    _running.append(server)
    server.start()
    return server


def stop_all() -> None:
    while _running:
        server = _running.pop()
        server.kill()
        server.remove()
