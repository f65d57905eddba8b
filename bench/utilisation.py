"""Simulate how much of a cloud is used, and what is refused: with a fence around what is reserved, with late
binding inside the fence, and with ordinary servers on hosts that wait for their lease.

    python bench/utilisation.py [--days 60] [--seeds 3] [--to var/bench]

Half of the hosts are in the freepool. Leases of whole hosts arrive as in ``late_binding.py``, and are decided
by the service's own planner. Ordinary servers arrive beside them: some without an end, some whose end is
known, some that may be ended at any time. Each gets the host with the most room, as nova-scheduler does by
default, of those that it may use: ordinary hosts, and where hosts are shared, hosts of the freepool by the
rule of the filter (``blazarnova.intervals``), or until a lease starts there. Servers that have to leave do
not come back."""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import plots
from late_binding import START, Booking, Site, Tally, bookings, timed

from blazar.domain.resource import Allocation, Usage
from blazar.domain.time import Interval
from blazarnova.intervals import PromisedHost, Step, takes

FENCED = ORDINARY = 150
"""Hosts in the freepool, and beside it."""
VCPUS = 32
"""Of each host."""
LEASE_LOAD = 0.9
"""Of the time of the fenced hosts, that leases ask for."""
MOST_HOSTS = 16
"""Of a lease."""
LOADS = (0.5, 0.75, 1.0, 1.25, 1.5)
"""Of the time of the hosts outside of the fence, that servers ask for."""
SIZES, SIZE_WEIGHTS = (2, 4, 8, 16), (4, 3, 2, 1)
"""VCPUs of servers."""
HOURS = 48
"""That a server lives on average; most live shorter."""
UNBOUNDED, BOUNDED, PREEMPTIBLE = "without an end", "with an end", "preemptible"
SORTS, SORT_WEIGHTS = (UNBOUNDED, BOUNDED, PREEMPTIBLE), (4, 4, 2)
AHEAD = timedelta(days=7)
"""How far promises are told to nova-scheduler: a server that ends later stays outside of the fence."""
MARGIN = timedelta(minutes=10)
WARM_UP = 10
"""Days that are not counted, because leases that were made before them are missing."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the cloud is run."""

    name: str
    binds_late: bool
    shares: bool


WAYS = (
    Way("fence, bound early", False, False),
    Way("fence, bound late", True, False),
    Way("shared, bound late", True, True),
)


@dataclass(frozen=True, slots=True)
class Server:
    id: str
    sort: str
    vcpus: int
    interval: Interval


def servers(load: float, days: int, seed: int) -> Iterator[Server]:
    """Yield servers in the order of their boots, which ask for so much of the ordinary hosts' time."""
    rng = random.Random(f"servers {seed}")
    mean = sum(size * weight for size, weight in zip(SIZES, SIZE_WEIGHTS, strict=True)) / sum(SIZE_WEIGHTS)
    hours, number = 0.0, 0
    while hours < days * 24:
        life = timedelta(minutes=10 + round(rng.expovariate(1 / (HOURS * 60))))
        at = START + timedelta(minutes=round(hours * 60))
        (sort,), (vcpus,) = rng.choices(SORTS, SORT_WEIGHTS), rng.choices(SIZES, SIZE_WEIGHTS)
        yield Server(f"s{number}", sort, vcpus, Interval(at, at + life))
        hours, number = hours + rng.expovariate(ORDINARY * VCPUS * load / (mean * HOURS)), number + 1


