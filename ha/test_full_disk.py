"""A full disk under SQLite.

Stored leases can be read, requests that write get 503 with Retry-After, and events wait. When there is space
again everything continues and nothing is half written, whether or not the service was killed meanwhile."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from free_ports import free_port

from .clients import RESERVATION, in_minutes
from .conftest import Show
from .programs import BIN, HOST, Program, eventually
from .sandbox import Sandbox
from .site import CLAIM

REFUSALS = 10
"""After so many refusals in succession the disk is really full."""
MOUNT = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec cat'
SQL = """
import json, sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=10) as database:
    print(json.dumps(database.execute(sys.argv[2]).fetchall()))
"""


class SmallDisk:
    """A small file system that only programs started with ``enter`` see, until it is closed."""

    def __init__(self, place: Path, megabytes: int) -> None:
        place.mkdir()
        for program in ("unshare", "nsenter"):
            if shutil.which(program) is None:
                pytest.fail(
                    f"there is no {program}. This test needs it: on Debian, apt install util-linux.",
                    pytrace=False,
                )
        words = [
            "unshare",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            MOUNT,
            "sh",
            str(place),
            f"{megabytes}m",
        ]
        self._keeper = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert self._keeper.stdout
        answer = self._keeper.stdout.readline().decode().strip()
        if answer != "mounted":
            pytest.fail(
                f"no file system can be mounted: {answer}. This test needs user namespaces, or root.",
                pytrace=False,
            )
        self.enter = [
            "nsenter",
            f"--target={self._keeper.pid}",
            "--user",
            "--mount",
            "--preserve-credentials",
        ]
        self.seen = Path(f"/proc/{self._keeper.pid}/root{place}")
        """The path of the file system for other programs."""
        self._filler = self.seen / "filler"

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fill the disk, and fill again what other programs free."""
        stopping = threading.Event()
        filling = threading.Thread(target=self._fill, args=(stopping,), daemon=True)
        filling.start()
        time.sleep(0.5)
        try:
            yield
        finally:
            stopping.set()
            filling.join()
            self._filler.unlink()

    def _fill(self, stopping: threading.Event) -> None:
        with self._filler.open("wb", buffering=0) as file:
            while not stopping.is_set():
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    stopping.wait(0.01)

    def close(self) -> None:
        self._keeper.communicate()


class Standalone(Sandbox):
    """A blazar-standalone on a small disk."""

    def __init__(self, folder: Path) -> None:
        ports = free_port(), free_port()
        super().__init__(f"http://{HOST}:{ports[1]}")
        self.url = f"http://{HOST}:{ports[0]}"
        self._disk = folder / "disk"
        self.disk = SmallDisk(self._disk, 24)
        words = [
            BIN / "blazar-standalone",
            "--port",
            ports[0],
            "--cloud-port",
            ports[1],
            "--var",
            self._disk / "var",
        ]
        self.program = Program("standalone", [*self.disk.enter, *words], folder)

    def start(self) -> None:
        before = self.program.log.count("Blazar is ready")
        self.program.start()
        eventually("it to be ready", lambda: self.program.log.count("Blazar is ready") > before)
        self._demo = self.user("demo")

    def ask(self, method: str, path: str = "", **more: Any) -> requests.Response:
        return self._demo.request(method, f"{self.url}/v1/leases{path}", timeout=60, **more)

    def create(self, name: str, start: float | None = None) -> requests.Response:
        body = {
            "name": name,
            "start_date": "now" if start is None else in_minutes(start),
            "end_date": in_minutes(170),
            "reservations": [{**RESERVATION, "min": 1, "max": 1}],
            "events": [],
        }
        return self.ask("POST", json=body)

    def made(self, name: str, start: float | None = None) -> str:
        answer = self.create(name, start)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["lease"]["id"])

    def statuses(self) -> dict[str, str]:
        answer = self.ask("GET")
        assert answer.status_code == 200
        return {lease["id"]: lease["status"] for lease in answer.json()["leases"]}

    def names(self) -> dict[str, str]:
        return {lease["id"]: lease["name"] for lease in self.ask("GET").json()["leases"]}

    def sql(self, statement: str) -> Any:
        """Run a statement in the database file."""
        words = [*self.disk.enter, BIN / "python", "-c", SQL, self._disk / "var" / "blazar.db", statement]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def happens_in(self, lease_id: str, event_type: str, seconds: float) -> None:
        """Move an event, in the database, because the API does not let a user do it."""
        time_ = f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '+{seconds} seconds')"
        self.sql(
            f"UPDATE events SET time = {time_}, due = {time_}"
            f" WHERE lease_id = '{lease_id}' AND event_type = '{event_type}'"
        )

    def close(self) -> None:
        self.program.kill()
        self.disk.close()


