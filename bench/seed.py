"""A database as large as an operator's, with hosts, their traits and properties, and future leases."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.schema import upgrade
from blazar.domain.lease.change import new_events
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.resource import Allocation, Inventory, Pool, Registration
from blazar.domain.time import Interval, floor_minute

BATCH = 2000
TRAITS = [f"CUSTOM_BENCH_TRAIT_{n}" for n in range(250)]
YEAR = 365
OWNER = "bench"


def seed(path: Path, hosts: int, leases: int, traits: int = 100) -> None:
    """Create the database file at ``path``; the hosts have the names of the sandbox's hosts."""
    database = SqlDatabase(f"sqlite:///{path}")
    upgrade(database.engine)
    rng = random.Random(7)
    clock = SystemClock()
    now = clock.now()
    digits = max(2, len(str(hosts)))
    registrations = (
        host(n, f"compute-{n:0{digits}}", rng.sample(TRAITS, min(traits, len(TRAITS))), rng)
        for n in range(1, hosts + 1)
    )
    while batch := list(islice(registrations, BATCH)):
        database.transact(lambda uow, batch=batch: [uow.resources.add(each, now) for each in batch])
    future = _leases(hosts, leases, floor_minute(now), rng)
    while some := list(islice(future, BATCH)):
        database.transact(lambda uow, some=some: [uow.leases.add(lease, now) for lease in some])
    database.close()


def host(number: int, name: str, traits: Iterable[str], rng: random.Random) -> Registration:
    size = rng.choice((16, 32, 64, 128))
    amounts = {"VCPU": size, "MEMORY_MB": size * 4096, "DISK_GB": size * 20}
    return Registration(
        id=str(number),
        pool=Pool("host"),
        name=name,
        facts={
            "vcpus": size,
            "memory_mb": size * 4096,
            "local_gb": size * 20,
            "cpu_info": "{}",
            "hypervisor_type": "QEMU",
            "hypervisor_version": 8002002,
            "hypervisor_hostname": name,
            "service_name": name,
            "availability_zone": "nova",
        },
        capabilities={"rack": f"r{number % 40}", "gpus": str(number % 9)},
        traits=frozenset(traits),
        inventory={resource_class: Inventory(amount, amount) for resource_class, amount in amounts.items()},
    )


def _leases(hosts: int, leases: int, now: datetime, rng: random.Random) -> Iterator[Lease]:
    """Yield leases of one host each, spread evenly over hosts and a year, one after another on each host."""
    each = -(-leases // hosts)
    slot = timedelta(days=YEAR) / each
    for number in range(leases):
        host_id, turn = str(number % hosts + 1), number // hosts
        begin = floor_minute(now + timedelta(days=2) + turn * slot + slot * rng.uniform(0, 0.4))
        interval = Interval(begin, floor_minute(begin + slot * rng.uniform(0.1, 0.5)) + timedelta(minutes=1))
        yield lease_of(ids(rng), host_id, interval)


def ids(rng: random.Random) -> Iterator[str]:
    while True:
        yield str(UUID(int=rng.getrandbits(128), version=4))


def lease_of(ids: Iterator[str], host_id: str, interval: Interval) -> Lease:
    lease_id, reservation_id = next(ids), next(ids)
    parameters = {
        "min": 1,
        "max": 1,
        "hypervisor_properties": "",
        "resource_properties": "",
        "before_end": "default",
    }
    return Lease(
        id=lease_id,
        name=f"bench-{lease_id[:8]}",
        user_id=OWNER,
        project_id=OWNER,
        interval=interval,
        reservations=(
            Reservation(
                id=reservation_id,
                lease_id=lease_id,
                resource_id=next(ids),
                resource_type="physical:host",
                parameters=parameters,
                allocations=(Allocation(next(ids), reservation_id, lease_id, host_id, interval),),
            ),
        ),
        events=new_events(lease_id, interval, None, lambda: next(ids)),
    )
