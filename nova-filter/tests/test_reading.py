"""Tests of the reading of what is promised: over HTTP, ahead of the decisions, and never too old."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from blazarnova import options, service
from blazarnova.intervals import Promises
from blazarnova.reading import PromisesReader, Reply

BODY = {"promises": {"classes": ["VCPU"], "until": 9, "margin": 0, "cleaning": 0, "hosts": {}, "leases": {}}}
KNOWN = Promises(("VCPU",), 9, 0, 0)


class Source:
    def __init__(self) -> None:
        self.reply: Reply | Exception = Reply('"a"', BODY)
        self.known: list[str] = []

    def read(self, known: str) -> Reply:
        self.known.append(known)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def reader(source: Source) -> tuple[PromisesReader, list[float]]:
    seconds = [0.0]
    return PromisesReader(source, 0.01, 60, lambda: seconds[0]), seconds


def test_it_is_told_as_long_as_it_is_fresh() -> None:
    source = Source()
    read, seconds = reader(source)
    assert read.current() is None
    read.read()
    assert read.current() == KNOWN
    seconds[0] = 60
    assert read.current() == KNOWN
    seconds[0] = 61
    assert read.current() is None


def test_what_has_not_changed_is_fresh_again() -> None:
    source = Source()
    read, seconds = reader(source)
    read.read()
    source.reply, seconds[0] = Reply('"a"'), 50
    read.read()
    seconds[0] = 100
    assert read.current() == KNOWN
    assert source.known == ["", '"a"']


@pytest.mark.parametrize("reply", [OSError("away"), Reply('"b"', {"error": 1}), Reply('"b"')])
def test_what_fails_makes_nothing_fresh(reply: Reply | Exception) -> None:
    source = Source()
    read, seconds = reader(source)
    read.read()
    source.reply, seconds[0] = reply, 50
    with suppress(OSError, ValueError):
        read.read()
    assert read.current() == KNOWN
    seconds[0] = 61
    assert read.current() is None


def test_the_thread_goes_on_whatever_happens() -> None:
    source = Source()
    source.reply = OSError("away")
    read = PromisesReader(source, 0.01)
    read.ensure_running()
    read.ensure_running()
    ends = time.monotonic() + 10
    while len(source.known) < 3 and time.monotonic() < ends:
        time.sleep(0.01)
    assert [thread.name for thread in threading.enumerate()].count("promises") == 1
    source.reply = Reply('"a"', BODY)
    while read.current() is None and time.monotonic() < ends:
        time.sleep(0.01)
    read.stop()
    assert read.current() == KNOWN


class Handler(BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str, str | None, str | None]]] = []
    status = 200

    def do_GET(self) -> None:
        known = self.headers.get("If-None-Match")
        self.seen.append((self.path, known, self.headers.get("OpenStack-API-Version")))
        body = json.dumps(BODY).encode()
        status = 304 if known == '"a"' else self.status
        self.send_response(status)
        self.send_header("ETag", '"a"')
        self.send_header("Content-Length", "0" if status == 304 else str(len(body)))
        self.end_headers()
        if status != 304:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    Handler.seen.clear()
    Handler.status = 200
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def configured(directory: Path, *lines: str) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    options.register(conf)
    path = directory / "nova.conf"
    path.write_text("\n".join(["[blazar:backfill]", *lines]))
    conf(["--config-file", str(path)])
    return conf


def test_over_http(url: str, tmp_path: Path) -> None:
    conf = configured(tmp_path, "enabled = true", "auth_type = none", f"endpoint_override = {url}")
    made = options.reader_from(conf)
    assert made is not None
    made.read()
    assert made.current() == KNOWN
    made.read()
    assert Handler.seen == [
        ("/v1/promises", None, "reservation 1.30"),
        ("/v1/promises", '"a"', "reservation 1.30"),
    ]
    Handler.status = 503
    with pytest.raises(ClientException):
        service.ReservationService(conf, options.BACKFILL.name).read("")


def test_a_mistake_in_the_credentials_is_an_error_of_the_request_only(tmp_path: Path) -> None:
    made = options.reader_from(configured(tmp_path, "enabled = true", "auth_type = nonsense"))
    assert made is not None
    with pytest.raises(ClientException, match="nonsense"):
        made.read()
    assert made.current() is None


def test_off_unless_the_operator_wants_it(tmp_path: Path) -> None:
    assert options.reader_from(configured(tmp_path)) is None
