"""A project whose plans are refused because too many of them wait costs its neighbours little."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from oslo_config import cfg

from blazar.api.throttle import FEW, REMEMBERED, Throttle
from blazar.domain.errors import CloudUnavailable
from blazar.service.turns import TOO_MANY

from .canned import Canned
from .conftest import Send, edge

PATIENCE = 20.0
BODY = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [], "events": []}
REFUSAL = CloudUnavailable(service="blazar-manager", reason=TOO_MANY)


@dataclass
class Busy(Canned):
    """Keeps creations until the test lets them go."""

    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    go: threading.Event = field(default_factory=threading.Event)

    def note(self, caller: Any = None, command: Any = None) -> None:
        super().note(caller, command)
        if command is not None:
            self.asked.release()
            assert self.go.wait(PATIENCE)


@pytest.fixture
def service() -> Busy:
    return Busy()


@pytest.fixture
def send(service: Busy, conf: cfg.ConfigOpts) -> Iterator[Send]:
    yield edge(service, conf)
    service.go.set()


def refused(service: Busy, send: Send) -> None:
    service.failure = REFUSAL
    assert send("POST", "/v1/leases", json=BODY).status_code == 503
    service.failure = None


def begin_creations(service: Busy, send: Send, threads: ThreadPoolExecutor) -> None:
    for _ in range(FEW):
        threads.submit(send, "POST", "/v1/leases", json=BODY)
    for _ in range(FEW):
        assert service.asked.acquire(timeout=PATIENCE)


def test_surplus_changes_of_a_refused_project_are_refused_before_their_body_is_read(
    service: Busy, send: Send
) -> None:
    refused(service, send)
    with ThreadPoolExecutor(FEW) as threads:
        begin_creations(service, send, threads)
        surplus = send("POST", "/v1/leases", "colleague", body="{")
        assert (surplus.status_code, surplus.headers["retry-after"]) == (503, "10")
        assert send("PUT", "/v1/leases/1", body="{").status_code == 503
        assert send("POST", "/v1/leases", "stranger", body="{").status_code == 400
        service.go.set()
    assert send("POST", "/v1/leases", body="{").status_code == 400


def test_a_project_that_was_not_refused_may_ask_over_many_connections(service: Busy, send: Send) -> None:
    with ThreadPoolExecutor(FEW) as threads:
        begin_creations(service, send, threads)
        assert send("POST", "/v1/leases", body="{").status_code == 400
        service.go.set()


@pytest.mark.parametrize(
    "failure", [CloudUnavailable(service="Nova", reason="HTTP 500"), RuntimeError("a defect")]
)
def test_other_failures_throttle_nobody(service: Busy, send: Send, failure: Exception) -> None:
    service.failure = failure
    assert send("POST", "/v1/leases", json=BODY).status_code in {500, 503}
    service.failure = None
    with ThreadPoolExecutor(FEW) as threads:
        begin_creations(service, send, threads)
        assert send("POST", "/v1/leases", body="{").status_code == 400
        service.go.set()


def test_a_refusal_is_forgotten_after_a_while() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    with pytest.raises(CloudUnavailable), throttle.passed("p1"):
        raise REFUSAL

    def enter(times: int) -> None:
        if times:
            with throttle.passed("p1"):
                enter(times - 1)

    enter(FEW)
    with pytest.raises(CloudUnavailable):
        enter(FEW + 1)
    now[0] += REMEMBERED
    enter(FEW + 1)
