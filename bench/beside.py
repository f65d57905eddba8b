"""The same questions asked of this service and of upstream, in turns and in one run.

Each has a site of its own with the same programs around it: MariaDB, RabbitMQ, the sandbox cloud and
gunicorn. Both have the same hosts and the same leases. The machine is usually busy with something else as
well, so the ratios of a run tell more than its milliseconds; the load stands beside them."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import limits
import requests
from plots import Line, plot
from service import Refused, User, next_minute, now, wait_until
from sites import Site, require_servers
from upstream import BUSY, LEASES, RELEASE, Upstream, install, seed

TURNS = 2
WARM_UP = 2
CLIENTS = (1, 8, 32)
THROUGHPUT_SECONDS = 10
STARTS = 8
"""The leases that start in the same minute."""
PATIENCE = timedelta(minutes=3)
HEAD = ("ours median ms", "p99 ms", "number", "upstream median ms", "p99 ms", "number", "upstream / ours")
Row = Sequence[object]


@dataclass(frozen=True)
class Case:
    """How much there is: hosts, and the share of the time in which a host is in use."""

    hosts: int
    occupied: float

    @property
    def leases(self) -> int:
        return self.hosts * LEASES


BASE = Case(50, 0.6)
"""The case in which the throughput, the starts and the limits are measured."""
# Not 100 hosts: upstream takes compute-10 for a part of the name compute-100, and refuses it.
CASES = (Case(20, 0.6), BASE, Case(50, 0.3), Case(50, 0.9), Case(90, 0.6))


@dataclass
class Budget:
    """A turn ends after this many rounds or seconds."""

    rounds: int
    seconds: float

    def numbers(self) -> Iterator[int]:
        end = time.monotonic() + self.seconds
        for number in range(self.rounds + WARM_UP):
            if number > WARM_UP and time.monotonic() > end:
                return
            yield number


HOSTS, INSTANCES, LISTS = Budget(60, 10), Budget(30, 7), Budget(10, 5)


@dataclass
class Timings:
    """The seconds of each question, by its name."""

    taken: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def timed(self, question: str, counts: bool = True) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        if counts:
            self.taken.setdefault(question, []).append(time.perf_counter() - begun)


def prepare() -> None:
    """Install what is missing; raises ``Unavailable`` where that cannot be done."""
    require_servers()
    install()


def tables(scratch: Path, to: Path, cases: Sequence[Case] = CASES) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables by name, and write the plots to the folder ``to``.

    What grows with each case is yielded and written anew after it, so that a run can be cut short."""
    prepare()
    found: dict[Case, Mapping[str, Sequence[list[float]]]] = {}
    rows: list[Row] = [("request", "hosts", "leases", "in use", *HEAD, "load")]
    services: list[Row] = [("what", "hosts", "leases", "ours", "upstream", "upstream / ours")]
    throughput: list[Row] = []
    for number, case in enumerate(cases):
        with (
            Site(scratch / f"ours-{number}", case.hosts) as ours,
            Upstream(scratch / f"upstream-{number}", case.hosts) as upstream,
        ):
            sites = (ours, upstream)
            registered = [site.register_hosts() for site in sites]
            seed(upstream, ours, case.occupied)
            found[case] = _requests(sites)
            size = (case.hosts, case.leases, f"{case.occupied:.0%}")
            rows += [(question, *size, *_beside(*both), _load()) for question, both in found[case].items()]
            yield "beside-requests", rows
            if case == BASE or len(cases) == 1:
                throughput = _throughput(sites)
                yield "beside-throughput", throughput
                yield "beside-starts", _starts(sites)
                yield "beside-limits", limits.table(scratch, ours, found[case]["POST a host"])
            if case.occupied == BASE.occupied:
                services += _services(case, sites, registered)
                yield "beside-services", services
            _plots(to, found, throughput)


