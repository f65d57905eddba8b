"""Measure decisions in a cloud of many regions, each with a calendar, by simulation in one process.

    python bench/regions.py [--regions 20] [--hosts 50000] [--reservations 500000] [--limit 7.5]

``--hosts`` and ``--reservations`` are of each region. No more regions are loaded than fit into ``--limit``
GiB. In each region ten hosts have a GPU, and but for the last region they are reserved throughout: a request
for one of them asks all regions. Nothing is stored: a commit is what it does to the calendars."""

from __future__ import annotations

import argparse
import gc
import platform
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import numpy as np

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.availability import AvailabilitySearch, Requests
from blazar.domain.planning.budget import DECISION, Budget
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.plan import Plan
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, pool_in
from blazar.domain.time import Interval
from blazar.kinds.host.kind import HostKind
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.regions import RegionChoice

START = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAYS = 365
GPUS = 10
KIND = HostKind()
GPU = '["==", "$gpu", "yes"]'
INVENTORIES = {
    size: {"VCPU": Inventory(size * 2, size), "MEMORY_MB": Inventory(size * 4096, size * 4096)}
    for size in (16, 32, 64, 128)
}
TRAITS = [f"CUSTOM_BENCH_TRAIT_{n}" for n in range(40)]
Ask = Callable[[], object]


