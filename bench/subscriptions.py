"""What subscriptions cost those who make leases: the time of a create without any, and with a thousand.

    python bench/subscriptions.py postgresql://postgres@127.0.0.1/scratch

The database must be empty. The manager runs in this process, with its relay and its workers, and the cloud is
in memory. The creates follow one another without a pause, and the receiver, which takes all, runs in the same
process: messages that are sent meanwhile take its processor."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from blazar import conf
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.schema import upgrade
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.notifications import LogNotifier
from blazar.bootstrap import Manager
from blazar.domain.subscription import LeaseEvent
from blazar.kinds.registered_hosts.interface import RegisterHost
from blazar.plugins import load_plugins
from blazar.service.commands import CreateLease, CreateSubscription, ReservationRequest
from blazar.service.context import Caller

CREATES = 200
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
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
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
    subscriptions = manager.use_cases.noun("subscriptions")
    found: dict[str, list[float]] = {}
    creates(manager, 0)
    for number in range(ROUNDS):
        for place, (name, first) in enumerate(CASES.items()):
            made = [
                subscriptions.create(
                    CreateSubscription(
                        "x",
                        f"http://127.0.0.1:{server.server_port}/",
                        tuple(LeaseEvent),
                        f"p{first + each // MOST}",
                    ),
                    Caller("u", f"p{first + each // MOST}"),
                )
                for each in range(SUBSCRIPTIONS if first is not None else 0)
            ]
            found.setdefault(name, []).extend(creates(manager, 1 + number * len(CASES) + place))
            for each in made:
                subscriptions.delete(each.subscription.id, operator)
    for name, taken in found.items():
        taken.sort()
        median, p99 = statistics.median(taken) * 1000, taken[len(taken) * 99 // 100] * 1000
        print(f"{name}: median {median:.2f} ms, p99 {p99:.2f} ms")
    manager.stop()
    server.shutdown()


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        main(sys.argv[1], Path(scratch))
