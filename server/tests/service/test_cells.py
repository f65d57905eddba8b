"""Hosts of several cells of Nova, which may have the same number there, and hosts that an earlier version has
registered, whose cloud_id is not known yet."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import CloudUnavailable, MultipleHostsFound, Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import Registration
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.errors import HostAlreadyRegistered
from blazar.kinds.registered_hosts.extension import HostsExtension
from blazar.kinds.registered_hosts.hosts import FIRST_OWN_ID
from blazar.kinds.registered_hosts.monitor import MonitorSettings
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.ports import Database, UnitOfWork
from blazar.service.ports.kind import Dependencies

from .test_host_registration import LosesAnswers
from .world import ADMIN, DEMO, World, instances, whole_hosts

FIRST, SECOND = "host1", "host2"


def two_cells() -> World:
    """One registered host, and one in another cell that has the same number."""
    world = World(hosts=1)
    world.cloud.add_hypervisor("1", SECOND)
    return world


def register(world: World, name: str = SECOND) -> Registration:
    return world.hosts.register(RegisterHost(name, {}))


def by_name(world: World) -> dict[str, Registration]:
    return {host.name: host for host in world.hosts.list(ADMIN)}


def uuid_of(world: World, name: str) -> str:
    return world.cloud.state.hypervisors[name].uuid


# --------------------------------------------------------------------------------------------- registration


def test_both_hosts_are_registered_leased_and_given_back() -> None:
    world = two_cells()
    second = register(world)
    known = by_name(world)
    assert known.keys() == {FIRST, SECOND}
    assert known[FIRST].id == "1"
    assert second.id.isdigit()
    assert int(second.id) >= FIRST_OWN_ID
    assert {host.cloud_id for host in known.values()} == {uuid_of(world, name) for name in (FIRST, SECOND)}
    lease = world.create(min=2, max=2)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert world.hosts_of(lease) == {"1", second.id}
    assert set(world.cloud.hosts_in(lease.reservations[0].id)) == {FIRST, SECOND}
    world.advance(minutes=61)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert world.in_freepool() == {FIRST, SECOND}
    world.delete(lease)
    world.run_due()
    for host in known.values():
        world.hosts.unregister(host.id)
    assert (by_name(world), world.in_freepool()) == ({}, set())


def test_slots_are_on_the_host_of_the_right_cell() -> None:
    world = two_cells()
    register(world)
    world.reserve(whole_hosts(resource_properties=f'["==", "$hypervisor_hostname", "{FIRST}"]'))
    lease = world.reserve(instances(amount=2))
    world.run_due()
    assert set(world.cloud.hosts_in(lease.reservations[0].id)) == {SECOND}
    assert {host for host, _ in world.cloud.state.slots} == {SECOND}


def test_a_host_has_the_same_id_of_its_own_whenever_it_is_registered() -> None:
    world = two_cells()
    before = register(world).id
    world.hosts.unregister(before)
    assert register(world).id == before
    world.hosts.unregister(before)
    world.hosts.unregister("1")
    assert register(world).id == "1"
    assert int(register(world, FIRST).id) >= FIRST_OWN_ID


def test_an_id_of_our_own_that_another_host_has_is_not_given_twice() -> None:
    world = two_cells()
    own = int(register(world).id)
    world.hosts.unregister(str(own))
    for number in range(2):
        other = Registration(str(own + number), POOL, f"other{number}")
        world.database.transact(lambda uow, other=other: uow.resources.add(other, world.clock.now()))  # type: ignore[misc]
    assert register(world).id == str(own + 2)


def half_deregistered(world: World, name: str) -> Registration:
    host = replace(by_name(world)[name], reservable=False)
    return world.database.transact(lambda uow: uow.resources.save(host, world.clock.now()))


def test_a_half_deregistered_host_keeps_the_id_of_its_own() -> None:
    world = two_cells()
    register(world)
    before = half_deregistered(world, SECOND)
    made = register(world)
    assert (made.id, made.generation, made.reservable) == (before.id, before.generation + 1, True)


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_host_whose_deregistration_ends_while_it_is_registered_anew_is_registered(name: str) -> None:
    world = two_cells()
    register(world)
    before = half_deregistered(world, name)

    def finish(call: str) -> None:
        if call == "provider":
            world.database.transact(lambda uow: uow.resources.remove(before.id, before.generation))

    world.cloud.before = finish
    made = register(world, name)
    assert (made.id, made.reservable) == (before.id, True)
    assert by_name(world).keys() == world.in_freepool() == {FIRST, SECOND}


def test_a_number_that_two_hypervisors_have_is_refused() -> None:
    world = two_cells()
    with pytest.raises(
        MultipleHostsFound, match=r"host1, host2 have this id.* Register the host by its name\."
    ):
        register(world, "1")
    assert by_name(world).keys() == {FIRST}
    assert world.in_freepool() == {FIRST}
    world.cloud.add_hypervisor("7", "host7")
    assert register(world, "7").name == "host7"


def test_a_host_is_registered_once_whatever_nova_calls_it() -> None:
    world = two_cells()
    second = register(world)
    hypervisors = world.cloud.state.hypervisors
    renamed = replace(hypervisors.pop(SECOND), hypervisor_hostname="host2.example")
    hypervisors["host2.example"] = renamed
    world.cloud.set_provider("host2.example", {"VCPU": 8})
    anew = replace(hypervisors[FIRST], uuid="another")
    hypervisors[FIRST] = anew
    for name in ("host2.example", FIRST):
        with pytest.raises(HostAlreadyRegistered):
            register(world, name)
    assert set(by_name(world)) == {FIRST, SECOND}
    world.hosts.unregister(second.id)
    assert register(world, "host2.example").id == second.id


class LosesRaces:
    """A database on which ``other`` is done just before the first commit, which fails for it."""

    def __init__(self, inner: Database, other: Callable[[], object]) -> None:
        self.inner, self.others = inner, [other]
        self.failures: list[Exception] = []
        """What the next looks at the database fail with."""

    def read(self) -> Any:
        if self.failures:
            raise self.failures.pop()
        return self.inner.read()

    def transact(self, work: Callable[[UnitOfWork], Any]) -> Any:
        if not self.others:
            return self.inner.transact(work)
        self.others.pop()()
        raise Stale


@pytest.fixture
def racing() -> World:
    """Two hosts with one number. Another manager registers the first of them while this one registers the
    next."""
    world = World(hosts=0)
    for name in (FIRST, SECOND):
        world.cloud.add_hypervisor("1", name)
    world.database.inner = LosesRaces(world.database.inner, lambda: register(world, FIRST))
    return world


def test_of_two_hosts_with_one_number_that_are_registered_at_once_each_gets_an_id(racing: World) -> None:
    second = register(racing)
    assert (by_name(racing)[FIRST].id, by_name(racing)[SECOND]) == ("1", second)
    assert int(second.id) >= FIRST_OWN_ID
    assert racing.in_freepool() == {FIRST, SECOND}


def test_a_host_that_another_manager_registers_at_once_is_registered_by_it(racing: World) -> None:
    with pytest.raises(HostAlreadyRegistered):
        register(racing, FIRST)
    assert by_name(racing).keys() == racing.in_freepool() == {FIRST}


def test_a_host_of_another_manager_stays_in_the_freepool_where_the_database_does_not_tell_of_it(
    racing: World,
) -> None:
    """The commit is refused, and then the database is lost for a moment."""
    lost = racing.database.inner

    def register_and_lose() -> None:
        register(racing, FIRST)
        lost.failures.append(CloudUnavailable(service="database", reason="away"))

    lost.others = [register_and_lose]
    with pytest.raises(HostAlreadyRegistered):
        register(racing, FIRST)
    assert not lost.failures
    assert by_name(racing).keys() == racing.in_freepool() == {FIRST}


@pytest.mark.parametrize("stores", [True, False])
def test_a_registration_under_an_id_of_our_own_with_an_unknown_outcome_is_found_out(stores: bool) -> None:
    world = two_cells()
    world.database.inner = LosesAnswers(world.database.inner, 1, stores)
    second = register(world)
    assert by_name(world)[SECOND] == second
    assert world.in_freepool() == {FIRST, SECOND}


def test_a_registration_whose_number_is_taken_while_its_outcome_is_unknown_gets_another_id() -> None:
    world = World(hosts=0)
    for name in (FIRST, SECOND):
        world.cloud.add_hypervisor("1", name)
    lost = LosesAnswers(world.database.inner, 1, stores=False)
    world.database.inner = lost

    def register_the_first(seconds: float) -> None:
        if not world.hosts.list(ADMIN):
            register(world, FIRST)

    world.clock.pause = register_the_first  # type: ignore[method-assign]
    second = register(world)
    assert {host.name: host.id for host in by_name(world).values()} == {FIRST: "1", SECOND: second.id}
    assert int(second.id) >= FIRST_OWN_ID


# ----------------------------------------------------------------------------------------------- monitoring


def test_what_nova_tells_of_a_hypervisor_is_stored_at_its_own_host() -> None:
    world = two_cells()
    register(world)
    known = world.cloud.state.hypervisors[SECOND]
    world.cloud.state.hypervisors[SECOND] = replace(known, facts={**known.facts, "vcpus": 32})
    world.cloud.set_service(FIRST, is_up=False)
    world.look()
    hosts = by_name(world)
    assert [hosts[name].can_be_reserved for name in (FIRST, SECOND)] == [False, True]
    assert [hosts[name].facts["vcpus"] for name in (FIRST, SECOND)] == [8, 32]


def test_a_host_whose_hypervisor_has_another_name_by_now_is_still_monitored() -> None:
    world = World(hosts=2)
    hypervisors = world.cloud.state.hypervisors
    hypervisors["renamed"] = replace(hypervisors.pop(SECOND), hypervisor_hostname="renamed", is_up=False)
    world.look()
    assert [by_name(world)[name].can_be_reserved for name in (FIRST, SECOND)] == [True, False]


def test_a_hypervisor_that_was_made_anew_is_its_hosts() -> None:
    world = World(hosts=2)
    hypervisors = world.cloud.state.hypervisors
    hypervisors[SECOND] = replace(hypervisors[SECOND], uuid="anew", is_up=False)
    world.look()
    second = by_name(world)[SECOND]
    assert (second.cloud_id, second.can_be_reserved) == ("anew", False)


def test_a_hypervisor_that_is_one_hosts_is_not_taken_for_another_ones() -> None:
    """The hypervisor of host2 has the name of host1 by now, whose own is gone."""
    world = World(hosts=2)
    hypervisors = world.cloud.state.hypervisors
    hypervisors[FIRST] = replace(hypervisors.pop(SECOND), hypervisor_hostname=FIRST, is_up=False)
    before = by_name(world)[FIRST]
    world.look()
    assert by_name(world)[FIRST] == before
    assert not by_name(world)[SECOND].can_be_reserved


# ------------------------------------------------------------------------- hosts of an earlier version


def forget_cloud_ids(world: World) -> dict[str, Registration]:
    """Leave the hosts as an earlier version registers them."""
    for host in by_name(world).values():
        old = replace(host, cloud_id=None)
        world.database.transact(lambda uow, old=old: uow.resources.save(old, world.clock.now()))  # type: ignore[misc]
    return by_name(world)


def cloud_ids(world: World) -> dict[str, str | None]:
    return {name: host.cloud_id for name, host in by_name(world).items()}


def test_the_monitor_finds_the_cloud_ids_of_old_hosts(caplog: pytest.LogCaptureFixture) -> None:
    world = two_cells()
    lease = world.create(end=600)
    world.run_due()
    old = forget_cloud_ids(world)[FIRST]
    caplog.set_level(logging.INFO)
    world.look()
    assert cloud_ids(world) == {FIRST: uuid_of(world, FIRST)}
    new = by_name(world)[FIRST]
    kept = replace(new, cloud_id=None, generation=old.generation, updated_at=old.updated_at)
    assert kept == old
    assert not caplog.records
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    world.look()
    assert by_name(world)[FIRST] == new


def test_a_host_that_is_down_gets_its_cloud_id_too() -> None:
    world = World(hosts=2)
    forget_cloud_ids(world)
    world.cloud.set_service(FIRST, is_up=False)
    world.look()
    assert cloud_ids(world) == {name: uuid_of(world, name) for name in (FIRST, SECOND)}
    assert not by_name(world)[FIRST].can_be_reserved


def test_an_old_host_is_not_registered_again_and_its_number_is_not_given_away() -> None:
    world = two_cells()
    forget_cloud_ids(world)
    with pytest.raises(HostAlreadyRegistered):
        register(world, FIRST)
    assert int(register(world).id) >= FIRST_OWN_ID


def test_an_old_host_that_is_half_deregistered_is_registered_anew_with_its_cloud_id() -> None:
    world = World(hosts=1)
    forget_cloud_ids(world)
    half_deregistered(world, FIRST)
    made = register(world, FIRST)
    assert (made.id, made.reservable, made.cloud_id) == ("1", True, uuid_of(world, FIRST))


def test_without_a_monitor_upkeep_finds_the_cloud_ids_and_asks_once() -> None:
    world = World(hosts=3)
    del world.cloud.state.hypervisors["host3"]
    forget_cloud_ids(world)
    extension = HostsExtension()
    dependencies = Dependencies(world.database, world.cloud, world.kinds, world.clock)
    for _ in range(3):
        extension.upkeep(dependencies)
    assert cloud_ids(world) == {FIRST: uuid_of(world, FIRST), SECOND: uuid_of(world, SECOND), "host3": None}
    assert world.cloud.calls.count("hypervisors") == 1
    HostsExtension(monitoring=MonitorSettings()).upkeep(dependencies)
    assert world.cloud.calls.count("hypervisors") == 1


def test_a_cloud_id_that_cannot_be_stored_is_stored_the_next_time() -> None:
    world = World(hosts=1)
    forget_cloud_ids(world)
    extension = HostsExtension()
    dependencies = Dependencies(world.database, world.cloud, world.kinds, world.clock)

    def change(call: str) -> None:
        world.cloud.before = lambda call: None
        world.hosts.set_capabilities("1", {"rack": "r1"})

    world.cloud.before = change
    extension.upkeep(dependencies)
    assert cloud_ids(world) == {FIRST: None}
    extension.upkeep(dependencies)
    assert cloud_ids(world) == {FIRST: uuid_of(world, FIRST)}
    assert world.hosts.get("1", DEMO).capabilities == {"rack": "r1"}
