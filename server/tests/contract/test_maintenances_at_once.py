"""Two managers, maintenances and leases at once: the transaction decides, in every database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from threading import Barrier

import pytest
from service.world import ADMIN, World

from blazar.domain.errors import Busy, Conflict, NotEnoughResources
from blazar.domain.lease.maintenance import Maintenance
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.commands import CreateMaintenance
from blazar.service.ports import Database

ROUNDS = 4


def test_a_host_is_given_or_taken_away_and_never_both(database: Database) -> None:
    world = World(hosts=5, database=database)
    managers = [world, *(world.beside() for _ in range(3))]
    for round_ in range(1, ROUNDS + 1):
        gate = Barrier(len(managers))
        start, end = round_ * 100, round_ * 100 + 50

        def work(
            number: int, gate: Barrier = gate, start: int = start, end: int = end
        ) -> Maintenance | str | None:
            manager = managers[number]
            gate.wait()
            try:
                if number % 2:
                    return manager.create(start=start, end=end).id
                hosts = ("1", "2") if number else ("2", "3")
                command = CreateMaintenance(
                    hosts, manager.in_minutes(start + 10), manager.in_minutes(end + 10), "disks"
                )
                return manager.maintenances.create(command, ADMIN).maintenance
            except (NotEnoughResources, Conflict, Busy) as refused:
                return type(refused).__name__

        with ThreadPoolExecutor(len(managers)) as threads:
            outcomes = list(threads.map(work, range(len(managers))))
        taken = [each for each in outcomes if isinstance(each, Maintenance)]
        assert len(taken) == 1, outcomes  # two of five hosts, and two leases find other ones
    with database.read() as uow:
        rows = uow.resources.allocations(POOL)
        assert len(uow.maintenances.list()) == ROUNDS
    for one, other in combinations(rows, 2):
        if one.resource_id == other.resource_id:
            assert not one.interval.overlaps(other.interval), (one, other)


def test_of_changes_of_the_buffer_at_once_none_is_lost(database: Database) -> None:
    world = World(hosts=5, database=database)
    world.buffers.set("5", True, ADMIN)
    managers = [world, *(world.beside() for _ in range(3))]
    gate = Barrier(len(managers))

    def work(number: int) -> None:
        gate.wait()
        managers[number].buffers.set(str(number + 1), True, ADMIN)

    with ThreadPoolExecutor(len(managers)) as threads:
        list(threads.map(work, range(len(managers))))
    assert list(world.buffers.list()) == ["1", "2", "3", "4", "5"]
    with pytest.raises(NotEnoughResources):
        managers[1].create(end=60)
