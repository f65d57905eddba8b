"""The page of the installation, done as it says: an empty environment, a database, a broker, and the sandbox
for a cloud."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4
from zipfile import ZipFile

import pytest
import yaml
from sqlalchemy import make_url

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.server import SandboxServer

from .page import NOT_RUN, PAGE, ROOT, SETTINGS, UNITS, Block, blocks, command_lines, settings

PATIENCE = 600
"""Seconds for one block; the package index may be slow."""
HOST = "127.0.0.1"
ADMIN, USER = "As an administrator of the cloud", "As a user of the cloud, with the role member"
BROKER = "As root, on a RabbitMQ node"
ON_SERVICE = ("As root, on the service's machine", "On the service's machine")


@dataclass(frozen=True)
class Dialect:
    """A database server: the place on the page, and what the settings say of it."""

    place: str
    variable: str
    usual: str
    url: str
    extra: str


DIALECTS = {
    "postgresql": Dialect(
        "As the user postgres, on the database server (PostgreSQL)", "BLAZAR_TEST_POSTGRESQL",
        "postgresql://postgres@127.0.0.1/postgres", "postgresql+psycopg", "postgresql",
    ),
    "mariadb": Dialect(
        "As root, on the database server (MariaDB)", "BLAZAR_TEST_MARIADB",
        "mariadb://root@127.0.0.1/mysql", "mysql+pymysql", "mysql",
    ),
}  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Site:
    """The shell of an operator: its settings, the servers of this machine, and a sandbox as the cloud."""

    def __init__(self, folder: Path, dialect: Dialect) -> None:
        self.folder = folder
        self.name = f"guide_{uuid4().hex[:8]}"
        self.dialect = dialect
        self.server = make_url(os.environ.get(dialect.variable, dialect.usual))
        self.broker = make_url(os.environ.get("BLAZAR_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/"))
        api = f"http://{HOST}:{free_port()}"
        self.cloud = Cloud(hosts=2, reservation_url=f"{api}/v1", delays=Delays(boot=0.1, delete=0.1))
        self.port = free_port()
        self.settings = {
            "SOURCE": str(ROOT),
            "INSTALL": str(folder / "opt"),
            "CONFIG": str(folder / "etc"),
            "ACCOUNT": subprocess.check_output(["id", "-un"], text=True).strip(),
            "DATABASE_URL": dialect.url,
            "DATABASE_DRIVER": dialect.extra,
            "DATABASE_HOST": f"{self.server.host}:{self.server.port}"
            if self.server.port
            else str(self.server.host),
            "DATABASE_NAME": self.name,
            "DATABASE_USER": self.name,
            "DATABASE_PASSWORD": uuid4().hex,
            "BROKER": f"{self.broker.host}:{self.broker.port or 5672}",
            "BROKER_VHOST": self.name,
            "BROKER_USER": self.name,
            "BROKER_PASSWORD": uuid4().hex,
            "KEYSTONE": f"http://{HOST}:{self.port}/v3",
            "REGION": "RegionOne",
            "SERVICE_PASSWORD": uuid4().hex,
            "API_HOST": HOST,
            "API_PORT": api.rpartition(":")[2],
            "API": api,
            "METRICS_PORT": str(free_port()),
            "FIRST_HOST": "compute-01",
            "IMAGE": "dummy",
            "FLAVOR": "m1.small",
            "PATH": "$INSTALL/bin:$PATH",
        }

    def prepare(self, page: list[Block]) -> None:
        """Write the settings of this site in place of the example's, under the same names."""
        (example,) = (block for block in page if block.place == SETTINGS)
        assert settings(example).keys() == self.settings.keys()
        lines = (f'{name}="{value}"\n' for name, value in self.settings.items())
        (self.folder / SETTINGS).write_text("".join(lines))
        users = {user: self._credentials(user) for user in ("admin", "demo")}
        (self.folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": users}))
        client = {"host": self.server.host, "port": self.server.port or 3306, "user": self.server.username}
        client |= {"password": self.server.password} if self.server.password else {}
        lines = (f"{name} = {value}\n" for name, value in client.items())
        (self.folder / "my.cnf").write_text("[client]\n" + "".join(lines))

    def _credentials(self, user: str) -> dict[str, object]:
        auth = {"auth_url": self.settings["KEYSTONE"], "username": user, "project_name": user}
        auth |= {"password": "sandbox", "user_domain_id": "default", "project_domain_id": "default"}
        return {"auth": auth, "region_name": self.settings["REGION"]}

    def environment(self, place: str) -> dict[str, str]:
        """Return the environment of a new shell at this place: who one is there, and how one gets to the
        servers."""
        ours = ("OS_", "PYTHON", "PYTEST", "PG", "BLAZAR_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        kept["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"  # a python3 that is new enough
        match place:
            case self.dialect.place if self.server.get_backend_name() == "postgresql":
                return kept | self._postgresql()
            case self.dialect.place:
                return kept | {"MYSQL_HOME": str(self.folder)}
            case "As an administrator of the cloud":
                return kept | self._of_user("admin")
            case "As a user of the cloud, with the role member":
                return kept | self._of_user("demo")
        return kept

    def _postgresql(self) -> dict[str, str]:
        known = {
            "PGHOST": self.server.host,
            "PGUSER": self.server.username,
            "PGPASSWORD": self.server.password,
        }
        known["PGPORT"] = str(self.server.port or 5432)
        return {name: value for name, value in known.items() if value}

    def _of_user(self, name: str) -> dict[str, str]:
        return {"OS_CLIENT_CONFIG_FILE": str(self.folder / "clouds.yaml"), "OS_CLOUD": name}

    def type(self, place: str, text: str) -> str:
        """Type a block; return what it prints. Fails with all that it printed where a command fails."""
        lines = f"set -euo pipefail\n. ./{SETTINGS}\n{text}"
        words, env = ["bash", "-c", lines], self.environment(place)
        done = subprocess.run(
            words, cwd=self.folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert not done.returncode, f"{place}:\n{text}\n{done.stdout}{done.stderr}{self.logs()}"
        return done.stdout

    @contextmanager
    def units(self) -> Iterator[None]:
        """Start the command lines of the systemd units, with the folders of this site."""
        programs = [self._start(name, line) for name, line in command_lines(ROOT / "deploy/systemd").items()]
        assert len(programs) == 2
        try:
            yield
        finally:
            for program in programs:
                program.send_signal(signal.SIGTERM)
            for program in programs:
                program.wait(PATIENCE)

    def _start(self, name: str, line: str) -> subprocess.Popen[bytes]:
        for usual, ours in {"/opt/blazar": "INSTALL", "/etc/blazar": "CONFIG"}.items():
            assert usual in line
            line = line.replace(usual, self.settings[ours])
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                shlex.split(line), stdout=log, stderr=log, cwd="/", start_new_session=True
            )

    def logs(self) -> str:
        return "".join(f"\n{path.name}:\n{path.read_text()[-4000:]}" for path in self.folder.glob("*.log"))

    def forget(self) -> None:
        """Remove what the page has made on servers that others use as well."""
        if self.server.get_backend_name() == "postgresql":
            self._run("psql", f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
            self._run("psql", f"DROP ROLE IF EXISTS {self.name}")
        else:
            self._run(
                "mariadb", f"DROP DATABASE IF EXISTS {self.name}; DROP USER IF EXISTS '{self.name}'@'%'"
            )
        for words in (["delete_user"], ["delete_vhost"]):
            subprocess.run(["rabbitmqctl", "--quiet", *words, self.name], capture_output=True, check=False)

    def _run(self, program: str, statement: str) -> None:
        asked = ["--dbname", "postgres", "--command"] if program == "psql" else ["--execute"]
        words, env = [program, *asked, statement], self.environment(self.dialect.place)
        subprocess.run(words, env=env, check=True, capture_output=True)


def without_reservations(site: Site) -> None:
    """Take from the new cloud what the page makes: the service's user, its catalog entry and the freepool."""
    identity, compute = site.cloud.identity, site.cloud.compute
    for user in [key for key, user in identity.users.items() if user.name == "blazar"]:
        identity.delete_user(user)
    for key in [key for key, service in identity.services.items() if service.type == "reservation"]:
        for each in [each for each, endpoint in identity.endpoints.items() if endpoint.service_id == key]:
            identity.endpoints.drop(each)
        identity.services.drop(key)
    for key in list(dict(compute.aggregates.table.items())):
        compute.aggregates.table.drop(key)


@pytest.mark.parametrize("name", DIALECTS)
def test_the_page_leads_from_nothing_to_the_first_lease(name: str, tmp_path: Path) -> None:
    page, site = blocks(PAGE.read_text()), Site(tmp_path, DIALECTS[name])
    others = {each.place for key, each in DIALECTS.items() if key != name}
    without_reservations(site)
    site.prepare(page)
    looked = 0
    with ExitStack() as stack:
        stack.enter_context(SandboxServer(site.cloud, host=HOST, port=site.port))
        stack.callback(site.forget)
        for block in page:
            if block.place == SETTINGS or block.place in others or block.place.endswith(NOT_RUN):
                continue
            if block.place.endswith(UNITS):
                stack.enter_context(site.units())
                continue
            assert block.place in (*ON_SERVICE, BROKER, ADMIN, USER, site.dialect.place), block.place
            looked += seen(site, block, site.type(block.place, block.text))
    assert looked == 5


def ours_stay(site: Site, place: str) -> None:
    """Upgrade from an index with newer distributions of our names: ours stay, by the page's pip.conf."""
    index = site.folder / "index"
    index.mkdir()
    for name in ("blazar", "python_blazarclient"):
        _pretend(index, name, "99.0.0")
    words = "blazar python-blazarclient"
    upgrade = f"pip install --dry-run --no-deps --no-index --find-links {index} --upgrade {words}"
    assert "Would install" not in site.type(place, upgrade)
    assert "Would install blazar-99.0.0 " in site.type(place, f"PIP_CONFIG_FILE=/dev/null {upgrade}")


def _pretend(folder: Path, name: str, version: str) -> None:
    """Make an empty wheel."""
    about = f"{name}-{version}.dist-info"
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def seen(site: Site, block: Block, output: str) -> bool:
    """Look at what the page promises after a block; tell whether it promises anything."""
    servers = {server.name: server for server in site.cloud.compute.server_table}
    if "pip wheel" in block.text:
        ours_stay(site, block.place)
    elif "upgrade check" in block.text:
        assert output.count("Success") == 3
    elif "hypervisor list" in block.text:
        assert re.search(r"hosts +\| compute-01 ", output)
    elif "lease create" in block.text:
        assert re.search(r"status +\| ACTIVE", output)
        assert servers["inside"].host == "compute-01"
    elif "lease delete" in block.text:
        assert not servers
        assert [host.name for host in site.cloud.compute.hosts.table if host.aggregates] == ["compute-01"]
    else:
        return False
    return True
