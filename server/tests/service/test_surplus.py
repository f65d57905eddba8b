"""Tests of what reservations have given up: it is taken back in the cloud, and who comes after it waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.change import with_work
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.surplus import with_surplus
from blazar.domain.resource import Allocation
from blazar.service.events import WAITING

from .world import World, instances

PATIENCE = 6


def new_id() -> str:
    return str(uuid4())


def fail(world: World, *host_ids: str, is_up: bool = False) -> None:
    for host_id in host_ids:
        world.cloud.set_service(f"host{host_id}", is_up, True)


def repair(world: World, *host_ids: str) -> None:
    fail(world, *host_ids, is_up=True)
    for _ in range(4):
        world.look()


def give_up(world: World, *host_ids: str) -> None:
    """Let hosts fail for so long that the reservations on them are moved."""
    fail(world, *host_ids)
    world.look(minutes=PATIENCE)
    world.look(minutes=PATIENCE)


def moved_from_a_host_that_is_back(world: World, amount: int) -> tuple[Lease, str]:
    """A lease of so many instances, and the host that it had. A server that does not go is still there."""
    lease = world.reserve(instances(amount=amount), end=600)
    world.run_due()
    (host,) = world.hosts_of(lease)
    boot(world, lease, "tenant")
    world.cloud.state.undying.add("tenant")
    give_up(world, host)
    repair(world, host)
    return lease, host


def boot(world: World, lease: Lease, name: str) -> str:
    return world.cloud.boot_reserved(name, lease.reservations[0].id)


def servers_on(world: World, host: str) -> set[str]:
    return {server.id for server in world.cloud.state.servers.values() if server.host == host}


def surplus(world: World, lease: Lease) -> set[str]:
    return {a.resource_id for r in world.lease(lease).reservations for a in r.surplus}


def moved(world: World, lease: Lease, host_id: str) -> None:
    """Have the lease on another host, as healing moves it."""
    old = world.lease(lease)
    (reservation,) = old.reservations
    (had,) = reservation.allocations
    has = replace(had, id=new_id(), resource_id=host_id, bound=False)
    new = replace(old, reservations=(replace(reservation, allocations=(has,)),))
    now = world.clock.now()
    new = with_work(with_surplus(new, old, new_id), EventType.CONVERGE, now, new_id)
    world.database.transact(lambda uow: uow.leases.save(new, old, now))


def slots_on(world: World, lease: Lease) -> dict[str, int]:
    slots: dict[str, int] = {}
    for allocation in world.lease(lease).allocations:
        slots[allocation.resource_id] = slots.get(allocation.resource_id, 0) + allocation.slots
    return slots


def test_servers_without_a_slot_are_deleted_on_a_host_that_serves_fewer() -> None:
    world = World(hosts=2)
    lease = world.reserve(instances(amount=10), end=600)
    world.run_due()
    before = slots_on(world, lease)
    crowded = max(before, key=before.__getitem__)
    (other,) = {"1", "2"} - {crowded}
    names = [f"server{n}" for n in range(10)]
    for minute, name in enumerate(names):
        boot(world, lease, name)
        server = world.cloud.state.servers[name]
        world.cloud.state.servers[name] = replace(server, created=f"2030-01-01T08:0{minute}:00Z")
    there = servers_on(world, f"host{crowded}")
    old = world.lease(lease)
    (reservation,) = old.reservations
    fewer = tuple(
        replace(a, slots=a.slots - 2) if a.resource_id == crowded else a for a in reservation.allocations
    )
    new = replace(old, reservations=(replace(reservation, allocations=fewer),))
    now = world.clock.now()
    new = with_work(with_surplus(new, old, new_id), EventType.CONVERGE, now, new_id)
    world.database.transact(lambda uow: uow.leases.save(new, old, now))
    assert surplus(world, lease) == {crowded}
    world.advance(minutes=1)
    newest = set(sorted(there)[-2:])
    assert servers_on(world, f"host{crowded}") == there - newest
    assert surplus(world, lease) == set()
    assert servers_on(world, f"host{other}") == set(names) - there


def test_a_server_that_an_operator_has_brought_stays() -> None:
    """It is one more than there are slots, and none was given up."""
    world = World(hosts=2)
    lease = world.reserve(instances(amount=2), end=600)
    world.run_due()
    host = boot(world, lease, "first")
    boot(world, lease, "second")
    world.cloud.state.servers["third"] = replace(world.cloud.state.servers["first"], id="third")
    world.cloud.state.flavor_of["third"] = lease.reservations[0].id
    world.reconcile_all()
    world.advance(minutes=1)
    assert servers_on(world, host) == {"first", "second", "third"}


def test_the_next_lease_waits_for_servers_that_have_lost_their_slots() -> None:
    world = World(hosts=2)
    first, host = moved_from_a_host_that_is_back(world, 8)
    next_one = world.reserve(instances(amount=8), end=600)
    world.run_due()
    assert world.hosts_of(next_one) == {host}
    assert world.lease(next_one).status_reason == WAITING
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert world.lease(next_one).status is LeaseStatus.ACTIVE
    assert surplus(world, first) == set()


def test_a_lease_that_fits_beside_what_was_given_up_does_not_wait() -> None:
    world = World(hosts=2)
    first, host = moved_from_a_host_that_is_back(world, 4)
    filler = world.reserve(instances(amount=4), end=600)
    next_one = world.reserve(instances(amount=4), end=600)
    world.run_due()
    assert {*world.hosts_of(filler), *world.hosts_of(next_one)} == {"1", "2"}
    assert world.lease(filler).status is world.lease(next_one).status is LeaseStatus.ACTIVE
    assert surplus(world, first) == {host}


def test_two_leases_that_change_hosts_do_not_wait_for_each_other() -> None:
    world = World(hosts=2)
    one, other = world.create(end=600), world.create(end=600)
    world.run_due()
    (first,), (second,) = world.hosts_of(one), world.hosts_of(other)
    world.cloud.boot("tenant", f"host{first}", "demo")
    moved(world, one, second)
    moved(world, other, first)
    world.advance(minutes=1)
    assert world.cloud.hosts_in(one.reservations[0].id) == (f"host{second}",)
    assert world.cloud.hosts_in(other.reservations[0].id) == (f"host{first}",)
    assert servers_on(world, f"host{first}") == set()
    for lease in (one, other):
        assert [a.bound for a in world.lease(lease).allocations] == [True]
        assert surplus(world, lease) == set()
        assert all(event.event_type.is_public for event in world.lease(lease).events)


def test_what_waits_for_others_takes_nothing_and_is_not_tried_without_a_pause() -> None:
    """The lease gives its old host back, slowly, while it waits for its new one."""
    world = World(hosts=2)
    one, other = world.create(end=600), world.create(end=600)
    world.run_due()
    (first,), (second,) = world.hosts_of(one), world.hosts_of(other)
    for host_id in (first, second):
        world.cloud.boot(f"tenant{host_id}", f"host{host_id}", "demo")
        world.cloud.state.undying.add(f"tenant{host_id}")
    moved(world, one, second)
    moved(world, other, first)
    world.advance(minutes=5)
    assert world.cloud.hosts_in(one.reservations[0].id) == (f"host{first}",)
    (converge,) = [e for e in world.lease(one).events if not e.event_type.is_public]
    assert converge.attempts < 60
    world.cloud.state.undying.clear()
    world.advance(minutes=2)
    assert world.cloud.hosts_in(one.reservations[0].id) == (f"host{second}",)
    assert world.cloud.hosts_in(other.reservations[0].id) == (f"host{first}",)


def test_each_host_is_free_as_soon_as_it_is_empty() -> None:
    """One of two hosts that a lease has given up stays down; the other one is back."""
    world = World(hosts=4)
    lease = world.create(min=2, max=2, end=600)
    world.run_due()
    down, back = sorted(world.hosts_of(lease))
    world.cloud.boot("tenant", f"host{down}", "demo")
    world.cloud.state.undying.add("tenant")
    give_up(world, down, back)
    repair(world, back)
    assert surplus(world, lease) == {down}
    next_one = world.create(end=600)
    world.run_due()
    assert world.hosts_of(next_one) == {back}
    assert world.lease(next_one).status is LeaseStatus.ACTIVE


def test_a_lease_waits_for_no_surplus_of_its_own() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    (first,) = world.hosts_of(lease)
    (second,) = {"1", "2"} - {first}
    world.cloud.boot("tenant", f"host{first}", "demo")
    moved(world, lease, second)
    moved(world, lease, first)
    world.advance(minutes=1)
    assert world.cloud.hosts_in(lease.reservations[0].id) == (f"host{first}",)
    assert world.in_freepool() == {f"host{second}"}
    assert servers_on(world, f"host{first}") == {"tenant"}
    assert surplus(world, lease) == set()


def test_nothing_is_left_of_it_when_the_lease_is_over() -> None:
    world = World(hosts=2)
    lease = world.create(end=30)
    world.run_due()
    (first,) = world.hosts_of(lease)
    (second,) = {"1", "2"} - {first}
    world.cloud.boot("tenant", f"host{first}", "demo")
    world.cloud.state.undying.add("tenant")
    moved(world, lease, second)
    world.advance(minutes=31)
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    world.cloud.state.undying.clear()
    world.advance(minutes=2)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert surplus(world, lease) == set()
    assert world.in_freepool() == {"host1", "host2"}


def test_no_lease_waits_for_one_whose_start_has_failed() -> None:
    """It takes nothing back before its end."""
    world = World(hosts=3)
    lease = world.create(end=600)
    (first,) = world.hosts_of(lease)
    old = world.lease(lease)
    starting = replace(old, status=LeaseStatus.STARTING)
    world.database.transact(lambda uow: uow.leases.save(starting, old, world.clock.now()))
    moved(world, lease, "2" if first == "1" else "1")
    assert surplus(world, lease) == {first}

    def refused(call: str) -> None:
        raise CloudRefused(service="Nova", reason="Forbidden (HTTP 403)")

    world.cloud.before = refused
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.ERROR
    assert surplus(world, lease) == set()


def test_what_the_version_before_has_left_is_taken_back_by_a_comparison() -> None:
    """It settles the convergence, and knows no surplus."""
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    (first,) = world.hosts_of(lease)
    old = world.lease(lease)
    (reservation,) = old.reservations
    rest = Allocation(
        new_id(), reservation.id, lease.id, "2" if first == "1" else "1", reservation.allocations[0].interval
    )
    new = replace(old, reservations=(replace(reservation, surplus=(rest,)),))
    world.database.transact(lambda uow: uow.leases.save(new, old, world.clock.now()))
    world.clock.move_to(world.clock.now() + timedelta(hours=1))
    world.reconcile_all()
    world.run_due()
    assert surplus(world, lease) == set()
