"""What subscriptions cost those who make leases: the time of a create without any, and with a thousand.

    python bench/subscriptions.py postgresql://postgres@127.0.0.1/scratch

The database must be empty. The manager runs in this process, with its relay and its workers, and the cloud is
in memory. In the last case blazar-webhooks does what the workers do, in a process of its own. The creates
follow one another without a pause, which is the worst case. The receiver, which takes all, is a process of
its own with the lowest priority, for receivers run on other machines. Beside the time, it prints the
processor time of the manager for each create: on a machine that does other things as well it tells more."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from blazar import conf
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.schema import upgrade
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.notifications import LogNotifier
from blazar.bootstrap.manager import Manager
from blazar.cmd.process import switch_threads_often
from blazar.domain.subscription import LeaseEvent, Subscription
from blazar.kinds.registered_hosts.interface import RegisterHost
from blazar.plugins import load_plugins
from blazar.service.commands import CreateLease, ReservationRequest
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.webhook_signature import new_secret

CREATES = 300
ROUNDS = 3
SUBSCRIPTIONS = 1000
MOST = 10
WARM = 20
"""Creates that a manager does before they are measured."""
HERE, THERE = True, False
CASES = {
    "none": (None, HERE),
    "1000 of others": (1, HERE),
    "1000, ten of which are told of each lease": (0, HERE),
    "1000, ten of which are told by blazar-webhooks": (0, THERE),
}
"""The number of the first project with subscriptions: leases are made in the one with the number 0. And
whether the manager delivers."""
START = datetime(2050, 1, 1, tzinfo=UTC)
ANY = {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}


class Sink(BaseHTTPRequestHandler):
    """Takes every message."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


def receive(told: Connection) -> None:
    """Tell the port, and take messages until the process is ended, with what others leave of the cores."""
    os.nice(19)
    server = HTTPServer(("127.0.0.1", 0), Sink)
    told.send(server.server_port)
    server.serve_forever()


def subscribe(database: SqlDatabase, port: int, first: int | None) -> list[str]:
    """Make the subscriptions of a case, and return their ids."""
    if first is None:
        return []
    now = SystemClock().now()
    url, events = f"http://127.0.0.1:{port}/", tuple(LeaseEvent)
    projects = [f"p{first + each // MOST}" for each in range(SUBSCRIPTIONS)]
    made = [Subscription(new_id(), "x", each, "u", url, events, watched_project=each) for each in projects]
    database.transact(lambda uow: [uow.subscriptions.add(each, new_secret(), now) for each in made])
    return [each.id for each in made]


class Leases:
    """Makes leases one after another, each of a minute of its own."""

    def __init__(self) -> None:
        self._start = START

    def create(self, manager: Manager, number: int) -> list[float]:
        """Return the seconds that each of so many creates takes."""
        caller = Caller("u", "p0", ("member",))
        taken = []
        for _ in range(number):
            start, self._start = self._start, self._start + timedelta(minutes=1)
            reservation = ReservationRequest("physical:host", ANY)
            command = CreateLease("x", start, self._start, None, (reservation,))
            begun = time.perf_counter()
            manager.use_cases.leases.create(command, caller)
            taken.append(time.perf_counter() - begun)
        return taken


def wait_until_told(database: SqlDatabase) -> None:
    """Wait until all notifications are delivered and compared, and so until the program runs that does so."""
    while True:
        with database.read() as uow:
            if not uow.outbox.depth() and not uow.outbox.unmatched(1):
                return
        time.sleep(0.1)


@contextmanager
def delivering(path: Path) -> Iterator[None]:
    """Run blazar-webhooks, with the priority that its unit of systemd has."""
    program = Path(sys.executable).with_name("blazar-webhooks")
    words = ["nice", "-n", "10", program, "--config-file", path]
    quiet = subprocess.DEVNULL
    with subprocess.Popen([str(word) for word in words], stdout=quiet, stderr=quiet) as process:
        try:
            yield
        finally:
            process.terminate()


def written(folder: Path, url: str, delivers: bool) -> Path:
    """Write a configuration for the manager and for blazar-webhooks."""
    path = folder / f"{delivers}.conf"
    path.write_text(
        f"[database]\nconnection = {url}\n[quota]\nlimits = leases:-1\n[subscriptions]\nallow_http = true\n"
        f"allowed_networks = 127.0.0.0/8\ndeliver_in_manager = {delivers}\n"
    )
    return path


def main(url: str, folder: Path) -> None:
    switch_threads_often()
    here, there = multiprocessing.Pipe()
    receiver = multiprocessing.get_context("spawn").Process(target=receive, args=(there,), daemon=True)
    receiver.start()
    port = here.recv()
    files = {delivers: written(folder, url, delivers) for delivers in (HERE, THERE)}
    database = SqlDatabase(url)
    upgrade(database.engine)
    names = [f"compute-{number}" for number in range(100)]

    @contextmanager
    def managing(delivers: bool) -> Iterator[Manager]:
        settings = conf.load(files=[str(files[delivers])])
        cloud = MemoryCloud(names)
        manager = Manager(settings, database, cloud, load_plugins(settings), SystemClock(), LogNotifier())
        manager.start()
        yield manager
        manager.stop()

    leases = Leases()
    with managing(HERE) as manager:
        hosts, operator = manager.use_cases.noun("hosts"), Caller("a", "admin", ("admin",), is_admin=True)
        for name in names:
            hosts.register(RegisterHost(name, {}), operator)
        leases.create(manager, CREATES)
    found: dict[str, list[float]] = {}
    used: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, (first, delivers) in CASES.items():
            elsewhere = nullcontext() if delivers else delivering(files[delivers])
            with managing(delivers) as manager, elsewhere:
                leases.create(manager, WARM)
                wait_until_told(database)
                made = subscribe(database, port, first)
                began = time.process_time()
                found.setdefault(name, []).extend(leases.create(manager, CREATES))
                used[name] = used.get(name, 0.0) + time.process_time() - began
                for each in made:
                    database.transact(lambda uow, id_=each: uow.subscriptions.remove(id_))
    for name, taken in found.items():
        taken.sort()
        median, p99 = statistics.median(taken) * 1000, taken[len(taken) * 99 // 100] * 1000
        mean, processor = statistics.mean(taken) * 1000, used[name] / len(taken) * 1000
        times = f"median {median:.2f} ms, mean {mean:.2f} ms, p99 {p99:.2f} ms"
        print(f"{name}: {times}; processor {processor:.2f} ms")
    database.close()
    receiver.terminate()


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        main(sys.argv[1], Path(scratch))