@pytest.fixture
def service(folder: Path) -> Iterator[Standalone]:
    service = Standalone(folder)
    try:
        service.start()
        service.before = service.snapshot()
        yield service
    finally:
        service.close()


Promised = dict[str, str]
"""The names of the leases that were made, by their ids."""


@contextmanager
def full(service: Standalone, promised: Promised) -> Iterator[None]:
    """Fill the disk, also the space that SQLite has reserved in its files."""
    with service.disk.full():
        refused = 0
        while refused < REFUSALS:
            name = f"lease-{len(promised)}"
            answer = service.create(name, 60)
            if answer.status_code == 201:
                promised[answer.json()["lease"]["id"]] = name
                refused = 0
            else:
                assert is_refused_for_now(answer)
                refused += 1
        yield


def is_refused_for_now(answer: requests.Response) -> bool:
    return answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0


def health(service: Standalone) -> tuple[int, str]:
    answer = requests.get(f"{service.url}/healthcheck", timeout=30)
    return answer.status_code, answer.json()["details"]["database"]


def test_a_full_disk_costs_nothing_but_time(service: Standalone, show: Show) -> None:
    promised: Promised = {}
    starting, ending = service.made("starts", 60), service.made("ends")
    staying = service.made("stays")
    promised |= {starting: "starts", ending: "ends", staying: "stays"}
    eventually("two active leases", lambda: list(service.statuses().values()).count("ACTIVE") == 2)
    assert health(service) == (200, "OK")

    service.happens_in(starting, "start_lease", 6)
    service.happens_in(ending, "end_lease", 6)
    due = time.monotonic() + 6
    with full(service, promised):
        assert time.monotonic() < due
        assert is_refused_for_now(service.ask("PUT", f"/{staying}", json={"name": "renamed"}))
        assert is_refused_for_now(service.ask("DELETE", f"/{staying}"))
        time.sleep(due + CLAIM - time.monotonic())
        waiting, sick = service.statuses(), health(service)
    room = time.monotonic()
    eventually("health", lambda: health(service) == (200, "OK"), CLAIM)
    eventually("the start", lambda: service.statuses()[starting] == "ACTIVE", 2 * CLAIM)
    eventually("the end", lambda: service.statuses()[ending] == "TERMINATED", 2 * CLAIM)
    settled = time.monotonic() - room
    assert service.ask("PUT", f"/{staying}", json={"name": "stays"}).status_code == 200
    whole = service.sql("PRAGMA integrity_check")

    time.sleep(1)  # the sandbox stores what it has a moment later
    with full(service, promised):
        service.program.kill()
    service.start()
    eventually("all that was promised", lambda: service.names() == promised)
    killed = service.statuses()
    whole_after_the_kill = service.sql("PRAGMA integrity_check")
    log = (service.disk.seen / "var" / "blazar.log").read_text(errors="replace")
    for lease_id in promised:
        assert service.ask("DELETE", f"/{lease_id}").status_code == 204
    eventually("a clean cloud", lambda: not service.leftovers(), 2 * CLAIM)
    show(
        "blazar-standalone on a full disk",
        [
            ("leases made / found after all", f"{len(promised)} / {len(killed)}"),
            ("health while it was full", sick),
            ("seconds from room until a start and an end were done", f"{settled:.1f}"),
        ],
    )
    assert (waiting[starting], waiting[ending]) == ("PENDING", "ACTIVE")
    assert sick == (503, "FULL")
    assert (killed[starting], killed[ending], killed[staying]) == ("ACTIVE", "TERMINATED", "ACTIVE")
    assert whole == whole_after_the_kill == [["ok"]]
    assert "failed unexpectedly" not in log
