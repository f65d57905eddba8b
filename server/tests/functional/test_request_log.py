"""Request ids and the request log: every answer has an id, every request a line, and no line a token."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from falcon.testing import TestClient
from oslo_config import cfg
from oslo_middleware import RequestId

from blazar.api.health import Health
from blazar.api.request_log import request_log
from blazar.domain.errors import CloudUnavailable

from .canned import Canned
from .conftest import Send, edge

REQUEST_ID = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOKEN = "gAAAAABsecret"


@pytest.mark.parametrize("path", ["/", "/v1/leases", "/v1/leases/nope", "/nope", "/healthcheck"])
def test_every_answer_has_an_id_of_its_own(send: Send, path: str) -> None:
    first, second = (send("GET", path).headers["x-openstack-request-id"] for _ in range(2))
    assert REQUEST_ID.fullmatch(first)
    assert first != second


@pytest.mark.parametrize("sent", ["req-9c3ba32f-4a1b-4d37-91a5-1c8e9b2f9a01", "req-x", "x", ""])
def test_a_global_id_is_taken_but_not_echoed(send: Send, service: Canned, sent: str) -> None:
    answer = send("GET", "/v1/leases", headers={"X-OpenStack-Request-Id": sent})
    assert answer.headers["x-openstack-request-id"] != sent
    assert service.callers[0].global_request_id == (sent if REQUEST_ID.fullmatch(sent) else None)


def test_one_line_for_each_request(send: Send, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "blazar.api.request_log")
    answer = send("GET", "/v1/leases.json", query_string="a=b", headers={"X-Service-Token": TOKEN})
    (line,) = [record.getMessage() for record in caplog.records if record.name == "blazar.api.request_log"]
    request_id = answer.headers["x-openstack-request-id"]
    assert re.fullmatch(rf"GET /v1/leases\.json 200 \d+\.\d ms request {request_id} user u1 project p1", line)


def test_nobody_is_nobody_in_the_log(send: Send, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    send("GET", "/v1/leases", TOKEN, headers={"X-User-Id": "root"})
    send("GET", "/", TOKEN, headers={"X-User-Id": "root"})
    lines = [record.getMessage() for record in caplog.records if record.name == "blazar.api.request_log"]
    assert [line.split(" request ")[1].split(" ", 1)[1] for line in lines] == ["user - project -"] * 2
    assert TOKEN not in caplog.text


def test_a_path_cannot_begin_a_line_of_its_own(send: Send, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    send("GET", "/v1/leases/a%0aGET%20/v1%20200")
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_a_defect_in_a_layer_is_answered_with_json(caplog: pytest.LogCaptureFixture) -> None:
    def broken(environ: object, start_response: object) -> list[bytes]:
        raise RuntimeError("secret of the house")

    app = RequestId(request_log(broken))
    answer = TestClient(lambda environ, start_response: app(environ, start_response)).simulate_get("/")
    assert answer.status_code == 500
    assert answer.headers["x-openstack-request-id"] in answer.json["error_message"]
    assert "secret" not in answer.text
    assert "secret of the house" in caplog.text


def test_a_healthy_service_says_so(send: Send) -> None:
    answer = send("GET", "/healthcheck", None)
    assert (answer.status_code, answer.json) == (200, {"status": "OK", "details": {"database": "OK"}})


def test_an_unhealthy_service_says_so(service: Canned, conf: cfg.ConfigOpts) -> None:
    send = edge(service, conf, lambda: Health(healthy=False, details={"event_lag": 120.0}))
    answer = send("GET", "/healthcheck", None)
    assert (answer.status_code, answer.json) == (
        503,
        {"status": "UNAVAILABLE", "details": {"event_lag": 120.0}},
    )


def test_a_failing_health_check_tells_no_secrets(service: Canned, conf: cfg.ConfigOpts) -> None:
    def health() -> Health:
        raise CloudUnavailable(service="database", reason="mysql://user:password@host refused")

    answer = edge(service, conf, health)("GET", "/healthcheck", None)
    assert answer.status_code == 503
    assert answer.json == {"status": "UNAVAILABLE", "details": {"database": "UNAVAILABLE"}}


def test_what_a_client_sends_is_cut(send: Send, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    send("GET", f"/v1/leases/{'x' * 100_000}")
    app = request_log(lambda environ, start_response: [])
    app({"REQUEST_METHOD": "M" * 10_000, "PATH_INFO": "/"}, lambda *_: lambda _: None)  # type: ignore[arg-type,misc]
    assert len(caplog.records) >= 2
    assert all(len(record.getMessage()) < 1_000 for record in caplog.records)


def test_lines_in_json_carry_what_machines_read(tmp_path: Path) -> None:
    program = (
        "import logging, sys; from blazar.cmd.process import configured\n"
        "configured(sys.argv[1:])\n"
        "logging.getLogger('blazar.x').info('A %s.', 'word', extra={'action': 'request', 'status': '200'})\n"
        "logging.getLogger('blazar.x').info('Nothing else.')\n"
    )
    conf = tmp_path / "blazar.conf"
    conf.write_text(f"[DEFAULT]\nuse_json = true\nlog_file = {tmp_path}/log\n")
    words = [sys.executable, "-c", program, "--config-file", str(conf)]
    subprocess.run(words, timeout=60, check=True)
    first, second = (json.loads(line) for line in (tmp_path / "log").read_text().splitlines())
    assert (first["message"], first["extra"]) == ("A word.", {"action": "request", "status": "200"})
    assert second["extra"] == {}
