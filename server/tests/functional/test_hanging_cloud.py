"""A Nova that takes connections and never answers: requests that need no Nova go on, others end in time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.adapters.clock import SystemClock
from blazar.adapters.metrics import PrometheusMetrics
from blazar.bootstrap.api import build_api
from blazar.bootstrap.manager import build_dispatcher
from blazar.domain.errors import CloudUnavailable
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.interface import CallOptions

from .conftest import sender
from .sandboxed import Sandboxed

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

RPC_THREADS = 8
CALLS_AT_ONCE = 2
PATIENCE = 5.0
"""How long the callers wait, in seconds."""
AT_ONCE = 2.5
"""What counts as an answer at once while most threads are taken for half a second again and again."""
FUTURE = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
FLAVOR = {"resource_type": "flavor:instance", "flavor_id": "2", "amount": 1, "affinity": None}
WHOLE = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}


class RpcThreads:
    """Carries calls to one manager, which has so many threads for them."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._threads = ThreadPoolExecutor(RPC_THREADS)

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        sent = SystemClock().now()
        context = {"deadline": (sent + timedelta(seconds=PATIENCE)).isoformat()}
        return self._threads.submit(self._dispatcher.call, context, noun, use_case, arguments).result(), False

    def stop(self) -> None:
        self._threads.shutdown()


class Site:
    """The API over the RPC threads of one manager, on a sandbox cloud."""

    def __init__(self, sandboxed: Sandboxed, calls: RpcThreads) -> None:
        self.sandboxed = sandboxed
        service = remote_service(calls, sandboxed.manager.codec)
        sandboxed.conf.set_override("http_connect_timeout", 2, group="keystone_authtoken")
        sandboxed.conf.set_override("token_checks_at_once", CALLS_AT_ONCE, group="api")
        self._send = sender(build_api(sandboxed.conf, service, PrometheusMetrics()))
        self._tokens = {user: sandboxed.token(user) for user in ("admin", "demo")}

    def send(self, method: str, path: str, user: str = "demo", **more: Any) -> tuple[Any, float]:
        """Return the answer, and the seconds that it took."""
        began = time.monotonic()
        answer = self._send(method, path, self._tokens[user], **more)
        return answer, time.monotonic() - began

    def stranger(self, token: str | None) -> tuple[Any, float]:
        """List leases with a token that was never seen before, or with none."""
        began = time.monotonic()
        answer = self._send("GET", "/v1/leases", token)
        return answer, time.monotonic() - began

    def create(self, reservation: Mapping[str, Any]) -> tuple[Any, float]:
        return self.send("POST", "/v1/leases", json={**FUTURE, "reservations": [reservation]})

    @contextmanager
    def hanging_nova(self) -> Iterator[None]:
        """Nova is at an address that takes connections and never answers."""
        with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
            endpoints = self._move_nova(f"http://127.0.0.1:{silent.getsockname()[1]}/v2.1")
            try:
                yield
            finally:
                for endpoint in endpoints:
                    self.sandboxed.state.identity.endpoints.put(endpoint.id, endpoint)
                self.sandboxed.service_cloud.session.invalidate()

    @contextmanager
    def hanging_keystone(self) -> Iterator[None]:
        """Keystone takes requests and does not answer them before the end of the block."""
        server = self.sandboxed.cloud._server
        answers, over = server.wsgi_app, threading.Event()

        def hangs(environ: Any, start_response: Any) -> Any:
            if environ["PATH_INFO"].startswith("/v3"):
                over.wait(60)
            return answers(environ, start_response)

        server.wsgi_app = hangs
        try:
            yield
        finally:
            over.set()
            server.wsgi_app = answers

    def _move_nova(self, url: str) -> list[Any]:
        catalog = self.sandboxed.state.identity
        (nova,) = (service for service in catalog.services if service.type == "compute")
        before = [each for each in catalog.endpoints if each.service_id == nova.id]
        for endpoint in before:
            catalog.endpoints.put(endpoint.id, replace(endpoint, url=url))
        self.sandboxed.service_cloud.session.invalidate()  # the catalog comes with the token
        return before


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), calls_at_once=CALLS_AT_ONCE)
    calls = RpcThreads(build_dispatcher(sandboxed.manager, PrometheusMetrics()))
    yield Site(sandboxed, calls)
    calls.stop()
    sandboxed.stop()


