"""How long a neighbour's requests take while another project asks for the worst plans that it can.

    python bench/fairness.py [--hosts 1000] [--requests 200] [--threads 4]

One manager in this process, its database on SQLite. A neighbour creates leases of one host, one after
another: first alone, then beside the threads of another project, each of which asks again as soon as it is
refused. The table has a row for each attack, with the neighbour's times and how many refusals the attackers
got meanwhile."""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from seed import seed

from blazar import conf
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.notifications import LogNotifier
from blazar.bootstrap import manager
from blazar.domain.errors import NotEnoughResources
from blazar.domain.time import floor_minute
from blazar.plugins import load_plugins
from blazar.service.commands import CreateLease, ReservationRequest
from blazar.service.context import Caller

NEIGHBOUR = Caller("neighbour", "neighbour", ("member",), token="neighbour")
ATTACKER = Caller("attacker", "attacker", ("member",), token="attacker")
HOST = {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
INSTANCES = {"memory_mb": 1024, "disk_gb": 10, "resource_properties": ""}


class Manager:
    """The use cases of leases, without the engine."""

    def __init__(self, path: Path) -> None:
        settings = conf.load(files=[])
        self._clock = SystemClock()
        database = SqlDatabase(f"sqlite:///{path}")
        self._manager = manager.Manager(
            settings, database, MemoryCloud(()), load_plugins(settings), self._clock, LogNotifier()
        )
        self.create(NEIGHBOUR, 1, [_hosts(1)])

    def create(self, caller: Caller, days: float, reservations: Sequence[ReservationRequest]) -> None:
        start = floor_minute(self._clock.now()) + timedelta(days=days)
        command = CreateLease("bench", start, start + timedelta(hours=4), None, tuple(reservations))
        with self._manager.requests.arrived(caller.project_id):  # as a call from blazar-api does
            self._manager.use_cases.leases.create(command, caller)


def _hosts(number: int) -> ReservationRequest:
    return ReservationRequest("physical:host", HOST | {"min": number, "max": number})


def _servers(amount: int, vcpus: int, affinity: bool | None) -> ReservationRequest:
    wanted = {"amount": amount, "vcpus": vcpus, "affinity": affinity}
    return ReservationRequest("virtual:instance", INSTANCES | wanted)


def attacks(hosts: int) -> dict[str, list[ReservationRequest]]:
    """Requests that cannot be served, by name."""
    many, few = hosts * 9 // 10, hosts // 20
    return {
        f"8 x {many} + {few} hosts, anti-affinity": [
            *[_servers(many, 3, False)] * 8,
            _servers(few, 1, False),
        ],
        "32 + 32 that do not fit together": [
            *[_hosts(hosts // 40)] * 32,
            *[_servers(hosts // 4, 3 + n % 5, None) for n in range(32)],
        ],
        "64 x too many servers": [_servers(hosts // 2, 1 + n % 7, None) for n in range(64)],
    }


@contextmanager
def attacked(
    manager: Manager, reservations: Sequence[ReservationRequest], threads: int
) -> Iterator[list[float]]:
    """Ask for this all the time inside the block; the list grows by the seconds that each refusal took."""
    stop, refused = threading.Event(), list[float]()

    def attack() -> None:
        while not stop.is_set():
            begun = time.perf_counter()
            try:
                manager.create(ATTACKER, 1, reservations)
            except NotEnoughResources:
                refused.append(time.perf_counter() - begun)

    running = [threading.Thread(target=attack) for _ in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield refused
    finally:
        stop.set()
        for thread in running:
            thread.join()


def timed(manager: Manager, requests: int) -> list[float]:
    """The milliseconds of the neighbour's creates, in order of size."""
    taken = []
    for number in range(requests):
        begun = time.perf_counter()
        manager.create(NEIGHBOUR, 2 + number, [_hosts(1)])
        taken.append((time.perf_counter() - begun) * 1000)
    return sorted(taken)


def _row(name: str, taken: Sequence[float], refused: Sequence[float]) -> list[object]:
    p99 = taken[math.ceil(len(taken) * 0.99) - 1]
    slowest = f"{max(refused):.2f}" if refused else "-"
    return [
        name,
        *(f"{value:.1f}" for value in (statistics.median(taken), p99, taken[-1])),
        len(refused),
        slowest,
    ]


def table(scratch: Path, hosts: int = 1000, requests: int = 200, threads: int = 4) -> list[list[object]]:
    """A head, a row without an attacker, and one for each attack."""
    path = scratch / "fairness.db"
    seed(path, hosts, hosts * 4, traits=10)
    manager = Manager(path)
    rows = [
        ["attacker asks for", "median ms", "p99 ms", "slowest ms", "refusals", "slowest refusal s"],
        _row("nothing", timed(manager, requests), []),
    ]
    for name, reservations in attacks(hosts).items():
        with attacked(manager, reservations, threads) as refused:
            taken = timed(manager, requests)
        rows.append(_row(name, taken, refused))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="blazar-bench-") as scratch:
        for row in table(Path(scratch), options.hosts, options.requests, options.threads):
            print(" | ".join(map(str, row)), flush=True)


if __name__ == "__main__":
    main()