class SharedSite(Site):
    """The fenced hosts with their leases, and with servers beside these."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._promised: dict[str, PromisedHost] = {}

    def takes(self, host: str, server: Server) -> bool:
        """Return whether the filter lets a server with a known end onto a host."""
        if host not in self._promised:
            self._promised[host] = PromisedHost((VCPUS,), tuple(steps(self._on[host].values())))
        start, end = server.interval.start, server.interval.end + MARGIN
        is_told = end <= start + AHEAD
        return is_told and takes(self._promised[host], (server.vcpus,), seconds(start), seconds(end))

    def is_waiting(self, host: str, now: datetime) -> bool:
        """Return whether no lease uses the host now."""
        return not any(each.usage.whole and each.interval.contains(now) for each in self._on[host].values())

    def keep(self, server: Server, host: str) -> None:
        """Put a server with a known end onto the calendar, as its lease does."""
        usage = Usage({"VCPU": server.vcpus})
        self._change((), [Allocation(server.id, server.id, server.id, host, server.interval, usage)])

    def leave(self, server_id: str, host: str) -> None:
        if gone := self._on[host].get(server_id):
            self._change([gone], ())

    def _change(self, before: Iterable[Allocation], after: Iterable[Allocation]) -> None:
        before, after = list(before), list(after)
        for each in (*before, *after):
            self._promised.pop(each.resource_id, None)
        super()._change(before, after)

    def check(self) -> None:
        """Raise AssertionError where more is promised of a host than there is."""
        for rows in self._on.values():
            for one in rows.values():
                there = [each for each in rows.values() if each.interval.contains(one.interval.start)]
                assert sum(VCPUS if each.usage.whole else vcpus(each) for each in there) <= VCPUS


def vcpus(allocation: Allocation) -> int:
    return (allocation.amounts or {})["VCPU"]


def steps(rows: Iterable[Allocation]) -> Iterator[Step]:
    """Yield what is promised of a host, one step after another."""
    rows = list(rows)
    moments = sorted({moment for each in rows for moment in (each.interval.start, each.interval.end)})
    for start, end in pairwise(moments):
        there = [each for each in rows if each.interval.contains(start)]
        if any(each.usage.whole for each in there):
            yield Step(seconds(start), seconds(end), None)
        elif there:
            yield Step(seconds(start), seconds(end), (sum(map(vcpus, there)),))


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())


@dataclass
class Counts:
    """VCPU hours from the end of the warm-up on."""

    begins: datetime
    ends: datetime
    asked: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    granted: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    used: float = 0.0
    lost: float = 0.0
    """Of preemptible servers that had to leave."""

    def hours(self, amount: int, start: datetime, end: datetime) -> float:
        seconds = (min(end, self.ends) - max(start, self.begins)).total_seconds()
        return amount * max(seconds, 0.0) / 3600

    @property
    def utilisation(self) -> float:
        return self.used / self.hours((FENCED + ORDINARY) * VCPUS, self.begins, self.ends)

    def refused(self, sort: str) -> float:
        return 1 - self.granted[sort] / self.asked[sort]


LEASES = "leases"
ENDS, STARTS, ARRIVES = range(3)
"""The order of what happens in one moment."""


class Cloud:
    """One run: what happens, in the order of time."""

    def __init__(self, way: Way, load: float, days: int, seed: int) -> None:
        self._way = way
        self._site = SharedSite(FENCED, way.binds_late)
        self._room = {f"ordinary {number}": VCPUS for number in range(ORDINARY)}
        self._room |= dict.fromkeys(self._site.levels, VCPUS)
        self._on: dict[str, dict[str, Server]] = {host: {} for host in self._room}
        self._events: list[tuple[datetime, int, int, Callable[[], None]]] = []
        self._number = 0
        self.counts = Counts(START + timedelta(days=WARM_UP), START + timedelta(days=days))
        for at, booking in bookings(FENCED, LEASE_LOAD, days, MOST_HOSTS, seed):
            self._expect(at, ARRIVES, partial(self._ask, booking, at))
        for server in servers(load, days, seed):
            self._expect(server.interval.start, ARRIVES, partial(self._boot, server))

    def run(self) -> Counts:
        while self._events and self._events[0][0] < self.counts.ends:
            _, _, number, happen = heapq.heappop(self._events)
            happen()
            if number % 1000 == 0:
                self._site.check()
        return self.counts

    def _expect(self, at: datetime, order: int, happen: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (at, order, self._number, happen))

    def _ask(self, booking: Booking, now: datetime) -> None:
        self._site.forget(now)
        hours = self.counts.hours(VCPUS * booking.count, booking.interval.start, booking.interval.end)
        self.counts.asked[LEASES] += hours
        if timed(Tally(), self._site, booking, now) is not None:
            self.counts.granted[LEASES] += hours
            self._expect(booking.interval.start, STARTS, partial(self._start, booking.id))

    def _start(self, lease_id: str) -> None:
        lease = self._site.known[lease_id]
        for row in lease.rows:
            for server in list(self._on[row.resource_id].values()):
                assert server.sort == PREEMPTIBLE, "what has an end is not in the way of a lease"
                self._leave(server, row.resource_id, lease.interval.start)
        self.counts.used += self.counts.hours(VCPUS * lease.count, lease.interval.start, lease.interval.end)

    def _boot(self, server: Server) -> None:
        hours = self.counts.hours(server.vcpus, server.interval.start, server.interval.end)
        self.counts.asked[server.sort] += hours
        host = max(self._hosts_for(server), key=self._room.__getitem__, default=None)
        if host is None:
            return
        self.counts.granted[server.sort] += hours
        self.counts.used += hours
        self._room[host] -= server.vcpus
        self._on[host][server.id] = server
        if server.sort == BOUNDED and host in self._site.levels:
            self._site.keep(server, host)
        self._expect(server.interval.end, ENDS, partial(self._leave, server, host, server.interval.end))

    def _hosts_for(self, server: Server) -> Iterator[str]:
        for host, room in self._room.items():
            if room >= server.vcpus and self._may_use(host, server):
                yield host

    def _may_use(self, host: str, server: Server) -> bool:
        is_fenced = host in self._site.levels
        if not self._way.shares or server.sort == UNBOUNDED:
            return not is_fenced
        if server.sort == PREEMPTIBLE:
            return is_fenced and self._site.is_waiting(host, server.interval.start)
        return not is_fenced or self._site.takes(host, server)

    def _leave(self, server: Server, host: str, now: datetime) -> None:
        """The server ends, or has to make way. One that had to is gone at its end."""
        if self._on[host].pop(server.id, None) is None:
            return
        self._room[host] += server.vcpus
        if host in self._site.levels:
            self._site.leave(server.id, host)
        lost = self.counts.hours(server.vcpus, now, server.interval.end)
        self.counts.used -= lost
        self.counts.lost += lost


HEAD = (
    "asked by servers",
    "way",
    "used",
    "leases refused",
    *(f"{sort} refused" for sort in SORTS),
    "preemptible lost",
)


def row(way: Way, load: float, runs: Sequence[Counts]) -> Sequence[object]:
    def mean(figure: Callable[[Counts], float]) -> str:
        return f"{statistics.mean(map(figure, runs)):.1%}"

    return (
        f"{load:.0%}",
        way.name,
        mean(lambda each: each.utilisation),
        *(mean(lambda each, sort=sort: each.refused(sort)) for sort in (LEASES, *SORTS)),
        mean(lambda each: each.lost / each.granted[PREEMPTIBLE]),
    )


def table(folder: Path, days: int = 60, seeds: int = 3) -> list[Sequence[object]]:
    """Return the rows of the table, and write a plot into the folder."""
    rows: list[Sequence[object]] = [HEAD]
    lines = []
    for way in WAYS:
        points = []
        for load in LOADS:
            runs = [Cloud(way, load, days, seed).run() for seed in range(1, seeds + 1)]
            rows.append(row(way, load, runs))
            points.append((round(load * 100), round(statistics.mean(e.utilisation for e in runs) * 100, 1)))
            print(" | ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
        lines.append(plots.Line(way.name, points))
    x_words = "asked by servers, % of the hosts outside of the fence"
    (folder / "utilisation.svg").write_text(plots.plot_shares("Used of all hosts", x_words, "%", lines))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=60, help="how long leases and servers arrive")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row")
    parser.add_argument("--to", type=Path, default=Path("var/bench"), help="where the plot is written")
    args = parser.parse_args()
    args.to.mkdir(parents=True, exist_ok=True)
    for each in table(args.to, args.days, args.seeds):
        print(" | ".join(map(str, each)))


if __name__ == "__main__":
    main()
