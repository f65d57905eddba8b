"""What grows with the numbers of hosts, of reservations ahead and of leases that are over; how many leases
managers create together; and how long a manager takes to start beside active leases.

    python bench/run.py growth [--hosts 1000 10000 100000]

Each size has ten reservations ahead and ten leases that are over for each host, in a database of its own. A
manager is ready when it takes calls from the broker, as its log says."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import bulk
from service import User, now
from sites import BIN, Program, Site, eventually, require_servers

from blazar.adapters.db.engine import make_engine

HOSTS = (1_000, 10_000, 100_000)
EACH = 10
"""Reservations ahead, and leases that are over, of each host."""
CLIENTS = (1, 8, 32)
MANAGERS = (1, 2)
SECONDS = 15.0
"""Of each measurement of the throughput."""
ROUNDS = 300
WARM_UP = 20
FEW = 20
READS = 2
"""Of a whole list, of which the quicker one counts."""
AT_REST = 15.0
"""Seconds after a change of hosts until calendars read it no more. In so many, a manager that has nothing to
do takes less than LITTLE of a core."""
LITTLE = 0.1
LONG = 1_000_000
"""The most leases or hosts of a list that is still read whole."""
ACTIVE = 10_000
PATIENCE = 1800
READY = "The manager takes calls"
LIMIT = "leases:1000000"
"""As many as no project has: so they are counted as they are with the limit that projects have by default."""
Row = Sequence[object]
Found = dict[str, float]


class GrowthSite(Site):
    """A site with a filled database, and up to so many managers."""

    def __init__(self, folder: Path, hosts: int, managers: int = max(MANAGERS)) -> None:
        super().__init__(folder, hosts)
        words = [BIN / "blazar-manager", "--config-file", self.conf]
        others = (Program(f"manager-{number}", words, folder) for number in range(2, managers + 1))
        self.managers = (self.manager, *others)

    def configuration(self) -> str:
        return super().configuration() + f"[quota]\nlimits = {LIMIT}\n"

    def start_services(self) -> None:
        """Start the API only: the database is filled before a manager sees it."""
        self.api.start()

    def stop_services(self) -> None:
        for program in (self.api, *self.managers):
            program.kill()

    def fill(self, fill: Callable[[Any], None]) -> float:
        """Fill the database, and return the seconds that it takes."""
        engine = make_engine(self.database)
        begun = time.monotonic()
        fill(engine)
        engine.dispose()
        return time.monotonic() - begun

    def start_manager(self, program: Program) -> float:
        """Start a manager, and return the seconds until it takes calls."""
        told = program.log.count(READY)
        begun = time.monotonic()
        program.start()
        eventually("the start of a manager", lambda: program.log.count(READY) > told, PATIENCE)
        return time.monotonic() - begun

    def settle(self) -> None:
        """Wait until the monitor has looked at the hosts for the first time, and has stored what the cloud
        tells of each, and until the manager has read that and does next to nothing. Those of ``bulk`` are
        other ones in its eyes."""
        eventually("the monitor's first look", lambda: not self.has_unknown_hosts(), PATIENCE)
        user = self.user("demo")
        eventually("a lease", lambda: user.delete(create(user, random.Random(5))) is None, PATIENCE)
        eventually("a manager at rest", self._is_at_rest, PATIENCE)

    def _is_at_rest(self) -> bool:
        with processor_times([self.manager]) as used:
            time.sleep(AT_REST)
        return used[0] < AT_REST * LITTLE


def prepare() -> None:
    require_servers()


def tables(
    scratch: Path, sizes: Sequence[int] = HOSTS, active: int | None = None
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables by name, and the one of the sizes anew after each size."""
    found: dict[int, Found] = {}
    throughput: list[Row] = [
        ("hosts", "managers", "clients", "leases/s", "median ms", "p99 ms", "refused", *_CPU, "load")
    ]
    for hosts in sizes:
        with GrowthSite(scratch / f"growth-{hosts}", hosts) as site:
            found[hosts] = _measured(site, hosts)
            yield "growth", _beside_one_another(found)
            throughput += _throughput(site)
            yield "growth-throughput", throughput
    yield "growth-active", _start_beside_active(scratch, min(active or ACTIVE, max(sizes)))


_CPU = ("manager CPU ms each", "second manager CPU ms each", "API CPU ms each")


def _measured(site: GrowthSite, hosts: int) -> Found:
    number = hosts * EACH
    found: Found = {
        "filling the database, s": site.fill(lambda e: bulk.fill(e, hosts, number, number, now()))
    }
    found["start of a manager, s"] = site.start_manager(site.manager)
    found["memory of the manager after its start, MB"] = site.resident_mb(site.manager)
    site.settle()
    user, admin = site.user("demo"), site.user("admin")
    eventually("an answer", lambda: user.leases() is not None, PATIENCE)
    rng = random.Random(11)
    made: list[str] = []
    found |= _times("POST a lease of one host", lambda: made.append(create(user, rng)), ROUNDS)
    found |= _times("DELETE a lease", lambda: user.delete(made.pop()), ROUNDS)
    for name, path in (
        ("page of 100 leases of all projects", "leases?limit=100"),
        ("page of 100 hosts", "os-hosts?limit=100"),
        ("allocations of one host", "os-hosts/1/allocation"),
        ("capacity of a week, hosts", "capacity?quantity=hosts"),
        ("capacity of a year, hosts", f"capacity?quantity=hosts&end_date={_in_a_year()}"),
    ):
        found |= _times(f"GET {name}", lambda path=path: admin.read(path, "1.2"), FEW)
    for name, path, items in (("leases", "leases", 2 * number), ("hosts", "os-hosts", hosts)):
        if items > LONG:
            continue
        with processor_times([site.manager, site.api]) as used:
            seconds = min(_seconds(lambda path=path: admin.read(path)) for _ in range(READS))
        found[f"GET all {name}, s"] = seconds
        found |= {
            f"GET all {name}, CPU of the {program}, s": cpu / READS
            for program, cpu in zip(("manager", "API"), used, strict=True)
        }
        found[f"GET all {name}, ms for 1,000 of them"] = seconds * 1_000_000 / items
    for name, program in (("manager", site.manager), ("API", site.api)):
        found[f"memory of the {name}, MB"] = site.resident_mb(program)
    return found


