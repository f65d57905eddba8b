"""Measure how fast the service is on this machine, and write tables.

    python bench/run.py [TABLE ...] [--to var/bench]

``requests``     POST /v1/leases over HTTP, with 100 hosts, and with 10,000 hosts and 100,000 reservations
``availability`` POST /v1/availability over HTTP, with 10,000 hosts and 100,000 reservations
``availability-cpu`` the same in processor time of the use case
``availability-site`` the same with API, manager, MariaDB and RabbitMQ, measured only when it is named
``burst``        200 leases that start in the same minute
``starts``       one lease of 500 hosts, and 1,000 leases in one minute, with 10 ms for each call to the cloud
``punctuality``  how late leases start and end on an idle machine (takes 13 minutes)
``planning``     planning alone, in memory
``amounts``      planning of ports, volumes, networks and servers, in memory
``capacity``     curves of the capacity alone, in memory
``late-binding`` how much of what is possible is granted, against an exact solver: needs ortools
``late-binding-parts`` the same of servers, which share hosts: needs ortools
``extensions``   how many leases that have begun can be extended, with and without late binding
``utilisation``  how much of a cloud is used with hosts for leases only, and with shared ones, simulated
``dashboard``    the calendar page in Chromium, with 10,000 hosts and 100,000 reservations
``fairness``     a neighbour's creates while another project asks for the worst plans that it can
``creates``      what a create costs manager and API with 1, 8 and 32 clients: needs MariaDB, PostgreSQL and
                 RabbitMQ, and is measured only when it is named
``growth``       what grows with hosts, reservations and leases that are over, how many leases managers create
                 together, and a start beside active leases: needs MariaDB and RabbitMQ
``managers``     how many leases 1, 2 and 3 managers create that have a part of a core each: needs MariaDB,
                 RabbitMQ, Linux and root, and is measured only when it is named
``beside``       upstream Blazar beside us, with tables and plots of its own: needs MariaDB, RabbitMQ and
                 the package index, and takes more than half an hour"""

from __future__ import annotations

import argparse
import math
import platform
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import amounts
import availability
import beside
import capacity
import creates
import dashboard
import extensions
import fairness
import growth
import late_binding
import late_binding_parts
import managers
import planning
import starts
import utilisation
from seed import seed
from service import RunningService, User, moment, next_minute, now, wait_until
from sites import Unavailable

PORT, CLOUD_PORT = 15901, 15902
BESIDE, GROWTH, UTILISATION = "beside", "growth", "utilisation"
CREATES, MANAGERS = "creates", "managers"
AVAILABILITY_SITE = "availability-site"
MINUTE = timedelta(minutes=1)
Row = Sequence[object]


def requests_table(scratch: Path, rounds: int = 300) -> list[Row]:
    rows: list[Row] = [
        (
            "hosts",
            "reservations",
            "POST median ms",
            "POST p99 ms",
            "GET median ms",
            "DELETE median ms",
            "MB",
            "ready s",
        )
    ]
    for hosts, leases in ((100, 1_000), (10_000, 100_000)):
        var = scratch / f"requests-{hosts}"
        var.mkdir()
        seed(var / "blazar.db", hosts, leases)
        with RunningService(var, PORT, CLOUD_PORT, hosts=hosts) as service:
            timings = _requests(service.user("demo"), rounds)
            post, get, delete = (sorted(timings[name]) for name in ("post", "get", "delete"))
            rows.append(
                (
                    hosts,
                    leases,
                    *(_ms(value) for value in (statistics.median(post), post[int(len(post) * 0.99)])),
                    _ms(statistics.median(get)),
                    _ms(statistics.median(delete)),
                    round(service.resident_mb()),
                    round(service.ready_after, 1),
                )
            )
    return rows


def _requests(user: User, rounds: int) -> Mapping[str, list[float]]:
    rng = random.Random(11)
    timings: dict[str, list[float]] = {"post": [], "get": [], "delete": []}
    for number in range(rounds + 20):
        start = now() + timedelta(days=rng.randrange(1, 360), minutes=rng.randrange(1440))
        requirement = rng.choice(('[">=", "$vcpus", "32"]', '["<", "$gpus", "8"]', ""))
        begun = time.perf_counter()
        lease = user.create(
            f"b{number}", start, start + timedelta(hours=3), hypervisor_properties=requirement
        )
        posted = time.perf_counter()
        user.lease(lease["id"])
        got = time.perf_counter()
        user.delete(lease["id"])
        deleted = time.perf_counter()
        if number >= 20:  # the first ones warm the connections and caches
            timings["post"].append(posted - begun)
            timings["get"].append(got - posted)
            timings["delete"].append(deleted - got)
    return timings


def burst_table(scratch: Path, leases: int = 200) -> list[Row]:
    var = scratch / "burst"
    with RunningService(var, PORT, CLOUD_PORT, hosts=leases + 2) as service:
        user = service.user("demo")
        start = next_minute(slack=30)
        for number in range(leases):
            user.create(f"b{number}", start, start + 60 * MINUTE)
        wait_until(start)
        while not all(lease["status"] == "ACTIVE" for lease in user.leases()):
            if now() > start + timedelta(minutes=5):
                raise RuntimeError("the leases did not all start")
            time.sleep(0.5)
        late = sorted(_lateness(lease, "start_lease") for lease in user.leases())
    return [
        ("leases in one minute", "first ACTIVE s", "median s", "last ACTIVE s"),
        (leases, round(late[0], 2), round(statistics.median(late), 2), round(late[-1], 2)),
    ]


