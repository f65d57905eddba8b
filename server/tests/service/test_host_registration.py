"""Registration and deregistration of hosts go on after a crash, a refusal or another operator's call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blazar.domain.errors import CloudUnavailable, NotFound, OutcomeUnknown
from blazar.domain.resource import Registration
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.errors import CantDeleteHost, HostAlreadyRegistered, HostHavingServers
from blazar.service.ports import Database, UnitOfWork

from .test_crashes import dies_at_each_step
from .world import ADMIN, World

ONE = "host1"


def one_host() -> World:
    return World(hosts=1)


def known(world: World) -> list[Registration]:
    return list(world.hosts.list(ADMIN))


def deregister(world: World, _: object = None) -> None:
    (host,) = known(world)
    world.hosts.unregister(host.id)


def half_deregistered() -> list[World]:
    """A world for each step of a deregistration at which the process died, and left something to do."""
    worlds = dies_at_each_step(lambda world: None, deregister, one_host)
    return [world for world in worlds if known(world)]


def fail_at(
    world: World, failing: str, failure: Exception, done: Callable[[], object] = lambda: None
) -> None:
    """Let one sort of call to the cloud fail from now on, perhaps after Nova has carried it out."""

    def fail(call: str) -> None:
        if call == failing:
            world.cloud.before = lambda call: None
            done()
            world.cloud.before = fail
            raise failure

    world.cloud.before = fail


DOWN = CloudUnavailable(service="Nova", reason="503")


def test_a_host_that_is_deregistered_keeps_its_empty_provider() -> None:
    """nova-compute remembers the provider and would fail each boot without it."""
    world = one_host()
    deregister(world)
    provider = world.cloud.placement.provider("blazar_host1")
    assert provider is not None
    assert provider.inventory == {}
    assert "remove_reservation_provider" not in world.cloud.calls
    world.register(ONE)
    assert world.cloud.placement.provider("blazar_host1") == provider


def test_a_crash_leaves_a_deregistration_that_a_second_call_goes_on_with() -> None:
    worlds = half_deregistered()
    assert any(not host.reservable for world in worlds for host in known(world))
    for world in worlds:
        deregister(world)
        assert known(world) == []
        assert world.in_freepool() == set()


def test_servers_that_came_after_the_host_left_the_freepool_are_not_in_the_way() -> None:
    outside = [world for world in half_deregistered() if ONE not in world.in_freepool()]
    assert outside
    for world in outside:
        world.cloud.boot("ordinary", ONE)
        deregister(world)
        assert known(world) == []
        assert "ordinary" in world.cloud.state.servers


def test_a_crash_leaves_a_host_that_can_be_registered_anew() -> None:
    half = [world for world in half_deregistered() if not known(world)[0].reservable]
    assert half
    for world in half:
        before = known(world)[0].generation
        made = world.hosts.register(RegisterHost(ONE, {"rack": "r2"}))
        assert [made] == known(world)
        assert made.reservable
        assert (made.capabilities, made.generation) == ({"rack": "r2"}, before + 1)
        assert world.in_freepool() == {ONE}
        world.run_due()
        world.create(resource_properties='["==", "$rack", "r2"]')


def test_a_crash_leaves_a_registration_that_can_be_repeated() -> None:
    def register(world: World, _: object) -> None:
        world.register(ONE)

    for world in dies_at_each_step(deregister, register, one_host):
        if not known(world):
            world.register(ONE)
        assert [host.reservable for host in known(world)] == [True]
        assert world.in_freepool() == {ONE}


@pytest.mark.parametrize("is_given_up", [True, False])
def test_a_registration_that_fails_leaves_a_host_that_is_kept_meanwhile(is_given_up: bool) -> None:
    """While it is under way, a deregistration is given up, or another operator registers the host."""
    half = [world for world in half_deregistered() if not known(world)[0].reservable]
    for world in half:

        def keep(world: World = world) -> None:
            if is_given_up:
                later(world)
            else:
                world.register(ONE)

        fail_at(world, "provider", DOWN, keep)
        with pytest.raises(CloudUnavailable):
            world.hosts.register(RegisterHost(ONE, {"rack": "r2"}))
        world.cloud.before = lambda call: None
        assert [host.reservable for host in known(world)] == [True]
        assert world.in_freepool() == {ONE}


def test_a_host_that_is_registered_is_not_registered_twice() -> None:
    world = one_host()
    with pytest.raises(HostAlreadyRegistered):
        world.register(ONE)


@pytest.mark.parametrize(
    ("failing", "reservable"), [("servers_on", True), ("remove_host", True), ("aggregates", False)]
)
def test_a_deregistration_that_fails_can_be_repeated(failing: str, reservable: bool) -> None:
    """The host is reservable again where Nova says that it is still in the freepool."""
    world = one_host()
    fail_at(world, failing, DOWN)
    with pytest.raises(CloudUnavailable):
        deregister(world)
    world.cloud.before = lambda call: None
    assert world.in_freepool() == {ONE}
    assert [host.reservable for host in known(world)] == [reservable]
    deregister(world)
    assert known(world) == []


@pytest.mark.parametrize("taken_out", [False, True], ids=["in the freepool", "taken out by an operator"])
def test_a_host_with_servers_stays_reservable(taken_out: bool) -> None:
    world = one_host()
    if taken_out:
        world.cloud.compute.remove_host(world.cloud.compute.find_aggregate("freepool").id, ONE)
    world.cloud.boot("server", ONE)
    with pytest.raises(HostHavingServers):
        deregister(world)
    assert [host.reservable for host in known(world)] == [True]
    assert world.in_freepool() == (set() if taken_out else {ONE})


def test_a_host_that_left_the_freepool_without_an_answer_is_not_reserved_again() -> None:
    world = one_host()
    pool = world.cloud.compute.find_aggregate("freepool")
    assert pool is not None
    fail_at(world, "remove_host", DOWN, lambda: world.cloud.compute.remove_host(pool.id, ONE))
    with pytest.raises(CloudUnavailable):
        deregister(world)
    world.cloud.before = lambda call: None
    assert [host.reservable for host in known(world)] == [False]
    deregister(world)
    assert known(world) == []


def meanwhile(world: World, act: Callable[[], object], call: str = "remove_host") -> None:
    """Let something happen once, just before a call to the cloud."""

    def once(seen: str) -> None:
        if seen == call:
            world.cloud.before = lambda call: None
            act()

    world.cloud.before = once


def test_a_property_that_is_set_meanwhile_does_not_stop_a_deregistration() -> None:
    world = one_host()
    meanwhile(world, lambda: world.hosts.set_capabilities("1", {"rack": "r1"}))
    deregister(world)
    assert known(world) == []


def test_a_host_that_is_registered_anew_meanwhile_stays() -> None:
    world = one_host()
    meanwhile(world, lambda: world.register(ONE))
    with pytest.raises(CantDeleteHost, match="made reservable meanwhile"):
        deregister(world)
    assert [host.reservable for host in known(world)] == [True]
    assert world.in_freepool() == {ONE}


def test_two_deregistrations_at_once_are_one() -> None:
    world = one_host()
    meanwhile(world, lambda: deregister(world))
    deregister(world)
    assert known(world) == []
    with pytest.raises(NotFound):
        world.hosts.unregister("1")


def test_a_registration_that_fails_leaves_the_host_outside_of_the_freepool() -> None:
    world = one_host()
    deregister(world)
    fail_at(world, "provider", DOWN)
    with pytest.raises(CloudUnavailable):
        world.register(ONE)
    world.cloud.before = lambda call: None
    assert known(world) == []
    assert world.in_freepool() == set()


# ------------------------------------------------------------------------------ what was cut off is finished


def later(world: World, minutes: float = 3) -> None:
    world.advance(minutes=minutes)
    world.hosts.finish_deregistrations()


def is_whole(world: World) -> bool:
    """A host is in our care and in the freepool, or neither."""
    (inside,) = [host.reservable for host in known(world)] or [False]
    return world.in_freepool() == ({ONE} if inside else set())


def test_a_deregistration_that_a_crash_cut_off_is_finished_or_given_up() -> None:
    worlds = half_deregistered()
    assert {ONE in world.in_freepool() for world in worlds} == {True, False}
    for world in worlds:
        was_outside = ONE not in world.in_freepool()
        later(world)
        assert is_whole(world)
        assert bool(known(world)) is not was_outside
        if known(world):
            world.create()


@pytest.mark.parametrize("failing", ["servers_on", "remove_host", "aggregates"])
@pytest.mark.parametrize("failure", [DOWN, KeyError("unforeseen")], ids=["known", "unforeseen"])
@pytest.mark.parametrize("acts", [False, True])
def test_a_deregistration_that_failed_is_finished_or_given_up(
    failing: str, failure: Exception, acts: bool
) -> None:
    world = one_host()
    pool = world.cloud.compute.find_aggregate("freepool")
    assert pool is not None
    does = {"remove_host": lambda: world.cloud.compute.remove_host(pool.id, ONE)}.get(failing, lambda: None)
    fail_at(world, failing, failure, does if acts else lambda: None)
    with pytest.raises(type(failure)):
        deregister(world)
    world.cloud.before = lambda call: None
    later(world)
    assert is_whole(world)


def test_a_deregistration_whose_last_commit_fails_is_finished() -> None:
    world = one_host()
    commits = iter([None, None, CloudUnavailable(service="database", reason="away")])

    def step() -> None:
        failure = next(commits, None)
        if failure is not None:
            raise failure

    world.database.step = step
    with pytest.raises(CloudUnavailable):
        deregister(world)
    world.database.step = lambda: None
    assert [host.reservable for host in known(world)] == [False]
    assert world.in_freepool() == set()
    later(world)
    assert known(world) == []


def test_what_is_under_way_is_left_alone() -> None:
    for world in half_deregistered():
        before = known(world), world.in_freepool()
        world.hosts.finish_deregistrations()
        assert (known(world), world.in_freepool()) == before


def test_a_host_that_cannot_be_brought_back_is_not_left_to_leases_and_strangers_at_once() -> None:
    world = one_host()
    pool = world.cloud.compute.find_aggregate("freepool")
    assert pool is not None

    def register_anew_and_fail() -> None:
        world.register(ONE)
        fail_at(world, "add_host", DOWN)

    meanwhile(world, register_anew_and_fail)
    with pytest.raises(CloudUnavailable):
        deregister(world)
    assert [host.reservable for host in known(world)] == [False]
    world.cloud.before = lambda call: None
    later(world)
    assert is_whole(world)


# ------------------------------------------------------------------------------------------ unknown commits


class LosesAnswers:
    """A database that stores, or does not, and loses the answer, the given number of times."""

    def __init__(self, inner: Database, times: int, stores: bool) -> None:
        self.inner, self.times, self.stores = inner, times, stores

    def read(self) -> Any:
        return self.inner.read()

    def transact(self, work: Callable[[UnitOfWork], Any]) -> Any:
        self.times -= 1
        result = self.inner.transact(work) if self.stores or self.times < 0 else None
        if self.times >= 0:
            raise OutcomeUnknown(service="database", reason="lost")
        return result


@pytest.mark.parametrize("stores", [True, False])
@pytest.mark.parametrize("is_anew", [True, False])
def test_a_registration_with_an_unknown_outcome_is_found_out(stores: bool, is_anew: bool) -> None:
    world = one_host()
    if is_anew:
        world = next(w for w in half_deregistered() if ONE not in w.in_freepool())
    else:
        deregister(world)
    world.database.inner = LosesAnswers(world.database.inner, 1, stores)
    made = world.hosts.register(RegisterHost(ONE, {"rack": "r1"}))
    assert known(world) == [made]
    assert (made.reservable, made.capabilities) == (True, {"rack": "r1"})
    assert world.in_freepool() == {ONE}


def test_a_host_that_may_be_registered_stays_in_the_freepool() -> None:
    world = one_host()
    deregister(world)
    inner = world.database.inner
    world.database.inner = LosesAnswers(inner, 1000, stores=False)
    with pytest.raises(OutcomeUnknown):
        world.register(ONE)
    world.database.inner = inner
    assert known(world) == []
    assert world.in_freepool() == {ONE}
    world.register(ONE)
    assert [host.reservable for host in known(world)] == [True]
