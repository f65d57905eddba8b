"""What happens to leases when their hosts fail, and when these come back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.healing import LOST
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.service.commands import ReservationChange
from blazar.service.healing import HealingSettings

from .failures import PATIENCE, WHOLE, fail, failed, flags, only, repair
from .world import World, instances, servers, whole_hosts

# reservations that have not started


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_pending_reservation_moves_without_a_word(is_enabled: bool) -> None:
    world = World(hosts=3)
    lease = world.create(start=30)
    host = only(world.hosts_of(lease))
    fail(world, host, is_up=not is_enabled, is_enabled=is_enabled)
    world.look()
    assert world.hosts_of(lease) != {host}
    assert len(world.hosts_of(lease)) == 1
    assert flags(world, lease) == WHOLE
    world.advance(30)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert len(world.in_freepool()) == 2


def test_what_lies_beyond_the_window_stays() -> None:
    world = World(hosts=2)
    lease = world.create(start=90, end=120)
    fail(world, only(world.hosts_of(lease)))
    world.look()
    assert world.hosts_of(lease) == {"1"}
    assert flags(world, lease) == WHOLE
    world.look(minutes=30)
    assert world.hosts_of(lease) == {"2"}


def test_without_an_interval_all_that_is_ahead_is_healed() -> None:
    world = World(hosts=2)
    world.healing_settings = HealingSettings(interval=timedelta(0))
    world.restart()
    lease = world.create(start=60 * 24 * 300, end=60 * 24 * 301)
    fail(world, "1")
    world.look()
    assert world.hosts_of(lease) == {"2"}


def test_only_what_has_failed_is_replaced() -> None:
    world = World(hosts=5)
    lease = world.create(start=30, min=3, max=4)
    before = world.hosts_of(lease)
    assert len(before) == 4
    fail(world, "2")
    world.look()
    assert before - world.hosts_of(lease) == {"2"}
    assert world.hosts_of(lease) - before == {"5"}


def test_what_cannot_be_replaced_is_missing_until_it_is_back() -> None:
    world = World(hosts=2)
    lease = world.create(start=30, min=2, max=2)
    fail(world, "1")
    world.look()
    assert flags(world, lease) == (True, [True], [False])
    assert world.lease(lease).reservations[0].status_reason == LOST
    assert world.hosts_of(lease) == {"1", "2"}, "its place is kept"
    repair(world, "1")
    world.look()
    assert flags(world, lease)[0], "it is on probation"
    world.look(2)
    assert flags(world, lease) == WHOLE
    assert world.lease(lease).reservations[0].status_reason is None


def test_a_degraded_lease_gets_another_chance_when_capacity_is_freed() -> None:
    world = World(hosts=2)
    other = world.create(start=20, end=60)
    lease = world.create(start=30)
    fail(world, only(world.hosts_of(lease)))
    world.look()
    assert flags(world, lease)[0]
    world.delete(other)
    world.look()
    assert flags(world, lease) == WHOLE
    assert world.hosts_of(lease) == world.hosts_of(lease) - set(failed(world))


def test_the_reservation_that_starts_first_is_replaced_first() -> None:
    """Two hosts fail and one is left: the lease that starts first gets it, though it was made later."""
    world = World(hosts=3)
    late = world.create(name="late", start=40, end=60)
    early = world.create(name="early", start=30, end=60)
    fail(world, *(world.hosts_of(late) | world.hosts_of(early)))
    world.monitor_settings = replace(world.monitor_settings, most_at_once=100)
    world.restart()
    world.look()
    assert world.hosts_of(early) == {"3"}
    assert flags(world, early) == WHOLE
    assert flags(world, late) == (True, [True], [False])


def test_a_lease_that_starts_on_a_failed_host_keeps_its_flag() -> None:
    world = World(hosts=1)
    lease = world.create(start=10)
    fail(world, "1")
    world.look()
    world.advance(15)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert flags(world, lease) == (True, [True], [False])
    repair(world, "1")
    for _ in range(4):
        world.look()
    assert flags(world, lease) == WHOLE


def test_a_pending_reservation_on_a_host_on_probation_gets_no_more_than_it_had() -> None:
    world = World(hosts=6)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=100)
    world.healing_settings = HealingSettings(interval=timedelta(hours=2))
    world.restart()
    fail(world, "1")
    world.look()
    repair(world, "1")
    world.look()
    lease = world.create(start=30, min=2, max=2)
    stored = world.lease(lease)
    first, second = stored.reservations[0].allocations
    on_probation = replace(stored.reservations[0], allocations=(replace(first, resource_id="1"), second))
    world.database.transact(
        lambda u: u.leases.save(replace(stored, reservations=(on_probation,)), stored, world.clock.now())
    )
    fail(world, second.resource_id)
    world.look()
    assert len(world.lease(lease).allocations) == 2
    assert second.resource_id not in world.hosts_of(lease)


def test_a_lease_whose_host_dies_while_it_starts_is_started_elsewhere() -> None:
    world = World(hosts=2)
    lease = world.create(start=10, end=600)
    world.cloud.boot("stuck", "host1")
    world.cloud.state.undying.add("stuck")
    world.advance(11)
    assert world.lease(lease).status is LeaseStatus.STARTING
    fail(world, "1")
    world.advance(1)
    world.monitoring.round()
    world.advance(2)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert world.hosts_of(lease) == {"2"}
    assert world.cloud.hosts_in(lease.reservations[0].id) == ("host2",)


@pytest.mark.parametrize("ending", ["done", "refused"])
@pytest.mark.parametrize("asked", [whole_hosts, instances])
def test_a_lease_that_is_healed_while_it_starts_is_started_where_it_is(asked: Any, ending: str) -> None:
    """The attempt that is under way acts on what the reservation has no more: its outcome says nothing."""
    world = World(hosts=2)
    lease = world.reserve(asked(), start=10, end=600)
    world.advance(9)
    failed_host = only(world.hosts_of(lease))
    calls: list[str] = []

    def meanwhile(call: str) -> None:
        calls.append(call)
        if call == "add_host" and not failed(world):
            fail(world, failed_host)
            world.monitoring.round()
            if ending == "refused":
                raise CloudRefused(service="Nova", reason="no")

    world.cloud.before = meanwhile
    world.advance(1)
    world.advance(0.1)
    assert "add_host" in calls
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    (other,) = world.hosts_of(lease)
    assert other != failed_host
    assert world.cloud.hosts_in(lease.reservations[0].id) == (f"host{other}",)
    assert all(a.bound for a in world.lease(lease).allocations)


@pytest.mark.parametrize("is_refused_again", [False, True])
@pytest.mark.parametrize("is_warned", [True, False])
def test_what_the_cloud_has_refused_is_told_until_it_is_done(is_refused_again: bool, is_warned: bool) -> None:
    """A host that fails and comes back takes back its own flag only; with it the cloud is asked once more."""
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()

    def refuse(call: str) -> None:
        if call == "add_host":
            raise CloudRefused(service="Nova", reason="not this one")

    world.cloud.before = refuse
    wanted = ReservationChange(lease.reservations[0].id, {"min": 2, "max": 2})
    world.update(lease, reservations=(wanted,))
    world.run_due()
    assert flags(world, lease) == (True, [True], [False])
    if is_warned:  # of its end, which takes the reason of the lease away
        told = world.lease(lease)
        silent = replace(told, status_reason=None)
        world.database.transact(lambda uow: uow.leases.save(silent, told, world.clock.now()))
    fail(world, "1", is_up=True, is_enabled=False)
    world.look()
    assert world.lease(lease).reservations[0].status_reason == LOST
    repair(world, "1")
    if not is_refused_again:
        world.cloud.before = lambda call: None
    with_flags = []
    for _ in range(5):
        world.advance(1)
        world.monitoring.round()
        with_flags.append(world.lease(lease).degraded)
        world.run_due()
        stored = world.lease(lease)
        assert stored.degraded or all(a.bound for a in stored.allocations)
    assert all(with_flags) if is_refused_again else with_flags[-1] is False
    assert flags(world, lease) == ((True, [True], [False]) if is_refused_again else WHOLE)
    assert all(a.bound for a in world.lease(lease).allocations) is not is_refused_again


def test_what_comes_into_the_window_while_its_host_is_on_probation_stays() -> None:
    world = World(hosts=2)
    lease = world.create(start=63, end=120)
    fail(world, "1")
    world.look()
    repair(world, "1")
    world.look()
    world.look(1.5)
    assert failed(world)
    assert world.hosts_of(lease) == {"1"}
    assert flags(world, lease) == WHOLE


# active reservations


def test_an_active_reservation_moves_when_its_host_stays_down() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    fail(world, "1")
    world.look()
    assert world.hosts_of(lease) == {"1"}
    assert flags(world, lease) == (True, [True], [False])
    world.advance(PATIENCE)
    world.monitoring.round()
    assert world.hosts_of(lease) == {"2"}
    assert flags(world, lease) == (True, [False], [True])
    world.run_due()
    assert flags(world, lease) == WHOLE, "it holds again"
    assert world.cloud.hosts_in(lease.reservations[0].id) == ("host2",)
    assert world.in_freepool() == {"host1"}
    assert all(a.bound for a in world.lease(lease).allocations)


def test_a_host_that_is_back_in_time_keeps_its_reservation() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    world.cloud.boot("precious", "host1")
    fail(world, "1")
    world.look()
    repair(world, "1")
    for _ in range(PATIENCE + 2):
        world.look()
    assert world.hosts_of(lease) == {"1"}
    assert flags(world, lease) == WHOLE
    assert "precious" in world.cloud.state.servers


def test_servers_run_on_where_a_host_is_only_disabled() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    world.cloud.boot("precious", "host1")
    fail(world, "1", is_up=True, is_enabled=False)
    for _ in range(PATIENCE * 3):
        world.look()
    assert world.hosts_of(lease) == {"1"}
    assert flags(world, lease) == (True, [True], [False])
    assert "precious" in world.cloud.state.servers
    repair(world, "1")
    for _ in range(4):
        world.look()
    assert flags(world, lease) == WHOLE


def test_the_end_of_a_moved_reservation_gives_everything_back() -> None:
    world = World(hosts=3)
    lease = world.create(end=60, min=2, max=2)
    world.run_due()
    fail(world, "2")
    for _ in range(PATIENCE + 2):
        world.look()
    assert world.hosts_of(lease) == {"1", "3"}
    world.advance(60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert world.in_freepool() == {"host1", "host2", "host3"}
    assert not world.cloud.hosts_in(lease.reservations[0].id)


def test_a_reservation_that_has_ended_is_left_alone() -> None:
    world = World(hosts=2)
    lease = world.create(end=5)
    world.advance(6)
    fail(world, "1")
    world.look()
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert not world.lease(lease).degraded


# servers


@pytest.mark.parametrize(
    ("request_of", "affinity"), [(instances, None), (instances, True), (instances, False), (servers, None)]
)
def test_slots_move_to_other_hosts(request_of: Any, affinity: bool | None) -> None:
    world = World(hosts=3)
    lease = world.reserve(request_of(amount=2, affinity=affinity), end=600)
    world.run_due()
    reservation = world.lease(lease).reservations[0]
    assert reservation.status is ReservationStatus.ACTIVE
    before = world.hosts_of(lease)
    down = sorted(before)[0]
    fail(world, down)
    for _ in range(PATIENCE + 2):
        world.look()
    after = world.lease(lease)
    assert down not in world.hosts_of(lease)
    assert before - {down} <= world.hosts_of(lease)
    assert sum(a.slots for a in after.allocations) == 2
    assert flags(world, lease) == WHOLE
    names = {f"host{i}" for i in world.hosts_of(lease)}
    assert set(world.cloud.hosts_in(reservation.id)) == names
    slots = {host: n for (host, _), n in world.cloud.state.slots.items()}
    assert sum(slots.values()) == 2
    assert slots.keys() == names
    assert world.cloud.boot_reserved("new", reservation.id) in names


def test_slots_are_replaced_as_far_as_there_is_capacity() -> None:
    world = World(hosts=2)
    lease = world.reserve(instances(vcpus=4, amount=2, affinity=None), start=30)
    other = world.reserve(instances(vcpus=4, amount=1), start=30)
    (host,) = world.hosts_of(lease)
    assert world.hosts_of(other) != {host}
    fail(world, host)
    world.look()
    rows = {a.resource_id: a.slots for a in world.lease(lease).allocations}
    assert rows == {"1": 1, "2": 1}
    assert flags(world, lease) == (True, [True], [False])


def test_slots_that_must_be_together_move_together_or_not_at_all() -> None:
    world = World(hosts=2)
    lease = world.reserve(instances(vcpus=4, amount=2, affinity=True), start=30)
    world.reserve(instances(vcpus=4, amount=1), start=30)
    (host,) = world.hosts_of(lease)
    fail(world, host)
    world.look()
    assert world.hosts_of(lease) == {host}
    assert flags(world, lease) == (True, [True], [False])


def test_two_plans_of_one_round_do_not_take_the_same_host() -> None:
    world = World(hosts=4)
    leases = [world.create(name=str(n), start=30) for n in range(3)]
    hosts = set().union(*map(world.hosts_of, leases))
    world.monitor_settings = replace(world.monitor_settings, most_at_once=100)
    world.restart()
    fail(world, *hosts)
    world.look()
    assert [world.hosts_of(lease) for lease in leases].count({"4"}) == 1
    assert [flags(world, lease)[0] for lease in leases].count(True) == 2


def test_reservations_of_one_lease_move_each_by_itself() -> None:
    world = World(hosts=4)
    lease = world.reserve(whole_hosts(), instances(), start=30)
    before = [r.allocations[0].resource_id for r in lease.reservations]
    fail(world, before[0])
    world.look()
    after = [r.allocations[0].resource_id for r in world.lease(lease).reservations]
    assert after[0] != before[0]
    assert after[1] == before[1]
