"""Measure how much of what is possible late binding promises, and how long a decision takes.

    python bench/late_binding.py [--days 60] [--seeds 3]

It needs OR-tools, which pip installs as ortools.

Requests for 1 to 32 hosts, of 4 hours to 7 days, arrive for up to 30 days ahead. The hosts are of three
classes, each of which can do what the ones before it can. Each request is decided as by the service: best fit
first, then with moves of what is only planned, within the service's budget. Where it is refused, CP-SAT of
OR-tools looks for any way to serve it from the same state: all leases that have not begun keep their times
and their numbers of hosts, and may be on any hosts of a class that will do.

Hosts of one class are alike, so how many of each class a lease gets is all that counts: what has begun holds
its hosts from now on, and intervals in the order of their starts never need more hosts than their peak. That
is why the model has numbers per class, and is exact."""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from sites import Unavailable

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.movable import Rearrangement
from blazar.domain.planning.plan import Plan
from blazar.domain.planning.planner import plan_if_it_fits
from blazar.domain.planning.rearrangement import movable_allocations, rearrange
from blazar.domain.resource import WHOLE, Allocation, Inventory, PlannedMove, Pool, Resource, Usage
from blazar.domain.time import Interval
from blazar.service.leases.late_binding import CHAINS, MOST_LOOKED_AT, STEPS
from blazar.service.leases.settings import LateBindingSettings

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

START = datetime(2030, 1, 1, tzinfo=UTC)
SHARES = (0.6, 0.3, 0.1)
"""Of the hosts, and of the requests, by class."""
LOADS = (0.8, 0.95, 1.2)
SIZES = (300, 1000)
MOST_HOSTS, LEAST_HOURS, MOST_HOURS = 32, 4, 168
LEAD = LateBindingSettings().lead
SECONDS = 30
"""For CP-SAT, for each refusal."""


def trait(level: int) -> str:
    return f"CUSTOM_CLASS_{level}"


def hosts(count: int) -> Iterator[tuple[Resource, int]]:
    """Yield hosts, each with its class."""
    bounds = [round(count * sum(SHARES[: level + 1])) for level in range(len(SHARES))]
    for number in range(count):
        level = next(at for at, bound in enumerate(bounds) if number < bound)
        traits = frozenset(trait(each) for each in range(1, level + 1))
        inventory = {"VCPU": Inventory(32, 32)}
        yield Resource(str(number), Pool("host"), {}, traits=traits, inventory=inventory), level


@dataclass(frozen=True, slots=True)
class Booking:
    """A lease of hosts of a class, or of a better one, or of parts of hosts."""

    id: str
    level: int
    interval: Interval
    count: int
    rows: tuple[Allocation, ...] = ()
    usage: Usage = WHOLE

    @property
    def demand(self) -> Demand:
        traits = frozenset((trait(self.level),) if self.level else ())
        return Demand(
            self.id, self.count, self.count, usage=self.usage, required_traits=traits, current=self.rows
        )


def bookings(
    hosts: int, load: float, days: int, most: int, seed: int, ahead: int = 30
) -> Iterator[tuple[datetime, Booking]]:
    """Yield arrivals for up to so many days ahead, which ask for so much of the hosts' time on average."""
    rng = random.Random(seed)
    mean = (1 + most) / 2 * (LEAST_HOURS + MOST_HOURS) / 2
    at, number = 0.0, 0
    while at < days * 24:
        begin = int((at + rng.uniform(0.5, ahead * 24)) * 60)
        interval = Interval(
            *(START + timedelta(minutes=m) for m in (begin, begin + rng.randint(240, 10_080)))
        )
        level = rng.choices(range(len(SHARES)), SHARES)[0]
        yield START + timedelta(hours=at), Booking(f"b{number}", level, interval, rng.randint(1, most))
        at, number = at + rng.expovariate(hosts * load / mean), number + 1


