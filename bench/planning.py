"""Measure how long planning takes, on calendars of several sizes.

    python bench/planning.py [--hosts 10000] [--reservations 100000] [--rounds 300] [--seed 7]

Each calendar has hosts with traits, properties and three resource classes, and future reservations: a fifth
of them of whole hosts, or all of them of four instances each, over a year or within a month. Floating IPs
have their own calendar with as many addresses and reservations. Each request has another window and other
requirements, so that only the planner's own caches can make it faster than the one before."""

from __future__ import annotations

import argparse
import gc
import platform
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.planning.planner import Allowance, plan, with_first_fit
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval
from blazar.kinds.floatingip.names import ADDRESS, NETWORK_ID, floating_ip_id

START = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
TRAITS = [f"CUSTOM_BENCH_TRAIT_{n}" for n in range(250)]
SMALL = Usage({"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20})
NETWORK = "c5399af5-98cc-5905-b79c-36904b8f6a66"

PARALLEL = 2
"""How many instance reservations a host has at the same time."""


@dataclass(frozen=True)
class Setting:
    """The size and the content of a calendar."""

    hosts: int
    reservations: int
    days: int
    whole: float
    """The share of reservations of whole hosts; the others are of instances."""
    seed: int
    traits: int = 100

    @property
    def name(self) -> str:
        what = f"{self.whole:.0%} of whole hosts" if self.whole else "of instances"
        return f"{self.hosts:,} hosts, {self.reservations:,} reservations {what} in {self.days} days"


def host(number: int, setting: Setting, rng: random.Random) -> Resource:
    size = rng.choice((16, 32, 64, 128))
    return Resource(
        id=str(number),
        pool=Pool("host"),
        properties={
            "hypervisor_hostname": f"compute-{number}",
            "availability_zone": f"zone-{number % 5}",
            "vcpus": size,
            "memory_mb": size * 4096,
            "local_gb": size * 20,
            "hypervisor_type": "QEMU",
            "gpus": str(number % 9),
            "rack": f"rack-{number % 200}",
            "cpu": rng.choice(("zen3", "zen4", "icelake", "sapphire")),
        },
        traits=frozenset(rng.sample(TRAITS, setting.traits)),
        inventory={
            "VCPU": Inventory(size * 2, size),
            "MEMORY_MB": Inventory(size * 4096, size * 4096),
            "DISK_GB": Inventory(size * 20, size * 20),
        },
    )


def address(number: int, setting: Setting, rng: random.Random) -> Resource:
    text = f"10.0.{number // 256}.{number % 256}"
    return Resource(
        id=floating_ip_id(NETWORK, text),
        pool=Pool("floatingip"),
        properties={NETWORK_ID: NETWORK, ADDRESS: text},
    )


def with_allocations(
    setting: Setting, make: Callable[[int, Setting, random.Random], Resource] = host
) -> Iterable[tuple[Resource, list[Allocation]]]:
    """Yield resources with allocations that fit: one whole host, or ``PARALLEL`` instances, at a time."""
    rng = random.Random(setting.seed)
    each = setting.reservations // setting.hosts
    parallel = 1 if setting.whole else PARALLEL
    stretch = 24 * setting.days * parallel // each
    for number in range(1, setting.hosts + 1):
        made = make(number, setting, rng)
        rows = []
        for at in range(each):
            length = rng.randint(min(4, stretch), stretch)
            begin = at // parallel * stretch + rng.randint(0, stretch - length)
            whole = rng.random() < setting.whole
            name = f"{number:06d}-{at:04d}"
            rows.append(
                Allocation(
                    id=f"allocation-{name}",
                    reservation_id=f"reservation-{name}",
                    lease_id=f"lease-{name}",
                    resource_id=made.id,
                    interval=Interval(START + begin * HOUR, START + (begin + length) * HOUR),
                    usage=WHOLE if whole else Usage(dict(SMALL.amounts or {})),
                    slots=1 if whole else 4,
                )
            )
        yield made, rows


class Questions:
    """Requests of all kinds, each for another window."""

    def __init__(self, setting: Setting) -> None:
        self._rng = random.Random(setting.seed)
        self._hours = 24 * setting.days

    def _interval(self) -> Interval:
        begin = self._rng.randrange(self._hours - 200)
        return Interval(START + begin * HOUR, START + (begin + self._rng.randint(1, 168)) * HOUR)

    def _request(self, *demands: Demand) -> PlanRequest:
        return PlanRequest(self._interval(), demands, cleaning=timedelta(minutes=10))

    def one_host(self) -> PlanRequest:
        return self._request(Demand("a", 1, 1))

    def four_to_eight_hosts(self) -> PlanRequest:
        return self._request(Demand("a", 4, 8))

    def host_with_requirement(self) -> PlanRequest:
        least, zone = self._rng.randrange(128), self._rng.randrange(5)
        text = f'["and", [">=", "$vcpus", "{least}"], ["==", "$availability_zone", "zone-{zone}"]]'
        return self._request(Demand("a", 1, 1, requirement=parse(text)))

    def four_instances(self) -> PlanRequest:
        return self._request(Demand("a", 4, 4, usage=SMALL))

    def two_billion_instances(self) -> PlanRequest:
        return self._request(Demand("a", 1, 2**31, usage=Usage({"VCPU": 1})))

    def four_together(self) -> PlanRequest:
        return self._request(Demand("a", 4, 4, usage=SMALL, grouping=Grouping.TOGETHER))

    def four_apart(self) -> PlanRequest:
        return self._request(Demand("a", 4, 4, usage=SMALL, grouping=Grouping.APART))

    def _traits(self) -> dict[str, frozenset[str]]:
        one, two, three = self._rng.sample(TRAITS, 3)
        return {"required_traits": frozenset({one, two}), "forbidden_traits": frozenset({three})}

    def four_with_traits(self) -> PlanRequest:
        return self._request(Demand("a", 4, 4, usage=SMALL, **self._traits()))

    def three_kinds(self) -> PlanRequest:
        """One host, four instances and four servers of a flavor with traits, in one lease."""
        return self._request(
            Demand("a", 1, 1),
            Demand("b", 4, 4, usage=SMALL),
            Demand("c", 4, 4, usage=Usage({"VCPU": 4, "MEMORY_MB": 8192}), **self._traits()),
        )

    def two_floating_ips(self) -> PlanRequest:
        requirement = parse(f'["==", "${NETWORK_ID}", "{NETWORK}"]')
        return self._request(Demand("a", 2, 2, requirement=requirement, plural="floating IPs"))

    def too_many_hosts(self) -> PlanRequest:
        return self._request(Demand("a", 10**6, 10**6))

    def nearly_all_hosts(self, hosts: int) -> PlanRequest:
        return self._request(Demand("a", hosts * 99 // 100, hosts * 99 // 100))


def measured(ask: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return median and 95th percentile in milliseconds of CPU time, which other programs do not affect."""
    return measured_each(lambda: ask, rounds)


def measured_each(prepared: Callable[[], Callable[[], object]], rounds: int) -> tuple[float, float]:
    """Return the same of what is prepared for each round; the preparation does not count."""
    prepared()()
    taken = []
    for _ in range(rounds):
        ask = prepared()
        begun = time.thread_time()
        ask()
        taken.append((time.thread_time() - begun) * 1000)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def planned(calendar: Calendar, question: Callable[[], PlanRequest]) -> Callable[[], Plan | Shortage]:
    def ask() -> Plan | Shortage:
        snapshot, request, allowance = calendar.snapshot(), question(), Allowance()
        outcome = plan(snapshot, request, allowance)
        if isinstance(outcome, Shortage):
            return with_first_fit(snapshot, request, outcome, allowance)
        return outcome

    return ask


def measure(setting: Setting, rounds: int) -> dict[str, tuple[float, float]]:
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calendar = Calendar()
    calendar.bulk_load(with_allocations(setting))
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    entries = list(with_allocations(setting))
    begun = time.thread_time()
    calendar.bulk_load(entries)
    loading = (time.thread_time() - begun) * 1000
    del entries[200:]
    ask = Questions(setting)
    rng = random.Random(setting.seed)

    def put() -> None:
        calendar.put(*entries[rng.randrange(len(entries))])

    def put_beside_a_reader() -> None:
        nonlocal snapshot
        calendar.put(*entries[rng.randrange(len(entries))])
        snapshot = calendar.snapshot()

    results = {"load everything: ms / MB": (loading, memory), "put one host": measured(put, rounds)}
    snapshot = calendar.snapshot()
    results["put one host, and take a snapshot beside another"] = measured(put_beside_a_reader, rounds)
    del snapshot
    questions: dict[str, Callable[[], PlanRequest]] = {
        "one host": ask.one_host,
        "4 to 8 hosts": ask.four_to_eight_hosts,
        "one host, new requirement": ask.host_with_requirement,
        "4 instances": ask.four_instances,
        "up to 2^31 instances": ask.two_billion_instances,
        "4 instances, affinity": ask.four_together,
        "4 instances, anti-affinity": ask.four_apart,
        "4 servers of a flavor with new traits": ask.four_with_traits,
        "3 kinds in one lease: host, 4 instances, 4 servers": ask.three_kinds,
        "shortage: more hosts than exist": ask.too_many_hosts,
        "shortage: first fit": lambda: ask.nearly_all_hosts(setting.hosts),
    }
    for name, question in questions.items():
        slow = name.startswith(("shortage: first", "up to"))
        results[name] = measured(planned(calendar, question), max(20, rounds // 10) if slow else rounds)
    addresses = Calendar()
    addresses.bulk_load(with_allocations(replace(setting, whole=1.0), address))
    results["2 floating IPs"] = measured(planned(addresses, ask.two_floating_ips), rounds)
    return results


def table(
    hosts: int = 10_000, reservations: int = 100_000, rounds: int = 300, seed: int = 7
) -> list[Sequence[object]]:
    """Return a head and a row for each request: median / 95th percentile in milliseconds of CPU."""
    each = reservations // hosts
    settings = (
        Setting(100, 100 * each, 365, 0.2, seed),
        Setting(hosts, reservations, 365, 0.2, seed),
        Setting(hosts, reservations, 365, 0.0, seed),
        Setting(hosts, reservations, 30, 0.0, seed),
    )
    columns = [measure(setting, rounds) for setting in settings]
    rows = [[name, *(f"{c[name][0]:.2f} / {c[name][1]:.2f}" for c in columns)] for name in columns[0]]
    return [["median / 95th percentile, ms of CPU", *(setting.name for setting in settings)], *rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--reservations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    for row in table(options.hosts, options.reservations, options.rounds, options.seed):
        print(" | ".join(map(str, row)))


if __name__ == "__main__":
    main()
