"""TLS to every neighbour, by the options that the page on hardening names: who cannot prove to be
the neighbour gets neither a password nor a question."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from free_ports import free_port
from sqlalchemy import URL, create_engine, inspect, make_url
from sqlalchemy.exc import DBAPIError

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

from .databases import DatabaseServer
from .programs import BIN, HOST, Program, eventually
from .sandbox import PASSWORD, Sandbox
from .site import RABBITMQ, require_rabbitmq
from .tls import NAME, Certificate, Front, issue

PAGE = Path(__file__).parents[1] / "docs/operator/hardening.md"
ENDINGS = {
    "postgresql" if "sslmode" in ending else "mariadb": ending
    for ending in re.findall(r"\[database\] connection` \| ends in `\?(\S+)`", PAGE.read_text())
}
"""What the page puts behind the URL of a database, by dialect."""
ITS_FILE = "/etc/blazar/ca.pem"


PLAIN = {"postgresql": {"sslmode": "disable"}, "mariadb": {"ssl_disabled": "true"}}
"""How a driver is kept from trying TLS by itself."""


@dataclass(frozen=True)
class Neighbour:
    """A server that speaks TLS: its name in addresses, its port, and by which authority it is known."""

    host: str
    port: int
    authority: Path


@dataclass(frozen=True)
class Configuration:
    """What blazar.conf says of the neighbours."""

    database: URL
    cloud: Neighbour
    tokens: Neighbour
    broker: Neighbour
    proof: str = ""
    """Lines about a certificate of our own."""

    def write(self, folder: Path, port: int) -> Path:
        broker = make_url(RABBITMQ).set(host=self.broker.host, port=self.broker.port)
        name = f"tls_{uuid4().hex[:8]}"
        path = folder / "blazar.conf"
        path.write_text(f"""
[DEFAULT]
host = {HOST}
port = {port}
transport_url = {broker.render_as_string(hide_password=False)}
control_exchange = {name}
rpc_response_timeout = 10
[oslo_messaging_rabbit]
ssl = true
ssl_ca_file = {self.broker.authority}
amqp_auto_delete = true
[manager]
rpc_topic = {name}
metrics_port = {free_port()}
[database]
connection = {self.database.render_as_string(hide_password=False)}
[cloud]
{_credentials(self.cloud)}
{self.proof}
[keystone_authtoken]
{_credentials(self.tokens)}
www_authenticate_uri = https://{self.tokens.host}:{self.tokens.port}/v3
service_token_roles_required = true
""")
        return path


def _credentials(keystone: Neighbour) -> str:
    return f"""auth_type = password
