"""Measure how many leases that have begun can be extended, as things are planned and with late binding.

    python bench/extensions.py [--days 60] [--seeds 3]

The requests are those of ``late_binding.py``. After each of them, a lease that has begun and was not extended
yet asks for as much time again as it has, from 4 hours to 7 days. It keeps its hosts. Each is decided as by
the service: as things are planned first, then with moves of what is planned on its hosts after it."""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from late_binding import LEAD, LOADS, MOST_HOSTS, SIZES, Booking, Site, Tally, bookings, timed

from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.movable import Rearrangement
from blazar.domain.planning.planner import plan_if_it_fits
from blazar.domain.planning.rearrangement import movable_allocations, rearrange
from blazar.domain.time import Interval
from blazar.service.leases.late_binding import CHAINS, MOST_LOOKED_AT, STEPS


@dataclass
class Extensions:
    """What became of those who asked for more time."""

    as_planned: int = 0
    with_moves: int = 0
    refused: int = 0
    taken: list[float] = field(default_factory=list)
    """Milliseconds of processor time of each decision that does not fit as things are planned."""

    @property
    def asked(self) -> int:
        return self.as_planned + self.with_moves + self.refused


def extend(site: Site, booking: Booking, now: datetime, tally: Extensions) -> None:
    """Extend a lease that has begun, where that can be, and count it."""
    interval = Interval(now, booking.interval.end + booking.interval.duration)
    demand = replace(booking.demand, keep_current=True)
    request, budget = PlanRequest(interval, (demand,)), Budget().part(STEPS)
    begun = time.thread_time()
    snapshot = site.calendar.snapshot()
    try:
        if plan_if_it_fits(snapshot, request, budget) is not None:
            tally.as_planned += 1
            site.lengthen(booking, interval.end, (), now)
            return
        found = _with_moves(site, request, now, budget)
    except CutShort:
        found = None
    tally.taken.append((time.thread_time() - begun) * 1000)
    if found is None:
        tally.refused += 1
    else:
        tally.with_moves += 1
        site.lengthen(booking, interval.end, found.moves, now)


def _with_moves(site: Site, request: PlanRequest, now: datetime, budget: Budget) -> Rearrangement | None:
    rest = site.calendar.snapshot().without({each.reservation_id for each in request.demands})
    planned = movable_allocations(rest, request, now + LEAD, MOST_LOOKED_AT, budget)
    return rearrange(rest, request, site.demands(planned), budget, CHAINS)


def run(size: int, load: float, days: int, seed: int) -> Extensions:
    site, requests, tally = Site(size), Tally(), Extensions()
    rng = random.Random(seed)
    was_asked: set[str] = set()
    for now, booking in bookings(size, load, days, MOST_HOSTS, seed):
        site.forget(now)
        timed(requests, site, booking, now)
        running = [
            each for each in site.known.values() if each.interval.start <= now and each.id not in was_asked
        ]
        if running:
            asks = rng.choice(running)
            was_asked.add(asks.id)
            extend(site, asks, now, tally)
    site.check()
    return tally


HEAD = ("hosts", "load", "extensions", "as planned", "with moves", "refused", "median ms", "p99 ms")


def table(days: int = 60, seeds: int = 3) -> list[Sequence[object]]:
    rows: list[Sequence[object]] = [HEAD]
    for size in SIZES:
        for load in LOADS:
            runs = [run(size, load, days, seed) for seed in range(1, seeds + 1)]
            names = ("asked", "as_planned", "with_moves", "refused")
            taken = [each for one in runs for each in one.taken]
            times = statistics.median(taken), statistics.quantiles(taken, n=100)[-1]
            counts = [sum(getattr(each, name) for each in runs) for name in names]
            rows.append((size, load, *counts, *(round(each, 1) for each in times)))
            print(" | ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=60, help="how long requests arrive")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row")
    args = parser.parse_args()
    for row in table(args.days, args.seeds):
        print(" | ".join(map(str, row)))


if __name__ == "__main__":
    main()
