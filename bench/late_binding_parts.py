"""Measure how much of what is possible late binding promises of parts of hosts.

    python bench/late_binding_parts.py [--days 60] [--seeds 3]

It needs OR-tools, which pip installs as ortools.

Requests for 1 to 16 servers of 2 to 32 VCPUs and as many gigabytes of memory, half of that, or twice as many,
arrive for up to 30 days ahead, of 4 hours to 7 days. All hosts have 32 VCPUs and 64 GB. Each request is
decided as by the service. Where it is refused, CP-SAT looks for any way to serve it from the same state: all
leases that have not begun keep their times and their servers, and these may be on any hosts."""

from __future__ import annotations

import argparse
import platform
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from late_binding import (
    HEAD,
    LEAD,
    LEAST_HOURS,
    LOADS,
    MOST_HOURS,
    START,
    Booking,
    Site,
    Tally,
    ratio,
    solved,
    summed,
    timed,
    times,
)
from sites import Unavailable

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.resource import Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

SIZES = (10, 30)
SECONDS = 10
"""For CP-SAT, for each refusal: what it does not know by then, it seldom knows in half a minute."""
MOST_SERVERS = 16
CAPACITY = {"VCPU": 32, "MEMORY_MB": 64 * 1024}
VCPUS = (2, 4, 8, 16, 32)
WEIGHTS = (4, 4, 3, 2, 1)
GIGABYTES_PER_VCPU = (1, 2, 4)


@dataclass
class SharedSite(Site):
    """Hosts of one class, whose parts are leased."""

    def __post_init__(self) -> None:
        inventory = {name: Inventory(amount, amount) for name, amount in CAPACITY.items()}
        pool = [Resource(str(n), Pool("host"), {}, inventory=inventory) for n in range(self.size)]
        self._on = {resource.id: {} for resource in pool}
        self.calendar = Calendar()
        self.calendar.bulk_load((resource, ()) for resource in pool)

    def check(self) -> None:
        """Raise AssertionError where more of a host is promised than it has."""
        for rows in self._on.values():
            for moment in [each.interval.start for each in rows.values()]:
                there = [each for each in rows.values() if each.interval.contains(moment)]
                for name, amount in CAPACITY.items():
                    assert sum((each.amounts or {}).get(name, 0) for each in there) <= amount


def bookings(hosts: int, load: float, days: int, seed: int) -> Iterator[tuple[datetime, Booking]]:
    """Yield arrivals, which ask for so much of the scarcer of the hosts' VCPUs and memory on average."""
    rng = random.Random(seed)
    mean = _mean_share() * (1 + MOST_SERVERS) / 2 * (LEAST_HOURS + MOST_HOURS) / 2
    at, number = 0.0, 0
    while at < days * 24:
        begin = int((at + rng.uniform(0.5, 30 * 24)) * 60)
        interval = Interval(
            *(START + timedelta(minutes=m) for m in (begin, begin + rng.randint(240, 10_080)))
        )
        booking = Booking(f"b{number}", 0, interval, rng.randint(1, MOST_SERVERS), usage=_usage(rng))
        yield START + timedelta(hours=at), booking
        at, number = at + rng.expovariate(hosts * load / mean), number + 1


def _usage(rng: random.Random) -> Usage:
    vcpus = rng.choices(VCPUS, WEIGHTS)[0]
    gigabytes = min(vcpus * rng.choice(GIGABYTES_PER_VCPU), 64)
    return Usage({"VCPU": vcpus, "MEMORY_MB": gigabytes * 1024})


def _mean_share() -> float:
    """Return the share of a host that a server asks for on average, of what it asks most of."""
    rng = random.Random(0)
    drawn = [_usage(rng).amounts or {} for _ in range(10_000)]
    means = [sum(each[name] for each in drawn) / len(drawn) / CAPACITY[name] for name in CAPACITY]
    return max(means)


def is_possible(site: Site, asked: Booking, now: datetime) -> bool | None:
    """Return whether there is any way to serve a request; None where CP-SAT does not know in time."""
    model = cp_model.CpModel()
    fixed = [each for each in site.known.values() if each.interval.start < now + LEAD]
    moving = [asked, *(each for each in site.known.values() if each.interval.start >= now + LEAD)]
    servers = {
        (each.id, host): model.new_int_var(0, each.count, f"{each.id} {host}")
        for each in moving
        for host in range(site.size)
    }
    for each in moving:
        model.add(sum(servers[each.id, host] for host in range(site.size)) == each.count)
    for moment in {each.interval.start for each in moving}:
        there = [each for each in moving if each.interval.contains(moment)]
        begun = [row for each in fixed if each.interval.contains(moment) for row in each.rows]
        for name, amount in CAPACITY.items():
            taken = [0] * site.size
            for row in begun:
                taken[int(row.resource_id)] += (row.amounts or {})[name]
            for host in range(site.size):
                needed = sum((each.usage.amounts or {})[name] * servers[each.id, host] for each in there)
                model.add(needed <= amount - taken[host])
    return solved(model, SECONDS)


def run(size: int, load: float, days: int, seed: int, binds_late: bool = True) -> Tally:
    site, tally = SharedSite(size, binds_late), Tally()
    for now, booking in bookings(size, load, days, seed):
        site.forget(now)
        if timed(tally, site, booking, now) is None:
            possible = is_possible(site, booking, now)
            tally.missed += possible is True
            tally.unknown += possible is None
    site.check()
    return tally


def table(days: int = 60, seeds: int = 3) -> list[Sequence[object]]:
    if cp_model is None:
        raise Unavailable("late-binding-parts needs the solver of OR-tools: pip install ortools")
    rows: list[Sequence[object]] = [HEAD]
    for size in SIZES:
        for load in LOADS:
            runs = [run(size, load, days, seed) for seed in range(1, seeds + 1)]
            alone = [run(size, load, days, seed, binds_late=False) for seed in range(1, seeds + 1)]
            rows.append((size, load, *summed(runs), f"{ratio(alone):.2%}", *times(runs)))
            print(" | ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}")
    for each in table(options.days, options.seeds):
        print(" | ".join(map(str, each)))


if __name__ == "__main__":
    main()