def _requests(sites: Sequence[Site]) -> Mapping[str, Sequence[list[float]]]:
    """Return the seconds of each request, of both sites; none of one that a site always refused."""
    timings = [Timings() for _ in sites]
    for turn in range(TURNS):
        for site, own in zip(sites, timings, strict=True):
            _turn(site, own, random.Random(turn))
    answered = [question for question in timings[0].taken if all(question in own.taken for own in timings)]
    return {question: [own.taken[question] for own in timings] for question in answered}


def _turn(site: Site, timings: Timings, rng: random.Random) -> None:
    user, admin = site.user("demo"), site.user("admin")
    for number in HOSTS.numbers():
        _one_lease(user, timings, rng, number >= WARM_UP)
    for number in INSTANCES.numbers():
        with suppress(Refused):
            with timings.timed("POST 4 instances", number >= WARM_UP):
                lease = _create(user, rng, "instances", **INSTANCE)
            user.delete(lease["id"])
    for question, ask in (("GET all leases", user.leases), ("GET all hosts", admin.hosts)):
        for number in LISTS.numbers():
            with timings.timed(question, number >= WARM_UP):
                ask()


def _one_lease(user: User, timings: Timings, rng: random.Random, counts: bool) -> None:
    """Create, read and delete a lease; where no host is free then, the refusal counts for nothing."""
    with suppress(Refused):
        with timings.timed("POST a host", counts):
            lease = _create(user, rng, "host")
        with timings.timed("GET a lease", counts):
            user.lease(lease["id"])
        with timings.timed("DELETE a lease", counts):
            user.delete(lease["id"])


INSTANCE: Mapping[str, Any] = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 1024,
    "disk_gb": 10,
    "amount": 4,
    "affinity": None,
    "resource_properties": "",
}


