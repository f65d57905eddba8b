"""Measure how long it takes to plan what newer kinds reserve, by the number of reservations that are ahead.

    python bench/amounts.py [--reservations 1000 10000 100000] [--rounds 100] [--seed 7]

Ports are amounts of one pool, and volumes of ten volume types: all reservations of a pool or type are on one
resource. Networks have a resource for each of 4,094 segments, and servers 10,000 hosts. Each request is for
another window of a year. What is measured is planning one request, taking over a commit of this manager, and
reading one of another manager, from SQLite."""

from __future__ import annotations

import argparse
import platform
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np
from planning import SMALL, START, measured, measured_each, planned
from planning import Setting as HostSetting
from planning import host as host_of
from sqlalchemy import insert

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase, tables
from blazar.adapters.db.rows import of_allocations, of_lease, of_reservations
from blazar.adapters.db.schema import upgrade
from blazar.domain.calendar.calendar import Calendar
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Registration, Resource, Usage
from blazar.domain.time import Interval
from blazar.service.calendars import Calendars

HOUR = timedelta(hours=1)
YEAR_HOURS = 365 * 24
LONGEST_HOURS = 14 * 24
SEGMENTS, VOLUME_TYPES, HOSTS = 4094, 10, 10_000
PORT, GIGABYTES, VOLUMES = "PORT", "GIGABYTE", "VOLUME"
RESERVATIONS = (1_000, 10_000, 100_000)

STEPS = ("plan", "take over a commit of this manager", "read a commit of another manager")

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


def measure(case: Case, reservations: int, rounds: int, seed: int, scratch: Path) -> list[str]:
    """Return the times of each step of ``STEPS``: median / 95th percentile in milliseconds."""
    calendar, rng = Calendar(), random.Random(seed)
    made = list(entries(case, reservations, seed))
    calendar.bulk_load(made)
    taken = [(resource, allocations) for resource, allocations in made if allocations]

    def question() -> PlanRequest:
        begin = START + rng.randrange(YEAR_HOURS - LONGEST_HOURS) * HOUR
        window = Interval(begin, begin + rng.randint(1, LONGEST_HOURS) * HOUR)
        return PlanRequest(window, (case.demand(rng),), cleaning=timedelta(minutes=10))

    snapshots = [calendar.snapshot()]

    def commit() -> None:
        """Take over a lease like one that is there, as this manager has committed it."""
        resource, allocations = rng.choice(taken)
        new = replace(rng.choice(allocations), id=f"new-{rng.random()}", lease_id=f"lease-{rng.random()}")
        calendar.advance(resource.id, calendar.generation_of(resource.id) or 0, [new])
        snapshots[:] = [calendar.snapshot()]

    database = stored(made, scratch / f"{uuid4()}.db")
    calendars = Calendars(database, SystemClock())

    def commit_of_another() -> Callable[[], object]:
        """Change a lease as another manager does, and return what this manager reads it with."""
        resource, allocations = rng.choice(taken)
        changed, now = rng.choice(allocations).lease_id, SystemClock().now()
        database.transact(lambda uow: uow.resources.touch([resource.id], now, [changed]))
        return lambda: calendars.snapshot(resource.pool)

    calendars.load(made[0][0].pool)
    found = (
        measured(planned(calendar, question), rounds),
        measured(commit, rounds),
        measured_each(commit_of_another, rounds),
    )
    database.close()
    return [f"{median:.2f} / {most:.2f}" for median, most in found]


def stored(entries: Sequence[Entry], file: Path) -> SqlDatabase:
    """Return a new database with these resources, and with a lease for each of their allocations."""
    # Long enough ago that it is no change for a manager that starts.
    database, now = SqlDatabase(f"sqlite:///{file}"), SystemClock().now() - HOUR
    upgrade(database.engine)
    database.transact(
        lambda uow: [uow.resources.add(Registration(each.id, each.pool, each.id), now) for each, _ in entries]
    )
    leases = [lease_of(each) for _, allocations in entries for each in allocations]
    with database.engine.begin() as connection:
        for written, columns_of in (
            (tables.leases, lambda each: {each.id: of_lease(each) | {"revision": 1}}),
            (tables.reservations, of_reservations),
            (tables.allocations, of_allocations),
        ):
            rows = ((id_, row) for each in leases for id_, row in columns_of(each).items())
            given = [{"id": id_, "created_at": now, **row} for id_, row in rows]
            connection.execute(insert(written), given)
    return database


def lease_of(allocation: Allocation) -> Lease:
    id_ = allocation.reservation_id
    reservation = Reservation(id_, allocation.lease_id, "", "any", {}, allocations=(allocation,))
    return Lease(allocation.lease_id, "", "", "", allocation.interval, reservations=(reservation,))


def table(
    scratch: Path, reservations: Sequence[int] = RESERVATIONS, rounds: int = 100, seed: int = 7
) -> list[Sequence[object]]:
    """Return a head and a row for each kind and each of ``STEPS``."""
    rows: list[Sequence[object]] = []
    for case in CASES:
        found = [measure(case, number, rounds, seed, scratch) for number in reservations]
        rows += [
            [f"{case.name}: {step}", *times]
            for step, times in zip(STEPS, zip(*found, strict=True), strict=True)
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
    with TemporaryDirectory() as folder:
        for row in table(Path(folder), options.reservations, options.rounds, options.seed):
            print(" | ".join(map(str, row)))


if __name__ == "__main__":
    main()
