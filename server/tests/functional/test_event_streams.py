"""Streams of events over HTTP, with everything real but the hardware, since version 1.16."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from queue import SimpleQueue
from typing import Any

import pytest
import requests

from blazar.adapters.clock import SystemClock
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.streams import BEGINS, HOLD, LONGEST, TOKEN, Streams
from blazar.bootstrap.api import build_api
from blazar.cmd.listener import Limits
from blazar.domain.errors import CloudUnavailable
from blazar.domain.subscription import LeaseEvent, Subscription
from blazar.service.ports import Match
from blazar.service.subscriptions import StreamPage

from .canned import Canned
from .listening import listening
from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.16"}
BEFORE = {"OpenStack-API-Version": "reservation 1.15"}
PATH = "/v1/subscriptions"
TIMES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    site = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    assert site.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    yield site
    site.stop()


def subscribe(at: Sandboxed, **body: Any) -> Any:
    made = at.send("POST", PATH, "demo", json=body, headers=VERSION)
    assert made.status_code == 201, made.text
    return made.json["subscription"]


def read(at: Sandboxed, subscription_id: str, last: str | None = None) -> Any:
    headers = {**VERSION, "Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
    return at.send("GET", f"{PATH}/{subscription_id}/events", "demo", headers=headers)


def events(text: str) -> list[dict[str, str]]:
    """Return the fields of the events in a stream, as the HTML standard reads them."""
    blocks = [[line for line in each.split("\n") if line[:1] != ":"] for each in text.split("\n\n")]
    found = [dict(line.split(": ", 1) for line in block if line) for block in blocks]
    return [each for each in found if "data" in each]


def test_a_client_reads_on_where_it_stopped(at: Sandboxed) -> None:
    made = subscribe(at, events=["created", "deleted"])
    assert (made["url"], "secret" in made, made["next_attempt_at"]) == (None, False, None)
    empty = read(at, made["id"])
    assert (empty.status_code, empty.text) == (200, ": blazar\nretry: 5000\n\n")
    assert empty.headers["Content-Type"] == "text/event-stream"
    assert (empty.headers["Cache-Control"], empty.headers["Vary"]) == ("no-store", "OpenStack-API-Version")
    lease = {"name": "training", **TIMES, "reservations": [HOST]}
    lease_id = at.send("POST", "/v1/leases", "demo", json=lease).json["lease"]["id"]
    assert at.send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204
    pause = threading.Event()
    assert any(len(events(read(at, made["id"]).text)) == 2 or pause.wait(0.1) for _ in range(200))
    first, second = events(read(at, made["id"]).text)
    body = json.loads(first["data"])
    assert (first["event"], body["event"], body["id"]) == ("created", "created", first["id"])
    assert (body["lease"]["id"], body["lease"]["name"]) == (lease_id, "training")
    assert (body["subscription_id"], "trust_id" in body["lease"]) == (made["id"], False)
    assert events(read(at, made["id"], first["id"]).text) == [second]
    assert events(read(at, made["id"], second["id"]).text) == []
    assert (
        at.send("GET", f"{PATH}/{made['id']}", "demo", headers=VERSION).json["subscription"]["waiting"] == 2
    )
    at.database.transact(lambda u: u.subscriptions.trim(made["id"], 0))
    (missed,) = events(read(at, made["id"], first["id"]).text)
    assert (missed["id"], missed["event"]) == (second["id"], "missed")
    assert json.loads(missed["data"]) == {"event": "missed", "subscription_id": made["id"]}
    assert events(read(at, made["id"], missed["id"]).text) == []


def test_what_is_refused(at: Sandboxed) -> None:
    sent = subscribe(at, url="https://receiver.example.com/")
    refused = read(at, sent["id"])
    assert (refused.status_code, refused.json["error_message"]) == (
        400,
        "What this subscription tells is sent to its url, and not kept.",
    )
    kept = subscribe(at)
    for last in ("4711", "msg_", "msg_-1", f"msg_{10**18}"):
        assert read(at, kept["id"], last).status_code == 400
    path = f"{PATH}/{kept['id']}"
    for body in ({"url": "https://receiver.example.com/"}, {"renew_secret": True}):
        assert at.send("PUT", path, "demo", json=body, headers=VERSION).status_code == 400
    assert at.send("POST", PATH, "demo", json={"url": ""}, headers=VERSION).status_code == 400
    assert at.send("POST", PATH, "demo", json={}, headers=BEFORE).status_code == 400
    assert at.send("GET", f"{path}/events", "demo", headers=BEFORE).status_code == 404
    assert at.send("DELETE", path, "demo", headers=VERSION).status_code == 204
    assert read(at, kept["id"]).status_code == 404


class Counted:
    """A service that counts the looks for what is new."""

    def __init__(self, at: Sandboxed) -> None:
        self._service = at.manager.use_cases
        self.looks = 0

    def noun(self, name: str) -> Any:
        self.looks += 1
        return self._service.noun(name)


def ask_over_a_socket(at: Sandboxed, address: tuple[str, int], subscription_id: str) -> socket.socket:
    connection = socket.create_connection(address, 20)
    lines = [
        f"GET {PATH}/{subscription_id}/events HTTP/1.1",
        "Host: reservation.example.com",
        f"X-Auth-Token: {at.token('demo')}",
        "OpenStack-API-Version: reservation 1.16",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def heard(connection: socket.socket, end: bytes) -> bytes:
    """Return what comes up to some bytes, or the end."""
    found = b""
    while end not in found and (some := connection.recv(65536)):
        found += some
    return found


def behind(at: Sandboxed, service: Any, **limits: int) -> Any:
    """Return the API with streams of these limits, on the built-in server with two workers."""
    streams = Streams(service, SystemClock().now, **limits)
    app = build_api(at.conf, at.manager.use_cases, PrometheusMetrics(), streams=streams)
    return listening(app, threads=2)


def test_hundreds_wait_without_a_worker_and_share_one_look(at: Sandboxed) -> None:
    counted = Counted(at)
    made = subscribe(at, events=["created"])
    forgotten = Match(made["id"], LeaseEvent.CREATED, {"event": "created"})
    at.database.transact(lambda u: u.subscriptions.put([forgotten], SystemClock().now()))
    at.database.transact(lambda u: u.subscriptions.trim(made["id"], 0))
    with behind(at, counted, most=200, most_of_project=200) as address, ExitStack() as open_ones:
        waiting = [open_ones.enter_context(ask_over_a_socket(at, address, made["id"])) for _ in range(200)]
        for each in waiting:
            assert b"Transfer-Encoding: chunked" in heard(each, b"retry: 1000\n\n")
        with ask_over_a_socket(at, address, made["id"]) as one_too_many:
            assert b"Content-Length: 22\r\n" in heard(one_too_many, b"retry: 5000\n\n")
        before, began = counted.looks, time.monotonic()
        lease = {"name": "neighbour", **TIMES, "reservations": [HOST]}
        token = {"X-Auth-Token": at.token("demo")}
        url = f"http://{address[0]}:{address[1]}/v1/leases"
        neighbour = requests.post(url, json=lease, headers=token, timeout=20).json()["lease"]["id"]
        for each in waiting:
            text = heard(each, b"}\n\n").decode()
            (found,) = events(text[text.index("id: ") :].removesuffix("\r\n"))
            assert (found["event"], json.loads(found["data"])["lease"]["id"]) == ("created", neighbour)
        assert counted.looks - before <= time.monotonic() - began + 2
        assert requests.delete(f"{url}/{neighbour}", headers=token, timeout=20).status_code == 204
        at.send("DELETE", f"{PATH}/{made['id']}", "demo", headers=VERSION)
        assert all(heard(each, b"never").endswith(b"0\r\n\r\n") for each in waiting)


def test_a_project_has_so_many_streams_and_the_others_come_back(at: Sandboxed) -> None:
    made = subscribe(at)
    with behind(at, at.manager.use_cases, most_of_project=1) as address:
        with ask_over_a_socket(at, address, made["id"]) as first:
            assert heard(first, b"retry: 1000\n\n")
            with ask_over_a_socket(at, address, made["id"]) as second:
                assert b"retry: 5000\n\n" in heard(second, b"retry: 5000\n\n")
        pause = threading.Event()

        def takes_its_place() -> bool:
            with ask_over_a_socket(at, address, made["id"]) as third:
                return b"retry: 1000\n\n" in heard(third, b"000\n\n")

        assert any(takes_its_place() or pause.wait(0.1) for _ in range(100)), "the first one is gone"


def test_a_stream_ends_with_the_token() -> None:
    now = SystemClock().now()
    held: list[float] = []
    page = StreamPage(SUBSCRIPTION, [])
    streams = Streams(Canned(), lambda: now)
    for seconds in (-1, 0, 60, 10**6):
        expires = {"token": {"expires_at": f"{now + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%fZ}"}}
        environ = {HOLD: lambda begin, seconds: held.append(seconds), TOKEN: expires}
        assert streams.hold(environ, page, 0, "p") is (seconds > 0)
    assert not streams.hold({HOLD: held.append}, page, 0, "p"), "without a token"
    assert held == [60, LONGEST]


class Away:
    """A manager that does not answer."""

    def noun(self, name: str) -> Any:
        raise CloudUnavailable(service="blazar-manager", reason="it does not answer")


class Listening:
    """A connection of a client."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.is_open = True

    def tell(self, text: bytes) -> None:
        self.heard.append(text)

    def finish(self) -> None:
        self.is_open = False


