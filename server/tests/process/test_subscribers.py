"""A process that is killed between sending a message and writing that it was sent sends it again."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from .conftest import PATIENCE, Standalone, eventually
from .test_standalone import create

OPTIONS = """[subscriptions]
allow_http = true
allowed_networks = 127.0.0.0/8
"""
SUBSCRIPTIONS = {"OpenStack-API-Version": "reservation 1.11"}


@contextmanager
def receiving(meanwhile: Callable[[], None]) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield the address of a receiver, and what it has heard: the id of each message, the event and the
    lease. ``meanwhile`` is called when a message is there, before it is answered."""
    heard: list[tuple[str, str, str]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            heard.append((self.headers["webhook-id"], document["event"], document["lease"]["name"]))
            meanwhile()
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def end_hold(database: Path) -> None:
    """Have the time pass for which a message is one manager's own, which is a minute and a half."""
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        connection.execute("UPDATE subscriptions SET due = '2020-01-01 00:00:00.000000'")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Standalone]:
    conf = tmp_path / "more.conf"
    conf.write_text(OPTIONS)
    site = Standalone(tmp_path / "var", more=("--config-file", conf))
    yield site
    site.close()


def test_kill_9_between_sending_and_settling_loses_no_message(told: Standalone) -> None:
    kills = iter([True])

    def kill_once() -> None:
        if told.process is not None and next(kills, False):
            told.process.kill()
            told.process.wait(PATIENCE)

    with receiving(kill_once) as (url, heard):
        told.start()
        demo = told.user("demo")
        body = {"url": url, "events": ["created"]}
        made = demo.call("POST", "/subscriptions", json=body, headers=SUBSCRIPTIONS)
        assert made.status_code == 201, made.text
        create(demo, "first")
        eventually(lambda: told.process is not None and told.process.poll() is not None)
        told.kill()  # it is dead: this waits for what it has printed
        assert [each[1:] for each in heard] == [("created", "first")]

        told.start()
        create(told.user("demo"), "second")
        end_hold(told.var / "blazar.db")
        eventually(lambda: len(heard) == 3)
    names = [name for _, _, name in heard]
    assert names == ["first", "first", "second"]
    ids = [id_ for id_, _, _ in heard]
    assert ids[0] == ids[1] != ids[2], "a receiver that knows the id drops it"