def create(user: User, rng: random.Random) -> str:
    """Create a lease of one host for three hours somewhere in the year ahead, and return its id."""
    start = now() + timedelta(minutes=rng.randrange(3 * 1440, 360 * 1440))
    lease_id: str = user.create("growth", start, start + timedelta(hours=3))["id"]
    return lease_id


def _in_a_year() -> str:
    return (now() + timedelta(days=365)).strftime("%Y-%m-%dT%H:%M")


def _times(name: str, ask: Callable[[], object], rounds: int) -> Found:
    """Return median and 99th percentile; with few rounds that is the slowest one."""
    warm_up = min(WARM_UP, rounds // 10)
    taken = sorted([_seconds(ask) * 1000 for _ in range(rounds + warm_up)][warm_up:])
    return {f"{name}, median ms": statistics.median(taken), f"{name}, p99 ms": taken[int(len(taken) * 0.99)]}


def _seconds(ask: Callable[[], object]) -> float:
    begun = time.perf_counter()
    ask()
    return time.perf_counter() - begun


def _beside_one_another(found: Mapping[int, Found]) -> list[Row]:
    sizes = list(found)
    head = [f"{hosts:,} hosts, {hosts * EACH:,} ahead, {hosts * EACH:,} over" for hosts in sizes]
    rows: list[Row] = [("what", *head, "last / first")]
    for what in found[sizes[0]]:
        values = [found[hosts].get(what) for hosts in sizes]
        known = [value for value in values if value is not None]
        shown = ["not read" if value is None else round(value, 2) for value in values]
        rows.append((what, *shown, round(known[-1] / known[0], 1)))
    return rows


def _throughput(site: GrowthSite) -> Iterator[Row]:
    for managers in MANAGERS:
        running = site.managers[:managers]
        for program in running[1:]:
            site.start_manager(program)
        for clients in CLIENTS:
            with processor_times([*running, site.api]) as used:
                taken, refused, seconds = crowd(site, clients)
            each = [f"{cpu * 1000 / max(len(taken), 1):.1f}" for cpu in used]
            cpu = [*each[:-1], *[""] * (len(MANAGERS) - managers), each[-1]]
            milliseconds = [1000 * taken[int(len(taken) * share)] for share in (0.5, 0.99)]
            rounded = [round(value, 1) for value in (len(taken) / seconds, *milliseconds)]
            yield site.hosts, managers, clients, *rounded, refused, *cpu, round(os.getloadavg()[0], 1)


@contextmanager
def processor_times(programs: Sequence[Program]) -> Iterator[list[float]]:
    """Return a list that has after the block the seconds of processor time that each program has used in
    it."""
    before = [program.cpu_seconds() for program in programs]
    used: list[float] = []
    yield used
    used += [program.cpu_seconds() - was for program, was in zip(programs, before, strict=True)]


def crowd(
    site: Site, clients: int, lasting: float = SECONDS, names: Sequence[str] = ("demo",)
) -> tuple[list[float], int, float]:
    """Let so many clients, of the users of these names, create leases as fast as they can, for so many
    seconds. Return the sorted seconds of each lease, the number of failures, and the seconds until the last
    answer."""
    users = [site.user(names[number % len(names)]) for number in range(clients)]
    begun = time.monotonic()

    def creates(number: int) -> tuple[list[float], int]:
        rng, taken, refused = random.Random(number), [], 0
        while time.monotonic() < begun + lasting:
            try:
                taken.append(_seconds(lambda: create(users[number], rng)))
            except Exception:  # noqa: BLE001 - what fails is counted, whatever it is
                refused += 1
        return taken, refused

    with ThreadPoolExecutor(clients) as pool:
        found = list(pool.map(creates, range(clients)))
    taken = sorted(seconds for own, _ in found for seconds in own)
    return taken, sum(refused for _, refused in found), time.monotonic() - begun


def _start_beside_active(scratch: Path, leases: int) -> list[Row]:
    """Let leases start, each on a host of its own, and start the manager anew when all are active."""
    with GrowthSite(scratch / "growth-active", leases) as site:

        def fill(engine: Any) -> None:
            moment = now().replace(second=0, microsecond=0)
            bulk.fill_hosts(engine, leases, moment)
            bulk.fill_leases(engine, leases, bulk.Leases("active", leases, moment, moment, at_once=True))

        site.fill(fill)
        site.start_manager(site.manager)
        begun = time.monotonic()
        under_way = {"PENDING", "STARTING"}
        eventually("the start of all", lambda: under_way.isdisjoint(site.statuses("active-")), PATIENCE)
        if set(site.statuses("active-")) != {"ACTIVE"}:
            raise RuntimeError("not all leases started")
        started = time.monotonic() - begun
        site.manager.kill()
        ready = site.start_manager(site.manager)
    head = ("active leases", "until all were active, s", "start of a manager beside them, s", "load")
    return [head, (leases, round(started, 1), round(ready, 2), round(os.getloadavg()[0], 1))]
