"""A site as operators have it, on MariaDB and RabbitMQ: a sandbox cloud, a manager and an API, each in a
process of its own."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from uuid import uuid4

import requests
from service import User
from sqlalchemy import URL, Connection, create_engine, make_url
from sqlalchemy.pool import NullPool

from blazar.adapters.db.engine import parse_url

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "server/tests")]

from free_ports import free_port  # noqa: E402 (found only now)
from ha.programs import BIN, HOST, Program, children_of, eventually  # noqa: E402 (found only now)

MARIADB = os.environ.get("BLAZAR_TEST_MARIADB", "mariadb://root@127.0.0.1/mysql")
POSTGRESQL = os.environ.get("BLAZAR_TEST_POSTGRESQL", "postgresql://postgres@127.0.0.1/postgres")
RABBITMQ = os.environ.get("BLAZAR_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")
PASSWORD = "sandbox"
READY_WITHIN = 120
TRAITS = 40
API_THREADS = 8
PROJECTS = {"blazar": "service"}
"""The project of each user whose name is not that of his project."""


class Unavailable(Exception):
    """What a measurement needs is not there; the message is a sentence for the user."""


SERVERS = {
    "MARIADB": (MARIADB, 3306),
    "POSTGRESQL": (POSTGRESQL, 5432),
    "RABBITMQ": (RABBITMQ, 5672),
}


def require_servers(*names: str) -> None:
    """Raise ``Unavailable`` unless these servers listen; MariaDB and RabbitMQ where none is named."""
    for name in names or ("MARIADB", "RABBITMQ"):
        url, port = SERVERS[name]
        place = make_url(url)
        address = (place.host or HOST, place.port or port)
        try:
            socket.create_connection(address, timeout=5).close()
        except OSError as error:
            message = (
                f"nothing listens on {address[0]}:{address[1]}: start one, or name it in BLAZAR_TEST_{name}"
            )
            raise Unavailable(message) from error


class Site:
    """A site with one manager, and one API on gunicorn, each with its defaults, as a context manager.

    Each site has a sandbox cloud, a database and names in RabbitMQ of its own, since two services in one
    cloud would want the same hosts."""

    label = "ours"
    bin = BIN
    api_threads = API_THREADS

    def __init__(self, folder: Path, hosts: int, server: str = MARIADB) -> None:
        """``server`` is the URL of a database server."""
        folder.mkdir(parents=True)
        self.name = f"blazar_bench_{uuid4().hex[:10]}"
        self.hosts = hosts
        self.folder = folder
        self.url = f"http://{HOST}:{free_port()}"
        self.cloud_url = f"http://{HOST}:{free_port()}"
        self.conf = folder / "blazar.conf"
        self._server = parse_url(make_url(server))
        self.database = self._server.set(database=self.name)
        self.ready_after = 0.0
        """Seconds from the start of both programs until a request that needs both is answered."""
        cloud = ["-m", "blazar_sandbox", "--port", _port(self.cloud_url), "--hosts", hosts]
        cloud += ["--traits", TRAITS, "--reservation-url", f"{self.url}/v1", "--threads", 16]
        self._cloud = Program("cloud", [BIN / "python", *cloud], folder)
        api = ["--bind", self.url.removeprefix("http://"), "--workers", 1, "--threads", self.api_threads]
        api += ["--no-control-socket", "--timeout", 120, "blazar.wsgi.api:application"]
        env = {"OS_BLAZAR_CONFIG_DIR": str(folder)}
        self.api = Program("api", [self.bin / "gunicorn", *api], folder, env)
        self.manager = Program("manager", [self.bin / "blazar-manager", "--config-file", self.conf], folder)

    def __enter__(self) -> Site:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self) -> None:
        self._cloud.start()
        eventually("the cloud", lambda: requests.get(f"{self.cloud_url}/v3", timeout=5).ok, READY_WITHIN)
        self.on_server(f"CREATE DATABASE {self.name}")
        self.conf.write_text(self.configuration())
        upgrade = Program("db-manage", [self.bin / "blazar-db-manage", *self._upgrade()], self.folder)
        if upgrade.start().wait(READY_WITHIN):
            raise RuntimeError(f"the database of {self.label} was not made: {upgrade.log[-2000:]}")
        self.start_services()

    def start_services(self) -> None:
        """Start both programs, and wait until they answer."""
        user = self.user("demo")
        begun = time.monotonic()
        self.manager.start()
        self.api.start()
        eventually(f"an answer of {self.label}", lambda: user.leases() is not None, READY_WITHIN)
        self.ready_after = time.monotonic() - begun

    def stop_services(self) -> None:
        for program in (self.api, self.manager):
            program.kill()

    def _stop(self) -> None:
        self.stop_services()
        self._cloud.kill()
        self.on_server(f"DROP DATABASE IF EXISTS {self.name}")

    def _upgrade(self) -> Sequence[object]:
        return ["--config-file", self.conf, "upgrade", "head"]

    def configuration(self) -> str:
        """Return the text of blazar.conf."""
        broker = make_url(RABBITMQ).render_as_string(hide_password=False)
        credentials = self.credentials()
        return f"""
