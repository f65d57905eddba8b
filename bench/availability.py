"""Measure how fast a question for availability is answered: over HTTP, on a site with a broker, and in
processor time of the use case.

    python bench/run.py availability availability-site availability-cpu

With 10,000 hosts and 100,000 reservations over a year, each question is for another time, with any
later start of that year and half the duration as the shortest: so all that can be answered is looked for.
"CPU" is the processor time of the service for a question, HTTP and its other threads included; on a site
it is that of the manager."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import bulk
from growth import GrowthSite
from seed import YEAR, seed
from service import DATES, RunningService, User, now

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.cmd.process import keep_freed_memory, spare_from_collection
from blazar.kinds.host import HostKind
from blazar.kinds.instance import InstanceKind
from blazar.service.admission import PlanningSettings
from blazar.service.calendars import Calendars
from blazar.service.commands import AvailabilityQuestion, ReservationRequest
from blazar.service.context import Caller
from blazar.service.leases import LeaseSettings
from blazar.service.ports.kind import Dependencies
from blazar.service.use_cases import UseCases

HOSTS, RESERVATIONS = 10_000, 100_000
Reservation = dict[str, Any]
Row = Sequence[object]
PORT, CLOUD_PORT = 15901, 15902


def hosts(number: int, requirement: str = "") -> Reservation:
    return {
        "resource_type": "physical:host",
        "min": number,
        "max": number,
        "hypervisor_properties": "",
        "resource_properties": requirement,
    }


def instances(amount: int) -> Reservation:
    return {
        "resource_type": "virtual:instance",
        "vcpus": 2,
        "memory_mb": 4096,
        "disk_gb": 20,
        "amount": amount,
        "affinity": None,
        "resource_properties": "",
    }


def _some_kind(rng: random.Random) -> str:
    """Return a requirement that some 28 of the hosts meet."""
    rack, gpus = rng.randrange(40), rng.randrange(9)
    return f'["and", ["==", "$rack", "r{rack}"], ["==", "$gpus", "{gpus}"]]'


QUESTIONS: Mapping[str, Callable[[random.Random], Sequence[Reservation]]] = {
    "one host": lambda rng: [hosts(1)],
    "most of the 28 hosts of a kind": lambda rng: [hosts(24, _some_kind(rng))],
    "8,000 hosts": lambda rng: [hosts(8_000)],
    "4 instances": lambda rng: [instances(4)],
    "200,000 instances": lambda rng: [instances(200_000)],
    "2 hosts of a kind and 4 instances": lambda rng: [hosts(2, _some_kind(rng)), instances(4)],
    "24 hosts of a kind and 4 instances": lambda rng: [hosts(24, _some_kind(rng)), instances(4)],
}


HEAD = (
    "question",
    "median ms",
    "p99 ms",
    "mean CPU ms",
    "as asked",
    "later",
    "no start",
    "answers",
    "cut short",
)


class UsesProcessor(Protocol):
    """The program that answers."""

    def cpu_seconds(self) -> float: ...


def table(scratch: Path) -> list[Row]:
    """Return a head and a row for each question to blazar-standalone, which has the cloud in its process."""
    var = scratch / "availability"
    var.mkdir()
    seed(var / "blazar.db", HOSTS, RESERVATIONS)
    with RunningService(var, PORT, CLOUD_PORT, hosts=HOSTS) as service:
        return _rows(service, service.user("demo"))


def site_table(scratch: Path) -> list[Row]:
    """Return a head and a row for each question to a site with an API, a manager, MariaDB and RabbitMQ."""
    with GrowthSite(scratch / "availability-site", HOSTS) as site:
        site.fill(lambda engine: bulk.fill(engine, HOSTS, RESERVATIONS, 0, now()))
        site.start_manager(site.manager)
        site.settle()
        return _rows(site.manager, site.user("demo"))


def _rows(service: UsesProcessor, user: User, rounds: int = 300) -> list[Row]:
    found = [_row(service, user, name, question, rounds) for name, question in QUESTIONS.items()]
    return [HEAD, *found]


def _row(
    service: UsesProcessor,
    user: User,
    name: str,
    question: Callable[[random.Random], Sequence[Reservation]],
    rounds: int,
) -> Row:
    rng = random.Random(11)
    taken: list[float] = []
    found: list[dict[str, Any]] = []
    first, cpu = now(), 0.0
    for number in range(rounds + 20):
        start = first + timedelta(days=rng.randrange(2, YEAR - 5), minutes=rng.randrange(1440))
        duration = rng.choice((180, 1440, 10_080))
        body = {
            "lease": {"reservations": question(rng)},
            "start": {
                "earliest": start.strftime(DATES),
                "latest": (first + timedelta(days=YEAR)).strftime(DATES),
            },
            "duration": {"wanted": duration, "minimum": duration // 2},
        }
        if number == 20:
            cpu = service.cpu_seconds()
        begun = time.perf_counter()
        answer = user.availability(body)
        if number >= 20:  # the first ones warm the connections and caches
            taken.append(time.perf_counter() - begun)
            found.append(answer)
    as_asked = sum(each["reason"] is None for each in found)
    whole = sum(any(a["changes"] in ([], ["start"]) for a in each["answers"]) for each in found)
    return (
        name,
        *(round(1000 * value, 1) for value in (statistics.median(taken), sorted(taken)[int(rounds * 0.99)])),
        round(1000 * (service.cpu_seconds() - cpu) / rounds, 1),
        as_asked,
        whole - as_asked,
        rounds - whole,
        sum(len(each["answers"]) for each in found),
        sum(each["cut_short"] for each in found),
    )


def cpu_table(scratch: Path, rounds: int = 60) -> list[Row]:
    """Return a head and a row for each question: milliseconds of one thread in the use case, which other
    programs do not affect."""
    keep_freed_memory()
    path = scratch / "availability.db"
    seed(path, HOSTS, RESERVATIONS)
    database, clock = SqlDatabase(f"sqlite:///{path}"), SystemClock()
    kinds = {kind.resource_type: kind for kind in (HostKind(), InstanceKind())}
    use_cases = UseCases(
        Dependencies(database, MemoryCloud([]), kinds, clock),
        (),
        Calendars(database, clock),
        PlanningSettings(),
        LeaseSettings(),
        lambda due=None: None,
    )
    ask = use_cases.noun("availability").ask
    rows: list[Row] = [("question", "median ms", "99th percentile ms", "longest ms")]
    for name, question in {"": QUESTIONS["one host"], **QUESTIONS}.items():
        rng, taken = random.Random(11), []
        for _ in range(rounds):
            asked = _question(rng, question(rng), clock.now())
            begun = time.thread_time()
            ask(asked, Caller("bench", "demo", ("member",)))
            taken.append(1000 * (time.thread_time() - begun))
        taken.sort()
        figures = (statistics.median(taken), taken[int(rounds * 0.99) - 1], taken[-1])
        if name:
            rows.append((name, *(round(each, 1) for each in figures)))
        else:  # the first ones load the calendar
            spare_from_collection()
    database.close()
    return rows


def _question(rng: random.Random, wanted: Sequence[Reservation], first: datetime) -> AvailabilityQuestion:
    start = first + timedelta(days=rng.randrange(2, YEAR - 5), minutes=rng.randrange(1440))
    duration = timedelta(minutes=rng.choice((180, 1440, 10_080)))
    reservations = tuple(
        ReservationRequest(each["resource_type"], {k: v for k, v in each.items() if k != "resource_type"})
        for each in wanted
    )
    latest = first + timedelta(days=YEAR)
    return AvailabilityQuestion(reservations, start, duration, latest, duration / 2)
