"""A complete site: a database, RabbitMQ, the sandbox cloud, managers and APIs, each in its own process."""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
import requests
from free_ports import free_port
from sqlalchemy import Engine, create_engine, make_url, text

from . import history
from .databases import database_server
from .programs import BIN, HOST, Program, eventually
from .relay import Relay
from .sandbox import PASSWORD, Sandbox

RABBITMQ = os.environ.get("BLAZAR_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")
USERS = ("demo", "alt")
ON_EACH_SERVER = pytest.mark.parametrize(
    "server",
    ["blazar-api", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("gunicorn", "uwsgi"))],
)
"""The servers that the API is documented on."""
CLAIM = 5
"""Seconds that a claim holds in these tests; the default in production is three times as long."""

HOSTS_OF_ACTIVE = """
    SELECT allocations.reservation_id, resources.name
    FROM allocations JOIN resources ON resources.id = allocations.resource_id
                     JOIN leases ON leases.id = allocations.lease_id
    WHERE leases.status = 'ACTIVE'
"""


def require_rabbitmq() -> None:
    """Fail where RabbitMQ is missing, and tell what to do; a skipped test would prove nothing."""
    broker = make_url(RABBITMQ)
    place = (str(broker.host), int(broker.port or 5672))
    try:
        socket.create_connection(place, timeout=5).close()
    except OSError:
        how = "RabbitMQ: on Debian, apt install rabbitmq-server; or name one in BLAZAR_TEST_RABBITMQ"
        pytest.fail(f"nothing listens on {place[0]}:{place[1]}. These tests need {how}.", pytrace=False)


