"""Real sockets: what a WSGI server and the edge make of bodies together, and that one request never harms the next."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from threading import Thread

import pytest
from cheroot.wsgi import Server

from blazar.api.app import make_app
from blazar.api.health import Health
from blazar.policies import make_enforcer

from .canned import LEASE_ID, Canned, ShownKind
from .conftest import configured
from .personas import believe

GOOD = json.dumps({"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00"}).encode()
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def service() -> Canned:
    return Canned()


@pytest.fixture(scope="module")
def server(service: Canned, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    conf = configured(tmp_path_factory.mktemp("server"))
    app = make_app(
        service,
        {"physical:host": ShownKind()},  # type: ignore[dict-item]  # the edge only renders
        make_enforcer(conf),
        conf=conf,
        authenticate=believe,
        health=lambda: Health(healthy=True),
    )
    server = Server(("127.0.0.1", 0), app, numthreads=4)
    server.shutdown_timeout = 1
    server.prepare()
    thread = Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.stop()
    thread.join(5)


@pytest.fixture
def address(server: Server, service: Canned) -> tuple[str, int]:
    service.commands.clear()
    host, port = server.bind_addr
    return host, port


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
    return "\r\n".join([f"{line} HTTP/1.1", "Host: blazar", "X-Auth-Token: member", *headers, "", ""]).encode()


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
