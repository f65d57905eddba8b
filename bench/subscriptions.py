"""What subscriptions cost those who make leases: the time of a create without any, and with a thousand.

    python bench/subscriptions.py postgresql://postgres@127.0.0.1/scratch

The database must be empty. The manager runs in this process, with its relay and its workers, and the cloud is
in memory. The creates follow one another without a pause, which is the worst case, and the receiver, which
takes all, is a process of its own. Beside the time, it prints the processor time of the manager for each
create: on a machine that does other things as well it tells more."""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
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
CASES = {"none": None, "1000 of others": 1, "1000, ten of which are told of each lease": 0}
"""The number of the first project with subscriptions: leases are made in the one with the number 0."""
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
    """Tell the port, and take messages until the process is ended."""
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


def creates(manager: Manager, number: int) -> list[float]:
    """Return the seconds that each of ``CREATES`` creates takes."""
    caller = Caller("u", "p0", ("member",))
    taken = []
    for each in range(CREATES):
        start = START + timedelta(minutes=number * CREATES + each)
        reservation = ReservationRequest("physical:host", ANY)
        command = CreateLease("x", start, start + timedelta(minutes=1), None, (reservation,))
        begun = time.perf_counter()
        manager.use_cases.leases.create(command, caller)
        taken.append(time.perf_counter() - begun)
    return taken


def main(url: str, folder: Path) -> None:
    here, there = multiprocessing.Pipe()
    receiver = multiprocessing.get_context("spawn").Process(target=receive, args=(there,), daemon=True)
    receiver.start()
    port = here.recv()
    (folder / "blazar.conf").write_text(
        "[subscriptions]\nallow_http = true\nallowed_networks = 127.0.0.0/8\n[quota]\nlimits = leases:-1\n"
    )
    settings = conf.load(files=[str(folder / "blazar.conf")])
    database = SqlDatabase(url)
    upgrade(database.engine)
    plugins = load_plugins(settings)
    names = [f"compute-{number}" for number in range(100)]
    manager = Manager(settings, database, MemoryCloud(names), plugins, SystemClock(), LogNotifier())
    manager.start()
    hosts, operator = manager.use_cases.noun("hosts"), Caller("a", "admin", ("admin",), is_admin=True)
    for name in names:
        hosts.register(RegisterHost(name, {}), operator)
    found: dict[str, list[float]] = {}
    used: dict[str, float] = {}
    creates(manager, 0)
    for number in range(ROUNDS):
        for place, (name, first) in enumerate(CASES.items()):
            made = subscribe(database, port, first)
            began = time.process_time()
            found.setdefault(name, []).extend(creates(manager, 1 + number * len(CASES) + place))
            used[name] = used.get(name, 0.0) + time.process_time() - began
            for each in made:
                database.transact(lambda uow, id_=each: uow.subscriptions.remove(id_))
    for name, taken in found.items():
        taken.sort()
        median, p99 = statistics.median(taken) * 1000, taken[len(taken) * 99 // 100] * 1000
        mean, processor = statistics.mean(taken) * 1000, used[name] / len(taken) * 1000
        times = f"median {median:.2f} ms, mean {mean:.2f} ms, p99 {p99:.2f} ms"
        print(f"{name}: {times}; processor {processor:.2f} ms")
    manager.stop()
    receiver.terminate()


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        main(sys.argv[1], Path(scratch))
