"""Room is made for a lease that does not fit as others are planned, by planning those elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import BlazarError, NotEnoughResources
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.time import Interval
from blazar.service.commands import (
    ByDuration,
    ClaimOffer,
    CreateLease,
    CreateMaintenance,
    PriorityWish,
    RequestKey,
    ReservationChange,
    UpdateLease,
)
from blazar.service.leases import LateBindingSettings
from blazar.service.metrics import NoMetrics
from blazar.service.notifications import LEASE_MOVED
from blazar.service.quotas import QuotaSettings

from .world import ADMIN, ALT, DEMO, Crash, Steps, World, floating_ips, instances, whole_hosts

HOUR = 60
DAY = 24 * HOUR


class Counted(NoMetrics):
    def __init__(self) -> None:
        self.counts: list[int] = []

    def replanned(self, leases: int) -> None:
        self.counts.append(leases)


def fragmented(world: World, start: float = DAY) -> tuple[Lease, Lease]:
    """Two hosts: one is planned for an early lease, the other one for a late one. Both are free in sum for a
    long one, for the two could share a host. Return both."""
    first = world.create("other", start=start, end=start + 2 * HOUR)
    early = world.create("early", start=start, end=start + HOUR)
    late = world.create("late", start=start + 2 * HOUR, end=start + 3 * HOUR)
    assert world.hosts_of(first) == world.hosts_of(late) != world.hosts_of(early)
    world.delete(first)
    return early, late


def ask(world: World, start: float = DAY, end: float = DAY + 3 * HOUR, **fields: Any) -> Lease:
    return world.create("new", start=start, end=end, **fields)


@pytest.fixture
def world() -> World:
    return World(hosts=2, metrics=Counted())


def counts(world: World) -> list[int]:
    assert isinstance(world.metrics, Counted)
    return world.metrics.counts


def moved_payloads(world: World) -> list[Mapping[str, Any]]:
    with world.database.read() as uow:
        return [each.payload for each in uow.outbox.peek(1000) if each.event_type == LEASE_MOVED]


def test_room_is_made_by_planning_another_lease_elsewhere(world: World) -> None:
    early, late = fragmented(world)
    before = world.lease(early), world.lease(late)
    new = ask(world)
    assert new.status is LeaseStatus.PENDING
    assert len(new.allocations) == 1
    after = world.lease(early), world.lease(late)
    moved = [now for was, now in zip(before, after, strict=True) if was != now]
    assert len(moved) == 1
    assert world.hosts_of(early) == world.hosts_of(late)
    assert world.hosts_of(new).isdisjoint(world.hosts_of(early))
    assert counts(world) == [1]
    for was, now in zip(before, after, strict=True):
        assert (now.status, now.status_reason, now.interval) == (was.status, None, was.interval)
        assert (now.events, now.degraded, now.asks_as(was)) == (was.events, False, True)
        assert len(now.allocations) == 1
        assert not now.reservations[0].resources_changed
    (told,) = moved_payloads(world)
    assert told["lease_id"] == moved[0].id
    assert told["status_reason"] == "It was planned on other resources at 2030-01-01 08:00, to make room."


def test_what_is_moved_starts_and_ends_where_it_is_planned_last(world: World) -> None:
    early, late = fragmented(world)
    new = ask(world)
    world.advance(DAY + 1)
    assert [world.lease(each).status for each in (early, late, new)] == [
        LeaseStatus.ACTIVE,
        LeaseStatus.PENDING,
        LeaseStatus.ACTIVE,
    ]
    world.advance(4 * HOUR)
    assert {world.lease(each).status for each in (early, late, new)} == {LeaseStatus.TERMINATED}
    assert len(world.in_freepool()) == 2


def test_it_can_be_switched_off() -> None:
    world = World(hosts=2, late_binding=LateBindingSettings(is_on=False))
    fragmented(world)
    with pytest.raises(NotEnoughResources):
        ask(world)


def test_what_does_not_fit_in_sum_is_refused_and_nothing_moves(world: World) -> None:
    early, late = fragmented(world)
    before = world.lease(early), world.lease(late)
    with pytest.raises(NotEnoughResources):
        ask(world, min=2, max=2)
    assert (world.lease(early), world.lease(late)) == before
    assert counts(world) == []


def test_where_it_fits_nothing_moves(world: World) -> None:
    early, late = fragmented(world)
    before = world.lease(early), world.lease(late)
    ask(world, end=DAY + 2 * HOUR)
    assert (world.lease(early), world.lease(late)) == before
    assert counts(world) == []


@pytest.mark.parametrize(("lead", "is_made"), [(DAY, True), (DAY + 2 * HOUR + 1, False)])
def test_what_starts_sooner_than_the_lead_stays(lead: int, is_made: bool) -> None:
    settings = LateBindingSettings(lead=timedelta(minutes=lead))
    world = World(hosts=2, late_binding=settings)
    early, late = fragmented(world)
    before = world.hosts_of(early), world.hosts_of(late)
    if is_made:
        ask(world)
        return
    with pytest.raises(NotEnoughResources):
        ask(world)
    assert (world.hosts_of(early), world.hosts_of(late)) == before


def test_a_kind_may_have_a_lead_of_its_own_or_never_move() -> None:
    for leads in ({"physical:host": timedelta(days=3)}, {"physical:host": None}):
        world = World(hosts=2, late_binding=LateBindingSettings(leads=leads))
        fragmented(world)
        with pytest.raises(NotEnoughResources):
            ask(world)
    others = {"virtual:instance": None, "virtual:floatingip": timedelta(days=3)}
    world = World(hosts=2, late_binding=LateBindingSettings(leads=others))
    fragmented(world)
    ask(world)


def test_what_has_begun_stays(world: World) -> None:
    early, late = fragmented(world)
    world.advance(DAY + 1)
    here = world.hosts_of(early)
    new = ask(world, start=10, end=3 * HOUR)  # from the middle of the early one to after the late one
    assert world.hosts_of(early) == here
    assert world.hosts_of(late) == here
    assert world.hosts_of(new).isdisjoint(here)
    assert counts(world) == [1]


def test_a_lease_whose_requirement_only_its_host_meets_stays(world: World) -> None:
    early, late = fragmented(world)
    for lease in (early, late):
        (host,) = world.hosts_of(lease)
        query = f'["==", "$hypervisor_hostname", "host{host}"]'
        asked = ReservationChange(lease.reservations[0].id, {"hypervisor_properties": query})
        world.update(lease, reservations=(asked,))
    before = world.lease(early), world.lease(late)
    with pytest.raises(NotEnoughResources):
        ask(world)
    assert (world.lease(early), world.lease(late)) == before


def test_a_dry_run_tells_that_it_fits_and_moves_nothing(world: World) -> None:
    early, late = fragmented(world)
    before = world.lease(early), world.lease(late)
    command = CreateLease(
        "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),)
    )
    found = world.leases.preview_displacing(command, DEMO)
    assert len(found.lease.allocations) == 1
    assert found.displaced == ()
    assert (world.lease(early), world.lease(late)) == before


def test_a_repeated_request_finds_its_lease(world: World) -> None:
    fragmented(world)
    command = CreateLease(
        "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),), "0" * 8
    )
    first = world.leases.create(command, DEMO, key=RequestKey("key", ""))
    assert world.leases.create(command, DEMO, key=RequestKey("key", "")).id == first.id
    assert counts(world) == [1]


def test_room_is_made_before_a_lease_gives_way(world: World) -> None:
    early, late = fragmented(world)
    command = CreateLease(
        "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),)
    )
    world.leases.create(command, DEMO, priority=PriorityWish(Priority.HIGH, True))
    assert {world.lease(each).status for each in (early, late)} == {LeaseStatus.PENDING}
    assert counts(world) == [1]


# what changes meanwhile


def meddling(world: World, meddle: Callable[[], None]) -> list[bool]:
    """Have ``meddle`` called once, just before the next commit."""
    done: list[bool] = []

    def step() -> None:
        if not done:
            done.append(True)
            meddle()

    world.database.step = step
    return done


def require_disjoint(world: World) -> None:
    """No host has two leases at once."""
    leases = [each for each in world.leases.list(None) if each.status is not LeaseStatus.TERMINATED]
    for number, one in enumerate(leases):
        for other in leases[:number]:
            if one.interval.overlaps(other.interval):
                assert set(one.resource_ids).isdisjoint(other.resource_ids)


def test_a_lease_that_takes_the_room_meanwhile_makes_the_plan_stale(world: World) -> None:
    fragmented(world)
    other = world.beside()
    meddling(world, lambda: ask(other) and None)
    with pytest.raises(NotEnoughResources):
        ask(world)
    require_disjoint(world)
    assert len(world.leases.list(None)) == 3


def test_a_lease_that_grows_meanwhile_is_planned_as_it_is_then(world: World) -> None:
    early, late = fragmented(world)
    other = world.beside()

    def meddle() -> None:
        other.update(early, end=other.in_minutes(DAY + 2 * HOUR))

    done = meddling(world, meddle)
    ask(world)
    assert done
    require_disjoint(world)
    assert world.lease(early).interval.duration == timedelta(hours=2)
    assert world.hosts_of(early) == world.hosts_of(late)


def test_a_lease_that_grows_into_the_room_is_not_moved(world: World) -> None:
    early, late = fragmented(world)
    other = world.beside()
    done = meddling(world, lambda: other.update(early, end=other.in_minutes(DAY + 3 * HOUR)) and None)
    with pytest.raises(NotEnoughResources):
        ask(world)
    assert done
    assert len(world.lease(late).allocations) == 1
    require_disjoint(world)


def test_a_lease_that_begins_meanwhile_is_not_moved() -> None:
    world = World(hosts=2, late_binding=LateBindingSettings(lead=timedelta(minutes=1)))
    early, _ = fragmented(world, start=5)
    here = world.hosts_of(early)
    other = world.beside()
    other.clock = world.clock

    def meddle() -> None:
        world.database.step = lambda: None
        other.advance(6)

    meddling(world, meddle)
    new = ask(world, start=10, end=3 * HOUR)
    assert world.lease(early).status is LeaseStatus.ACTIVE
    assert world.hosts_of(early) == here
    assert world.hosts_of(new).isdisjoint(here)
    require_disjoint(world)


def test_a_lease_that_is_deleted_meanwhile_needs_no_place(world: World) -> None:
    early, _ = fragmented(world)
    other = world.beside()
    meddling(world, lambda: other.delete(early))
    ask(world)
    assert counts(world) in ([], [1])
    require_disjoint(world)


def test_a_crash_leaves_all_or_nothing() -> None:
    for crash_at in range(1, 4):
        world = World(hosts=2)
        early, late = fragmented(world)
        before = world.lease(early), world.lease(late)
        steps = Steps(crash_at)
        world.database.step = steps.step
        command = CreateLease(
            "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),), "0" * 8
        )
        try:
            world.leases.create(command, DEMO)
        except Crash:
            world.database.step = lambda: None
            world.restart()
            made = [each for each in world.leases.list(None) if each.id == "0" * 8]
            assert bool(made) == ((world.lease(early), world.lease(late)) != before)
            world.leases.create(command, DEMO)
        require_disjoint(world)
        assert world.hosts_of(early) == world.hosts_of(late)


# what else is planned


def test_a_maintenance_stays_and_room_is_made_beside_it() -> None:
    world = World(hosts=3)
    away = {"3"}
    world.maintenances.create(
        CreateMaintenance(tuple(away), world.in_minutes(DAY), world.in_minutes(2 * DAY), "x"), ADMIN
    )
    early, late = fragmented(world)
    new = ask(world)
    assert not away & (world.hosts_of(new) | world.hosts_of(early) | world.hosts_of(late))
    require_disjoint(world)


def test_servers_that_stay_together_move_together() -> None:
    """One host has two servers of 2 VCPUs, which stay together, the other one a server of 4 a bit later."""
    world = World(hosts=2)
    first = world.reserve(whole_hosts(), start=DAY, end=DAY + 30)
    pair = world.reserve(instances(vcpus=2, amount=2, affinity=True), start=DAY, end=DAY + 30)
    single = world.reserve(instances(vcpus=4), start=DAY + 30, end=DAY + HOUR)
    single_at, pair_at = world.hosts_of(single), world.hosts_of(pair)
    assert len(pair_at) == 1
    assert pair_at != single_at == world.hosts_of(first)
    world.delete(first)
    new = world.reserve(whole_hosts(), start=DAY, end=DAY + HOUR)
    assert world.hosts_of(pair) == world.hosts_of(single)
    assert world.hosts_of(new).isdisjoint(world.hosts_of(pair))
    assert sum(each.slots for each in world.lease(pair).allocations) == 2


def test_an_address_that_is_named_by_another_lease_is_given_to_it() -> None:
    world = World(hosts=1, floating_ips=2)
    any_one = world.reserve(floating_ips(), start=DAY, end=DAY + HOUR)
    (taken,) = (each.resource_id for each in world.lease(any_one).allocations)
    address = next(each.name for each in world.floatingips.list() if each.id == taken).removeprefix("public/")
    named = floating_ips(required_floatingips=[address])
    new = world.reserve(named, start=DAY, end=DAY + HOUR, caller=ALT)
    assert world.hosts_of(new) == {taken}
    assert len(world.hosts_of(any_one)) == 1
    assert world.hosts_of(any_one) != {taken}
    with pytest.raises(NotEnoughResources):  # it stays with the lease that has named it
        world.reserve(named, start=DAY, end=DAY + HOUR)


# leases that change


def behind(world: World, lead: float = DAY) -> tuple[Lease, Lease]:
    """A lease that is active on one of two hosts, and one that is planned after it on the same one."""
    running = world.create("running", end=lead)
    world.advance(1)
    later = world.create("later", start=lead, end=lead + HOUR)
    assert world.lease(running).status is LeaseStatus.ACTIVE
    assert world.hosts_of(running) == world.hosts_of(later)
    return running, later


def test_an_active_lease_is_extended_where_another_one_is_planned(world: World) -> None:
    running, later = behind(world)
    here = world.hosts_of(running)
    extended = world.update(running, end=world.in_minutes(DAY + HOUR))
    assert world.hosts_of(extended) == here
    assert [each.bound for each in extended.allocations] == [True]
    assert world.hosts_of(later).isdisjoint(here)
    assert counts(world) == [1]
    (told,) = moved_payloads(world)
    assert told["lease_id"] == later.id
    require_disjoint(world)
    world.advance(DAY)
    assert {world.lease(each).status for each in (running, later)} == {LeaseStatus.ACTIVE}
    world.advance(2 * HOUR)
    assert {world.lease(each).status for each in (running, later)} == {LeaseStatus.TERMINATED}
    assert len(world.in_freepool()) == 2


def test_an_active_lease_grows_by_a_host_on_which_another_one_is_planned() -> None:
    world = World(hosts=3, metrics=Counted())
    running = world.create("running", end=DAY)
    world.advance(1)
    first = world.create("first", start=2 * HOUR, end=4 * HOUR)
    early = world.create("early", start=2 * HOUR, end=3 * HOUR)
    late = world.create("late", start=5 * HOUR, end=6 * HOUR)
    world.delete(first)
    assert world.hosts_of(early).isdisjoint(world.hosts_of(late))
    here = world.hosts_of(running)
    wanted = ReservationChange(running.reservations[0].id, {"min": 2, "max": 2})
    grown = world.update(running, reservations=(wanted,))
    assert len(world.hosts_of(grown)) == 2
    assert here < world.hosts_of(grown)
    assert world.hosts_of(early) == world.hosts_of(late)
    require_disjoint(world)
    world.run_due()
    assert world.lease(running).allocations[0].bound
    assert counts(world) == [1]


def test_a_lease_ahead_is_made_longer_where_no_host_is_free_for_all_of_it(world: World) -> None:
    early, late = fragmented(world)
    one = world.create("one", start=DAY, end=DAY + 2 * HOUR)
    assert world.hosts_of(one) == world.hosts_of(late) != world.hosts_of(early)
    longer = world.update(one, end=world.in_minutes(DAY + 3 * HOUR))
    assert world.hosts_of(early) == world.hosts_of(late)
    assert world.hosts_of(longer).isdisjoint(world.hosts_of(late))
    assert counts(world) == [1]
    require_disjoint(world)


def test_a_lease_of_instances_that_is_active_is_extended() -> None:
    world = World(hosts=2, metrics=Counted())
    running = world.reserve(instances(vcpus=8, amount=1), end=DAY)
    world.advance(1)
    here = world.hosts_of(running)
    later = world.create("later", start=DAY, end=DAY + HOUR)
    if world.hosts_of(later) != here:
        later = world.create("later", start=DAY, end=DAY + HOUR)
        world.delete(world.leases.list(None)[1])
    assert world.hosts_of(later) == here
    extended = world.update(running, end=world.in_minutes(DAY + HOUR))
    assert world.hosts_of(extended) == here
    assert world.hosts_of(later).isdisjoint(here)
    assert counts(world) == [1]


def test_an_update_moves_nothing_within_the_lead_and_nothing_where_it_is_off() -> None:
    for settings in (LateBindingSettings(lead=timedelta(days=2)), LateBindingSettings(is_on=False)):
        world = World(hosts=2, late_binding=settings)
        running, later = behind(world)
        before = world.lease(running), world.lease(later)
        with pytest.raises(NotEnoughResources):
            world.update(running, end=world.in_minutes(DAY + HOUR))
        assert (world.lease(running), world.lease(later)) == before


def test_a_dry_run_of_an_update_tells_that_it_fits_and_moves_nothing(world: World) -> None:
    running, later = behind(world)
    before = world.lease(running), world.lease(later)
    end = world.in_minutes(DAY + HOUR)
    shown = world.leases.preview_update(running.id, UpdateLease(end=end), DEMO)
    assert shown.interval.end == end
    assert (world.lease(running), world.lease(later)) == before


def test_a_lease_that_takes_the_place_of_one_that_moves_makes_the_change_stale(world: World) -> None:
    running, later = behind(world)
    before, other = world.hosts_of(later), world.beside()
    done = meddling(world, lambda: ask(other, start=DAY, end=DAY + HOUR) and None)
    with pytest.raises(NotEnoughResources):
        world.update(running, end=world.in_minutes(DAY + HOUR))
    assert done
    assert world.hosts_of(later) == before
    require_disjoint(world)


def test_a_lease_that_begins_while_another_one_is_extended_is_not_moved() -> None:
    world = World(hosts=2, late_binding=LateBindingSettings(lead=timedelta(minutes=1)))
    running, later = behind(world, lead=10)
    other = world.beside()
    other.clock = world.clock

    def meddle() -> None:
        world.database.step = lambda: None
        other.update(running, end=other.in_minutes(2))  # so that the other one can begin
        other.advance(12)

    meddling(world, meddle)
    with pytest.raises(BlazarError):
        world.update(running, end=world.in_minutes(DAY))
    assert world.lease(later).status is LeaseStatus.ACTIVE
    require_disjoint(world)


def test_a_crash_of_an_update_leaves_all_or_nothing() -> None:
    for crash_at in range(1, 4):
        world = World(hosts=2)
        running, later = behind(world)
        before, end = world.hosts_of(later), world.in_minutes(DAY + HOUR)
        world.database.step = Steps(crash_at).step
        with suppress(Crash):
            world.update(running, end=end)
        world.database.step = lambda: None
        world.restart()
        assert (world.lease(running).interval.end == end) == (world.hosts_of(later) != before)
        world.update(running, end=end)
        require_disjoint(world)


# leases that wait


def test_a_lease_that_waits_is_promoted_when_room_can_be_made(world: World) -> None:
    early, late = fragmented(world)
    third = world.create("third", start=DAY + HOUR, end=DAY + 2 * HOUR)
    blocker = world.create("blocker", start=DAY + HOUR, end=DAY + 2 * HOUR)
    command = CreateLease(
        "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),)
    )
    waiting = world.leases.create(command, DEMO, wait_until=world.in_minutes(DAY))
    assert waiting.status is LeaseStatus.WAITING
    world.delete(third)
    for _ in world.waitlist.walk():
        pass
    promoted = world.lease(waiting)
    assert promoted.status is LeaseStatus.PENDING
    require_disjoint(world)
    assert world.hosts_of(early) == world.hosts_of(late) == world.hosts_of(blocker)
    assert moved_payloads(world)


def test_nothing_moves_for_a_lease_that_waits_behind_another_one(world: World) -> None:
    early, late = fragmented(world)
    both = whole_hosts(min=2, max=2)
    first = CreateLease("first", world.in_minutes(DAY), world.in_minutes(DAY + 4 * HOUR), None, (both,))
    third = world.create("third", start=DAY + HOUR, end=DAY + 2 * HOUR)
    fourth = world.create("fourth", start=DAY + HOUR, end=DAY + 2 * HOUR)
    second = CreateLease(
        "second", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),)
    )
    waiting = [world.leases.create(each, DEMO, wait_until=world.in_minutes(DAY)) for each in (first, second)]
    world.delete(third)
    before = [world.hosts_of(each) for each in (early, late, fourth)]
    for _ in world.waitlist.walk():
        pass
    assert {world.lease(each).status for each in waiting} == {LeaseStatus.WAITING}
    assert [world.hosts_of(each) for each in (early, late, fourth)] == before
    world.delete(waiting[0])
    for _ in world.waitlist.walk():
        pass
    assert world.lease(waiting[1]).status is LeaseStatus.PENDING
    require_disjoint(world)


# as early as can be


def as_early_as_can_be(world: World, **fields: Any) -> Lease:
    command = CreateLease("new", world.in_minutes(DAY), None, None, (whole_hosts(**fields),))
    return world.leases.create(command, DEMO, by_duration=ByDuration(timedelta(hours=3), earliest=True))


def test_a_lease_that_starts_as_early_as_can_be_has_room_made_at_the_first_start(world: World) -> None:
    early, late = fragmented(world)
    new = as_early_as_can_be(world)
    assert new.interval == Interval(world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR))
    assert world.hosts_of(early) == world.hosts_of(late)
    assert counts(world) == [1]
    require_disjoint(world)


def test_it_starts_later_where_no_room_is_made(world: World) -> None:
    early, late = fragmented(world)
    before = world.lease(early), world.lease(late)
    assert as_early_as_can_be(world, min=2, max=2).interval.start == world.in_minutes(DAY + 3 * HOUR)
    assert (world.lease(early), world.lease(late)) == before


def test_it_starts_later_where_a_quota_does_not_allow_the_first_start() -> None:
    world = World(hosts=2, metrics=Counted(), quota=QuotaSettings(limits={"hosts": 2}))
    fragmented(world)
    world.quotas.set("demo", {"hosts": 1})
    new = as_early_as_can_be(world)
    assert new.interval.start == world.in_minutes(DAY + 3 * HOUR)
    assert counts(world) == []
    world.quotas.set("demo", {"hosts": 2})
    world.delete(new)
    assert as_early_as_can_be(world).interval.start == world.in_minutes(DAY)


def test_a_lease_that_takes_the_room_meanwhile_makes_it_start_later(world: World) -> None:
    fragmented(world)
    other = world.beside()
    meddling(world, lambda: ask(other) and None)
    assert as_early_as_can_be(world).interval.start == world.in_minutes(DAY + 3 * HOUR)
    require_disjoint(world)


# offers


def test_an_offer_is_held_where_another_lease_was_planned(world: World) -> None:
    early, late = fragmented(world)
    command = CreateLease(
        "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),)
    )
    offer = world.offers.create(command, None, DEMO)
    (held,) = offer.lease.resource_ids
    assert world.hosts_of(early) == world.hosts_of(late) != {held}
    assert counts(world) == [1]
    assert len(moved_payloads(world)) == 1
    with pytest.raises(NotEnoughResources):
        ask(world)
    claimed = world.offers.claim(offer.id, ClaimOffer("mine"), DEMO)
    assert claimed.resource_ids == offer.lease.resource_ids
    require_disjoint(world)


def test_a_lease_that_takes_the_room_meanwhile_makes_an_offer_stale(world: World) -> None:
    fragmented(world)
    other = world.beside()
    meddling(world, lambda: ask(other) and None)
    command = CreateLease(
        "new", world.in_minutes(DAY), world.in_minutes(DAY + 3 * HOUR), None, (whole_hosts(),)
    )
    with pytest.raises(NotEnoughResources):
        world.offers.create(command, None, DEMO)
    require_disjoint(world)
