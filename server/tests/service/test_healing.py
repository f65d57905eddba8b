"""What happens to leases when their hosts fail, and when these come back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.schema import upgrade
from blazar.domain.errors import CloudUnavailable
from blazar.domain.failure import FailureReason
from blazar.domain.lease.change import new_events
from blazar.domain.lease.event import EventType
from blazar.domain.lease.healing import LOST
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.domain.planning.budget import DECISION
from blazar.domain.time import Interval
from blazar.kinds.hosts.pool import POOL
from blazar.service.healing import HealingSettings

from .world import DEMO, Crash, Steps, World, instances, servers, whole_hosts

PATIENCE = 5
"""Minutes that a host must be down before an active reservation leaves it."""


def failed(world: World) -> dict[str, FailureReason]:
    with world.database.read() as uow:
        return {r.id: r.failure.reason for r in uow.resources.failed(POOL) if r.failure}


def flags(world: World, lease: Lease) -> tuple[bool, list[bool], list[bool]]:
    stored = world.lease(lease)
    reservations = stored.reservations
    return (
        stored.degraded,
        [r.missing_resources for r in reservations],
        [r.resources_changed for r in reservations],
    )


WHOLE = (False, [False], [False])


def fail(world: World, *host_ids: str, is_up: bool = False, is_enabled: bool = True) -> None:
    for host_id in host_ids:
        world.cloud.set_service(f"host{host_id}", is_up, is_enabled)


def repair(world: World, *host_ids: str) -> None:
    fail(world, *host_ids, is_up=True)


def only(ids: set[str]) -> str:
    (one,) = ids
    return one


# hosts


@pytest.mark.parametrize(
    ("is_up", "is_enabled", "reason"),
    [
        (False, True, FailureReason.DOWN),
        (True, False, FailureReason.DISABLED),
        (False, False, FailureReason.DOWN),
    ],
)
def test_a_host_that_nova_says_has_failed_cannot_be_reserved(
    is_up: bool, is_enabled: bool, reason: FailureReason
) -> None:
    world = World(hosts=2)
    fail(world, "1", is_up=is_up, is_enabled=is_enabled)
    world.look()
    assert failed(world) == {"1": reason}
    assert [host.can_be_reserved for host in world.hosts.list(DEMO)] == [False, True]
    assert [host.reservable for host in world.hosts.list(DEMO)] == [True, True]
    assert world.hosts_of(world.create()) == {"2"}


def test_a_host_is_reservable_again_after_its_probation() -> None:
    world = World(hosts=1)
    fail(world, "1")
    world.look()
    repair(world, "1")
    world.look()
    assert failed(world)
    world.look(minutes=1)
    assert failed(world)
    world.look(minutes=1)
    assert not failed(world)
    assert world.hosts_of(world.create()) == {"1"}


def test_a_failed_host_may_be_deregistered() -> None:
    world = World(hosts=1)
    fail(world, "1")
    world.look()
    world.hosts.unregister("1")
    assert world.hosts.list(DEMO) == []


def test_the_deregistration_of_a_host_goes_on_beside_its_failure() -> None:
    """Three facts: what the monitor says touches neither of the others."""
    world = World(hosts=1)
    with world.database.read() as uow:
        host = uow.resources.get("1")
    assert host is not None
    world.database.transact(lambda u: u.resources.save(replace(host, reservable=False), world.clock.now()))
    fail(world, "1")
    world.look()
    repair(world, "1")
    for _ in range(4):
        world.look()
    (host,) = world.hosts.list(DEMO)
    assert (host.reservable, host.failure) == (False, None)


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


# a cloud that cannot be believed


def test_while_nova_is_away_nothing_is_healed() -> None:
    world = World(hosts=2)
    lease = world.create(start=30)
    fail(world, "1")

    def away(call: str) -> None:
        if call == "hypervisors":
            raise CloudUnavailable(service="Nova", reason="away")

    world.cloud.before = away
    world.advance(1)
    with pytest.raises(CloudUnavailable):
        world.monitoring.round()
    assert world.hosts_of(lease) == {"1"}
    assert not failed(world)
    world.cloud.before = lambda call: None
    world.look()
    assert world.hosts_of(lease) == {"2"}


def test_a_nova_that_is_away_is_not_asked_more_often() -> None:
    world = World(hosts=1)

    def away(call: str) -> None:
        raise CloudUnavailable(service="Nova", reason="away")

    world.cloud.before = away
    world.advance(1)
    with pytest.raises(CloudUnavailable):
        world.monitoring.round()
    calls = len(world.cloud.calls)
    world.monitoring.round()
    assert len(world.cloud.calls) == calls


def test_a_nova_that_lists_nothing_says_nothing() -> None:
    world = World(hosts=2)
    lease = world.create(start=30)
    hypervisors = dict(world.cloud.state.hypervisors)
    world.cloud.state.hypervisors.clear()
    world.look()
    assert not failed(world)
    assert world.hosts_of(lease) == {"1"}
    world.cloud.state.hypervisors.update(hypervisors)
    world.look()
    assert not failed(world)


def test_half_the_cloud_is_not_healed_but_told(caplog: pytest.LogCaptureFixture) -> None:
    world = World(hosts=8)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=25)
    world.restart()
    leases = [world.create(name=str(n), start=30) for n in range(4)]
    before = [world.hosts_of(lease) for lease in leases]
    fail(world, "1", "2", "3", "4")
    for _ in range(15):
        world.look()
        assert not failed(world)
    assert [world.hosts_of(lease) for lease in leases] == before
    assert sum("taken for a failure of Nova" in record.message for record in caplog.records) == 1
    repair(world, "1", "2")
    world.look()
    assert set(failed(world)) == {"3", "4"}
    assert all(world.hosts_of(lease).isdisjoint({"3", "4"}) for lease in leases)


def test_a_failure_that_spreads_is_stopped_when_it_is_too_much() -> None:
    world = World(hosts=8)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=25)
    world.restart()
    for number in range(1, 6):
        fail(world, str(number))
        world.look()
    assert set(failed(world)) == {"1", "2"}


def test_hosts_that_failed_long_ago_do_not_count() -> None:
    world = World(hosts=8)
    world.monitor_settings = replace(world.monitor_settings, most_at_once=25)
    world.restart()
    for number in range(1, 6):
        fail(world, str(number))
        world.look(20)
    assert set(failed(world)) == {"1", "2", "3", "4", "5"}


def test_a_flapping_host_does_not_flap_the_leases() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    revisions = set()
    for turn in range(20):
        (fail if turn % 2 == 0 else repair)(world, "1")
        world.look()
        revisions.add(world.lease(lease).revision)
        assert failed(world)
    assert len(revisions) <= 3, "flagged, moved, served from elsewhere"
    assert world.hosts_of(lease) == {"2"}
    assert flags(world, lease) == WHOLE


# crashes and other managers


class Dying(Steps):
    """Dies at the chosen step, and does nothing more."""

    def step(self) -> None:
        super().step()
        if self.crash_at is not None and self.taken > self.crash_at:
            raise Crash


def healed_world() -> tuple[World, list[Lease]]:
    world = World(hosts=8)
    world.healing_settings = HealingSettings(patience=timedelta(0))
    world.restart()
    leases = [
        world.create(name="active", end=600, min=2, max=2),
        world.create(name="pending", start=30, end=600),
        world.reserve(instances(amount=2, affinity=False), name="slots", end=600),
    ]
    world.run_due()
    return world, leases


def test_a_crash_at_any_step_is_healed_by_the_next_manager() -> None:
    for crash_at in range(1, 200):
        world, leases = healed_world()
        fail(world, "1", "4")
        world.advance(1)
        steps = Dying(crash_at)
        world.database.step = steps.step
        world.cloud.before = lambda call, s=steps: s.step()  # type: ignore[misc]
        try:
            world.monitoring.round()
            world.run_due()
        except Crash:
            pass
        else:
            assert steps.taken >= 12, "the story is shorter than it was thought to be"
            return
        world.database.step, world.cloud.before = (lambda: None), (lambda call: None)
        world.restart()
        for _ in range(3):
            world.look(2)
        for lease in leases:
            assert world.hosts_of(lease).isdisjoint({"1", "4"}), crash_at
            assert flags(world, lease) == WHOLE, crash_at
            assert sum(a.slots for a in world.lease(lease).allocations) == (
                1 if lease.name == "pending" else 2
            )
        for lease in (leases[0], leases[2]):
            served = set(world.cloud.hosts_in(lease.reservations[0].id))
            assert served == {f"host{i}" for i in world.hosts_of(lease)}, crash_at
    raise AssertionError("the story never ends")


def test_one_of_two_managers_looks() -> None:
    world = World(hosts=2)
    first = world.monitoring
    world.restart()
    world.advance(1)
    before = world.cloud.calls.count("hypervisors")
    first.round()
    world.monitoring.round()
    assert world.cloud.calls.count("hypervisors") == before + 1
    world.advance(1)
    world.monitoring.round()
    first.round()
    assert world.cloud.calls.count("hypervisors") == before + 2


def test_a_manager_that_was_asleep_stores_nothing() -> None:
    """It saw the host down, slept until another manager had looked, and wakes up."""
    world = World(hosts=2)
    asleep = world.monitoring
    world.restart()
    fail(world, "1")
    world.advance(1)

    def sleep(call: str) -> None:
        world.cloud.before = lambda call: None
        if call == "hypervisors":
            listed = world.cloud.compute.hypervisors
            seen = listed()
            repair(world, "1")
            world.clock.pause(300)
            world.monitoring.round()
            world.cloud.state.hypervisors.update({h.hypervisor_hostname: h for h in seen})

    world.cloud.before = sleep
    asleep.round()
    assert not failed(world)


def test_a_change_by_the_user_and_healing_do_not_undo_each_other() -> None:
    world = World(hosts=3)
    lease = world.create(start=30)
    fail(world, "1")
    world.advance(1)
    changed = False
    transact = world.database.inner.transact

    def with_a_request(work: Any) -> Any:
        nonlocal changed
        if not changed and failed(world):
            changed = True
            world.update(lease, end=world.in_minutes(90))
        return transact(work)

    world.database.inner.transact = with_a_request  # type: ignore[method-assign]
    world.monitoring.round()
    assert changed
    assert world.hosts_of(lease) in ({"2"}, {"3"})
    assert world.lease(lease).interval.end == world.in_minutes(90)
    assert flags(world, lease) == WHOLE


def test_what_the_cloud_refused_is_not_healings_to_take_back() -> None:
    world = World(hosts=2)
    lease = world.create(end=600)
    world.run_due()
    stored = world.lease(lease)
    refused = replace(
        stored,
        degraded=True,
        reservations=(replace(stored.reservations[0], missing_resources=True, status_reason="refused"),),
    )
    world.database.transact(lambda u: u.leases.save(refused, stored, world.clock.now()))
    world.look()
    assert flags(world, lease) == (True, [True], [False])


def test_the_engine_is_not_asked_twice() -> None:
    """One converge is open, however often the monitor looks."""
    world = World(hosts=2)
    world.healing_settings = HealingSettings(patience=timedelta(0))
    world.restart()
    lease = world.create(end=600)
    world.run_due()
    world.cloud.boot("stuck", "host1")
    world.cloud.state.undying.add("stuck")
    fail(world, "1")
    for _ in range(3):
        world.advance(1)
        world.monitoring.round()
    stored = world.lease(lease)
    assert [e.event_type for e in stored.events if not e.event_type.is_public] == [EventType.CONVERGE]
    assert world.hosts_of(lease) == {"2"}
    assert flags(world, lease) == (True, [False], [True])


# many at once


def many(world: World, number: int) -> list[Lease]:
    """Leases of one host that follow each other on host 1, each for an hour."""
    template = world.create(start=60, end=120, resource_properties='["==", "$hypervisor_hostname", "host1"]')
    world.delete(template)
    world.run_due()
    anything = {**template.reservations[0].parameters, "resource_properties": ""}
    leases = []
    for n in range(number):
        names = {"id": str(uuid4()), "reservation": str(uuid4())}
        interval = Interval(world.in_minutes(60 * (n + 1)), world.in_minutes(60 * (n + 2)))
        (old,) = template.reservations[0].allocations
        row = replace(
            old,
            id=str(uuid4()),
            lease_id=names["id"],
            reservation_id=names["reservation"],
            interval=interval,
        )
        reservation = replace(
            template.reservations[0],
            id=names["reservation"],
            lease_id=names["id"],
            parameters=anything,
            allocations=(row,),
        )
        events = new_events(names["id"], interval, None, lambda: str(uuid4()))
        fields = {"interval": interval, "reservations": (reservation,), "events": events, "revision": 0}
        leases.append(replace(template, id=names["id"], name=str(n), **fields))
    world.database.transact(lambda u: [u.leases.add(lease, world.clock.now()) for lease in leases])
    world.database.transact(lambda u: u.resources.touch(["1"], world.clock.now()))
    return leases


def test_a_thousand_reservations_are_one_plan(tmp_path: Path) -> None:
    """The statements grow by the transaction of two hundred leases, not by the lease."""
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db")
    upgrade(database.engine)
    world = World(hosts=3, database=database)
    world.healing_settings = HealingSettings(interval=timedelta(0))
    world.restart()
    leases = many(world, 1000)
    world.advance(1)
    fail(world, "1")
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    world.monitoring.round()
    assert len(statements) < 100
    assert sum(statement.startswith("UPDATE leases") for statement in statements) == 1000 / 200
    with world.database.read() as uow:
        stored = uow.leases.get_many([lease.id for lease in leases])
        rows = uow.resources.allocations(POOL)
    assert {a.resource_id for lease in stored for a in lease.allocations} == {"2"}
    assert not any(lease.degraded for lease in stored)
    assert len({a.interval.start for a in rows}) == len(rows) == 1000
    database.close()


def test_what_the_budget_does_not_reach_waits_for_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(hosts=3)
    world.healing_settings = HealingSettings(interval=timedelta(0))
    world.restart()
    leases = many(world, 30)
    fail(world, "1")
    monkeypatch.setattr("blazar.service.healing.STEPS", DECISION + 100)
    world.look()
    moved = [world.hosts_of(lease) == {"2"} for lease in leases]
    assert 0 < sum(moved) < 30
    assert moved == sorted(moved, reverse=True), "first those that start first"
    for _ in range(10):
        world.look()
    assert all(world.hosts_of(lease) == {"2"} for lease in leases)
    assert not any(flags(world, lease)[0] for lease in leases)


def test_a_request_that_is_faster_keeps_what_it_got() -> None:
    """Another user gets the host that healing has planned on, before healing commits."""
    world = World(hosts=3)
    lease = world.create(start=30)
    fail(world, "1")
    world.advance(1)
    others: list[Lease] = []
    transact = world.database.inner.transact

    def with_a_request(work: Any) -> Any:
        if not others and failed(world):
            others.append(lease)  # once
            others[0] = world.create(name="other", start=29)
        return transact(work)

    world.database.inner.transact = with_a_request  # type: ignore[method-assign]
    world.monitoring.round()
    assert world.hosts_of(others[0]) == {"2"}
    assert world.hosts_of(lease) == {"3"}
    assert flags(world, lease) == WHOLE