def _create(user: User, rng: random.Random, name: str, **parameters: Any) -> dict[str, Any]:
    """Create a lease of three hours somewhere in the time of the seed."""
    first, last = BUSY
    start = now() + first + timedelta(minutes=rng.randrange((last - first) // timedelta(minutes=1)))
    return user.create(name, start, start + timedelta(hours=3), **parameters)


def _throughput(sites: Sequence[Site]) -> list[Row]:
    rows: list[Row] = [
        (
            "clients",
            "ours leases/s",
            "median ms",
            "p99 ms",
            "refused",
            "upstream leases/s",
            "median ms",
            "p99 ms",
            "refused",
            "ours / upstream",
            "load",
        )
    ]
    for clients in CLIENTS:
        row: list[object] = [clients]
        rates = []
        for site in sites:
            taken, refused, seconds = _crowd(site, clients)
            rates.append(len(taken) / seconds)
            row += [round(rates[-1], 2), *_summary(taken), refused]
        rows.append((*row, _ratio(*rates), _load()))
    return rows


def _crowd(site: Site, clients: int) -> tuple[list[float], int, float]:
    """Let so many clients create leases as fast as they can. Return the seconds of each lease, the number of
    failures, and the seconds until the last answer."""
    users = [site.user("demo") for _ in range(clients)]
    begun = time.monotonic()
    end = begun + THROUGHPUT_SECONDS

    def create(number: int) -> tuple[list[float], int]:
        rng, timings, refused = random.Random(number), Timings(), 0
        while time.monotonic() < end:
            try:
                with timings.timed("POST"):
                    _create(users[number], rng, "crowd")
            except (Refused, requests.RequestException):
                refused += 1
        return timings.taken.get("POST", []), refused

    with ThreadPoolExecutor(clients) as pool:
        found = list(pool.map(create, range(clients)))
    taken = [seconds for own, _ in found for seconds in own]
    return taken, sum(refused for _, refused in found), time.monotonic() - begun


def _starts(sites: Sequence[Site]) -> list[Row]:
    """Let leases start in the same minute, in one minute for each site."""
    rows: list[Row] = [
        ("service", "leases in one minute", "first ACTIVE s", "median s", "last ACTIVE s", "load")
    ]
    for site in sites:
        user = site.user("demo")
        start = next_minute(slack=5 * STARTS)
        for number in range(STARTS):
            user.create(f"start-{number}", start, start + timedelta(hours=3))
        if now() > start:
            raise RuntimeError(f"the leases of {site.label} were not created in time")
        late = _seconds_until_active(site, lambda start=start: (now() - start).total_seconds())
        wait_until(start)
        rows.append((site.label, STARTS, *(round(s, 1) for s in late()), _load()))
    return rows


def _seconds_until_active(site: Site, since: Callable[[], float]) -> Callable[[], Sequence[float]]:
    """Return a function that waits, and returns the first, the median and the last of the seconds."""

    def wait() -> Sequence[float]:
        late: list[float] = []
        while len(late) < STARTS:
            active = site.statuses("start-").count("ACTIVE")
            late += [since()] * (active - len(late))
            if since() > PATIENCE.total_seconds():
                raise RuntimeError(f"the leases of {site.label} did not start")
            time.sleep(0.1)
        return late[0], statistics.median(late), late[-1]

    return wait


def _services(case: Case, sites: Sequence[Site], registered: Sequence[list[float]]) -> Iterator[Row]:
    size = (case.hosts, case.leases)
    medians = [statistics.median(taken) * 1000 for taken in registered]
    yield (
        "POST a host to os-hosts, median ms",
        *size,
        *(round(ms, 1) for ms in medians),
        _ratio(*medians[::-1]),
    )
    for what in ("api", "manager"):
        memory = [site.resident_mb(getattr(site, what)) for site in sites]
        yield f"memory of the {what}, MB", *size, *map(round, memory), _ratio(*memory[::-1])
    ready = []
    for site in sites:
        site.stop_services()
        site.start_services()
        ready.append(site.ready_after)
    yield (
        "start after kill -9 until the first answer, s",
        *size,
        *(round(s, 1) for s in ready),
        _ratio(*ready[::-1]),
    )


def _beside(ours: list[float], upstream: list[float]) -> Row:
    medians = [statistics.median(taken) for taken in (upstream, ours)]
    both = [(*_summary(taken), len(taken)) for taken in (ours, upstream)]
    return (*both[0], *both[1], _ratio(*medians))


def _summary(taken: list[float]) -> Row:
    """Return median and 99th percentile in milliseconds."""
    if not taken:
        return "", ""
    found = (statistics.median(taken), sorted(taken)[int(len(taken) * 0.99)])
    return [round(seconds * 1000, 1) for seconds in found]


def _ratio(one: float, other: float) -> object:
    return round(one / other, 1) if other else ""


def _load() -> float:
    return round(os.getloadavg()[0], 1)


def _plots(
    to: Path, found: Mapping[Case, Mapping[str, Sequence[list[float]]]], throughput: Sequence[Row]
) -> None:
    labels = ("this service", f"upstream {RELEASE}")
    cases = [case for case in found if case.occupied == BASE.occupied]
    for name, title, question, words, size in (
        ("beside-post", "POST /v1/leases, one host", "POST a host", "hosts", lambda case: case.hosts),
        ("beside-list", "GET /v1/leases", "GET all leases", "leases", lambda case: case.leases),
    ):
        both = [(size(case), found[case][question]) for case in cases if question in found[case]]
        lines = [
            Line(label, [(x, statistics.median(taken[n]) * 1000) for x, taken in both])
            for n, label in enumerate(labels)
        ]
        if both:
            (to / f"{name}.svg").write_text(plot(title, words, "ms, median", lines))
    if throughput:
        lines = [
            Line(label, [(row[0], row[column]) for row in throughput[1:] if row[column]])
            for label, column in zip(labels, (1, 5), strict=True)
        ]
        title = "Leases created in a second"
        (to / "beside-throughput.svg").write_text(plot(title, "clients", "leases/s", lines))