def test_a_silent_stream_is_kept_alive_and_finished_in_time() -> None:
    away: Any = Away()
    moment = [0.0]
    streams = Streams(away, SystemClock().now, monotonic=lambda: moment[0], interval=0.01)
    client, pause, page = Listening(), threading.Event(), StreamPage(SUBSCRIPTION, [])
    token = {"token": {"expires_at": f"{SystemClock().now() + timedelta(seconds=60):%Y-%m-%dT%H:%M:%SZ}"}}
    assert streams.hold({HOLD: lambda begin, seconds: begin(client), TOKEN: token}, page, 0, "p")
    for moment[0] in (14.0, 15.0, 29.0, 30.0):
        expected = [b":\n\n"] * int(moment[0] / 15)
        pause.wait(0.05)
        assert any(client.heard == expected or pause.wait(0.05) for _ in range(100))
    assert client.is_open, "the manager is away, and may be back"
    moment[0] = 58.0
    assert any(not client.is_open or pause.wait(0.02) for _ in range(100))


def test_a_stream_has_its_place_before_it_begins() -> None:
    """Between the decision and the answer others ask as well."""
    away: Any = Away()
    moment, begun = [0.0], list[Any]()
    metrics, pause = PrometheusMetrics(), threading.Event()
    streams = Streams(
        away, SystemClock().now, most=1, monotonic=lambda: moment[0], interval=0.01, metrics=metrics
    )
    page, client = StreamPage(SUBSCRIPTION, []), Listening()

    def are_counted(number: int) -> bool:
        return f"blazar_streams {number:.1f}" in metrics.exposition()[1].decode()

    token = {"token": {"expires_at": f"{SystemClock().now() + timedelta(seconds=60):%Y-%m-%dT%H:%M:%SZ}"}}
    environ = {HOLD: lambda begin, seconds: begun.append(begin), TOKEN: token}
    assert [streams.hold(environ, page, 0, "p") for _ in range(2)] == [True, False]
    assert are_counted(1)
    moment[0] = BEGINS
    assert streams.hold(environ, page, 0, "p"), "the first client has gone before its answer began"
    begun[-1](client)
    moment[0] = 2 * BEGINS - 1
    assert not streams.hold(environ, page, 0, "p")
    client.finish()
    assert any(are_counted(0) or pause.wait(0.02) for _ in range(100))
    assert streams.hold(environ, page, 0, "p")