@dataclass
class Site:
    """The hosts, their calendar, and all leases that are not over."""

    size: int
    binds_late: bool = True
    known: dict[str, Booking] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pool = list(hosts(self.size))
        self.levels = {resource.id: level for resource, level in pool}
        self._on: dict[str, dict[str, Allocation]] = {resource.id: {} for resource, _ in pool}
        self.calendar = Calendar()
        self.calendar.bulk_load((resource, ()) for resource, _ in pool)

    def forget(self, now: datetime) -> None:
        for booking in [each for each in self.known.values() if each.interval.end <= now]:
            self._change(self.known.pop(booking.id).rows, ())

    def decide(self, booking: Booking, now: datetime) -> Rearrangement | None:
        """Return what is to be promised, as the service would; nothing is changed."""
        budget = Budget().part(STEPS)
        snapshot, request = self.calendar.snapshot(), PlanRequest(booking.interval, (booking.demand,))
        try:
            if found := plan_if_it_fits(snapshot, request, budget):
                return Rearrangement(found)
            if not self.binds_late:
                return None
            planned = movable_allocations(snapshot, request, now + LEAD, MOST_LOOKED_AT, budget)
            return rearrange(snapshot, request, self.demands(planned), budget, CHAINS)
        except CutShort:
            return None

    def demands(self, planned: Mapping[str, Sequence[Allocation]]) -> list[Demand]:
        """Return what may move, with what it has in the calendar."""
        return [replace(self.known[id_].demand, current=tuple(rows)) for id_, rows in planned.items()]

    def commit(self, booking: Booking, found: Rearrangement, now: datetime) -> None:
        self._move(found.moves, now)
        self.known[booking.id] = promised = replace(booking, rows=tuple(rows_of(booking, found.plan)))
        self._change((), promised.rows)

    def lengthen(self, booking: Booking, end: datetime, moves: Sequence[PlannedMove], now: datetime) -> None:
        """Store another end of a booking, and the moves that make room for it."""
        self._move(moves, now)
        longer = replace(booking, interval=Interval(booking.interval.start, end))
        rows = tuple(replace(each, interval=longer.interval) for each in booking.rows)
        self._change(booking.rows, rows)
        self.known[booking.id] = replace(longer, rows=rows)

    def _move(self, moves: Sequence[PlannedMove], now: datetime) -> None:
        gone: dict[str, list[PlannedMove]] = defaultdict(list)
        for move in moves:
            gone[move.allocation.lease_id].append(move)
        for id_, theirs in gone.items():
            booking = self.known[id_]
            assert booking.interval.start >= now + LEAD, "what has begun, or is about to, does not move"
            slots = Counter({each.resource_id: each.slots for each in booking.rows})
            for move in theirs:
                slots[move.allocation.resource_id] -= move.slots
                slots[move.resource_id] += move.slots
            assert min(slots.values()) >= 0 and slots.total() == booking.count
            rows = tuple(row(booking, resource_id, left) for resource_id, left in slots.items() if left)
            self._change(booking.rows, rows)
            self.known[id_] = replace(booking, rows=rows)

    def _change(self, before: Iterable[Allocation], after: Iterable[Allocation]) -> None:
        touched = set()
        for each in before:
            del self._on[each.resource_id][each.lease_id]
            touched.add(each.resource_id)
        for each in after:
            self._on[each.resource_id][each.lease_id] = each
            touched.add(each.resource_id)
        for resource_id in touched:
            self.calendar.occupy(resource_id, self._on[resource_id].values())

    def check(self) -> None:
        """Raise AssertionError where a host is promised twice, or is not what was asked for."""
        for resource_id, rows in self._on.items():
            ordered = sorted(each.interval for each in rows.values())
            assert all(one.end <= two.start for one, two in pairwise(ordered))
            assert all(self.known[id_].level <= self.levels[resource_id] for id_ in rows)


def row(booking: Booking, resource_id: str, slots: int = 1) -> Allocation:
    id_ = f"{booking.id}-{resource_id}"
    return Allocation(id_, booking.id, booking.id, resource_id, booking.interval, booking.usage, slots=slots)


def rows_of(booking: Booking, plan: Plan) -> Iterator[Allocation]:
    return (row(booking, each.resource_id, each.slots) for each in plan.assignments)


def is_possible(site: Site, asked: Booking, now: datetime) -> bool | None:
    """Return whether there is any way to serve a request; None where CP-SAT does not know in time."""
    model = cp_model.CpModel()
    levels = range(len(SHARES))
    fixed = [each for each in site.known.values() if each.interval.start < now + LEAD]
    moving = [asked, *(each for each in site.known.values() if each.interval.start >= now + LEAD)]
    counts = {
        each.id: [
            model.new_int_var(0, each.count if level >= each.level else 0, f"{each.id} {level}")
            for level in levels
        ]
        for each in moving
    }
    for each in moving:
        model.add(sum(counts[each.id]) == each.count)
    for moment in {each.interval.start for each in moving}:
        held = [0] * len(SHARES)
        for each in fixed:
            if moment < each.interval.end:
                for taken in each.rows:
                    held[site.levels[taken.resource_id]] += 1
        there = [each for each in moving if each.interval.start <= moment < each.interval.end]
        for level in levels:
            size = sum(1 for of_host in site.levels.values() if of_host == level)
            model.add(sum(counts[each.id][level] for each in there) <= size - held[level])
    return solved(model)


