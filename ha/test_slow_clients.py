"""Clients that send nothing, one byte at a time, or far too much, on each documented server of the API.

Other clients do not notice them."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from free_ports import free_port

from .conftest import Show
from .programs import HOST, Program, eventually, new_folder
from .site import ON_EACH_SERVER, Site, site

NGINX_CONF = Path(__file__).parent.parent / "docs" / "operator" / "nginx.conf"
SILENT = TRICKLING = 100
MEGABYTE = 1024 * 1024
HUGE = 64 * MEGABYTE
SENDERS = 4
MEMORY = 100 * MEGABYTE
"""The most by which huge requests may make the processes of a server grow, together; they send several times
as much. Two processes that serve their first requests grow by some ten megabytes."""
HEADERS = b"POST /v1/leases HTTP/1.1\r\nHost: blazar\r\n"


@pytest.fixture(scope="module")
def at() -> Iterator[Site]:
    with site(new_folder("slow clients"), "postgresql", managers=1, apis=1, hosts=1) as built:
        yield built


@contextmanager
def nginx(upstream: str, folder: Path) -> Iterator[str]:
    """The documented nginx in front of ``upstream``; its URL."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    program = os.environ.get("BLAZAR_TEST_NGINX") or shutil.which("nginx", path=path)
    if not program:
        pytest.fail("these tests need nginx: on Debian, apt install nginx-light", pytrace=False)
    port = free_port()
    text = NGINX_CONF.read_text()
    assert text.count("127.0.0.1:1234;") == text.count("http://127.0.0.1:1235;") == 1
    text = text.replace("127.0.0.1:1234;", f"{HOST}:{port};").replace(
        "http://127.0.0.1:1235;", f"{upstream};"
    )
    places = "".join(
        f"{name}_temp_path {folder / name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    conf = folder / "nginx.conf"
    conf.write_text(text.replace("http {", f"http {{\n{places}", 1))
    own = f"daemon off; pid {folder / 'nginx.pid'}; user {os.environ.get('USER', 'root')};"
    server = Program("nginx", [program, "-e", folder / "nginx.err", "-c", conf, "-g", own], folder).start()
    try:
        yield f"http://{HOST}:{port}"
    finally:
        server.kill()


@contextmanager
def slow_clients(url: str, begun: bytes) -> Iterator[None]:
    """100 silent connections and 100 that trickle; those that the server closes come again."""
    host, port = url.removeprefix("http://").split(":")
    address = (host, int(port))

    def connect(trickles: bool) -> socket.socket:
        connection = socket.create_connection(address, timeout=10)
        if trickles:
            connection.sendall(begun)
        return connection

    connections = [connect(number < TRICKLING) for number in range(SILENT + TRICKLING)]
    stopped = threading.Event()

    def trickle() -> None:
        while not stopped.wait(0.2):
            for number, connection in enumerate(connections[:TRICKLING]):
                try:
                    connection.sendall(b"x")
                except OSError:
                    connection.close()
                    connections[number] = connect(trickles=True)

    trickler = threading.Thread(target=trickle)
    trickler.start()
    try:
        yield
    finally:
        stopped.set()
        trickler.join(30)
        for connection in connections:
            connection.close()


@ON_EACH_SERVER
def test_slow_clients_hold_up_no_neighbour(server: str, at: Site, show: Show) -> None:
    serve(at, server)
    token = at.user("demo").headers["X-Auth-Token"]
    rows: list[tuple[str, object]] = []
    for what, begun in (("headers", HEADERS), ("a body", HEADERS + b"Content-Length: 1000\r\n\r\n")):
        folder = new_folder(f"slow clients nginx {server} {what}")
        with nginx(at.urls[0], folder) if server != "blazar-api" else as_it_is(at.urls[0]) as url:
            eventually("an answer", lambda url=url: requests.get(f"{url}/v1", timeout=10).ok)
            with slow_clients(url, begun):
                times = [ask(url, token) for _ in range(30)]
        rows.append((f"slowest answer beside 200 clients slow with {what}", f"{max(times) * 1000:.0f} ms"))
        assert max(times) < 1
    show(f"Slow clients at {server}", rows)


@dataclass(frozen=True)
class Huge:
    """A request of which one part is far too long: ``begun``, then ``piece`` again and again."""

    begun: bytes
    piece: bytes = b"a" * MEGABYTE


HUGE_REQUESTS = {
    "path": Huge(b"GET /v1/leases/"),
    "query": Huge(b"GET /v1/leases?x="),
    "header": Huge(b"GET /v1/leases HTTP/1.1\r\nHost: blazar\r\nX-Auth-Token: "),
    "headers": Huge(
        b"GET /v1/leases HTTP/1.1\r\nHost: blazar\r\n", b"X-Many: aaaaaaaaaaaaaaaaaaaaa\r\n" * 32_768
    ),
    "body": Huge(HEADERS + f"Content-Length: {HUGE}\r\n\r\n".encode()),
    "chunks": Huge(
        HEADERS + b"Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + b"a" * MEGABYTE + b"\r\n"
    ),
    "line of a chunk": Huge(HEADERS + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * MEGABYTE),
}


def send_huge(address: tuple[str, int], request: Huge) -> str:
    """Send the request until the server wants no more of it. Return the status of the answer, if there is
    one."""
    with socket.create_connection(address, timeout=20) as connection:
        try:
            connection.sendall(request.begun)
            for _ in range(HUGE // len(request.piece)):
                connection.sendall(request.piece)
        except OSError:
            pass  # the server has heard enough
        try:
            received = connection.recv(4096)
        except OSError:
            return "closed"
    return received.split(b" ")[1].decode() if received.startswith(b"HTTP/1.") else "closed"


@contextmanager
def huge_requests(url: str, request: Huge) -> Iterator[Counter[str]]:
    """Four clients that send the request again and again; how often each answer came."""
    host, port = url.removeprefix("http://").split(":")
    stopped = threading.Event()
    answers: Counter[str] = Counter()

    def send() -> None:
        while not stopped.is_set():
            answers[send_huge((host, int(port)), request)] += 1
            time.sleep(0.05)

    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    for each in senders:
        each.start()
    try:
        yield answers
    finally:
        stopped.set()
        for each in senders:
            each.join(60)


def memory(server: Program) -> int:
    """Return the bytes of memory that the program and its children have."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page for pid in server.processes())


@ON_EACH_SERVER
def test_huge_requests_fill_no_memory_and_hold_up_no_neighbour(server: str, at: Site, show: Show) -> None:
    program = serve(at, server)
    token = at.user("demo").headers["X-Auth-Token"]
    rows: list[tuple[str, object]] = []
    for what, request in HUGE_REQUESTS.items():
        folder = new_folder(f"huge requests nginx {server} {what}")
        with nginx(at.urls[0], folder) if server != "blazar-api" else as_it_is(at.urls[0]) as url:
            eventually("an answer", lambda url=url: ask(url, token) > 0)
            before = memory(program)
            with huge_requests(url, request) as answers:
                times = [ask(url, token) for _ in range(20)]
                eventually("a huge request", answers.total)
            grown = memory(program) - before
        rows.append((f"slowest answer beside a huge {what}", f"{max(times) * 1000:.0f} ms"))
        rows.append((f"memory after a huge {what}", f"{grown / MEGABYTE:+.0f} MiB"))
        assert all(answer == "closed" or "400" <= answer < "500" or answer == "501" for answer in answers), (
            answers
        )
        assert grown < MEMORY
        # Two of twenty answers may wait for the machine itself, which sends hundreds of megabytes meanwhile.
        assert sorted(times)[-3] < 1
        assert len(program.log) < 10 * MEGABYTE
    show(f"Huge requests at {server}", rows)


def serve(at: Site, server: str) -> Program:
    """Start the API on this server, in place of the one that runs."""
    at.apis[0].kill()
    at.apis[0] = at.api(0, int(at.urls[0].rsplit(":", 1)[1]), server).start()
    eventually("health", lambda: requests.get(f"{at.urls[0]}/healthcheck", timeout=10).ok, 60)
    return at.apis[0]


@contextmanager
def as_it_is(url: str) -> Iterator[str]:
    yield url


def ask(url: str, token: str | bytes) -> float:
    began = time.monotonic()
    headers = {"X-Auth-Token": token, "Connection": "close"}
    assert requests.get(f"{url}/v1/leases", headers=headers, timeout=30).ok
    return time.monotonic() - began
