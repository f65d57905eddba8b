"""Healing beside crashes, other managers and requests, and of many leases at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from effort import crash_steps
from new_databases import give_schema
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.domain.failure import Failure, FailureReason
from blazar.domain.lease.change import new_events
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.planning.budget import DECISION
from blazar.domain.time import Interval
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.events import WAITING
from blazar.service.healing import HealingSettings

from .failures import PATIENCE, WHOLE, fail, failed, flags, only, repair
from .world import Crash, Steps, World, instances, whole_hosts

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


@pytest.mark.slow
def test_a_crash_at_any_step_is_healed_by_the_next_manager() -> None:
    for crash_at in crash_steps(200):
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


@contextmanager
def version_before(world: World) -> Iterator[None]:
    """Have a manager at work that does not know of failures: it reads hosts without them, and leaves those
    that are stored."""
    with world.database.read() as uow:
        known = {host.id: host.failure for host in uow.resources.list(POOL)}

    def put(failures: Mapping[str, Failure | None]) -> None:
        with world.database.read() as uow:
            hosts = [replace(host, failure=failures.get(host.id)) for host in uow.resources.list(POOL)]
        world.database.transact(lambda u: [u.resources.save(host, world.clock.now()) for host in hosts])
        world.restart()

    put({})
    yield
    put(known)


@pytest.mark.parametrize("asked", [whole_hosts, instances])
def test_what_a_manager_of_the_version_before_puts_on_a_failed_host_is_healed(asked: Any) -> None:
    world = World(hosts=2)
    other = world.create(name="other", start=30, end=90)
    failed_host = only({"1", "2"} - world.hosts_of(other))
    fail(world, failed_host)
    world.look()
    with version_before(world):
        lease = world.reserve(asked(), start=30, end=90)
    assert world.hosts_of(lease) == {failed_host}
    world.look()
    assert flags(world, lease) == (True, [True], [False])
    world.delete(other)
    world.look()
    assert world.hosts_of(lease).isdisjoint({failed_host})
    assert flags(world, lease) == WHOLE


def test_what_a_manager_of_the_version_before_starts_on_a_failed_host_leaves_it() -> None:
    world = World(hosts=2)
    lease = world.create(start=2, end=600)
    with version_before(world):
        world.advance(3)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    host = only(world.hosts_of(lease))
    fail(world, host)
    world.look()
    with version_before(world):
        world.update(lease, name="other")
        world.hosts.set_capabilities(host, {"rack": "7"})
    assert failed(world) == {host: FailureReason.DOWN}
    world.look()
    assert flags(world, lease) == (True, [True], [False])
    world.look(PATIENCE)
    assert world.hosts_of(lease) != {host}
    assert flags(world, lease) == WHOLE


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


@pytest.mark.slow
def test_a_thousand_reservations_are_one_plan(tmp_path: Path) -> None:
    """The statements grow by the transaction of two hundred leases, not by the lease."""
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db")
    give_schema(database.engine)
    world = World(hosts=3, database=database)
    world.healing_settings = HealingSettings(interval=timedelta(0))
    world.restart()
    leases = many(world, 1000)
    world.advance(1)
    fail(world, "1")
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    world.monitoring.round()
    assert len(statements) < 105  # of which five put what is told into the outbox: one in each transaction
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


def test_slots_wait_for_a_host_that_healing_still_takes_from_a_lease_of_whole_hosts() -> None:
    """The host is back before the servers of the lease that had it are gone."""
    world = World(hosts=2)
    whole = world.create(end=600)
    world.run_due()
    old = only(world.hosts_of(whole))
    world.cloud.boot("tenant", f"host{old}", "demo")
    world.cloud.state.undying.add("tenant")
    fail(world, old)
    world.look(minutes=PATIENCE + 1)
    world.look(minutes=PATIENCE + 1)
    assert world.hosts_of(whole) == {"1", "2"} - {old}
    repair(world, old)
    for _ in range(4):
        world.look()
    slots = world.reserve(instances(), end=600)
    world.run_due()
    assert world.hosts_of(slots) == {old}
    assert world.lease(slots).status_reason == WAITING
    assert world.cloud.hosts_in(slots.reservations[0].id) == ()
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert world.lease(slots).status is LeaseStatus.ACTIVE
    assert world.cloud.hosts_in(slots.reservations[0].id) == (f"host{old}",)
