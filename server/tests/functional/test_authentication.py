"""Tokens: the real keystonemiddleware asks the sandbox's Keystone, seldom, and every refusal is one
sentence."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from oslo_config import cfg

from blazar.api.app import make_app
from blazar.api.authentication import keystone
from blazar.api.health import Health
from blazar.api.token_cache import TokenCache
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

from .canned import Canned, ShownKind
from .conftest import EXTENSIONS, Send, configured, enforcer, sender

PASSWORD = "sandbox"
REFUSED = {"error": 401, "error_message": "The request you have made requires authentication."}


def serve(**more: Any) -> SandboxServer:
    return SandboxServer(Cloud(hosts=0, password=PASSWORD, **more)).start()


@pytest.fixture(scope="module")
def cloud() -> Iterator[SandboxServer]:
    with SandboxServer(Cloud(hosts=0, password=PASSWORD)) as server:
        yield server


def authenticated(cloud: SandboxServer, directory: Path, more: str = "") -> cfg.ConfigOpts:
    return configured(
        directory,
        f"""
        [keystone_authtoken]
        auth_type = password
        auth_url = {cloud.auth_url}
        www_authenticate_uri = {cloud.auth_url}
        username = blazar
        password = {PASSWORD}
        project_name = service
        user_domain_id = default
        project_domain_id = default
        interface = public
        http_request_max_retries = 0
        {more}
        """.replace("\n        ", "\n"),
    )


def behind_keystone(service: Canned, conf: cfg.ConfigOpts) -> Send:
    app = make_app(
        service,
        {"physical:host": ShownKind()},  # type: ignore[dict-item]  # the edge only renders
        EXTENSIONS,
        enforcer(conf),
        conf=conf,
        authenticate=keystone(conf),
        health=lambda: Health(healthy=True),
    )
    return sender(app)


@pytest.fixture
def send(service: Canned, cloud: SandboxServer, tmp_path: Path) -> Send:
    """The persona is a token."""
    return behind_keystone(service, authenticated(cloud, tmp_path))


def token(cloud: SandboxServer, user: str, **scope: Any) -> str:
    scope = scope or {"project_name": user, "project_domain_id": "default"}
    if scope.get("unscoped"):
        scope = {"unscoped": True}
    auth = Password(
        auth_url=cloud.auth_url, username=user, password=PASSWORD, user_domain_id="default", **scope
    )
    with requests.Session() as http:
        return str(Session(session=http).get_token(auth))


@pytest.mark.parametrize(
    "path", ["/v1/leases", "/v1/os-hosts/1", "/v2", "/nope", "/v1/leases/", "/v1/plugins"]
)
@pytest.mark.parametrize("bad", [None, "", "gAAAAnope", "x" * 5000, "é"])
def test_everything_else_needs_a_token(
    send: Send, service: Canned, cloud: SandboxServer, path: str, bad: str | None
) -> None:
    answer = send("GET", path, bad)
    assert (answer.status_code, answer.json) == (401, REFUSED)
    assert answer.headers["www-authenticate"] == f'Keystone uri="{cloud.auth_url}"'
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-openstack-request-id"]
    assert not service.callers


@pytest.mark.parametrize("path", ["/", "/versions", "/v1", "/v1/", "/healthcheck", "/v1/openapi.json"])
@pytest.mark.parametrize("shown", [None, "gAAAAnope"])
def test_discovery_and_health_need_none(
    send: Send, cloud: SandboxServer, path: str, shown: str | None
) -> None:
    cloud.cloud.journal.clear()
    assert send("GET", path, shown).status_code in (200, 300)
    assert cloud.cloud.journal.total("identity") == 0


def test_the_caller_is_who_keystone_says(send: Send, service: Canned, cloud: SandboxServer) -> None:
    spoofed = {
        "X-User-Id": "root",
        "X-Project-Id": "p1",
        "X-Roles": "admin",
        "X-Identity-Status": "Confirmed",
    }
    assert send("GET", "/v1/leases", token(cloud, "demo"), headers=spoofed).status_code == 200
    (caller,) = service.callers
    assert caller.user_id == cloud.cloud.user_id("demo")
    assert caller.project_id == cloud.cloud.project_id("demo")
    assert set(caller.roles) == {"member", "reader"}
    assert not caller.is_admin
    assert send("GET", "/v1/leases", None, headers=spoofed).status_code == 401
    assert send("GET", "/v1/os-hosts", token(cloud, "admin")).status_code == 200
    assert service.callers[-1].is_admin


@pytest.mark.parametrize("scope", [{"system_scope": "all"}, {"domain_id": "default"}, {"unscoped": True}])
def test_tokens_without_a_project_are_403(send: Send, cloud: SandboxServer, scope: dict[str, Any]) -> None:
    shown = token(cloud, "admin", **scope)
    for method, path in [
        ("GET", "/v1/leases"),
        ("POST", "/v1/leases"),
        ("GET", "/v1/leases/x"),
        ("GET", "/v1/os-hosts"),
    ]:
        answer = send(method, path, shown)
        assert answer.status_code == 403
        assert answer.json["error_message"].startswith("Policy doesn't allow blazar:")


def test_a_warm_request_asks_keystone_nothing(send: Send, cloud: SandboxServer) -> None:
    shown = token(cloud, "demo")
    assert send("GET", "/v1/leases", shown).status_code == 200
    cloud.cloud.journal.clear()
    for _ in range(5):
        assert send("GET", "/v1/leases", shown).status_code == 200
    assert cloud.cloud.journal.total("identity") == 0


def test_without_a_cache_time_keystone_is_always_asked(
    service: Canned, cloud: SandboxServer, tmp_path: Path
) -> None:
    send = behind_keystone(service, authenticated(cloud, tmp_path, "[api]\ntoken_cache_time = 0"))
    shown = token(cloud, "demo")
    assert send("GET", "/v1/leases", shown).status_code == 200
    cloud.cloud.tokens.revoke(shown)
    assert send("GET", "/v1/leases", shown).status_code == 401


def until(holds: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def test_a_token_that_expires_is_refused_though_it_is_cached(service: Canned, tmp_path: Path) -> None:
    with SandboxServer(Cloud(hosts=0, password=PASSWORD, token_lifetime=timedelta(seconds=2))) as cloud:
        send = behind_keystone(service, authenticated(cloud, tmp_path))
        shown = token(cloud, "demo")
        assert send("GET", "/v1/leases", shown).status_code == 200
        assert until(lambda: send("GET", "/v1/leases", shown).status_code == 401)


def test_while_keystone_is_away_known_tokens_work_and_others_are_told(
    service: Canned, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cloud = serve()
    try:
        send = behind_keystone(service, authenticated(cloud, tmp_path))
        known, other = token(cloud, "demo"), token(cloud, "alt")
        assert send("GET", "/v1/leases", known).status_code == 200
    finally:
        cloud.stop()
    assert send("GET", "/v1/leases", known).status_code == 200
    answer = send("GET", "/v1/leases", other)
    assert answer.status_code == 503
    assert answer.json == {
        "error": 503,
        "error_message": "The identity service is not available, so nobody can be authenticated. "
        "Please try again.",
    }
    assert answer.headers["retry-after"] == "10"
    assert send("GET", "/healthcheck", None).status_code == 200


def test_a_stranger_fills_no_log(send: Send, cloud: SandboxServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    shown = token(cloud, "demo")
    send("GET", "/v1/leases", shown)
    caplog.clear()
    send("GET", "/v1/leases", None)
    send("GET", "/v1/leases", "gAAAAnope")
    send("GET", "/v1/leases", shown)
    assert [record.name for record in caplog.records if record.levelno > logging.DEBUG] == [
        "blazar.api.request_log"
    ] * 3
    assert shown not in caplog.text
    assert "gAAAAnope" not in caplog.text


class Watch:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_the_cache_forgets_in_time() -> None:
    watch = Watch()
    cache = TokenCache(watch)
    cache.set("a", b"1", time=60)
    watch.seconds += 59
    assert cache.get("a") == b"1"
    watch.seconds += 1
    assert cache.get("a") is None
    assert cache.size == 0


def test_the_cache_is_bounded() -> None:
    cache = TokenCache(Watch(), max_tokens=2)
    cache.set("a", b"1", time=60)
    cache.set("b", b"2", time=60)
    cache.set("a", b"3", time=60)
    cache.set("c", b"4", time=60)
    assert [cache.get(key) for key in "abc"] == [b"3", None, b"4"]
    assert cache.size == 2
