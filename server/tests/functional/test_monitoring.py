"""What operators see: health with the part that fails, and metrics that count what happened."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from falcon.testing import TestClient
from oslo_config import cfg

from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.app import make_app
from blazar.api.health import Health
from blazar.api.metrics import health_and_metrics_app
from blazar.bootstrap.database import build_database
from blazar.bootstrap.health import health_of
from blazar.bootstrap.manager import build_dispatcher, build_manager
from blazar.domain.errors import CloudUnavailable
from blazar.service.health import ManagerHealth, ThreadHealth, ThreadState

from .canned import Canned, ShownKind
from .conftest import EXTENSIONS, House, configured, enforcer, sender
from .personas import believe
from .sandboxed import until


def value(text: str, name: str, **labels: str) -> float:
    """One figure out of the text that Prometheus reads; 0 where it is not there."""
    for line in text.splitlines():
        found, _, number = line.rpartition(" ")
        if found.split("{")[0] == name and all(f'{key}="{word}"' in found for key, word in labels.items()):
            return float(number)
    return 0.0


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics()


def test_requests_are_counted_by_route(metrics: PrometheusMetrics, conf: cfg.ConfigOpts) -> None:
    service = Canned()
    app = make_app(
        service,
        {"physical:host": ShownKind()},  # type: ignore[dict-item]  # the edge only renders
        EXTENSIONS,
        enforcer(conf),
        conf=conf,
        authenticate=believe,
        health=health_of(service, broker="OK"),
        metrics=metrics,
        exposition=metrics.exposition,
    )
    send = sender(app)
    for path in ("/v1/leases/a", "/v1/leases/b", "/v1/leases", "/nope", "/v1/leases"):
        send("GET", path)
    send("TRACE", "/v1/leases")
    answer = send("GET", "/metrics", None)
    assert answer.headers["content-type"].startswith("text/plain")
    one = {"method": "GET", "route": "/v1/leases/{lease_id}", "status": "404"}
    assert value(answer.text, "blazar_requests_total", **one) == 2
    assert value(answer.text, "blazar_requests_total", method="GET", route="/v1/leases", status="200") == 2
    assert value(answer.text, "blazar_requests_total", method="GET", route="none", status="404") == 1
    assert value(answer.text, "blazar_request_seconds_count", method="GET", route="/v1/leases") == 2
    assert "TRACE" not in answer.text
    health = send("GET", "/healthcheck", None)
    assert health.json["details"] == {
        "database": "OK",
        "broker": "OK",
        "event_lag_seconds": 1.5,
        "outbox": 2,
        "subscription_lag_seconds": 0.0,
    }


@pytest.mark.parametrize(
    ("service", "part"),
    [("database", "database"), ("the message broker", "broker"), ("blazar-manager", "manager")],
)
def test_health_names_the_part_that_fails(service: str, part: str, metrics: PrometheusMetrics) -> None:
    def health() -> Health:
        raise CloudUnavailable(service=service, reason="mysql://user:password@host")

    client = TestClient(lambda e, s: health_and_metrics_app(health, metrics.exposition)(e, s))
    answer = client.simulate_get("/healthcheck")
    assert answer.status_code == 503
    assert answer.json == {"status": "UNAVAILABLE", "details": {part: "UNAVAILABLE"}}
    assert client.simulate_get("/").status_code == 404
    assert client.simulate_get("/metrics").status_code == 200


class Full:
    """A manager whose database has no room left."""

    @property
    def health(self) -> Full:
        return self

    def read(self) -> ManagerHealth:
        return ManagerHealth(2.5, 3, takes_changes=False, subscription_lag_seconds=61.5)


def test_a_database_without_room_is_no_good_health(metrics: PrometheusMetrics) -> None:
    client = TestClient(lambda e, s: health_and_metrics_app(health_of(Full()), metrics.exposition)(e, s))  # type: ignore[arg-type]
    answer = client.simulate_get("/healthcheck")
    assert answer.status_code == 503
    details = {"database": "FULL", "event_lag_seconds": 2.5, "outbox": 3, "subscription_lag_seconds": 61.5}
    assert answer.json == {"status": "UNAVAILABLE", "details": details}


def test_calls_that_are_not_known_are_counted_together(
    house: House, metrics: PrometheusMetrics, tmp_path: Path
) -> None:
    dispatcher = build_dispatcher(house.manager, metrics)
    for noun, use_case in (("leases", "invent"), ("anything", "get"), ("health", "read")):
        dispatcher.call({}, noun, use_case, {})
    text = metrics.exposition()[1].decode()
    assert value(text, "blazar_use_cases_total", use_case="unknown", code="not_understood") == 2
    assert value(text, "blazar_use_cases_total", use_case="health.read", code="ok") == 1
    assert "anything" not in text
    assert "invent" not in text


def test_health_counts_what_waits(house: House) -> None:
    house.register("compute-1")
    house.manager.stop()  # what is due stays so
    turns = house.manager._calendars._turns
    body = {
        "name": "lease",
        "start_date": "now",
        "end_date": "2099-01-01 00:00",
        "reservations": [
            {"resource_type": "physical:host", "min": 1, "max": 1,
             "hypervisor_properties": "", "resource_properties": ""}
        ],
    }  # fmt: skip
    assert house.send("POST", "/v1/leases", json=body).status_code == 201
    assert until(lambda: house.manager.use_cases.health.read().subscription_lag_seconds > 0)
    turns._free = 0
    waiting = threading.Thread(target=lambda: turns._wait("project", lambda: 20.0))
    waiting.start()
    try:
        assert until(lambda: house.manager.use_cases.health.read().plans_waiting == 1)
        assert house.manager.use_cases.health.read().events_waiting == 1
    finally:
        with turns._lock:
            turns._free = 1
            turns._hand_out()
        waiting.join()


@pytest.mark.parametrize("state", ThreadState)
def test_health_is_good_only_while_each_thread_works(metrics: PrometheusMetrics, state: ThreadState) -> None:
    class Manager:
        @property
        def health(self) -> Manager:
            return self

        def read(self) -> ManagerHealth:
            threads = (ThreadHealth("relay", ThreadState.OK, 0.1), ThreadHealth("event-loop", state, 2.0))
            return ManagerHealth(0.0, 0, threads=threads)

    health = health_of(Manager())  # type: ignore[arg-type]
    client = TestClient(lambda e, s: health_and_metrics_app(health, metrics.exposition)(e, s))
    answer = client.simulate_get("/healthcheck")
    assert answer.status_code == (200 if state is ThreadState.OK else 503)
    assert answer.json["details"]["threads"] == {"relay": "OK", "event-loop": state.value}
    metrics.show_health(Manager().read, lambda: Manager().read().threads)
    text = metrics.exposition()[1].decode()
    assert value(text, "blazar_thread_up", thread="event-loop") == (state is ThreadState.OK)
    assert value(text, "blazar_thread_silent_seconds", thread="event-loop") == 2


def test_a_health_check_that_fails_unexpectedly_is_no_good_health(metrics: PrometheusMetrics) -> None:
    def health() -> Health:
        raise RuntimeError("anything")

    client = TestClient(lambda e, s: health_and_metrics_app(health, metrics.exposition)(e, s))
    answer = client.simulate_get("/healthcheck")
    assert answer.status_code == 503
    assert answer.json == {"status": "UNAVAILABLE", "details": {"reason": "internal"}}


def test_vital_signs_are_read_when_somebody_looks(metrics: PrometheusMetrics) -> None:
    read: list[Any] = [
        ManagerHealth(2.5, 3, events_waiting=7, plans_waiting=4, subscription_lag_seconds=1.25),
        CloudUnavailable(service="database", reason="away"),
    ]

    def health() -> ManagerHealth:
        found = read.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    metrics.show_health(health)
    assert len(read) == 2
    _, text = metrics.exposition()
    shown = [
        value(text.decode(), f"blazar_{name}") for name in ("event_lag_seconds", "outbox", "database_up")
    ]
    assert shown == [2.5, 3, 1]
    assert value(text.decode(), "blazar_events_waiting") == 7
    assert value(text.decode(), "blazar_plans_waiting") == 4
    assert value(text.decode(), "blazar_subscription_lag_seconds") == 1.25
    _, text = metrics.exposition()
    assert "blazar_outbox" not in text.decode()
    assert value(text.decode(), "blazar_database_up") == 0


def test_a_manager_shows_its_health_among_its_metrics(
    house: House, metrics: PrometheusMetrics, tmp_path: Path
) -> None:
    conf = configured(tmp_path, f"[database]\nconnection = {house.database.engine.url}\n")
    database = build_database(conf)
    build_manager(conf, database, metrics)  # not started
    text = metrics.exposition()[1].decode()
    database.close()
    assert value(text, "blazar_database_up") == 1
    assert 'blazar_thread_up{thread="event-loop"} 0.0' in text
    assert 'blazar_thread_up{thread="heartbeat"} 0.0' in text
    assert 'blazar_thread_up{thread="relay"} 0.0' in text


def test_a_manager_counts_plans_shortages_and_events(house: House) -> None:
    """The house has no metrics of its own: it is asked again with the same parts, counted."""
    house.register("compute-1")
    seen: list[tuple[Any, ...]] = []
    admission = house.manager.use_cases.leases.creation._admission
    admission._metrics = Telling(seen)  # type: ignore[assignment]
    body = {
        "name": "lease",
        "start_date": "now",
        "end_date": "2099-01-01 00:00",
        "reservations": [
            {
                "resource_type": "physical:host",
                "min": 1,
                "max": 1,
                "hypervisor_properties": "",
                "resource_properties": "",
            }
        ],
    }
    assert house.send("POST", "/v1/leases", json=body).status_code == 201
    assert house.send("POST", "/v1/leases", json=body).status_code == 400
    assert [word for word, *_ in seen] == ["planned", "planned"]
    assert seen[0][1] is None
    assert isinstance(seen[1][1], str)


class Telling:
    """An metrics that writes down what it is told."""

    def __init__(self, seen: list[tuple[Any, ...]]) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return lambda *words: self._seen.append((name, *words))


def test_the_health_reply_is_json(metrics: PrometheusMetrics) -> None:
    client = TestClient(
        lambda e, s: health_and_metrics_app(lambda: Health(True, {"a": 1}), metrics.exposition)(e, s)
    )
    assert json.loads(client.simulate_get("/healthcheck").text) == {"status": "OK", "details": {"a": 1}}
