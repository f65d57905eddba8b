"""Reloads and restarts by an operator: no client notices, on any server that runs the API."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from .conftest import Show
from .programs import Program, eventually, new_folder
from .site import ON_EACH_SERVER, Site, site


class Poller(threading.Thread):
    """A thread that lists leases again and again, on a new connection each time, until it is stopped."""

    def __init__(self, at: Site) -> None:
        super().__init__(daemon=True)
        self._site = at
        self._token = at.user("demo").headers["X-Auth-Token"]
        self.stopping = threading.Event()
        self.good = 0
        self.bad: list[str] = []

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                url = f"{self._site.urls[0]}/v1/leases"
                headers = {"X-Auth-Token": self._token, "Connection": "close"}
                answer = requests.get(url, headers=headers, timeout=60)
            except requests.RequestException as failure:
                self.bad.append(repr(failure))
                continue
            if answer.ok:
                self.good += 1
            else:
                self.bad.append(f"{answer.status_code} {answer.text}")


@pytest.fixture(scope="module")
def at() -> object:
    with site(new_folder("restarts"), "postgresql", managers=2, apis=1, hosts=4) as built:
        yield built


@ON_EACH_SERVER
def test_the_api_is_reloaded_and_drained(server: str, at: Site, show: Show) -> None:
    at.apis[0].kill()
    api = at.apis[0] = at.api(0, int(at.urls[0].rsplit(":", 1)[1]), server)
    api.start()
    eventually("health", lambda: requests.get(f"{at.urls[0]}/healthcheck", timeout=10).ok)
    pollers = [Poller(at) for _ in range(3)]
    for poller in pollers:
        poller.start()
    if server == "uwsgi":
        # pyuwsgi has no program of its own that SIGHUP could start anew; its workers are replaced one by one.
        # Its master notices a touch only after it has looked once, which may be after the first answer.
        file = at.folder / "reload"
        reload(api, lambda: eventually("a touch is noticed", lambda: touched(api, file), 60))
        eventually("all workers replaced", lambda: "chain reloading complete" in api.log, 60)
    else:
        reload(api, lambda: api.tell(signal.SIGHUP))
    for poller in pollers:
        poller.stopping.set()
        poller.join(60)
    assert sum(poller.good for poller in pollers) > 10
    bad = [words for poller in pollers for words in poller.bad]
    slow = [{"service": "placement", "effect": "delay", "seconds": 2.0}]
    answers: list[requests.Response] = []
    host = f"compute-0{['blazar-api', 'gunicorn', 'uwsgi'].index(server) + 1}"
    admin = at.user("admin")
    host_id = next(
        h["id"] for h in admin.get(f"{at.urls[0]}/v1/os-hosts").json()["hosts"] if h["service_name"] == host
    )
    assert admin.delete(f"{at.urls[0]}/v1/os-hosts/{host_id}").status_code == 204
    for fault in slow:
        at.sandbox("POST", "/faults", json=fault)

    def register() -> None:
        answers.append(admin.post(f"{at.urls[0]}/v1/os-hosts", json={"name": host}, timeout=60))

    registering = threading.Thread(target=register)
    registering.start()
    time.sleep(1)
    code = api.stop()
    registering.join(60)
    at.sandbox("DELETE", "/faults")
    show(
        f"Reload and drain of the API on {server}",
        [
            (
                "requests while it was reloaded, answered / not",
                f"{sum(a.good for a in pollers)} / {len(bad)}",
            ),
            ("the request under way at SIGTERM", answers[0].status_code if answers else "lost"),
        ],
    )
    assert not bad
    assert [answer.status_code for answer in answers] == [201]
    assert code == 0


def touched(program: Program, file: Path) -> bool:
    file.touch()
    return "has been touched" in program.log


def reload(program: Program, order: Callable[[], object]) -> None:
    time.sleep(1)
    order()
    time.sleep(5)
    assert program.runs


def test_managers_are_reloaded_and_drained(at: Site, show: Show) -> None:
    if not at.apis[0].runs:
        at.apis[0] = at.api(0, int(at.urls[0].rsplit(":", 1)[1])).start()
    eventually("health", lambda: requests.get(f"{at.urls[0]}/healthcheck", timeout=10).ok)
    poller = Poller(at)
    poller.start()
    # The file is read again: its values take effect, and an invalid one is logged and changes nothing.
    good = at.conf.read_text()
    at.conf.write_text(good.replace("claim_seconds = 5", "claim_seconds = never"))
    for manager in at.managers:
        reload(manager, lambda m=manager: m.tell(signal.SIGHUP))
        assert "The configuration was not reloaded" in manager.log
    at.conf.write_text(good)
    for manager in at.managers:
        before = manager.log.count("The manager takes calls")
        manager.tell(signal.SIGHUP)
        eventually("a new worker", lambda m=manager, n=before: m.log.count("The manager takes calls") > n)
    code = at.managers[1].stop()
    poller.stopping.set()
    poller.join(60)
    show(
        "Reload and drain of managers",
        [("requests meanwhile, answered / not", f"{poller.good} / {len(poller.bad)}")],
    )
    assert not poller.bad
    assert code == 0