def test_a_hanging_nova_takes_not_all_threads(site: Site) -> None:
    for name in ("compute-01", "compute-02"):
        answer, _ = site.send("POST", "/v1/os-hosts", "admin", json={"name": name})
        assert answer.status_code == 201
    assert site.create(FLAVOR)[0].status_code == 201

    with ThreadPoolExecutor(2 * RPC_THREADS) as clients, site.hanging_nova():
        asked = [clients.submit(site.create, FLAVOR) for _ in range(2 * RPC_THREADS)]
        time.sleep(0.2)  # until all are under way
        listed, listing = site.send("GET", "/v1/leases")
        made, making = site.create(WHOLE)
        assert any(not each.done() for each in asked), "Nova was to hang meanwhile"
        waited = [each.result() for each in asked]

    assert (listed.status_code, made.status_code) == (200, 201)
    assert max(listing, making) < AT_ONCE
    assert {answer.status_code for answer, _ in waited} == {503}
    assert all("Nova is not available" in answer.json["error_message"] for answer, _ in waited)
    assert all(int(answer.headers["Retry-After"]) > 0 for answer, _ in waited)
    hung = [seconds for _, seconds in waited if seconds > PATIENCE - 1]
    assert len(hung) == CALLS_AT_ONCE
    assert max(hung) < PATIENCE + 1.5

    again, seconds = site.create(FLAVOR)
    assert (again.status_code, seconds < AT_ONCE) == (201, True)


def test_a_hanging_keystone_takes_not_all_threads_of_the_api(site: Site) -> None:
    """A token that was checked a moment ago goes on, and so does what needs none."""
    assert site.send("GET", "/v1/leases")[0].status_code == 200
    with ThreadPoolExecutor(RPC_THREADS) as clients, site.hanging_keystone():
        asked = [clients.submit(site.stranger, f"token-{n}") for n in range(2 * RPC_THREADS)]
        time.sleep(0.2)  # until all are under way
        listed, listing = site.send("GET", "/v1/leases")
        health, checking = site.send("GET", "/healthcheck")
        refused, refusing = site.stranger(None)
        assert any(not each.done() for each in asked), "Keystone was to hang meanwhile"
        waited = [each.result() for each in asked]
    assert (listed.status_code, health.status_code, refused.status_code) == (200, 200, 401)
    assert max(listing, checking, refusing) < AT_ONCE
    assert {answer.status_code for answer, _ in waited} == {503}
    assert all("identity service is not available" in answer.json["error_message"] for answer, _ in waited)
    assert all(int(answer.headers["Retry-After"]) > 0 for answer, _ in waited)
    assert max(seconds for _, seconds in waited) < PATIENCE + 1.5
    at_once = [seconds for _, seconds in waited if seconds < 1]
    assert len(at_once) > RPC_THREADS, "most are refused without waiting for Keystone"
    assert site.stranger("token-1")[0].status_code == 401, "Keystone is asked again"


def test_no_call_waits_for_long_for_another_to_renew_our_token(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blazar.adapters.openstack.session.TOKEN_SECONDS", 1.0)
    cloud = site.sandboxed.service_cloud
    cloud.compute.aggregates()

    def ask(bounded: bool) -> tuple[str, float]:
        began = time.monotonic()
        deadline = began + PATIENCE
        with pytest.raises(CloudUnavailable) as failure:
            asked = cloud.for_request(lambda: deadline - time.monotonic()) if bounded else cloud
            asked.compute.aggregates()
        return failure.value.message, time.monotonic() - began

    with ThreadPoolExecutor(RPC_THREADS) as threads, site.hanging_keystone():
        cloud.session.invalidate()
        first = threads.submit(ask, bounded=True)
        time.sleep(0.2)  # until it renews the token
        others = [threads.submit(ask, bounded=n == 0).result() for n in range(2)]
        assert not first.done()
        assert all("Keystone is not available" in message for message, _ in others)
        assert max(seconds for _, seconds in others) < AT_ONCE
        assert PATIENCE - 1 < first.result()[1] < PATIENCE + 1.5
    assert cloud.compute.aggregates() is not None