class Site(Sandbox):
    """A site with ``managers`` and ``apis`` by number; ``close`` ends all of them."""

    def __init__(
        self,
        folder: Path,
        dialect: str,
        managers: int = 3,
        apis: int = 2,
        hosts: int = 6,
        patience: int = 18,
        has_clocks: bool = False,
        programs: Path = BIN,
        options: str = "",
    ) -> None:
        """With ``has_clocks``, tests can set the clocks of managers and of an API on its built-in server.

        ``programs`` is the folder of the programs that the site starts with, where they are not today's.
        ``options`` are lines of the configuration, in groups that the site leaves alone."""
        super().__init__(f"http://{HOST}:{free_port()}")
        self.folder = folder
        self._has_clocks = has_clocks
        self._programs = programs
        self.name = f"blazar_ha_{uuid4().hex[:10]}"
        require_rabbitmq()
        broker = make_url(RABBITMQ)
        self.broker_relay = Relay(str(broker.host), int(broker.port or 5672))
        self.server = database_server(dialect)
        self._database = self.server.create(self.name)
        self.engine: Engine = create_engine(self._database, pool_size=4, pool_pre_ping=True)
        self.hosts = hosts
        self._ports = [free_port() for _ in range(apis)]
        self.resting: set[str] = set()
        """The URLs that a load balancer sends no requests to, because their API is about to be replaced."""
        self.under_way: Counter[str] = Counter()
        """The requests of clients that are under way, by URL."""
        self._choice = threading.Lock()
        self.conf = folder / "blazar.conf"
        self.conf.write_text(self._configuration(patience) + options)
        cloud = ["-m", "blazar_sandbox", "--port", self.cloud_url.rsplit(":", 1)[1], "--hosts", hosts]
        cloud += ["--reservation-url", f"{self.urls[0]}/v1", "--boot-delay", 0.1, "--delete-delay", 0.1]
        self.cloud = Program("cloud", [BIN / "python", *cloud, "--threads", 64], folder)
        self.managers = [self.manager(n) for n in range(managers)]
        self.apis = [self.api(n, port) for n, port in enumerate(self._ports)]

    @property
    def urls(self) -> list[str]:
        return [f"http://{HOST}:{port}" for port in self._ports]

    @property
    def serving(self) -> list[str]:
        """The URLs that clients send their requests to."""
        return [url for url in self.urls if url not in self.resting]

    @contextmanager
    def balanced(self, random: Random) -> Iterator[str]:
        """Choose the URL for one request, as a load balancer does: that request is under way from now on."""
        with self._choice:
            url = random.choice(self.serving)
            self.under_way[url] += 1
        try:
            yield url
        finally:
            with self._choice:
                self.under_way[url] -= 1

    def rest(self, url: str) -> None:
        """Send no more requests to this URL, and wait for those that are under way."""
        with self._choice:
            self.resting.add(url)
        eventually(f"the answers of {url}", lambda: not self.under_way[url], 90)

    def manager(self, number: int, program: Sequence[object] = (), **env: str) -> Program:
        own = self.folder / f"manager{number}.conf"
        own.write_text(f"[manager]\nmetrics_port = {free_port()}\n")
        words = [
            *(program or self._program("blazar-manager")),
            "--config-file",
            self.conf,
            "--config-file",
            own,
        ]
        env["HA_CLOCK"] = str(self._clock_of(f"manager{number}"))
        return Program(f"manager{number}", words, self.folder, env)

    def _program(self, name: str) -> Sequence[object]:
        if self._has_clocks:
            return BIN / "python", Path(__file__).with_name("program_with_a_clock.py"), name
        return (self._programs / name,)

    def _clock_of(self, name: str) -> Path:
        return self.folder / f"{name}.clock"

    def set_clocks(self, ahead: float, *programs: Program) -> None:
        """Set the clocks of these programs, or of all, this many seconds ahead of the machine's."""
        for program in programs or (*self.managers, *self.apis):
            written = self._clock_of(program.name).with_suffix(".new")
            written.write_text(str(ahead))
            written.replace(self._clock_of(program.name))

    def metrics_url(self, manager: Program) -> str:
        text = (self.folder / f"{manager.name}.conf").read_text()
        return f"http://{HOST}:{text.rsplit('=', 1)[1].strip()}"

    def api(self, number: int, port: int, server: str = "", programs: Path | None = None) -> Program:
        """Return an API: by default the first on the built-in server, others on gunicorn with two workers."""
        folder = programs or self._programs
        server = server or ("blazar-api" if number == 0 else "gunicorn")
        application = "blazar.wsgi.api:application"
        env = {"OS_BLAZAR_CONFIG_DIR": str(self.folder), "HA_CLOCK": str(self._clock_of(f"api{number}"))}
        program: Sequence[object] = (folder / server,)
        words: list[object]
        if server == "blazar-api":
            own = self.folder / f"api{number}.conf"
            own.write_text(f"[DEFAULT]\nhost = {HOST}\nport = {port}\n")
            program = program if programs else self._program(server)
            words = ["--config-file", self.conf, "--config-file", own]
        elif server == "gunicorn":
            words = ["--bind", f"{HOST}:{port}", "--workers", 2, "--threads", 8, "--graceful-timeout", 20]
            words += ["--keep-alive", 60, "--no-control-socket", application]
        else:
            words = [
                "--http-socket",
                f"{HOST}:{port}",
                "--module",
                application,
                "--master",
                "--lazy-apps",
                "--need-app",
            ]
            words += [
                "--processes",
                2,
                "--threads",
                8,
                "--enable-threads",
                "--disable-logging",
                "--hook-master-start",
                "unix_signal:15 gracefully_kill_them_all",
                "--worker-reload-mercy",
                20,
                "--add-header",
                "Connection: close",
            ]
            (self.folder / "reload").touch()
            words += ["--touch-chain-reload", self.folder / "reload"]
        return Program(f"api{number}", [*program, *words], self.folder, env)

    def start(self) -> Site:
        self.cloud.start()
        eventually("the cloud", lambda: requests.get(f"{self.cloud_url}/v3", timeout=5).ok)
        self.upgrade(self._programs)
        history.begin(self.engine)
        for program in (*self.managers, *self.apis):
            program.start()
        for url in self.urls:
            eventually(
                f"health of {url}", lambda url=url: requests.get(f"{url}/healthcheck", timeout=10).ok, 60
            )
        admin = self.user("admin")
        for host in self.snapshot()["hosts"].values():
            answer = admin.post(f"{self.urls[0]}/v1/os-hosts", json={"name": host["name"]}, timeout=60)
            assert answer.status_code == 201, answer.text
        self.before = self.snapshot()
        return self

    def upgrade(self, programs: Path = BIN) -> None:
        """Bring the schema to the version of these programs."""
        words = [programs / "blazar-db-manage", "--config-file", self.conf, "upgrade"]
        migration = Program("db-manage", words, self.folder)
        assert migration.start().wait(60) == 0, migration.log

    def reconcile(self) -> str:
        """Repair what differs between the database and the cloud, as an operator does. Return what is
        told."""
        words = [BIN / "blazar-db-manage", "--config-file", self.conf, "reconcile", "--repair", "--grace", 1]
        reconciliation = Program("reconcile", words, self.folder)
        reconciliation.start().wait(120)
        return reconciliation.log

    def close(self) -> None:
        for program in (*self.apis, *self.managers, self.cloud):
            program.kill()
        self.engine.dispose()
        self.broker_relay.down()

    def select(self, statement: str, **words: Any) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(text(statement), words))

    def change(self, statement: str, **words: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(statement), words)

    def unsettled(self) -> list[str]:
        """Return a sentence for each lease in a transitional status."""
        statuses = "'CREATING','STARTING','UPDATING','TERMINATING','DELETING'"
        rows = self.select(f"SELECT id, status, status_reason FROM leases WHERE status IN ({statuses})")
        return [f"lease {row.id} is {row.status}: {row.status_reason}" for row in rows]

    def differences(self) -> list[str]:
        """Return a sentence for each active lease that has other hosts in the cloud than it says."""
        says: dict[str, set[str]] = {}
        for row in self.select(HOSTS_OF_ACTIVE):
            says.setdefault(row.reservation_id, set()).add(row.name)
        now, has = self.snapshot(), dict[str, set[str]]()
        for host in now["hosts"].values():
            for aggregate in host["aggregates"]:
                has.setdefault(now["aggregates"][str(aggregate)]["name"], set()).add(host["name"])
        return [
            f"reservation {key}: its lease says {sorted(hosts)}, the cloud {sorted(has.get(key, ()))}"
            for key, hosts in says.items()
            if has.get(key, set()) != hosts
        ]

    # how it is built

    def _configuration(self, patience: int) -> str:
        broker = make_url(RABBITMQ).set(host=HOST, port=self.broker_relay.port)
        credentials = "\n".join(
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
        return f"""
[DEFAULT]
transport_url = {broker.render_as_string(hide_password=False)}
control_exchange = {self.name}
rpc_response_timeout = {patience}
graceful_shutdown_timeout = 20
[api]
threads = 24
[manager]
rpc_topic = {self.name}
claim_seconds = {CLAIM}
delete_wait = 3
event_workers = 8
[oslo_messaging_rabbit]
amqp_auto_delete = true
[oslo_messaging_notifications]
driver = messagingv2
topics = {self.name}
[database]
connection = {self._database.render_as_string(hide_password=False)}
[cloud]
{credentials}
timeout = 20
[keystone_authtoken]
{credentials}
www_authenticate_uri = {self.cloud_url}/v3
service_token_roles_required = true
"""


@contextmanager
def site(folder: Path, dialect: str, **more: Any) -> Iterator[Site]:
    built = Site(folder, dialect, **more)
    try:
        yield built.start()
    finally:
        built.close()
