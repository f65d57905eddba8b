"""Measure how long it takes to plan what newer kinds reserve, by the number of reservations that are ahead.

    python bench/amounts.py [--reservations 1000 10000 100000] [--rounds 100] [--seed 7]

Ports are amounts of one pool, and volumes of ten volume types: all reservations of a pool or type are on one
resource. Networks have a resource for each of 4,094 segments, and servers 10,000 hosts. Each request is for
another window of a year. What is measured is planning one request, and putting the reservations of a resource
into the calendar anew, as each commit does."""

from __future__ import annotations

import argparse
import platform
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from planning import SMALL, START, measured, planned
from planning import Setting as HostSetting
from planning import host as host_of

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval

HOUR = timedelta(hours=1)
YEAR_HOURS = 365 * 24
LONGEST_HOURS = 14 * 24
SEGMENTS, VOLUME_TYPES, HOSTS = 4094, 10, 10_000
PORT, GIGABYTES, VOLUMES = "PORT", "GIGABYTE", "VOLUME"
RESERVATIONS = (1_000, 10_000, 100_000)

Entry = tuple[Resource, list[Allocation]]


@dataclass(frozen=True)
class Case:
    """The resources of a kind, what a reservation takes of one, and what is asked for."""

    name: str
    resources: Callable[[int, random.Random], Sequence[Resource]]
    """By the number of reservations, which have to fit."""
    usage: Usage
    demand: Callable[[random.Random], Demand]
    slots: int = 1
    is_whole: bool = False
    """Whether one reservation at a time has a resource."""


def ports(reservations: int, rng: random.Random) -> Sequence[Resource]:
    total = 20 * reservations
    return [Resource(id="port", pool=Pool("port"), inventory={PORT: Inventory(total, total)})]


def volume_types(reservations: int, rng: random.Random) -> Sequence[Resource]:
    amounts = {GIGABYTES: 200 * reservations, VOLUMES: 10 * reservations}
    inventory = {name: Inventory(amount, amount) for name, amount in amounts.items()}
    return [
        Resource(id=f"type-{number}", pool=Pool("volumetype"), inventory=inventory)
        for number in range(VOLUME_TYPES)
    ]


def segments(reservations: int, rng: random.Random) -> Sequence[Resource]:
    return [
        Resource(id=f"{number:04d}", pool=Pool("networksegment"), properties={"segment": str(number)})
        for number in range(SEGMENTS)
    ]


def hosts(reservations: int, rng: random.Random) -> Sequence[Resource]:
    setting = HostSetting(HOSTS, reservations, 365, 0.0, 7)
    return [host_of(number, setting, rng) for number in range(HOSTS)]


CASES = (
    Case("10 ports", ports, Usage({PORT: 1}), lambda rng: Demand("a", 10, 10, usage=Usage({PORT: 1})), 10),
    Case(
        "100 GB in 4 volumes of a type",
        volume_types,
        Usage({GIGABYTES: 100, VOLUMES: 4}),
        lambda rng: Demand(
            "a",
            1,
            1,
            usage=Usage({GIGABYTES: 100, VOLUMES: 4}),
            resources=frozenset({f"type-{rng.randrange(VOLUME_TYPES)}"}),
        ),
    ),
    Case("2 networks", segments, WHOLE, lambda rng: Demand("a", 2, 2), is_whole=True),
    Case("a server", hosts, SMALL, lambda rng: Demand("a", 1, 1, usage=SMALL)),
)


def entries(case: Case, reservations: int, seed: int) -> Iterable[Entry]:
    """Yield the resources with their reservations: at random over a year, or one after another."""
    rng = random.Random(seed)
    found = case.resources(reservations, rng)
    for at, resource in enumerate(found):
        count = reservations * (at + 1) // len(found) - reservations * at // len(found)
        stretch = YEAR_HOURS // max(count, 1)
        rows = []
        for number in range(count):
            if case.is_whole:
                begin, length = number * stretch, rng.randint(1, max(min(stretch, LONGEST_HOURS), 1))
            else:
                begin, length = rng.randrange(YEAR_HOURS), rng.randint(1, LONGEST_HOURS)
            name = f"{at:05d}-{number:06d}"
            rows.append(
                Allocation(
                    id=f"allocation-{name}",
                    reservation_id=f"reservation-{name}",
                    lease_id=f"lease-{name}",
                    resource_id=resource.id,
                    interval=Interval(START + begin * HOUR, START + (begin + length) * HOUR),
                    usage=case.usage,
                    slots=case.slots,
                )
            )
        yield resource, rows


def measure(case: Case, reservations: int, rounds: int, seed: int) -> tuple[str, str]:
    """Return the times of a plan and of a put: median / 95th percentile in milliseconds."""
    calendar, rng = Calendar(), random.Random(seed)
    made = list(entries(case, reservations, seed))
    calendar.bulk_load(made)

    def question() -> PlanRequest:
        begin = START + rng.randrange(YEAR_HOURS - LONGEST_HOURS) * HOUR
        window = Interval(begin, begin + rng.randint(1, LONGEST_HOURS) * HOUR)
        return PlanRequest(window, (case.demand(rng),), cleaning=timedelta(minutes=10))

    plan, put = (
        measured(planned(calendar, question), rounds),
        measured(lambda: calendar.put(*rng.choice(made)), rounds),
    )
    return f"{plan[0]:.2f} / {plan[1]:.2f}", f"{put[0]:.2f} / {put[1]:.2f}"


def table(
    reservations: Sequence[int] = RESERVATIONS, rounds: int = 100, seed: int = 7
) -> list[Sequence[object]]:
    """Return a head and two rows for each kind: planning, and putting a resource in anew."""
    rows: list[Sequence[object]] = []
    for case in CASES:
        found = [measure(case, number, rounds, seed) for number in reservations]
        rows += [
            [f"plan {case.name}", *(plan for plan, _ in found)],
            ["put its resource", *(put for _, put in found)],
        ]
    columns = [f"{number:,} reservations" for number in reservations]
    return [["median / 95th percentile, ms of CPU", *columns], *rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reservations", type=int, nargs="+", default=RESERVATIONS)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    for row in table(options.reservations, options.rounds, options.seed):
        print(" | ".join(map(str, row)))


if __name__ == "__main__":
    main()
