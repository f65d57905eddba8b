"""A site of this machine's servers and a sandbox, and the shell of its operator."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import yaml
from free_ports import free_port
from sqlalchemy import make_url

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.compute.servers import Delays

from .page import ROOT, SETTINGS, Block, enabled_command_lines, settings

PATIENCE = 600
"""Seconds for one block; the package index may be slow."""
HOST = "127.0.0.1"
ADMIN, USER = "As an administrator of the cloud", "As a user of the cloud, with the role member"


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
        own = {
            self.dialect.place: self._of_database(),
            ADMIN: self._of_user("admin"),
            USER: self._of_user("demo"),
        }
        return kept | own.get(place, {})

    def _of_database(self) -> dict[str, str]:
        if self.server.get_backend_name() != "postgresql":
            return {"MYSQL_HOME": str(self.folder)}
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
    def units(self, block: Block) -> Iterator[None]:
        """Start the command lines of the units that the block enables, with the folders of this site."""
        lines = enabled_command_lines(block, ROOT / "deploy/systemd")
        assert lines.keys() >= {"blazar-api", "blazar-manager"}
        programs = [self._start(name, line) for name, line in lines.items()]
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