def solved(model: cp_model.CpModel, seconds: float = SECONDS) -> bool | None:
    """Return whether the model has a solution; None where CP-SAT does not know in time."""
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    return {cp_model.OPTIMAL: True, cp_model.FEASIBLE: True, cp_model.INFEASIBLE: False}.get(status)


@dataclass
class Tally:
    """What became of the requests."""

    accepted: int = 0
    with_moves: int = 0
    moved: int = 0
    refused: int = 0
    missed: int = 0
    """Refused, though there was a way."""
    unknown: int = 0
    taken: list[float] = field(default_factory=list)
    """Milliseconds of processor time of each decision."""

    @property
    def ratio(self) -> float:
        return self.accepted / (self.accepted + self.missed + self.unknown)


def run(size: int, load: float, days: int, seed: int, binds_late: bool = True) -> Tally:
    site, tally = Site(size, binds_late), Tally()
    for now, booking in bookings(size, load, days, MOST_HOSTS, seed):
        site.forget(now)
        found = timed(tally, site, booking, now)
        if found is None:
            possible = is_possible(site, booking, now)
            tally.missed += possible is True
            tally.unknown += possible is None
    site.check()
    return tally


def timed(tally: Tally, site: Site, booking: Booking, now: datetime) -> Rearrangement | None:
    """Decide, commit, and count."""
    begun = time.thread_time()
    found = site.decide(booking, now)
    tally.taken.append((time.thread_time() - begun) * 1000)
    if found is None:
        tally.refused += 1
    else:
        site.commit(booking, found, now)
        tally.accepted += 1
        tally.with_moves += bool(found.moves)
        tally.moved += len(found.moves)
    return found


def large(size: int = 10_000, leases: int = 100_000, rounds: int = 2000, seed: int = 1) -> Tally:
    """Decide on requests for one or two hosts, where so many leases are known already, within 60 days."""
    site, filling, tally = Site(size), Tally(), Tally()
    # All arrive at once.
    arrivals = (booking for _, booking in bookings(size, 10**9, 1, 2, seed, ahead=60))
    while len(site.known) < leases:
        timed(filling, site, next(arrivals), START)
    for _ in range(rounds):
        timed(tally, site, next(arrivals), START)
    site.check()
    return tally


HEAD = (
    "hosts",
    "load",
    "requests",
    "granted",
    "with moves",
    "moves",
    "refused",
    "of them possible",
    "not known",
    "granted of what is possible",
    "by best fit alone",
    "median ms",
    "p99 ms",
)


def table(days: int = 60, seeds: int = 3) -> list[Sequence[object]]:
    if cp_model is None:
        raise Unavailable("late-binding needs the solver of OR-tools: pip install ortools")
    rows: list[Sequence[object]] = [HEAD]
    for size in SIZES:
        for load in LOADS:
            runs = [run(size, load, days, seed) for seed in range(1, seeds + 1)]
            alone = [run(size, load, days, seed, binds_late=False) for seed in range(1, seeds + 1)]
            rows.append((size, load, *summed(runs), f"{ratio(alone):.2%}", *times(runs)))
            print(" | ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    full = large()
    granted, *others = (full.accepted, full.with_moves, full.moved, full.refused)
    rows.append((10_000, "100,000 leases", len(full.taken), granted, *others, *"----", *times([full])))
    return rows


def summed(runs: Sequence[Tally]) -> tuple[object, ...]:
    names = ("accepted", "with_moves", "moved", "refused", "missed", "unknown")
    sums = [sum(getattr(each, name) for each in runs) for name in names]
    return (sum(len(each.taken) for each in runs), *sums, f"{ratio(runs):.2%}")


def ratio(runs: Sequence[Tally]) -> float:
    accepted = sum(each.accepted for each in runs)
    return accepted / (accepted + sum(each.missed + each.unknown for each in runs))


def times(runs: Sequence[Tally]) -> tuple[float, float]:
    taken = [each for run in runs for each in run.taken]
    return round(statistics.median(taken), 2), round(statistics.quantiles(taken, n=100)[-1], 2)


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
