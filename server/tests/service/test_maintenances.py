"""What a maintenance does to leases: told before, done in one commit, and taken back when it is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import (
    Conflict,
    InvalidInput,
    MaintenanceNotFound,
    NotEnoughResources,
    NotFound,
    OutcomeUnknown,
    TooLate,
)
from blazar.domain.lease.healing import CLOSED, LOST
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.maintenance import Effect, EffectReason, Maintenance
from blazar.kinds.registered_hosts.errors import CantDeleteHost
from blazar.service.capacity import CapacityQuestion
from blazar.service.commands import NOW, ClaimOffer, CreateLease, CreateMaintenance
from blazar.service.maintenances import MaintenanceDecision

from .failures import WHOLE, fail, flags, only
from .world import ADMIN, DEMO, START, World, instances, servers, whole_hosts

MOVES, BREAKS, STAYS = Effect.MOVES, Effect.BREAKS, Effect.STAYS


def command(world: World, *hosts: str, start: float = 60, end: float = 120, force: bool = False) -> Any:
    begin = world.in_minutes(start) if start else NOW
    return CreateMaintenance(hosts or ("1",), begin, world.in_minutes(end), "new disks", "ticket 7", force)


def take(world: World, *hosts: str, **fields: Any) -> MaintenanceDecision:
    return world.maintenances.create(command(world, *hosts, **fields), ADMIN)


def taken(world: World, *hosts: str, **fields: Any) -> Maintenance:
    decision = take(world, *hosts, **fields)
    assert decision.maintenance is not None
    return decision.maintenance


def look(world: World, *hosts: str, **fields: Any) -> MaintenanceDecision:
    return world.maintenances.preview(command(world, *hosts, **fields), ADMIN)


def told(decision: MaintenanceDecision) -> list[tuple[str, Effect, EffectReason | None]]:
    return [(impact.lease_id, impact.effect, impact.reason) for impact in decision.impacts]


def active(world: World, **fields: Any) -> Lease:
    lease = world.create(**fields)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    return lease


# what is promised


@pytest.mark.parametrize("request_of", [whole_hosts, instances, servers])
def test_nothing_new_is_reserved_on_the_hosts_meanwhile(request_of: Any) -> None:
    world = World(hosts=1)
    maintenance = taken(world)
    for start, end in ((30, 61), (60, 120), (119, 130)):
        with pytest.raises(NotEnoughResources):
            world.reserve(request_of(), start=start, end=end)
    for start, end in ((30, 60), (120, 180)):
        world.reserve(request_of(), start=start, end=end)
    assert (maintenance.resource_ids, maintenance.name, maintenance.reason, maintenance.user_id) == (
        ("1",),
        "new disks",
        "ticket 7",
        ADMIN.user_id,
    )
    assert world.maintenances.list() == [maintenance] == [world.maintenances.get(maintenance.id)]


def test_offers_and_capacity_keep_away_too() -> None:
    world = World(hosts=2)
    taken(world)
    wish = CreateLease("", world.in_minutes(60), world.in_minutes(90), None, (whole_hosts(min=2, max=2),))
    with pytest.raises(NotEnoughResources):
        world.offers.create(wish, None, DEMO)
    question = CapacityQuestion(start=world.in_minutes(50), end=world.in_minutes(130), quantity="hosts")
    (hosts,) = world.capacity.get(question, DEMO).quantities
    assert (hosts.minimum, hosts.throughout) == (1, 1)


def test_a_lease_does_not_grow_into_it() -> None:
    world = World(hosts=1)
    lease = active(world, end=60)
    taken(world)
    with pytest.raises(NotEnoughResources):
        world.update(lease, end=world.in_minutes(61))


def test_the_other_hosts_are_as_before() -> None:
    world = World(hosts=2)
    taken(world)
    lease = world.create(start=60, end=90)
    assert world.hosts_of(lease) == {"2"}


# what becomes of leases


def test_what_has_not_begun_moves_in_the_same_commit() -> None:
    world = World(hosts=2)
    lease = world.create(start=30, end=90)
    host = only(world.hosts_of(lease))
    seen = look(world, host)
    assert told(seen) == [(lease.id, MOVES, None)]
    assert world.hosts_of(lease) == {host}, "a look changes nothing"
    assert world.maintenances.list() == []
    decision = take(world, host)
    assert told(decision) == told(seen)
    (impact,) = decision.impacts
    (move,) = impact.moves
    assert (move.left, move.taken) == ((host,), tuple(world.hosts_of(lease)))
    assert (impact.name, impact.project_id, impact.resource_ids) == ("lease", "demo", (host,))
    assert world.hosts_of(lease) == {"1", "2"} - {host}
    assert flags(world, lease) == WHOLE
    world.advance(30)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_where_a_lease_would_break_nothing_is_changed() -> None:
    world = World(hosts=2)
    moved = world.create(name="moved", start=60, end=90)
    broken = world.create(name="broken", start=70, end=90)
    before = world.lease(moved), world.lease(broken)
    decision = take(world, "1", "2")
    assert decision.maintenance is None
    assert [effect for _, effect, _ in told(decision)] == [BREAKS, BREAKS]
    assert (world.lease(moved), world.lease(broken)) == before
    assert world.maintenances.list() == []
    with world.database.read() as uow:
        assert len(uow.resources.allocations(world.kinds["physical:host"].pool)) == 2


def test_with_force_what_can_be_moved_is_moved_and_the_rest_is_degraded() -> None:
    """Two leases are on the two hosts that are taken, and one is left: the first to start gets it."""
    world = World(hosts=3)
    late = world.create(name="late", start=70, end=100)
    early = world.create(name="early", start=60, end=100)
    hosts = world.hosts_of(late) | world.hosts_of(early)
    decision = take(world, *sorted(hosts), force=True)
    assert told(decision) == [(early.id, MOVES, None), (late.id, BREAKS, EffectReason.NOTHING_SUITS)]
    assert world.hosts_of(early) == {"1", "2", "3"} - hosts
    assert flags(world, early) == WHOLE
    assert flags(world, late) == (True, [True], [False])
    assert world.lease(late).reservations[0].status_reason == CLOSED


def test_what_has_begun_moves_only_by_force() -> None:
    world = World(hosts=2)
    lease = active(world, end=90)
    host = only(world.hosts_of(lease))
    decision = take(world, host)
    assert decision.maintenance is None
    assert told(decision) == [(lease.id, BREAKS, EffectReason.HAS_BEGUN)]
    assert told(look(world, host, force=True)) == [(lease.id, MOVES, None)]
    taken(world, host, force=True)
    assert world.hosts_of(lease) == {"1", "2"} - {host}
    assert flags(world, lease) == (True, [False], [True])
    world.run_due()
    assert flags(world, lease) == WHOLE
    assert f"host{host}" in world.in_freepool()


def test_what_has_begun_and_cannot_be_moved_is_degraded_until_the_maintenance_is_over() -> None:
    world = World(hosts=1)
    lease = active(world, end=300)
    maintenance = taken(world, force=True)
    assert flags(world, lease) == (True, [True], [False])
    assert world.lease(lease).reservations[0].status_reason == CLOSED
    for _ in range(3):
        world.look()
    assert flags(world, lease) == (True, [True], [False]), "healing knows it as well"
    world.advance_to(maintenance.interval.end - timedelta(minutes=1))
    world.maintenances.upkeep()
    assert flags(world, lease)[0]
    world.advance(1)
    world.maintenances.upkeep()
    assert flags(world, lease) == WHOLE
    assert world.lease(lease).reservations[0].status_reason is None
    assert world.maintenances.list() == []


def test_a_comparison_with_the_cloud_takes_no_flag_back() -> None:
    world = World(hosts=1)
    lease = active(world, end=300)
    taken(world, force=True)
    assert world.reconcile_all() == 1
    world.run_due()
    assert flags(world, lease) == (True, [True], [False])
    assert world.lease(lease).reservations[0].status_reason == CLOSED


def test_what_is_over_before_is_told_and_stays() -> None:
    world = World(hosts=1)
    lease = active(world, end=60)
    world.create(name="between", start=60, end=61)
    decision = take(world, start=61)
    assert told(decision) == [(lease.id, STAYS, EffectReason.ENDS_BEFORE)]
    assert decision.maintenance is not None
    assert flags(world, lease) == WHOLE


def test_only_what_is_taken_away_is_replaced() -> None:
    world = World(hosts=5)
    lease = world.create(start=60, end=90, min=3, max=4)
    before = world.hosts_of(lease)
    taken(world, "2")
    assert before - world.hosts_of(lease) == {"2"}
    assert world.hosts_of(lease) - before == {"5"}


def test_servers_move_by_their_slots() -> None:
    world = World(hosts=2)
    lease = world.reserve(servers(amount=3), start=60, end=90)
    host = only(world.hosts_of(lease))
    taken(world, host)
    assert world.hosts_of(lease) == {"1", "2"} - {host}
    assert sum(a.slots for a in world.lease(lease).allocations) == 3


def test_no_lease_moves_onto_another_host_of_the_maintenance_or_of_another_one() -> None:
    world = World(hosts=4)
    lease = world.create(start=60, end=90)
    (own,) = world.hosts_of(lease)
    others = sorted({"1", "2", "3", "4"} - {own})
    taken(world, others[0])
    taken(world, own, others[1])
    assert world.hosts_of(lease) == {others[2]}


def test_an_offer_is_told_and_kept_by_force_until_healing_moves_what_it_becomes() -> None:
    world = World(hosts=2)
    wish = CreateLease("", world.in_minutes(60), world.in_minutes(90), None, (whole_hosts(),))
    offer = world.offers.create(wish, None, DEMO)
    host = offer.lease.resource_ids[0]
    decision = take(world, host)
    assert decision.maintenance is None
    assert told(decision) == [(offer.id, BREAKS, EffectReason.NOT_NOW)]
    maintenance = taken(world, host, force=True)
    lease = world.offers.claim(offer.id, ClaimOffer("mine"), DEMO)
    assert world.hosts_of(lease) == {host}
    world.maintenances.upkeep()
    assert flags(world, lease) == (True, [True], [False])
    world.look()
    assert world.hosts_of(lease) == {"1", "2"} - {host}
    assert flags(world, lease) == WHOLE
    assert maintenance.resource_ids == (host,)


def test_healing_moves_nothing_onto_a_host_in_its_maintenance() -> None:
    world = World(hosts=3)
    lease = world.create(start=30, end=90)
    (own,) = world.hosts_of(lease)
    closed, free = sorted({"1", "2", "3"} - {own})
    taken(world, closed)
    fail(world, own)
    world.look()
    assert world.hosts_of(lease) == {free}


def test_a_failed_host_is_told_as_failed_in_spite_of_a_maintenance() -> None:
    world = World(hosts=1)
    lease = active(world, end=300)
    taken(world, force=True)
    fail(world, "1")
    world.look()
    assert world.lease(lease).reservations[0].status_reason == LOST


# how it ends


def test_its_end_gives_the_hosts_back_at_once() -> None:
    world = World(hosts=1)
    lease = active(world, end=90)
    maintenance = taken(world, force=True)
    with pytest.raises(NotEnoughResources):
        world.create(start=90, end=120)
    world.maintenances.delete(maintenance.id, ADMIN)
    assert flags(world, lease) == WHOLE
    assert world.create(start=90, end=120)
    for again in (world.maintenances.get, lambda i: world.maintenances.delete(i, ADMIN)):
        with pytest.raises(MaintenanceNotFound):
            again(maintenance.id)


def test_healing_takes_no_notice_of_what_is_over_and_not_removed_yet() -> None:
    world = World(hosts=1)
    lease = active(world, end=300)
    maintenance = taken(world, force=True)
    world.advance_to(maintenance.interval.end)
    world.look()
    assert flags(world, lease) == WHOLE
    assert world.maintenances.list() == [maintenance]


def test_it_ends_by_itself_and_leaves_nothing() -> None:
    world = World(hosts=1)
    maintenance = taken(world)
    world.create(start=120, end=180)
    world.advance_to(maintenance.interval.end)
    with world.database.read() as uow:
        (lease,) = uow.leases.list()
    assert lease.status is LeaseStatus.ACTIVE, "no lease waits for the row to be removed"
    world.beside().maintenances.upkeep()
    world.maintenances.upkeep()
    with world.database.read() as uow:
        assert uow.maintenances.list() == []
        assert {a.lease_id for a in uow.resources.allocations(world.kinds["physical:host"].pool)} == {
            lease.id
        }


def test_what_a_dead_manager_has_left_flagged_is_taken_back() -> None:
    """A manager dies after it has removed the maintenance, and before it tells leases."""
    for restarted in (True, False):
        world = World(hosts=1)
        other = world.beside()
        lease = active(world, end=90)
        maintenance = taken(world, force=True)
        other.maintenances.upkeep()
        world.database.transact(lambda u, i=maintenance.id: u.maintenances.remove(i))  # type: ignore[misc]
        if restarted:
            world.restart()
        (world if restarted else other).maintenances.upkeep()
        assert flags(world, lease) == WHOLE


def test_leases_are_not_read_where_there_is_nothing_to_tell() -> None:
    """A flag that no maintenance of this version has set is not looked for once all is told."""
    world = World(hosts=1)
    world.maintenances.upkeep()
    old = world.create(start=30, end=60)
    told = replace(old.reservations[0], missing_resources=True, status_reason=CLOSED)
    flagged = replace(old, reservations=(told,), degraded=True)
    world.database.transact(lambda u: u.leases.save(flagged, old, world.clock.now()))
    world.maintenances.upkeep()
    assert flags(world, old) == (True, [True], [False])
    taken(world, start=200, end=210)
    world.maintenances.upkeep()
    assert flags(world, old) == WHOLE


# what is refused


def test_a_host_under_maintenance_is_deregistered_after_it() -> None:
    world = World(hosts=1)
    maintenance = taken(world)
    with pytest.raises(CantDeleteHost):
        world.hosts.unregister("1")
    world.maintenances.delete(maintenance.id, ADMIN)
    world.hosts.unregister("1")


def test_hosts_are_named_by_id_or_name_and_once() -> None:
    world = World(hosts=2)
    assert taken(world, "host2", "2", "1").resource_ids == ("1", "2")
    with pytest.raises(NotFound) as caught:
        take(world, "1", "nowhere", start=200, end=201)
    assert "nowhere" in caught.value.message


def test_two_maintenances_of_a_host_do_not_overlap() -> None:
    world = World(hosts=2)
    first = taken(world, "1")
    with pytest.raises(Conflict) as caught:
        take(world, "2", "1", start=119, end=130)
    assert first.id in caught.value.message
    taken(world, "2", "1", start=120, end=130)


def test_a_host_that_is_being_deregistered_is_not_taken() -> None:
    world = World(hosts=1)
    with world.database.read() as uow:
        host = uow.resources.get("1")
    assert host is not None
    world.database.transact(lambda u: u.resources.save(replace(host, reservable=False), START))
    with pytest.raises(Conflict):
        take(world)


@pytest.mark.parametrize(("start", "end"), [(-5, 10), (60, 60), (60, 50)])
def test_its_time_lies_ahead(start: int, end: int) -> None:
    with pytest.raises(InvalidInput):
        take(World(hosts=1), start=start, end=end)


def test_no_more_maintenances_and_leases_than_can_be_looked_after(monkeypatch: pytest.MonkeyPatch) -> None:
    from blazar.service.maintenances import assessor, use_cases

    world = World(hosts=2)
    monkeypatch.setattr(assessor, "MOST_LEASES", 1)
    for _ in range(2):
        world.reserve(servers(), start=60, end=90)
    with pytest.raises(InvalidInput) as caught:
        take(world, "1", "2")
    assert "2 leases" in caught.value.message
    monkeypatch.setattr(use_cases, "MOST_MAINTENANCES", 1)
    taken(world, "1", start=200, end=210)
    with pytest.raises(Conflict):
        take(world, "1", start=220, end=230)


def test_nothing_is_stored_after_the_caller_has_stopped_to_wait() -> None:
    world = World(hosts=2)
    lease = world.create(start=60, end=90)
    late = replace(ADMIN, deadline=world.in_minutes(1))
    wish = command(world, only(world.hosts_of(lease)))
    before = world.lease(lease)
    world.database.step = lambda: world.clock.move_to(world.in_minutes(2))
    with pytest.raises(TooLate):
        world.maintenances.create(wish, late)
    assert (world.maintenances.list(), world.lease(lease)) == ([], before)


def test_a_commit_whose_outcome_is_not_known_is_found() -> None:
    world = World(hosts=2)
    lease = world.create(start=60, end=90)
    (host,) = world.hosts_of(lease)
    steps = [lambda: None, lost]
    world.database.step = lambda: steps.pop(0)() if steps else None
    decision = take(world, host)
    assert [decision.maintenance] == world.maintenances.list()
    assert told(decision) == [(lease.id, MOVES, None)]
    steps += [lambda: None, lost]
    assert decision.maintenance is not None
    world.maintenances.delete(decision.maintenance.id, ADMIN)
    assert world.maintenances.list() == []


def lost() -> None:
    raise OutcomeUnknown(service="database", reason="the connection was lost")


# at once


def test_what_another_manager_has_committed_meanwhile_is_seen() -> None:
    """A lease is made by another manager after this one has read its calendar."""
    world = World(hosts=1)
    world.create(start=300, end=310)
    other = world.beside()
    other.create(start=60, end=90)
    decision = take(world)
    assert [impact.effect for impact in decision.impacts] == [BREAKS]
    taken(world, start=100, end=120)
    with pytest.raises(NotEnoughResources):
        other.create(start=100, end=101)


def test_a_look_knows_which_hosts_are_gone() -> None:
    world = World(hosts=2)
    lease = world.create(start=30, end=90)
    host = only(world.hosts_of(lease))
    world.beside().hosts.unregister(only({"1", "2"} - {host}), ADMIN)
    assert told(look(world, host)) == [(lease.id, BREAKS, EffectReason.NOTHING_SUITS)]
