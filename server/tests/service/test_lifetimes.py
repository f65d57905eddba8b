"""Hosts that are there from a date on, and until a date: nothing is promised on them at other times."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import Conflict, InvalidInput, MaintenanceNotFound, NotEnoughResources, NotFound
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.maintenance import EVERLASTING, Effect, EffectReason, Lifetime
from blazar.domain.time import FOREVER
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.errors import CantDeleteHost
from blazar.service.capacity import CapacityQuestion
from blazar.service.commands import (
    AvailabilityQuestion,
    CreateLease,
    CreateMaintenance,
    SetLifetime,
)
from blazar.service.maintenances import LifetimeDecision

from .failures import WHOLE, fail, failed, flags, only
from .world import ADMIN, DEMO, World, instances, servers, whole_hosts


def set_(world: World, host: str = "1", force: bool = False, **dates: Any) -> LifetimeDecision:
    moments = {name: None if at is None else world.in_minutes(at) for name, at in dates.items()}
    return world.lifetimes.set(SetLifetime(host, **moments, force=force), ADMIN)


def coming(world: World, minutes: float, host: str = "1", **more: Any) -> LifetimeDecision:
    return set_(world, host, available_from=minutes, **more)


def leaving(world: World, minutes: float, host: str = "1", **more: Any) -> LifetimeDecision:
    return set_(world, host, available_until=minutes, **more)


def told(decision: LifetimeDecision) -> list[tuple[str, Effect, EffectReason | None]]:
    return [(impact.lease_id, impact.effect, impact.reason) for impact in decision.impacts]


def of(world: World, host: str = "1") -> Lifetime:
    return world.lifetimes.list([host]).get(host, EVERLASTING)


def rows(world: World) -> int:
    with world.database.read() as uow:
        return uow.maintenances.count()


# what is promised


@pytest.mark.parametrize("request_of", [whole_hosts, instances, servers])
def test_nothing_is_reserved_before_a_host_comes_and_after_it_leaves(request_of: Any) -> None:
    world = World(hosts=1)
    decision = set_(world, available_from=60, available_until=180)
    assert decision == LifetimeDecision(Lifetime(world.in_minutes(60), world.in_minutes(180)), ())
    for start, end in ((0, 30), (30, 61), (59, 120), (120, 181), (180, 240), (100_000, 100_060)):
        with pytest.raises(NotEnoughResources):
            world.reserve(request_of(), start=start, end=end)
    for start, end in ((60, 120), (120, 180)):
        world.reserve(request_of(), start=start, end=end)


def test_a_refusal_tells_no_start_at_which_the_host_is_gone() -> None:
    world = World(hosts=1)
    leaving(world, 60)
    with pytest.raises(NotEnoughResources) as refused:
        world.create(start=30, end=90)
    assert "first possible start" not in refused.value.message
    coming(world, 30)
    with pytest.raises(NotEnoughResources) as refused:
        world.create(start=10, end=20)
    assert "first possible start 2030-01-01 08:30" in refused.value.message


def test_capacity_availability_and_offers_agree() -> None:
    world = World(hosts=2)
    coming(world, 60)
    leaving(world, 180, "2")
    assert _capacity(world, 240) == {0: 1, 60: 2, 180: 1}
    two = (whole_hosts(min=2, max=2),)
    question = AvailabilityQuestion(two, world.in_minutes(0), timedelta(hours=1))
    answer = world.availability.ask(question, DEMO)
    assert answer.answers[0].interval.start == world.in_minutes(60)
    with pytest.raises(NotEnoughResources):
        world.offers.create(
            CreateLease("", world.in_minutes(130), world.in_minutes(190), None, two), None, DEMO
        )
    world.offers.create(CreateLease("", world.in_minutes(60), world.in_minutes(180), None, two), None, DEMO)


def _capacity(world: World, until: int) -> dict[int, int]:
    question = CapacityQuestion(start=world.in_minutes(0), end=world.in_minutes(until), quantity="hosts")
    (hosts,) = world.capacity.get(question, DEMO).quantities
    return dict(zip(hosts.steps.minutes, hosts.steps.values["available"], strict=True))


def test_a_host_is_registered_before_it_is_there() -> None:
    world = World(hosts=1)
    world.hosts.unregister("1", ADMIN)
    lifetime = Lifetime(world.in_minutes(60), world.in_minutes(120))
    host = world.hosts.register(RegisterHost("host1", {}), ADMIN, lifetime)
    assert of(world, host.id) == lifetime
    with pytest.raises(NotEnoughResources):
        world.create(start=59, end=90)
    world.create(start=60, end=120)
    with pytest.raises(NotEnoughResources):
        world.create(start=120, end=130)


def test_two_managers_know_it_at_once() -> None:
    world = World(hosts=1)
    other = world.beside()
    other.create(start=200, end=210)  # its calendar is read
    coming(world, 60)
    with pytest.raises(NotEnoughResources):
        other.create(start=0, end=30)
    coming(other, 30)
    world.create(start=30, end=60)


def test_when_the_host_has_come_nothing_is_left_of_it() -> None:
    world = World(hosts=1)
    coming(world, 60)
    world.advance(60)
    assert of(world) == EVERLASTING
    world.create(end=30)
    assert rows(world) == 1
    world.maintenances.upkeep()
    assert rows(world) == 0


def test_the_end_outlives_the_beginning() -> None:
    world = World(hosts=1)
    set_(world, available_from=60, available_until=120)
    end = world.in_minutes(120)
    world.advance(70)
    world.maintenances.upkeep()
    assert of(world) == Lifetime(None, end)
    world.advance(60)
    world.maintenances.upkeep()
    assert of(world) == Lifetime(None, end)
    with pytest.raises(NotEnoughResources):
        world.create(end=10)
    set_(world, available_until=None)
    assert of(world) == EVERLASTING
    world.create(end=10)
    assert rows(world) == 0


# what becomes of leases


def active(world: World, **fields: Any) -> Lease:
    lease = world.create(**fields)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    return lease


def test_leases_that_have_not_begun_move() -> None:
    world = World(hosts=2)
    lease = world.create(start=30, end=90)
    host = only(world.hosts_of(lease))
    seen = world.lifetimes.preview(SetLifetime(host, available_until=world.in_minutes(60)), ADMIN)
    assert (rows(world), world.hosts_of(lease)) == (0, {host})
    decision = leaving(world, 60, host)
    assert told(decision) == told(seen) == [(lease.id, Effect.MOVES, None)]
    assert world.hosts_of(lease) == {"1", "2"} - {host}
    assert flags(world, lease) == WHOLE


def test_a_date_that_breaks_a_lease_is_refused_unless_it_is_forced() -> None:
    world = World(hosts=1)
    lease = world.create(start=30, end=90)
    decision = coming(world, 60)
    assert decision == LifetimeDecision(None, decision.impacts)
    assert told(decision) == [(lease.id, Effect.BREAKS, EffectReason.NOTHING_SUITS)]
    assert (of(world), flags(world, lease)) == (EVERLASTING, WHOLE)
    assert coming(world, 60, force=True).lifetime == Lifetime(world.in_minutes(60))
    assert flags(world, lease)[0]
    coming(world, 20)
    world.maintenances.tell_leases()
    assert flags(world, lease) == WHOLE, "the host is there in time again"


def test_servers_that_run_are_not_lost_without_force() -> None:
    world = World(hosts=2)
    lease = active(world, end=90)
    host = only(world.hosts_of(lease))
    assert told(leaving(world, 60, host)) == [(lease.id, Effect.BREAKS, EffectReason.HAS_BEGUN)]
    assert told(leaving(world, 90, host)) == [(lease.id, Effect.STAYS, EffectReason.ENDS_BEFORE)]


def test_only_what_is_taken_away_anew_is_told() -> None:
    world = World(hosts=1)
    lease = world.create(start=30, end=90)
    leaving(world, 60, force=True)
    assert told(set_(world, available_from=10)) == []
    assert told(leaving(world, 70)) == []
    assert told(leaving(world, 60)) == [(lease.id, Effect.BREAKS, EffectReason.NOTHING_SUITS)]


def test_what_is_given_back_is_not_taken_for_occupied() -> None:
    """The host comes earlier and leaves earlier: the time that it gains serves no lease by itself."""
    world = World(hosts=1)
    set_(world, available_from=60, available_until=240)
    world.create(start=60, end=120)
    assert told(set_(world, available_from=None, available_until=120)) == []
    world.create(start=0, end=60)


def test_a_maintenance_and_the_lifetime_do_not_overlap() -> None:
    world = World(hosts=1)
    coming(world, 60)
    disks = CreateMaintenance(("1",), world.in_minutes(30), world.in_minutes(90), "disks")
    with pytest.raises(Conflict, match="is not there at this time"):
        world.maintenances.create(disks, ADMIN)
    later = CreateMaintenance(("1",), world.in_minutes(60), world.in_minutes(90), "disks")
    made = world.maintenances.create(later, ADMIN).maintenance
    assert made is not None
    assert world.maintenances.list() == [made], "what bounds a lifetime is no maintenance"
    with pytest.raises(Conflict, match="under maintenance"):
        coming(world, 70)


def test_what_bounds_a_lifetime_is_no_maintenance() -> None:
    world = World(hosts=1)
    coming(world, 60)
    with world.database.read() as uow:
        (row,) = uow.maintenances.list()
    for of_maintenances in (world.maintenances.get, lambda id_: world.maintenances.delete(id_, ADMIN)):
        with pytest.raises(MaintenanceNotFound):
            of_maintenances(row.id)


# what is refused


def test_dates_that_make_no_sense_are_refused() -> None:
    world = World(hosts=1)
    for dates in (
        {"available_from": 60, "available_until": 60},
        {"available_until": -1},
        {"available_until": 0},
        {"available_from": 60_000_000},
    ):
        with pytest.raises(InvalidInput):
            set_(world, **dates)
        lifetime = Lifetime(**{name: world.in_minutes(at) for name, at in dates.items()})  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            world.hosts.register(RegisterHost("host1", {}), ADMIN, lifetime)
    with pytest.raises(NotFound):
        coming(world, 60, "99")
    assert rows(world) == 0


def test_a_date_in_the_past_says_that_the_host_is_there() -> None:
    world = World(hosts=1)
    assert coming(world, -60).lifetime == EVERLASTING
    assert rows(world) == 0


# deregistration and failures


def test_a_host_that_is_gone_is_deregistered_and_its_row_with_it() -> None:
    world = World(hosts=1)
    lease = active(world, end=60)
    leaving(world, 60)
    with pytest.raises(CantDeleteHost):
        world.hosts.unregister("1", ADMIN)
    world.advance(60)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    world.hosts.unregister("1", ADMIN)
    assert rows(world) == 0
    world.register("host1")
    world.create(end=30)


def test_a_host_that_is_not_there_does_not_fail() -> None:
    world = World(hosts=2)
    coming(world, 60)
    fail(world, "1")
    world.look()
    assert failed(world) == {}
    lease = world.create(start=60, end=90, min=2, max=2)
    world.advance(65)
    world.look()
    assert set(failed(world)) == {"1"}
    assert world.lease(lease).degraded or world.hosts_of(lease) == {"1", "2"}


def test_its_end_is_behind_all_leases() -> None:
    world = World(hosts=1)
    leaving(world, 60)
    with world.database.read() as uow:
        (row,) = uow.maintenances.list()
    assert row.interval.end == FOREVER
