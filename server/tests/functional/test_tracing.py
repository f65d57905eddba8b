"""Does a trace lead from the request over the broker to the database and the cloud?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from blazar.adapters.clock import SystemClock
from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.openstack.bulkhead import Bulkhead
from blazar.adapters.openstack.session import ServiceApi
from blazar.adapters.tracing import OpenTelemetryTracing
from blazar.bootstrap.api import build_api
from blazar.bootstrap.tracing import build_tracing, require_tracing
from blazar.broker import rpc_transport
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.messaging import MessagingTransport, build_server
from blazar.rpc.proxy import remote_service
from blazar.service.tracing import NO_TRACING, NOTHING

from .bus import CODEC, Bus
from .canned import LEASE_ID, Canned
from .conftest import configured, sender
from .sandboxed import Sandboxed, until

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
WHOLE = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
LEASE = {"name": "a", "start_date": "now", "end_date": "2099-01-01 00:00", "reservations": [WHOLE]}


class Program:
    """A program of the service, and the spans that it has ended."""

    def __init__(self, name: str, ratio: float = 1.0) -> None:
        self._kept = InMemorySpanExporter()
        self.tracing = OpenTelemetryTracing(name, SimpleSpanProcessor(self._kept), ratio)

    def spans(self) -> list[ReadableSpan]:
        return list(self._kept.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans() if span.name == name]
        return found

    def beside(self, span: ReadableSpan) -> set[str]:
        """Return the names of the other spans of the same trace."""
        return {each.name for each in self.spans() if trace_of(each) == trace_of(span)} - {span.name}


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def is_child(span: ReadableSpan, of: ReadableSpan) -> bool:
    assert of.context is not None
    same = trace_of(span) == trace_of(of)
    return same and span.parent is not None and span.parent.span_id == of.context.span_id


class Traced:
    """An API and a manager on a sandbox cloud, with a broker between them."""

    def __init__(self, directory: Path, ratio: float = 1.0) -> None:
        self.api, self.manager = Program("blazar-api", ratio), Program("blazar-manager")
        self.at = Sandboxed(directory, tracing=self.manager.tracing)
        (directory / "bus").mkdir()
        self.bus = Bus(directory / "bus", url="fake://")
        transport, codec = rpc_transport(self.bus.conf), self.at.manager.codec
        dispatcher = Dispatcher(self.at.manager.use_cases, codec, SystemClock(), tracing=self.manager.tracing)
        self.server = build_server(transport, dispatcher, "one", self.bus.name)
        self.server.start()
        carrier = MessagingTransport(self.bus.conf, transport, SystemClock(), self.bus.name, self.api.tracing)
        service = remote_service(carrier, codec)
        self.send = sender(build_api(self.at.conf, service, PrometheusMetrics(), self.api.tracing))

    def ask(self, method: str, path: str, user: str = "demo", **more: Any) -> Any:
        answer = self.send(method, path, self.at.token(user), **more)
        assert answer.status_code < 300, answer.text
        return answer.json

    def close(self) -> None:
        self.server.stop()
        self.server.wait()
        self.bus.close()
        self.at.stop()


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Traced]:
    made = Traced(tmp_path)
    yield made
    made.close()


def test_a_trace_leads_from_the_request_to_the_database_and_the_cloud(traced: Traced) -> None:
    traced.ask("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"})
    request = traced.api.named("POST /v1/os-hosts")
    assert request.parent is None
    assert request.kind is SpanKind.SERVER
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 201
    assert str(request.attributes["openstack.request_id"]).startswith("req-")
    assert request.resource.attributes["service.name"] == "blazar-api"
    call = traced.api.named("call hosts.register")
    assert is_child(call, request)
    register = traced.manager.named("hosts.register")
    assert is_child(register, call)
    assert register.resource.attributes["service.name"] == "blazar-manager"
    steps = traced.manager.beside(register)
    assert {"database read", "database transaction", "Nova POST", "Placement GET"} <= steps


def test_an_event_is_a_trace_of_its_own(traced: Traced) -> None:
    traced.ask("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"})
    lease_id = traced.ask("POST", "/v1/leases", json=LEASE)["lease"]["id"]
    assert until(lambda: traced.ask("GET", f"/v1/leases/{lease_id}")["lease"]["status"] == "ACTIVE")
    assert until(lambda: "event start_lease" in {span.name for span in traced.manager.spans()})
    event = traced.manager.named("event start_lease")
    assert event.parent is None
    assert event.attributes is not None
    assert (event.attributes["lease_id"], event.attributes["outcome"]) == (lease_id, "ok")
    assert {"database transaction", "Nova POST"} <= traced.manager.beside(event)


def test_what_nobody_asked_for_is_no_trace(traced: Traced) -> None:
    """The engine looks at the database all the time."""
    assert until(lambda: bool(traced.at.manager.use_cases.noun("services").list()))
    assert not [span for span in traced.manager.spans() if span.name.startswith("database")]


def test_a_client_cannot_have_its_requests_traced(tmp_path: Path) -> None:
    traced = Traced(tmp_path, ratio=0.0)
    try:
        header = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
        traced.ask("GET", "/v1/leases", headers=header)
        assert not traced.api.spans()
        assert not [span for span in traced.manager.spans() if span.name == "leases.list"]
    finally:
        traced.close()


def test_a_message_without_a_trace_or_with_an_unknown_one_is_carried_out() -> None:
    program = Program("blazar-manager")
    traces: list[Any] = [None, "?", {"traceparent": "?"}, {"traceparent": 1}]
    contexts: list[Any] = [{}, *({"trace": trace, "new": 1} for trace in traces)]
    for tracing in (NO_TRACING, program.tracing):
        for context in contexts:
            dispatcher = Dispatcher(Canned(), CODEC, SystemClock(), tracing=tracing)
            assert "result" in dispatcher.call(context, "leases", "get", {"lease_id": LEASE_ID})
    assert len(program.spans()) == 5
    assert all(span.parent is None for span in program.spans())


def test_a_message_says_nothing_of_traces_where_there_are_none(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []

    class Listening(Dispatcher):
        def call(self, context: Mapping[str, Any], *call: Any) -> dict[str, Any]:
            seen.append(context)
            return super().call(context, *call)

    bus = Bus(tmp_path, url="fake://")
    transport = rpc_transport(bus.conf)
    server = build_server(transport, Listening(Canned(), CODEC, SystemClock()), "one", bus.name)
    server.start()
    try:
        carrier = MessagingTransport(bus.conf, transport, SystemClock(), bus.name)
        assert remote_service(carrier, CODEC).leases.get(LEASE_ID).id == LEASE_ID
    finally:
        server.stop()
        server.wait()
        bus.close()
    assert "deadline" in seen[0]
    assert "trace" not in seen[0]


def test_the_headers_of_a_span_name_it() -> None:
    program = Program("blazar-api")
    with program.tracing.entry("a", NOTHING), program.tracing.step("b", NOTHING) as span:
        headers = dict(span.headers)
    found = program.named("b").context
    assert found is not None
    assert headers.keys() == {"traceparent"}
    version, trace_id, span_id, flags = headers["traceparent"].split("-")
    assert (version, trace_id, span_id) == ("00", f"{found.trace_id:032x}", f"{found.span_id:016x}")
    assert int(flags, 16) & 1  # it is recorded


def test_an_error_is_told_by_its_type_only() -> None:
    program = Program("blazar-manager")
    with (
        pytest.raises(ValueError, match="a password"),
        program.tracing.entry("a", NOTHING),
        program.tracing.step("b", NOTHING),
    ):
        raise ValueError("a password")
    for name in ("a", "b"):
        span = program.named(name)
        assert span.attributes == {"error.type": "ValueError"}
        assert span.status.status_code is StatusCode.ERROR
        assert "password" not in span.to_json()


class Nova:
    """Remembers what it was told in headers."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []

    def request(self, path: str, method: str, headers: dict[str, str], **_: Any) -> requests.Response:
        self.headers.append(headers)
        answer = requests.Response()
        answer.status_code = 204
        return answer


def test_the_cloud_is_told_of_the_trace() -> None:
    program, nova = Program("blazar-manager"), Nova()
    auth: Any = object()
    api = ServiceApi("Nova", lambda: nova, Bulkhead("Nova", 1), auth=auth, tracing=program.tracing)
    api.get("/servers")
    with program.tracing.entry("event", NOTHING):
        api.get("/servers")
    span = program.named("Nova GET")
    assert span.attributes == {"url.path": "/servers", "http.response.status_code": 204}
    assert span.context is not None
    assert "traceparent" not in nova.headers[0]
    assert f"{span.context.span_id:016x}" in nova.headers[1]["traceparent"]


def test_traces_are_off_by_default_and_sent_where_the_operator_says(tmp_path: Path) -> None:
    assert build_tracing(configured(tmp_path), "blazar-api") is NO_TRACING
    conf = configured(tmp_path, "[tracing]\nendpoint = http://127.0.0.1:9/v1/traces\nratio = 0\n")
    require_tracing(conf)
    tracing = build_tracing(conf, "blazar-api")
    with tracing.entry("a", NOTHING):
        pass
    tracing.close()  # at once, for nothing was recorded
    assert isinstance(tracing, OpenTelemetryTracing)
