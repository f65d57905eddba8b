"""The API as its clients reach it: requests against the real WSGI callable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIApplication

import pytest
from falcon.testing import Result, TestClient
from new_databases import give_schema
from oslo_config import cfg
from oslo_policy import policy

from blazar import conf as options
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.notifications import LogNotifier
from blazar.api.app import make_app
from blazar.api.dashboard import Dashboard
from blazar.api.health import Health
from blazar.bootstrap.database import build_database
from blazar.bootstrap.manager import Manager
from blazar.kinds.floatingip.extension import FloatingIPExtension
from blazar.kinds.registered_hosts import HostsExtension
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer
from blazar.service.interface import INTERFACES as CORE
from blazar.service.ports import Subnet

from .canned import Canned, ShownKind
from .personas import PERSONAS, believe

Send = Callable[..., Result]
EXTENSIONS = (HostsExtension(), FloatingIPExtension())
INTERFACES = {**CORE, **HostsExtension.interfaces, **FloatingIPExtension.interfaces}


@pytest.fixture(autouse=True)
def no_log_handler_is_left() -> Iterator[None]:
    """A handler that is left writes to the stream of a test that is over, from then on in every test."""
    before = list(logging.getLogger().handlers)
    yield
    assert [handler for handler in logging.getLogger().handlers if handler not in before] == []


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Restore the logging of the process, which a program sets up as its own."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def enforcer(conf: cfg.ConfigOpts, monotonic: Callable[[], float] = time.monotonic) -> policy.Enforcer:
    """The rules of the core and of both extensions."""
    return make_enforcer(conf, [rule for extension in EXTENSIONS for rule in extension.policies], monotonic)


def configured(directory: Path, text: str = "") -> cfg.ConfigOpts:
    """A configuration as an operator writes it; nothing of this machine's own."""
    (directory / "blazar.conf").write_text(text)
    return options.load(files=[str(directory / "blazar.conf")])


def sender(app: WSGIApplication) -> Send:
    """Return a function that sends requests as a persona: a member by default, without a token for None."""
    client = TestClient(lambda environ, start_response: app(environ, start_response))

    def send(method: str, path: str, persona: str | None = "member", **more: Any) -> Result:
        token = {"X-Auth-Token": persona} if persona else {}
        return client.simulate_request(method, path, headers={**token, **more.pop("headers", {})}, **more)

    return send


def edge(
    service: Canned,
    conf: cfg.ConfigOpts,
    health: Callable[[], Health] | None = None,
    dashboard: Dashboard | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Send:
    """Sends requests to the edge in front of the canned service."""
    return sender(
        make_app(
            service,
            {"physical:host": ShownKind()},  # type: ignore[dict-item]  # the edge only renders
            EXTENSIONS,
            enforcer(conf, monotonic),
            conf=conf,
            authenticate=believe,
            health=health or (lambda: Health(healthy=True, details={"database": "OK"})),
            dashboard=dashboard,
        )
    )


@pytest.fixture
def service() -> Canned:
    return Canned()


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    return configured(tmp_path)


@pytest.fixture
def send(service: Canned, conf: cfg.ConfigOpts) -> Send:
    return edge(service, conf)


class House:
    """The real service on SQLite and a cloud in memory, behind the real edge. There is an external network
    ``public``."""

    def __init__(self, conf: cfg.ConfigOpts, hosts: int) -> None:
        self.cloud = MemoryCloud(f"compute-{n}" for n in range(1, hosts + 1))
        subnet = Subnet("subnet", "203.0.113.0/24", "203.0.113.1", (("203.0.113.10", "203.0.113.99"),))
        self.cloud.add_network("public", subnet)
        for token, who in PERSONAS.items():
            self.cloud.add_token(token, who["HTTP_X_USER_ID"], who.get("HTTP_X_PROJECT_ID", ""))
        self.database: SqlDatabase = build_database(conf)
        give_schema(self.database.engine)
        plugins = load_plugins(conf)
        self.manager = Manager(conf, self.database, self.cloud, plugins, SystemClock(), LogNotifier())
        self.app = make_app(
            self.manager.use_cases,
            plugins.kinds,
            EXTENSIONS,
            enforcer(conf),
            conf=conf,
            authenticate=believe,
            health=lambda: Health(healthy=True),
        )
        self.send = sender(self.app)

    def register(self, *names: str) -> None:
        for name in names:
            assert self.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201

    def register_floating_ip(self, address: str) -> Any:
        body = {"floating_network_id": "public", "floating_ip_address": address}
        made = self.send("POST", "/v1/floatingips", "admin", json=body)
        assert made.status_code == 201
        return made.json["floatingip"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(configured(tmp_path, f"[database]\nconnection = sqlite:///{tmp_path}/blazar.db\n"), hosts=3)
    house.manager.start()
    yield house
    house.manager.stop()
    house.database.engine.dispose()
