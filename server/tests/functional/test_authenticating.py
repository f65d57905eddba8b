"""A manager with credentials that Keystone does not know, or with a Keystone that is away: it starts all the
same, and says so."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from new_databases import give_schema
from oslo_config import cfg

from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.metrics import PrometheusMetrics
from blazar.bootstrap.cloud import build_cloud
from blazar.bootstrap.database import build_database
from blazar.bootstrap.health import health_of
from blazar.bootstrap.manager import Manager, build_manager
from blazar.domain.errors import CloudUnavailable
from blazar.engine.authenticating import AGAIN, LOOK, Authenticating
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

from .conftest import configured
from .sandboxed import PASSWORD, credentials, section, until

WRONG = "a-password-that-no-log-may-show"
NOTHING = "Nothing can be done in the cloud with the credentials in [cloud]: Keystone is not available: "
# openstacksdk warns of its own next releases with every request.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::openstack.warnings.RemovedInSDK{release}Warning")
    for release in ("50", "60")
]


@pytest.fixture
def keystone() -> Iterator[SandboxServer]:
    server = SandboxServer(Cloud(hosts=1, password=PASSWORD)).start()
    yield server
    server.stop()


def conf_of(folder: Path, **cloud: str) -> cfg.ConfigOpts:
    text = section("database", connection=f"sqlite:///{folder}/blazar.db") + section("cloud", **cloud)
    return configured(folder, text)


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    # The thread may have looked before the fixture that started it had returned.
    records = (*caplog.get_records("setup"), *caplog.get_records("call"))
    found = (each for each in records if each.name == "blazar.engine.authenticating")
    return [(each.levelno, each.getMessage()) for each in found]


@pytest.fixture
def started(request: pytest.FixtureRequest, tmp_path: Path, keystone: SandboxServer) -> Iterator[Manager]:
    """A manager with this password, without hosts and without leases."""
    own = {**credentials(keystone, "blazar", "service"), "password": request.param, "interface": "public"}
    conf = conf_of(tmp_path, **own)
    database = build_database(conf)
    give_schema(database.engine)
    manager = build_manager(conf, database, PrometheusMetrics())
    manager.start()
    yield manager
    manager.stop()
    database.close()


@pytest.mark.parametrize("started", [WRONG], indirect=True)
def test_a_wrong_password_is_told_at_the_start_and_in_the_health(
    started: Manager, caplog: pytest.LogCaptureFixture
) -> None:
    health = health_of(started.use_cases)
    assert until(lambda: "keystone" in health().details)
    assert health().details["keystone"] == "UNAVAILABLE"
    assert health().healthy
    ((level, sentence),) = told(caplog)
    assert level == logging.ERROR
    assert sentence.startswith(NOTHING)
    assert "401" in sentence
    assert all(WRONG not in each.getMessage() for each in caplog.get_records("setup"))
    assert WRONG not in caplog.text


@pytest.mark.parametrize("started", [PASSWORD], indirect=True)
def test_nothing_is_told_where_all_is_well(started: Manager, caplog: pytest.LogCaptureFixture) -> None:
    health = health_of(started.use_cases)
    assert until(lambda: health().details.get("keystone") == "OK")
    assert told(caplog) == []


def failing(reason: str) -> Callable[[str], None]:
    def fail(call: str) -> None:
        raise CloudUnavailable(service="Keystone", reason=reason)

    return fail


def test_it_is_told_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cloud = MemoryCloud()
    look = Authenticating(cloud)
    assert look.has_token is None
    for reason in ("req-1", "req-2"):
        cloud.before = failing(reason)
        assert look.round() == AGAIN
        assert look.has_token is False
    cloud.before = lambda call: None
    for _ in range(2):
        assert look.round() == LOOK
        assert look.has_token is True
    assert told(caplog) == [
        (logging.ERROR, f"{NOTHING}req-1"),
        (logging.INFO, "Keystone gives tokens again"),
    ]


def test_a_token_is_asked_for_once(tmp_path: Path, keystone: SandboxServer) -> None:
    look = Authenticating(build_cloud(conf_of(tmp_path, **credentials(keystone, "blazar", "service"))))
    assert look.round() == LOOK
    keystone.stop()
    assert look.round() == LOOK


def test_a_keystone_that_hangs_does_not_hold_up_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        own = {"auth_type": "password", "auth_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v3"}
        conf = conf_of(tmp_path, **own, username="blazar", password=PASSWORD, project_name="service")
        database = build_database(conf)
        give_schema(database.engine)
        manager = build_manager(conf, database, PrometheusMetrics())
        manager.start()
        silent.settimeout(20)
        connection, _ = silent.accept()  # it waits for an answer, and the manager works
        health = health_of(manager.use_cases)()
        assert health.healthy
        assert "keystone" not in health.details
        connection.close()
    manager.stop()
    database.close()