[DEFAULT]
transport_url = {broker}
control_exchange = {self.name}
{self.cloud_options()}
[manager]
rpc_topic = {self.name}
plugins = physical.host.plugin,virtual.instance.plugin
[oslo_messaging_rabbit]
amqp_auto_delete = true
[database]
connection = {self.connection()}
[cloud]
{credentials}
[keystone_authtoken]
{credentials}
www_authenticate_uri = {self.cloud_url}/v3
service_token_roles_required = true
"""

    def connection(self) -> str:
        """Return the URL of the database, for the configuration."""
        return self.database.render_as_string(hide_password=False)

    def cloud_options(self) -> str:
        """Return further options of the group DEFAULT."""
        return ""

    def credentials(self) -> str:
        return "\n".join(
            (
                "auth_type = password",
                f"auth_url = {self.cloud_url}/v3",
                "username = blazar",
                f"password = {PASSWORD}",
                "project_name = service",
                "user_domain_id = default",
                "project_domain_id = default",
                "interface = public",
            )
        )

    def user(self, name: str) -> User:
        auth = {
            "auth_url": f"{self.cloud_url}/v3",
            "username": name,
            "password": PASSWORD,
            "project_name": PROJECTS.get(name, name),
        }
        return User(f"{self.url}/v1", auth)

    def register_hosts(self) -> list[float]:
        """Register all hosts of the cloud. Return the seconds that each took."""
        admin, taken = self.user("admin"), []
        for number in range(1, self.hosts + 1):
            begun = time.perf_counter()
            admin.register(f"compute-{number:02d}")
            taken.append(time.perf_counter() - begun)
        return taken

    def resident_mb(self, program: Program) -> float:
        """Return the memory of a program and its children; what they share is counted once."""
        kilobytes = 0
        for pid in _with_descendants(program.processes()[0]):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return kilobytes / 1024

    def on_server(self, statement: str) -> None:
        with _autocommit(self._server) as connection:
            connection.exec_driver_sql(statement)

    def statuses(self, names: str) -> list[str]:
        """Return the statuses of the leases whose names begin so, as the database has them."""
        return self._column(f"SELECT status FROM {self.name}.leases WHERE name LIKE '{names}%%'")

    def has_unknown_hosts(self) -> bool:
        """Return whether there is a host that the monitor has not seen in the cloud yet."""
        return bool(self._column(f"SELECT id FROM {self.name}.resources WHERE cloud_id IS NULL LIMIT 1"))

    def _column(self, question: str) -> list[str]:
        with _autocommit(self._server) as connection:
            return [row[0] for row in connection.exec_driver_sql(question)]


def _autocommit(server: URL) -> Connection:
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    return engine.connect()


def _port(url: str) -> str:
    return url.rpartition(":")[2]


def _with_descendants(pid: int) -> list[int]:
    return [pid, *(each for child in children_of(pid) for each in _with_descendants(child))]