def punctuality_table(scratch: Path, minutes: int = 10, each: int = 5) -> list[Row]:
    """Let ``each`` leases start in each of ``minutes`` minutes, in which earlier ones end."""
    var = scratch / "punctuality"
    with RunningService(var, PORT, CLOUD_PORT, hosts=minutes * each + 2) as service:
        user = service.user("demo")
        first = next_minute(slack=30)
        for minute in range(minutes):
            for number in range(each):
                start = first + minute * MINUTE
                user.create(f"b{minute}-{number}", start, start + (1 + number % 2) * MINUTE)
        wait_until(first + (minutes + 2) * MINUTE)
        time.sleep(5)
        leases = user.leases()
    rows: list[Row] = [("event", "number", "median s", "p99 s", "latest s")]
    for event in ("start_lease", "end_lease"):
        late = sorted(_lateness(lease, event) for lease in leases)
        median, p99 = statistics.median(late), late[math.ceil(len(late) * 0.99) - 1]
        rows.append((event, len(late), *(round(value, 3) for value in (median, p99, late[-1]))))
    return rows


def planning_table(scratch: Path) -> list[Row]:
    return planning.table()


def amounts_table(scratch: Path) -> list[Row]:
    return amounts.table(scratch)


def dashboard_table(scratch: Path) -> list[Row]:
    return dashboard.table(scratch, 10_000, 100_000, PORT, CLOUD_PORT)


def capacity_table(scratch: Path) -> list[Row]:
    return capacity.table()


def late_binding_table(scratch: Path) -> list[Row]:
    return late_binding.table()


def late_binding_parts_table(scratch: Path) -> list[Row]:
    return late_binding_parts.table()


def extensions_table(scratch: Path) -> list[Row]:
    return extensions.table()


def fairness_table(scratch: Path) -> list[Row]:
    return [tuple(row) for row in fairness.table(scratch)]


def _lateness(lease: Mapping[str, object], event_type: str) -> float:
    """Return the seconds from the time of an event until its outcome was stored."""
    events = lease["events"]
    assert isinstance(events, list)
    event = next(e for e in events if e["event_type"] == event_type)
    if event["status"] != "DONE":
        raise RuntimeError(f"{event_type} of {lease['id']} is {event['status']}")
    return (moment(event["updated_at"]) - moment(event["time"])).total_seconds()


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _markdown(rows: Sequence[Row]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


TABLES: Mapping[str, Callable[[Path], list[Row]]] = {
    "planning": planning_table,
    "amounts": amounts_table,
    "capacity": capacity_table,
    "late-binding": late_binding_table,
    "late-binding-parts": late_binding_parts_table,
    "extensions": extensions_table,
    "dashboard": dashboard_table,
    "fairness": fairness_table,
    "requests": requests_table,
    "availability": availability.table,
    "availability-cpu": availability.cpu_table,
    "burst": burst_table,
    "starts": starts.table,
    "punctuality": punctuality_table,
}
PREPARATIONS: Mapping[str, Callable[[], None]] = {
    BESIDE: beside.prepare,
    CREATES: creates.prepare,
    GROWTH: growth.prepare,
    MANAGERS: managers.prepare,
    AVAILABILITY_SITE: growth.prepare,
}
"""What tells whether all is there that a table needs; of the others that is nothing but Python."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [*TABLES, UTILISATION, *PREPARATIONS, []]
    parser.add_argument("tables", nargs="*", choices=known, help="all of them by default")
    parser.add_argument("--to", type=Path, default=Path("var/bench"), help="folder for the tables")
    parser.add_argument("--hosts", type=int, nargs="+", default=growth.HOSTS, help="the sizes of growth")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}, "
        "SQLite and one process unless told otherwise\n"
    )
    # What was started is stopped by the managers of contexts, which a signal would pass by.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = arguments.tables or [*TABLES, UTILISATION, BESIDE]  # growth takes long, and is to be named
    scratch = Path(tempfile.mkdtemp(prefix="blazar-bench-"))
    try:
        for name in names:  # what is missing is told before the others have taken their time
            if name in PREPARATIONS:
                PREPARATIONS[name]()
        for name in names:
            for title, rows in _tables(name, scratch, arguments):
                text = _markdown(rows)
                (arguments.to / f"{title}.md").write_text(text + "\n")
                print(f"{title}\n\n{text}\n", flush=True)
    except Unavailable as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(scratch)
    return 0


def _tables(name: str, scratch: Path, given: argparse.Namespace) -> Iterator[tuple[str, Sequence[Row]]]:
    if name == BESIDE:
        yield from beside.tables(scratch, given.to)
    elif name == GROWTH:
        yield from growth.tables(scratch, given.hosts)
    elif name == CREATES:
        yield name, creates.table(scratch)
    elif name == MANAGERS:
        yield name, managers.table(scratch)
    elif name == AVAILABILITY_SITE:
        yield name, availability.site_table(scratch)
    elif name == UTILISATION:
        yield name, utilisation.table(given.to)
    else:
        yield name, TABLES[name](scratch)


if __name__ == "__main__":
    sys.exit(main())