SUBSCRIPTION = Subscription("s", "ops", "p", "u", "", ())


def test_the_server_gives_up_those_whose_time_is_over_and_those_that_do_not_read() -> None:
    begun: SimpleQueue[Any] = SimpleQueue()
    pause = threading.Event()

    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        environ[HOLD](begun.put, 60 if environ["PATH_INFO"] == "/flood" else 0.3)
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return iter([b"begin"])

    with listening(app) as address:
        for path, version in (("/", "1.1"), ("/", "1.0"), ("/flood", "1.1")):
            with socket.create_connection(address, 20) as connection:
                connection.sendall(f"GET {path} HTTP/{version}\r\nHost: x\r\n\r\n".encode())
                assert heard(connection, b"begin")
                if path == "/":
                    assert heard(connection, b"never").strip() == b""
                stream = begun.get(timeout=20)
                for _ in range(400):
                    if not stream.is_open:
                        break
                    stream.tell(b"x" * 2**18)
                    pause.wait(0.02)
                assert not stream.is_open


def test_strangers_end_no_stream() -> None:
    begun: SimpleQueue[Any] = SimpleQueue()

    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        environ[HOLD](begun.put, 60)
        start_response("200 OK", [])
        return iter([b"begin"])

    with listening(app, limits=Limits(connections=2)) as address, ExitStack() as open_ones:
        stream, *strangers = [
            open_ones.enter_context(socket.create_connection(address, 20)) for _ in range(2)
        ]
        stream.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert heard(stream, b"begin")
        strangers += [open_ones.enter_context(socket.create_connection(address, 20)) for _ in range(2)]
        assert [heard(each, b"never") for each in strangers[:2]] == [b"", b""]
        begun.get(timeout=20).tell(b"more")
        assert b"4\r\nmore" in heard(stream, b"more")
