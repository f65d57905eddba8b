"""Each lease is told once that it starts soon; what hosts do to leases and what offers hold is told as it
happens."""

from __future__ import annotations

from datetime import timedelta

from blazar.engine.start_soon import LOOK, StartSoon
from blazar.service.commands import CreateLease, CreateMaintenance

from .failures import fail, repair
from .world import ADMIN, DEMO, World, whole_hosts

NOTICE = timedelta(hours=1)


def looking(world: World) -> StartSoon:
    return StartSoon(world.database, world.kinds, world.clock, NOTICE)


def told(world: World, event_type: str = "lease.start_soon") -> list[str]:
    with world.database.read() as uow:
        found = [each for each in uow.outbox.peek(1000) if each.event_type == event_type]
    return [each.payload["lease_id"] for each in found]


def look_for(world: World, minutes: int, *managers: StartSoon) -> None:
    """Let time pass, with looks of all these managers."""
    for _ in range(minutes * 6):
        world.clock.pause(LOOK.total_seconds())
        for each in managers:
            assert each.round() == LOOK.total_seconds()


def test_a_lease_is_told_once_an_hour_before_it_starts() -> None:
    world = World(hosts=2)
    one, two = looking(world), looking(world)
    one.round()
    lease, late = world.create(start=70, end=90), world.create(start=200, end=260)
    look_for(world, 9, one, two)
    assert told(world) == []
    look_for(world, 3, one, two)
    assert told(world) == [lease.id]
    look_for(world, 40, two, one)
    assert told(world) == [lease.id]
    look_for(world, 100, one)
    assert told(world) == [lease.id, late.id]


def test_what_a_time_without_managers_left_out_is_told_where_it_is_ahead() -> None:
    world = World(hosts=3)
    looking(world).round()
    gone, ahead = world.create(start=65, end=70), world.create(start=100, end=120)
    world.clock.pause(80 * 60)
    looking(world).round()
    assert told(world) == [ahead.id]
    assert gone.id not in told(world)


def test_a_lease_of_the_next_minutes_and_one_that_was_deleted_are_not_told() -> None:
    world = World(hosts=2)
    manager = looking(world)
    manager.round()
    world.create(start=30)
    world.delete(world.create(start=90, end=120))
    look_for(world, 40, manager)
    assert told(world) == []


def test_a_lease_that_is_put_off_is_told_again() -> None:
    world = World(hosts=1)
    manager = looking(world)
    manager.round()
    lease = world.create(start=70, end=400)
    look_for(world, 12, manager)
    world.update(lease, start=world.in_minutes(200))
    look_for(world, 145, manager)
    assert told(world) == [lease.id, lease.id]


def test_what_fails_is_told_once_as_moved_or_degraded() -> None:
    world = World(hosts=4)
    lease = world.create(start=30, min=3, max=3)
    fail(world, "1")
    world.look()
    assert (told(world, "lease.moved"), told(world, "lease.degraded")) == ([lease.id], [])
    fail(world, "2")
    for _ in range(3):
        world.look()
    assert (told(world, "lease.moved"), told(world, "lease.degraded")) == ([lease.id], [lease.id])
    repair(world, "1", "2")
    world.look()
    world.look(2)
    assert told(world, "lease.degraded") == [lease.id]


def test_a_maintenance_tells_whom_it_moves_and_whom_it_degrades() -> None:
    world = World(hosts=2)
    moved = world.create(start=60, end=90)
    world.maintenances.create(take(world, "1"), ADMIN)
    assert (told(world, "lease.moved"), told(world, "lease.degraded")) == ([moved.id], [])
    world.maintenances.create(take(world, "2"), ADMIN)
    assert told(world, "lease.degraded") == [moved.id]


def take(world: World, host: str) -> CreateMaintenance:
    end = world.in_minutes(120)
    return CreateMaintenance((host,), world.in_minutes(50), end, "new disks", "ticket 7", True)


def test_an_offer_is_told_with_the_id_that_its_lease_will_have() -> None:
    world = World(hosts=1)
    start, end = world.in_minutes(60), world.in_minutes(120)
    command = CreateLease("lease", start, end, None, (whole_hosts(),))
    offer = world.offers.create(command, None, DEMO)
    assert told(world, "lease.offered") == [offer.id]