auth_url = https://{keystone.host}:{keystone.port}/v3
cafile = {keystone.authority}
username = blazar
password = {PASSWORD}
project_name = service
user_domain_id = default
project_domain_id = default
interface = public"""


@pytest.fixture
def certificate(folder: Path) -> Certificate:
    return issue(folder, "ours")


@pytest.fixture
def others(folder: Path) -> Path:
    """Return the file of an authority that has issued nothing here."""
    return issue(folder, "theirs").authority


@dataclass
class Servers:
    """A sandbox cloud and RabbitMQ behind TLS."""

    sandbox: Sandbox
    cloud: Front
    broker: Front
    configuration: Configuration


@contextmanager
def running(folder: Path, certificate: Certificate, proof: Path | None = None) -> Iterator[Servers]:
    """Servers, and a configuration by which all of them are reached. Its database has no server."""
    require_rabbitmq()
    rabbitmq = make_url(RABBITMQ)
    with ExitStack() as stack:
        cloud = Cloud(hosts=2, password=PASSWORD)
        server = stack.enter_context(SandboxServer(cloud))
        front = Front((HOST, server.port), certificate, proof)
        stack.callback(front.close)
        cloud.public_url = f"https://{NAME}:{front.port}"
        broker = Front((str(rabbitmq.host), int(rabbitmq.port or 5672)), certificate)
        stack.callback(broker.close)
        keystone = Neighbour(NAME, front.port, certificate.authority)
        at = Configuration(
            make_url(f"sqlite:///{folder}/blazar.db"), keystone, keystone,
            Neighbour(NAME, broker.port, certificate.authority),
        )  # fmt: skip
        yield Servers(Sandbox(server.url), front, broker, at)


def told(conf: Path, *words: str) -> tuple[int, str]:
    """Run ``blazar-db-manage``; return its exit code and what it prints."""
    command = [BIN / "blazar-db-manage", "--config-file", conf, *words]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90, check=False
    )
    assert "Traceback" not in done.stdout
    assert PASSWORD not in done.stdout.replace("blazar_sandbox", "")
    return done.returncode, done.stdout


@contextmanager
def started(conf: Path, folder: Path, *names: str) -> Iterator[None]:
    programs = [Program(name, [BIN / name, "--config-file", conf], folder) for name in names]
    try:
        for program in programs:
            program.start()
        yield
    except AssertionError as failure:
        raise AssertionError("\n".join([str(failure), *(each.log[-3000:] for each in programs)])) from failure
    finally:
        for program in programs:
            program.kill()


def health(port: int) -> requests.Response:
    return requests.get(f"http://{HOST}:{port}/healthcheck", timeout=20)


def test_the_service_works_where_all_neighbours_speak_tls_only(
    dialect: str, folder: Path, certificate: Certificate
) -> None:
    database = DatabaseServer(dialect, certificate)
    port = free_port()
    try:
        database.start()
        with running(folder, certificate) as servers:
            plain = database.create("blazar").set(query={})
            ending = ENDINGS[dialect].replace(ITS_FILE, str(certificate.authority))
            url = make_url(f"{plain.render_as_string(hide_password=False)}?{ending}")
            conf = replace(servers.configuration, database=url).write(folder, port)
            assert told(conf, "upgrade")[0] == 0
            with started(conf, folder, "blazar-manager", "blazar-api"):
                eventually("health", lambda: health(port).ok, 60)
                api, user = f"http://{HOST}:{port}/v1", servers.sandbox.user("admin")
                host = user.post(f"{api}/os-hosts", json={"name": "compute-01"}, timeout=30)
                assert host.status_code == 201, host.text
                reservation = {"resource_type": "physical:host", "min": 1, "max": 1}
                reservation |= {"hypervisor_properties": "", "resource_properties": ""}
                body = {"name": "over TLS", "start_date": "now", "reservations": [reservation], "events": []}
                body["end_date"] = "2099-01-01 00:00"
                made = user.post(f"{api}/leases", json=body, timeout=30)
                assert made.status_code == 201, made.text
                place = f"{api}/leases/{made.json()['lease']['id']}"
                eventually(
                    "its start",
                    lambda: user.get(place, timeout=10).json()["lease"]["status"] == "ACTIVE",
                )
            assert servers.cloud.let_in
            assert servers.broker.let_in
    finally:
        database.kill()
        database.remove()


def test_a_database_that_cannot_prove_to_be_it_is_told_nothing(
    dialect: str, folder: Path, certificate: Certificate, others: Path
) -> None:
    database = DatabaseServer(dialect, certificate)
    somewhere = Neighbour(NAME, 1, others)
    try:
        database.start()
        known = database.create("blazar")
        without_tls = known.set(query=PLAIN[dialect])
        with pytest.raises(DBAPIError), create_engine(without_tls).connect():
            pass
        ending = ENDINGS[dialect]
        of_others = make_url(f"{_bare(known)}?{ending.replace(ITS_FILE, str(others))}")
        of_another_name = known.set(host=HOST)
        for url in (of_others, of_another_name):
            conf = Configuration(url, somewhere, somewhere, somewhere)
            code, printed = told(conf.write(folder, free_port()), "upgrade")
            assert code
            assert printed.endswith("database is not available: its certificate is not accepted\n"), printed
        conf = Configuration(make_url(f"{_bare(known)}?{ending}"), somewhere, somewhere, somewhere)
        printed = told(conf.write(folder, free_port()), "upgrade")[1]
        assert "the file of its authority cannot be read" in printed, printed
        engine = create_engine(known)
        assert inspect(engine).get_table_names() == []
        engine.dispose()
    finally:
        database.kill()
        database.remove()


def _bare(url: URL) -> str:
    return url.set(query={}).render_as_string(hide_password=False)


Wrong = Callable[[Neighbour, Path], Neighbour]


@pytest.fixture(params=["another authority", "another name"])
def wrong(request: pytest.FixtureRequest) -> Wrong:
    """Return a function that makes a neighbour one whose certificate does not do."""
    if request.param == "another name":
        return lambda neighbour, others: replace(neighbour, host=HOST)
    return lambda neighbour, others: replace(neighbour, authority=others)


def test_a_cloud_that_cannot_prove_to_be_it_is_told_nothing(
    folder: Path, certificate: Certificate, others: Path, wrong: Wrong
) -> None:
    with running(folder, certificate) as servers:
        good = servers.configuration
        conf = good.write(folder, free_port())
        assert told(conf, "upgrade")[0] == 0
        code, printed = told(conf, "reconcile", "--dry-run")
        assert (code, servers.cloud.let_in > 0) == (0, True), printed
        before = servers.cloud.let_in
        conf = replace(good, cloud=wrong(good.cloud, others)).write(folder, free_port())
        code, printed = told(conf, "reconcile", "--dry-run")
        assert code
        assert "certificate" in printed.lower(), printed
        assert servers.cloud.let_in == before


def test_a_cloud_that_wants_a_certificate_of_us_gets_it(folder: Path, certificate: Certificate) -> None:
    with running(folder, certificate, proof=certificate.authority) as servers:
        conf = servers.configuration.write(folder, free_port())
        assert told(conf, "upgrade")[0] == 0
        assert told(conf, "reconcile", "--dry-run")[0]
        assert not servers.cloud.let_in
        ours = f"certfile = {certificate.file}\nkeyfile = {certificate.key}"
        conf = replace(servers.configuration, proof=ours).write(folder, free_port())
        code, printed = told(conf, "reconcile", "--dry-run")
        assert (code, servers.cloud.let_in > 0) == (0, True), printed


def test_a_broker_that_cannot_prove_to_be_it_is_told_nothing(
    folder: Path, certificate: Certificate, others: Path, wrong: Wrong
) -> None:
    port = free_port()
    with running(folder, certificate) as servers:
        good = servers.configuration
        conf = replace(good, broker=wrong(good.broker, others)).write(folder, port)
        with started(conf, folder, "blazar-api"):
            (answer,) = eventually("an answer", lambda: [health(port)])
            assert answer.status_code == 503
            assert "broker" in answer.text
        assert not servers.broker.let_in


def test_a_keystone_that_cannot_prove_to_be_it_is_asked_about_no_token(
    folder: Path, certificate: Certificate, others: Path, wrong: Wrong
) -> None:
    port = free_port()
    with running(folder, certificate) as servers:
        good, user = servers.configuration, servers.sandbox.user("demo")
        conf = replace(good, tokens=wrong(good.tokens, others)).write(folder, port)
        with started(conf, folder, "blazar-api"):
            eventually("an answer", lambda: health(port) is not None)
            assert user.get(f"http://{HOST}:{port}/v1/leases", timeout=60).status_code == 503
        assert not servers.cloud.let_in
