"""Hosts that are kept as a buffer: no request gets them, and what has lost others does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import InvalidInput, NotEnoughResources, NotFound, Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.maintenance import Effect
from blazar.domain.resource import BUFFER_ID
from blazar.kinds.registered_hosts.errors import CantDeleteHost
from blazar.service.capacity import CapacityQuestion
from blazar.service.commands import CreateLease, CreateMaintenance, SetLifetime

from .failures import WHOLE, fail, flags, only
from .world import ADMIN, DEMO, World, instances, servers, whole_hosts


def keep(world: World, *hosts: str, is_buffer: bool = True) -> None:
    for host in hosts:
        world.buffers.set(host, is_buffer, ADMIN)


def any_may_fail(hosts: int) -> World:
    world = World(hosts=hosts)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=100)
    world.restart()
    return world


@pytest.mark.parametrize("request_of", [whole_hosts, instances, servers])
def test_no_request_gets_what_is_kept(request_of: Any) -> None:
    world = World(hosts=1)
    keep(world, "host1")
    assert list(world.buffers.list()) == ["1"]
    for start in (0, 100_000):
        with pytest.raises(NotEnoughResources):
            world.reserve(request_of(), start=start, end=start + 60)
    wish = CreateLease("", world.in_minutes(60), world.in_minutes(90), None, (request_of(),))
    with pytest.raises(NotEnoughResources):
        world.offers.create(wish, None, DEMO)
    keep(world, "1", is_buffer=False)
    assert list(world.buffers.list()) == []
    world.reserve(request_of())


def test_a_refusal_tells_what_is_kept_and_no_start() -> None:
    world = World(hosts=4)
    keep(world, "1", "2")
    with pytest.raises(NotEnoughResources) as refused:
        world.create(min=3, max=3)
    assert refused.value.message == (
        "Not enough hosts available: 4 hosts match, 2 of them are free; 2 of them are kept as a buffer."
    )


def test_what_has_failed_is_replaced_by_what_is_kept_where_nothing_else_is_free() -> None:
    world = any_may_fail(3)
    keep(world, "2")
    first = world.create(start=10, end=600)
    host = only(world.hosts_of(first))
    fail(world, host)
    world.look()
    (other,) = {"1", "3"} - {host}
    assert world.hosts_of(first) == {other}, "what is free goes before what is kept"
    fail(world, other)
    world.look()
    assert world.hosts_of(first) == {"2"}
    assert flags(world, first) == WHOLE
    assert list(world.buffers.list()) == ["2"]
    world.delete(first)
    world.run_due()
    with pytest.raises(NotEnoughResources):
        world.create(start=10, end=600)


def test_what_has_a_host_of_the_buffer_gets_no_second_one_beside_a_free_one() -> None:
    world = any_may_fail(4)
    lease = world.create(start=10, end=600, min=2, max=2)
    lost, own = sorted(world.hosts_of(lease))
    free, other = sorted({"1", "2", "3", "4"} - {lost, own})
    keep(world, own, other)
    fail(world, lost)
    world.look()
    assert world.hosts_of(lease) == {own, free}
    fail(world, free)
    world.look()
    assert world.hosts_of(lease) == {own, other}


def test_two_leases_do_not_get_the_same_host_of_the_buffer() -> None:
    world = any_may_fail(3)
    keep(world, "3")
    leases = [world.create(start=10, end=600) for _ in range(2)]
    fail(world, "1", "2")
    world.look()
    assert sorted(only(world.hosts_of(lease)) for lease in leases)[-1] == "3"
    assert sum(world.hosts_of(lease) == {"3"} for lease in leases) == 1
    assert sum(world.lease(lease).degraded for lease in leases) == 1


def test_a_maintenance_and_a_date_move_leases_to_what_is_kept() -> None:
    world = World(hosts=2)
    keep(world, "2")
    lease = world.create(start=60, end=120)
    command = CreateMaintenance(("1",), world.in_minutes(60), world.in_minutes(90), "disks")
    (impact,) = world.maintenances.preview(command, ADMIN).impacts
    assert impact.effect is Effect.MOVES
    decision = world.lifetimes.set(SetLifetime("1", available_until=world.in_minutes(90)), ADMIN)
    assert [each.effect for each in decision.impacts] == [Effect.MOVES]
    assert world.hosts_of(lease) == {"2"}


def test_what_is_on_a_host_that_is_kept_stays_and_ends() -> None:
    world = World(hosts=1)
    lease = world.create(start=30, end=60)
    keep(world, "1")
    assert (world.hosts_of(lease), flags(world, lease)) == ({"1"}, WHOLE)
    world.maintenances.upkeep()
    world.look()
    assert flags(world, lease) == WHOLE
    world.advance(90)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_capacity_shows_what_is_kept() -> None:
    world = World(hosts=3)
    world.create(start=0, end=60)
    keep(world, "1", "2")
    question = CapacityQuestion(start=world.in_minutes(0), end=world.in_minutes(60), tells_reserved=True)
    found = {each.name: each.steps.values for each in world.capacity.get(question, ADMIN).quantities}
    hosts = {name: values[0] for name, values in found["hosts"].items()}
    assert hosts == {"total": 3, "available": 1, "reserved": 1, "in_use": 1, "buffer": 2}
    vcpus = {name: values[0] for name, values in found["vcpus"].items()}
    assert (vcpus["buffer"], vcpus["reserved"]) == (2 * vcpus["total"] // 3, vcpus["total"] // 3)


def test_two_managers_agree_at_once() -> None:
    world = World(hosts=2)
    other = world.beside()
    other.create(start=200, end=210)  # its calendar is read
    keep(world, "1")
    keep(other, "2")
    assert list(world.buffers.list()) == list(other.buffers.list()) == ["1", "2"]
    for manager in (world, other):
        with pytest.raises(NotEnoughResources):
            manager.create(start=0, end=30)


def test_a_plan_that_stands_on_an_older_state_is_not_committed() -> None:
    world = World(hosts=1)
    with world.database.read() as uow:
        host = uow.resources.get("1")
    keep(world, "1")
    assert host is not None
    with pytest.raises(Stale):
        world.database.transact(lambda u: u.resources.bump({"1": host.generation}, world.clock.now()))


def test_a_host_of_the_buffer_is_not_deregistered() -> None:
    world = World(hosts=1)
    keep(world, "1")
    with pytest.raises(CantDeleteHost):
        world.hosts.unregister("1", ADMIN)
    keep(world, "1", is_buffer=False)
    world.hosts.unregister("1", ADMIN)
    with pytest.raises(NotFound):
        keep(world, "1")


def test_the_buffer_is_no_maintenance() -> None:
    world = World(hosts=2)
    keep(world, "1")
    keep(world, "1")
    assert list(world.maintenances.list()) == []
    with pytest.raises(NotFound):
        world.maintenances.delete(BUFFER_ID, ADMIN)
    command = CreateMaintenance(("1",), world.in_minutes(60), world.in_minutes(90), "disks")
    assert world.maintenances.create(command, ADMIN).maintenance is not None
    with pytest.raises(InvalidInput):
        world.maintenances.create(replace(command, resources=()), ADMIN)