def contents(
    region: str | None, hosts: int, reservations: int, is_last: bool, rng: random.Random
) -> Iterator[tuple[Resource, list[Allocation]]]:
    """Yield the hosts of a region with their reservations, each of one whole host, over a year."""
    pool, each = pool_in(POOL, region), reservations // hosts
    models = [frozenset(rng.sample(TRAITS, 20)) for _ in range(50)]
    stretch = 24 * DAYS // each
    for number in range(hosts):
        size, id_ = rng.choice((16, 32, 64, 128)), f"{region or 'first'}-{number}"
        has_gpu = number % (hosts // GPUS) == 0
        properties = {"vcpus": size, "rack": f"rack-{number // 40}", "region": region or "first"}
        made = Resource(
            id_, pool, properties | ({"gpu": "yes"} if has_gpu else {}), rng.choice(models), INVENTORIES[size]
        )
        if has_gpu:
            yield made, [] if is_last else [_reservation(id_, 0, 0, 24 * DAYS)]
            continue
        rows = []
        for at in range(each):
            length = rng.randint(min(4, stretch), stretch)
            begin = at * stretch + rng.randint(0, stretch - length)
            rows.append(_reservation(id_, at, begin, begin + length))
        yield made, rows


def _reservation(host: str, at: int, begin: int, end: int) -> Allocation:
    name = f"{host}-{at:04d}-8f1c-4a52-9d03"
    interval = Interval(START + begin * HOUR, START + end * HOUR)
    return Allocation(f"a-{name}", f"r-{name}", f"l-{name}", host, interval, WHOLE)


class Cloud:
    """The calendars of all regions."""

    def __init__(self) -> None:
        self.calendars: dict[Pool, Calendar] = {}
        self.regions: list[str | None] = []

    def snapshot(self, pool: Pool) -> CalendarSnapshot:
        return self.calendars[pool].snapshot()

    def asked(self, lease: Lease) -> Requests:
        demands: dict[Pool, list[Demand]] = {}
        for each in lease.reservations:
            demands.setdefault(KIND.pool_of(each), []).append(KIND.demand(each))
        return {pool: PlanRequest(lease.interval, tuple(some)) for pool, some in demands.items()}

    def decided(self, lease: Lease) -> tuple[Lease, Plan | None]:
        """Choose the regions and plan, as a create does."""
        search = AvailabilitySearch(self.snapshot, Budget(DECISION))
        choice = RegionChoice(self.regions, self.asked, search, None)
        chosen = choice.of(lease, [each.id for each in lease.reservations])
        return chosen, AvailabilitySearch(self.snapshot, Budget(DECISION)).fitting(self.asked(chosen))

    def commit(self, plan: Plan, number: int) -> None:
        """Do to the calendars what a commit of the plan does."""
        for index, added in enumerate(plan.added):
            id_, name = added.resource_id, f"new-{number}-{index}"
            made = Allocation(name, added.reservation_id, f"lease-{number}", id_, plan.interval)
            for calendar in self.calendars.values():
                calendar.advance(id_, plan.generations[id_], [made])


class Leases:
    """Leases of all sorts, each in another window."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._numbers = count(1)

    def lease(self, *wishes: tuple[int, str]) -> Lease:
        """Return a lease with a reservation for each wish: how many hosts, and with what properties."""
        begin = self._rng.randrange(24 * DAYS - 200)
        interval = Interval(START + begin * HOUR, START + (begin + self._rng.randint(1, 48)) * HOUR)
        lease_id = f"asked-{next(self._numbers)}"
        reservations = tuple(
            Reservation(f"{lease_id}-{at}", lease_id, "", KIND.resource_type, _parameters(hosts, properties))
            for at, (hosts, properties) in enumerate(wishes)
        )
        return Lease(lease_id, "bench", "user", "project", interval, reservations=reservations)


def _parameters(hosts: int, properties: str) -> dict[str, object]:
    sent = {"min": hosts, "max": hosts, "hypervisor_properties": "", "resource_properties": properties}
    return dict(KIND.encode(KIND.parse(sent)))


def resident() -> float:
    """Return the resident memory in GiB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 2**30


def load(options: argparse.Namespace) -> tuple[Cloud, list[float], list[float]]:
    """Return the cloud, and for each region the seconds that it took to load, and the memory since."""
    cloud, seconds, memory = Cloud(), [], [resident()]
    for number in range(options.regions):
        region = f"region-{number:02d}" if number else None
        rng = random.Random(options.seed + number)
        made = contents(region, options.hosts, options.reservations, number == options.regions - 1, rng)
        began, calendar = time.thread_time(), Calendar()
        calendar.bulk_load(made)
        seconds.append(time.thread_time() - began)
        cloud.calendars[pool_in(POOL, region)] = calendar
        cloud.regions.append(region)
        memory.append(resident())
        print(f"{number + 1} regions: {memory[-1]:.2f} GiB, {seconds[-1]:.1f} s", flush=True)
        if memory[-1] + (memory[-1] - memory[-2]) > options.limit and number + 1 < options.regions:
            print(f"The next region would not fit into {options.limit} GiB.")
            break
    return cloud, seconds, memory


def measured(ask: Ask, rounds: int) -> str:
    ask()
    taken = []
    for _ in range(rounds):
        began = time.thread_time()
        ask()
        taken.append((time.thread_time() - began) * 1000)
    return f"{statistics.median(taken):.2f} | {statistics.quantiles(taken, n=100)[-1]:.2f}"


def questions(cloud: Cloud, hosts: int, seed: int) -> dict[str, tuple[Ask, int]]:
    """Return what is measured, with the share of the rounds."""
    leases, numbers = Leases(seed), count(1)
    last = cloud.regions[-1]

    def one() -> None:
        assert cloud.decided(leases.lease((1, "")))[1] is not None

    def asking_all() -> None:
        lease, plan = cloud.decided(leases.lease((1, GPU)))
        assert plan is not None and lease.reservations[0].region == last

    def refused() -> None:
        assert cloud.decided(leases.lease((GPUS + 1, GPU)))[1] is None

    def full() -> None:
        assert cloud.decided(leases.lease((hosts, "")))[1] is None

    def across() -> Lease:
        lease, plan = cloud.decided(leases.lease((1, ""), (1, GPU)))
        regions = {each.region for each in lease.reservations}
        assert plan is not None and len(regions) == 1
        return lease

    def commit() -> None:
        lease = leases.lease((1, ""), (1, GPU))
        first, second = lease.reservations
        parts = replace(lease, reservations=(first, replace(second, region=last)))
        plan = AvailabilitySearch(cloud.snapshot, Budget(DECISION)).fitting(cloud.asked(parts))
        if plan is not None:
            cloud.commit(plan, next(numbers))

    return {
        "1 host, where the first region has it": (one, 1),
        "1 host with a GPU: all regions are asked, the last one has it": (asking_all, 1),
        "1 host, and 1 with a GPU, in one region": (across, 1),
        "11 hosts with a GPU: all regions are asked, and when they could be had": (refused, 10),
        "all hosts of a region: all are asked, and when they could be had": (full, 10),
        "plan and commit in two regions": (commit, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--hosts", type=int, default=50_000)
    parser.add_argument("--reservations", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--limit", type=float, default=7.5)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    gc.disable()  # as the service does while it loads
    cloud, seconds, memory = load(options)
    gc.freeze()
    gc.enable()
    each = (memory[-1] - memory[0]) / len(seconds)
    print(
        f"{len(seconds)} regions, {len(seconds) * options.hosts:,} hosts, "
        f"{len(seconds) * options.reservations:,} reservations: {memory[-1]:.2f} GiB, {each:.3f} GiB and "
        f"{statistics.median(seconds):.1f} s for each region, the making of what is loaded included"
    )
    print("| decision | median ms | p99 ms |\n| --- | --- | --- |")
    for name, (ask, share) in questions(cloud, options.hosts, options.seed).items():
        print(f"| {name} | {measured(ask, max(20, options.rounds // share))} |", flush=True)


if __name__ == "__main__":
    main()
