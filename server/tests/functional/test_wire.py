"""Real sockets: what a WSGI server and the edge make of bodies together, and that one request never harms the
next."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest

from blazar.api.app import make_app
from blazar.api.health import Health
from blazar.cmd.listener import Limits, Listener
from blazar.cmd.process import bound

from .canned import LEASE_ID, Canned, ShownKind
from .conftest import EXTENSIONS, configured, enforcer
from .personas import believe

GOOD = json.dumps({"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00"}).encode()
MEGABYTE = 1024 * 1024
DEFAULT = Limits()


@pytest.fixture(scope="module")
def service() -> Canned:
    return Canned()


@pytest.fixture(scope="module")
def app(service: Canned, tmp_path_factory: pytest.TempPathFactory) -> WSGIApplication:
    conf = configured(tmp_path_factory.mktemp("server"))
    return make_app(
        service,
        {"physical:host": ShownKind()},  # type: ignore[dict-item]  # the edge only renders
        EXTENSIONS,
        enforcer(conf),
        conf=conf,
        authenticate=believe,
        health=lambda: Health(healthy=True),
    )


@contextmanager
def listening(
    app: WSGIApplication, threads: int = 4, limits: Limits = DEFAULT, drain: float = 1
) -> Iterator[tuple[str, int]]:
    with bound("the test", "127.0.0.1", 0) as port:
        listener = Listener("the test", port, app, threads, drain, limits)
        listener.start()
        try:
            yield port.getsockname()
        finally:
            listener.stop()


@pytest.fixture(scope="module")
def server(app: WSGIApplication) -> Iterator[tuple[str, int]]:
    with listening(app) as address:
        yield address


@pytest.fixture
def address(server: tuple[str, int], service: Canned) -> tuple[str, int]:
    service.commands.clear()
    return server


def open_files() -> set[int]:
    """Return the file descriptors of this process."""
    return {int(path.name) for path in Path("/proc/self/fd").iterdir()}


def talk(address: tuple[str, int], *pieces: bytes) -> bytes:
    """Send the bytes, and everything that comes back until the server closes the connection."""
    received = b""
    with socket.create_connection(address, timeout=10) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has heard enough; its answer is what counts
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
    return received


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join(
        [f"{line} HTTP/1.1", "Host: blazar", "X-Auth-Token: member", *headers, "", ""]
    ).encode()


def statuses(answer: bytes) -> list[bytes]:
    return [line.split(b" ")[1] for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


def test_no_accept_header_and_no_body(address: tuple[str, int]) -> None:
    answer = talk(address, head("GET /v1/leases"))
    assert statuses(answer) == [b"200"]
    assert b"\r\ncontent-type: application/json\r\n" in answer.lower()


def test_post_without_any_length(address: tuple[str, int]) -> None:
    answer = talk(address, head("POST /v1/leases"))
    assert statuses(answer) in ([b"400"], [b"411"])


def test_chunked(address: tuple[str, int], service: Canned) -> None:
    chunks = f"{len(GOOD):x}\r\n".encode() + GOOD + b"\r\n0\r\n\r\n"
    answer = talk(address, head("POST /v1/leases", "Transfer-Encoding: chunked"), chunks)
    assert statuses(answer) == [b"201"]
    assert service.commands[0].name == "a"


@pytest.mark.parametrize("chunked", [True, False])
def test_ten_megabytes(address: tuple[str, int], service: Canned, chunked: bool) -> None:
    if chunked:
        start = head("POST /v1/leases", "Transfer-Encoding: chunked")
        body = (f"{MEGABYTE:x}\r\n".encode() + b" " * MEGABYTE + b"\r\n") * 10 + b"0\r\n\r\n"
    else:
        start = head("POST /v1/leases", f"Content-Length: {10 * MEGABYTE}")
        body = b" " * (10 * MEGABYTE)
    answer = talk(address, start, body)
    assert statuses(answer)[:1] == [b"413"]
    assert not service.commands
    assert statuses(talk(address, head("GET /v1/leases"))) == [b"200"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", f"/v1/leases/{LEASE_ID}", 204),
        ("GET", "/v1/leases", 200),
        ("POST", "/nope", 404),
        ("POST", "/v1/leases/x", 405),
        ("PUT", "/v1/leases/x", 400),
        ("HEAD", "/v1/leases", 200),
        ("OPTIONS", "/v1/leases", 200),
    ],
)
def test_a_body_that_nobody_reads_is_not_the_next_request(
    address: tuple[str, int], service: Canned, method: str, path: str, status: int
) -> None:
    hidden = head("GET /v1/leases/smuggled")
    connection = http.client.HTTPConnection(*address, timeout=10)
    try:
        for _ in range(2):
            connection.request(method, path, body=hidden, headers={"X-Auth-Token": "member"})
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status == status
            assert (content == b"") == (method in {"DELETE", "HEAD", "OPTIONS"})
            assert b"smuggled" not in content
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (head("GET /v1/leases?" + "a" * 40_000), 431),
        (head("GET /v1/leases", *(f"X-{n}: {'a' * 1000}" for n in range(40))), 431),
        (head("POST /v1/leases", "Transfer-Encoding: chunked", f"Content-Length: {len(GOOD)}") + GOOD, 400),
        (head("GET /v1/leases", "Transfer-Encoding: chunked", "Content-Length: 5") + b"0\r\n\r\n", 400),
        (head("POST /v1/leases", "Transfer-Encoding: chunked") + b"no chunk\r\n", 400),
        (head("POST /v1/leases", "Transfer-Encoding: chunked") + b"3\r\nabcdef\r\n0\r\n\r\n", 400),
        (head("POST /v1/leases", "Transfer-Encoding: chunked") + b"0" * 100_000, 400),
        (head("POST /v1/leases", "Content-Length: -1") + GOOD, 400),
        (head("POST /v1/leases", "Content-Length: 5", "Content-Length: 6") + GOOD, 400),
        (head("POST /v1/leases", "Transfer-Encoding: gzip") + GOOD, 501),
        (
            b"POST /v1/leases HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
            + GOOD,
            400,
        ),
        (b"GET /v1/leases\r\nHost blazar\r\n\r\n", 400),
    ],
    ids=[
        "a long query",
        "many headers",
        "two lengths",
        "two lengths of a body that no route reads",
        "no chunk",
        "a chunk that is too long",
        "a chunk's endless line",
        "a negative length",
        "lengths that differ",
        "an unknown encoding",
        "chunks in HTTP/1.0",
        "no header",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(
    address: tuple[str, int], service: Canned, message: bytes, status: int
) -> None:
    answer = talk(address, message, head("GET /v1/leases"))
    heading, _, content = answer.partition(b"\r\n\r\n")
    assert heading.split(b" ")[1] == str(status).encode()
    assert b"\r\nconnection: close" in heading.lower()
    assert json.loads(content)["error_message"]
    assert not service.commands


def test_a_refusal_is_read_by_a_client_that_is_still_sending(app: WSGIApplication) -> None:
    """Were the connection closed at once, sending would fail, and most clients look for no answer then."""
    with (
        listening(app, limits=Limits(linger=60)) as address,
        socket.create_connection(address, timeout=30) as connection,
    ):
        connection.sendall(head("POST /v1/leases", "Content-Length: 300000000"))
        for _ in range(5):
            connection.sendall(b" " * MEGABYTE)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert statuses(answer) == [b"413"]
    assert b'"error_message": "The request body is larger than 1048576 bytes."' in answer


def test_two_requests_in_one_packet(address: tuple[str, int]) -> None:
    """The second one is not answered, and the connection says so by its end."""
    answer = talk(address, head("GET /v1/leases") * 50)
    assert 1 <= len(statuses(answer)) <= 2
    assert set(statuses(answer)) == {b"200"}


def trickle(connections: list[socket.socket], stopped: threading.Event, piece: bytes) -> None:
    """Send the piece on each connection, again and again; those that were closed are opened anew."""
    address = connections[0].getpeername()
    while not stopped.wait(0.2):
        for number, connection in enumerate(connections):
            try:
                connection.sendall(piece)
            except OSError:
                connection.close()
                connections[number] = socket.create_connection(address, timeout=10)


@pytest.mark.parametrize("stage", ["headers", "body"])
def test_slow_clients_hold_up_nobody(app: WSGIApplication, stage: str) -> None:
    begun = b"POST /v1/leases HTTP/1.1\r\n"
    if stage == "body":
        begun = head("POST /v1/leases", "Content-Length: 1000")
    with listening(app, threads=4) as address, ExitStack() as cleanup:
        connections = [socket.create_connection(address, timeout=10) for _ in range(200)]
        trickling = connections[100:]
        cleanup.callback(lambda: [connection.close() for connection in connections + trickling])
        for connection in trickling:
            connection.sendall(begun)
        stopped = threading.Event()
        trickler = threading.Thread(target=trickle, args=(trickling, stopped, b"x"))
        trickler.start()
        cleanup.callback(trickler.join)
        cleanup.callback(stopped.set)
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            assert statuses(talk(address, head("GET /v1/leases", "Connection: close"))) == [b"200"]
            slowest = max(slowest, time.monotonic() - began)
        # If a slow client held a worker, the neighbour would wait for its deadline.
        assert slowest < Limits().headers / 2


SHORT = Limits(silence=0.6, idle=0.6, headers=0.6, body=0.6, answer=0.6)


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"", b""),
        (b"", b"\r\n\r\n"),
        (b"GET /v1/leases HTTP/1.1\r\nX: ", b"x"),
        (head("POST /v1/leases", "Content-Length: 100000"), b"x"),
        (head("POST /v1/leases", "Transfer-Encoding: chunked"), b"1\r\nx\r\n"),
        (head("GET /v1/leases"), b""),
    ],
    ids=["silent", "empty lines", "headers", "body", "chunks", "silent behind an answer"],
)
def test_a_connection_that_waits_too_long_is_closed(app: WSGIApplication, first: bytes, piece: bytes) -> None:
    with (
        listening(app, limits=SHORT) as address,
        socket.create_connection(address, timeout=0.1) as connection,
    ):
        connection.sendall(first)
        until = time.monotonic() + 10
        is_closed = False
        while not is_closed and time.monotonic() < until:
            try:
                connection.sendall(piece)
                is_closed = connection.recv(65536) == b""
            except TimeoutError:
                pass
            except OSError:
                is_closed = True
        assert is_closed


def test_a_client_that_does_not_take_its_answer_is_closed() -> None:
    def large(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(24 * MEGABYTE))])
        return [b"x" * (24 * MEGABYTE)]

    with listening(large, threads=1, limits=SHORT) as address:
        with socket.create_connection(address, timeout=10) as slow:
            slow.sendall(head("GET /"))
            time.sleep(2)
            received = 0
            try:
                while chunk := slow.recv(MEGABYTE):
                    received += len(chunk)
            except ConnectionResetError:
                pass
        assert received < 24 * MEGABYTE
        assert statuses(talk(address, head("GET /", "Connection: close"))) == [b"200"]


def test_more_connections_than_allowed_close_the_one_that_waits_longest(app: WSGIApplication) -> None:
    limits = Limits(connections=10, silence=60)
    with listening(app, limits=limits) as address, ExitStack() as cleanup:
        waiting = [cleanup.enter_context(socket.create_connection(address, timeout=10)) for _ in range(50)]
        began = time.monotonic()
        assert statuses(talk(address, head("GET /v1/leases", "Connection: close"))) == [b"200"]
        assert time.monotonic() - began < 1
        assert [is_closed(connection) for connection in waiting] == [True] * 41 + [False] * 9


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_requests_under_way_finish_at_the_stop_and_idle_connections_do_not_delay_it() -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        entered.set()
        assert go_on.wait(10)
        start_response("200 OK", [("Content-Length", "4")])
        return [b"done"]

    answers: list[bytes] = []
    with bound("the test", "127.0.0.1", 0) as port:
        listener = Listener("the test", port, slow, threads=1, drain=10)
        listener.start()
        address = port.getsockname()
        with socket.create_connection(address, timeout=10):
            # The second one waits for the only worker.
            clients = [
                threading.Thread(target=lambda: answers.append(talk(address, head("GET /")))) for _ in "ab"
            ]
            for client in clients:
                client.start()
            assert entered.wait(10)
            time.sleep(0.3)
            stopping = threading.Thread(target=listener.stop)
            stopping.start()
            time.sleep(1)
            assert stopping.is_alive()
            go_on.set()
            began = time.monotonic()
            stopping.join(10)
            assert time.monotonic() - began < 3
        for client in clients:
            client.join(10)
    assert [statuses(answer) for answer in answers] == [[b"200"], [b"200"]]
    assert all(b"connection: close" in answer.lower() for answer in answers)


def test_a_worker_that_ends_after_the_server_touches_no_file_of_others() -> None:
    """The file descriptor that wakes the server's thread may be another file after the end."""
    entered, go_on = threading.Event(), threading.Event()

    def late(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        entered.set()
        assert go_on.wait(10)
        start_response("200 OK", [("Content-Length", "4")])
        return [b"late"]

    with bound("the test", "127.0.0.1", 0) as port, ExitStack() as cleanup:
        before = open_files()
        listener = Listener("the test", port, late, threads=1, drain=0)
        listener.start()
        of_the_server = open_files() - before
        with socket.create_connection(port.getsockname(), timeout=10) as client:
            client.sendall(head("GET /"))
            assert entered.wait(10)
            listener.stop()
        pipes = [os.pipe() for _ in range(2 * len(of_the_server))]
        for pair in pipes:
            for end in pair:
                cleanup.callback(os.close, end)
                os.set_blocking(end, False)
        assert of_the_server & {end for pair in pipes for end in pair}
        go_on.set()
        listener.stop()
        time.sleep(0.3)
        for reading, _ in pipes:
            with pytest.raises(BlockingIOError):
                os.read(reading, 1)
