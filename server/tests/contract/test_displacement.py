"""Does every database store a lease and those that give way to it together, or nothing?"""

from __future__ import annotations

from typing import Any

import pytest
from service.world import ALT, DEMO, World, whole_hosts

from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.service.commands import CreateLease, PriorityWish, UpdateLease
from blazar.service.context import Caller
from blazar.service.ports import Database


def ask(world: World, priority: Priority, hosts: int, caller: Caller, name: str, **more: Any) -> Lease:
    dates = world.in_minutes(120), world.in_minutes(180)
    command = CreateLease(name, *dates, None, (whole_hosts(min=hosts, max=hosts),))
    return world.leases.create(command, caller, priority=PriorityWish(priority, True), **more)


@pytest.fixture
def world(database: Database) -> World:
    return World(hosts=3, database=database)


def test_the_smallest_choice_waits_in_the_same_commit(world: World) -> None:
    """Of three hosts, one lease has one and another two, and a third one needs two."""
    one = ask(world, Priority.LOW, 1, ALT, "one")
    two = ask(world, Priority.LOW, 2, ALT, "two")
    high = ask(world, Priority.HIGH, 2, DEMO, "high")
    assert high.priority is Priority.HIGH
    found = {each.name: each for each in world.leases.list(None)}
    assert found["two"] == world.lease(two)
    assert found["two"].status is LeaseStatus.WAITING
    assert (found["two"].allocations, found["two"].events) == ((), ())
    assert found["one"] == world.lease(one)
    assert found["one"].status is LeaseStatus.PENDING
    taken = world.hosts_of(high)
    assert len(taken) == 2
    assert taken.isdisjoint(world.hosts_of(one))
    world.leases.delete(high.id, DEMO)
    for _ in world.waitlist.walk():
        pass
    assert world.lease(two).status is LeaseStatus.PENDING
    assert len(world.hosts_of(two)) == 2


def test_a_lease_that_changes_meanwhile_is_looked_at_again(world: World) -> None:
    """Another manager gives it another priority after it was read, so that it does not give way."""
    two = ask(world, Priority.LOW, 3, ALT, "two")
    done: list[bool] = []

    def meddle() -> None:
        if not done:
            done.append(True)
            world.beside().leases.update(two.id, UpdateLease(), ALT, priority=PriorityWish(Priority.NORMAL))

    world.database.step = meddle
    waits = ask(world, Priority.NORMAL, 1, DEMO, "late", wait_until=world.in_minutes(60))
    assert waits.status is LeaseStatus.WAITING
    found = world.lease(two)
    assert (found.status, found.priority, len(found.allocations)) == (
        LeaseStatus.PENDING,
        Priority.NORMAL,
        3,
    )
