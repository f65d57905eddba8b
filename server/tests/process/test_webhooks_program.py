"""Subscribers are told by blazar-webhooks, in place of a manager and beside one, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from free_ports import free_port

from .conftest import PATIENCE, PROGRAM, Standalone, eventually
from .test_standalone import create, in_minutes
from .test_subscribers import OPTIONS, SUBSCRIPTIONS, end_hold, receiving

IN_THE_MANAGER = {"deliver_in_manager": "true"}
ELSEWHERE = {"deliver_in_manager": "false"}


class Program:
    """One blazar-webhooks beside a blazar-standalone, on the same database. Its configuration has nothing of
    the cloud and of the broker."""

    def __init__(self, site: Standalone) -> None:
        self.site = site
        self.port = free_port()
        self.log = site.var / f"webhooks-{self.port}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Program:
        own = self.site.var / f"webhooks-{self.port}.conf"
        database = f"[database]\nconnection = sqlite:///{(self.site.var / 'blazar.db').resolve()}\n"
        own.write_text(f"{database}[subscriptions]\nmetrics_port = {self.port}\n")
        files = [*self.site.more[1::2], own]
        words = [word for file in files for word in ("--config-file", str(file))]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [str(PROGRAM.with_name("blazar-webhooks")), *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def ask(self, path: str) -> requests.Response | None:
        """Return the answer; None while it does not listen."""
        try:
            return requests.get(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE)
        except requests.ConnectionError:
            return None

    def kill(self) -> None:
        """Kill the parent and its worker."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Standalone]:
    conf = tmp_path / "more.conf"
    given = "".join(f"{name} = {value}\n" for name, value in request.param.items())
    conf.write_text(OPTIONS + given)
    standalone = Standalone(tmp_path / "var", more=("--config-file", conf))
    yield standalone.start()
    standalone.close()


@pytest.fixture
def program(site: Standalone) -> Iterator[Program]:
    started = Program(site)
    yield started
    started.kill()


def subscribe(user: Any, url: str) -> None:
    made = user.call(
        "POST", "/subscriptions", json={"url": url, "events": ["created"]}, headers=SUBSCRIPTIONS
    )
    assert made.status_code == 201, made.text


def stored(site: Standalone, statement: str) -> Any:
    with closing(sqlite3.connect(site.var / "blazar.db", timeout=30)) as connection:
        return connection.execute(statement).fetchone()[0]


def create_later(user: Any, number: int) -> None:
    """Make a lease that is told of once: it does not start."""
    create(user, f"lease-{number}", start=in_minutes(600 + number), minutes=601 + number)


@pytest.mark.parametrize("site", [ELSEWHERE], indirect=True)
def test_a_manager_that_leaves_it_to_the_program_tells_none_itself(
    site: Standalone, program: Program
) -> None:
    with receiving(lambda: None) as (url, heard):
        demo = site.user("demo")
        subscribe(demo, url)
        create_later(demo, 1)
        # The manager has told operators of it: its log says so.
        eventually(lambda: stored(site, "SELECT count(*) FROM outbox WHERE delivered"))
        time.sleep(4)
        assert not heard
        assert stored(site, "SELECT waiting FROM subscriptions") == 0
        health = requests.get(f"{site.url}/healthcheck", timeout=PATIENCE)
        details = health.json()["details"]
        assert health.status_code == 200
        assert details["subscription_lag_seconds"] > 3
        assert details["outbox"] == 0
        assert "webhooks" not in details["threads"]
        assert details["threads"]["relay"] == "OK"

        program.start()
        eventually(lambda: heard)
        eventually(lambda: stored(site, "SELECT count(*) FROM outbox") == 0)
        eventually(lambda: stored(site, "SELECT waiting FROM subscriptions") == 0)
        answer = program.ask("/healthcheck")
        assert answer is not None
        assert (answer.status_code, answer.json()["details"]["threads"]) == (
            200,
            {"webhooks": "OK", "presence": "OK"},
        )
        assert answer.json()["details"]["subscription_lag_seconds"] == 0
        metrics = program.ask("/metrics")
        assert metrics is not None
        assert 'blazar_webhooks_total{outcome="ok"} 1.0' in metrics.text
        assert 'blazar_thread_up{thread="webhooks"} 1.0' in metrics.text
        assert [each[1:] for each in heard] == [("created", "lease-1")]

        words = ["--config-file", str(site.var / "blazar.conf"), "service", "list", "--json"]
        told = subprocess.check_output([str(PROGRAM.with_name("blazar-status")), *words], timeout=PATIENCE)
        states = {each["binary"]: each["state"] for each in json.loads(told)["services"]}
        assert states == {"blazar-manager": "up", "blazar-webhooks": "up"}
        assert program.process is not None
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(PATIENCE) == 0
        assert stored(site, "SELECT count(*) FROM services WHERE program = 'blazar-webhooks'") == 0
        assert "Traceback" not in program.log.read_text()


@pytest.mark.parametrize("site", [ELSEWHERE], indirect=True)
def test_kill_9_of_the_program_loses_no_message(site: Standalone, program: Program) -> None:
    """It dies twice: with the third message taken by the receiver and not settled, and the first of the next
    start."""
    killed_at = {3, 4}

    def meanwhile() -> None:
        if len(heard) in killed_at:
            program.kill()

    with receiving(meanwhile) as (url, heard):
        demo = site.user("demo")
        subscribe(demo, url)
        for number in range(6):
            create_later(demo, number)
        for _ in killed_at:
            program.start()
            eventually(lambda: program.process is not None and program.process.poll() is not None)
            create_later(demo, 10 + len(heard))
            end_hold(site.var / "blazar.db")
        program.start()
        eventually(lambda: stored(site, "SELECT waiting FROM subscriptions") == 0 and len(heard) > 8)
    by_id = {id_: name for id_, _, name in heard}
    expected = [*(f"lease-{number}" for number in range(6)), "lease-13", "lease-14"]
    assert list(by_id.values()) == expected, "each lease has one message, and they keep their order"
    assert len(heard) > len(by_id), "what was not settled is sent again, with the same id"


@pytest.mark.parametrize("site", [IN_THE_MANAGER], indirect=True)
def test_a_manager_and_the_program_tell_each_message_once(site: Standalone, program: Program) -> None:
    with receiving(lambda: None) as (url, heard):
        demo = site.user("demo")
        subscribe(demo, url)
        program.start()
        other = Program(site).start()
        try:
            eventually(lambda: program.ask("/healthcheck") and other.ask("/healthcheck"))
            for number in range(30):
                create_later(demo, number)
            eventually(lambda: len(heard) >= 30)
            eventually(lambda: stored(site, "SELECT waiting FROM subscriptions") == 0)
            time.sleep(2)
        finally:
            other.kill()
    assert [name for _, _, name in heard] == [f"lease-{number}" for number in range(30)]
    assert stored(site, "SELECT count(*) FROM outbox") == 0
