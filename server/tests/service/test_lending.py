"""Reservations that lend the hosts which they do not use, and take them back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.errors import CloudUnavailable, InvalidInput, MalformedParameter
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.engine.lending import LendingDuty
from blazar.kinds.host.lending import IdleHost, LendingSettings, to_keep_free
from blazar.service.commands import ReservationChange
from blazar.service.lending import MOST_FAILURES, Lending
from blazar.service.ports import Look
from blazar.service.ports.kind import Dependencies, Lent
from blazar.service.shares import Shares
from blazar.service.works import active_works
from blazarnova import rule

from .test_crashes import dies_at_each_step
from .test_preemptibles import KEPT, SPARE, only
from .world import DEMO, World, whole_hosts

IDLE = timedelta(minutes=10)


def lending_world() -> World:
    world = World()
    world.lending = LendingSettings(idle=IDLE)
    world.restart()
    for flavor in (SPARE, KEPT):
        world.cloud.add_flavor(flavor)
    return world


@pytest.fixture
def world() -> World:
    return lending_world()


def lends(world, **fields):
    """Return a lease of three hosts that lends, and has begun."""
    asked = whole_hosts(**{"min": 3, "max": 3, "lend": True, **fields})
    lease = world.reserve(asked, end=120, warn_at=world.in_minutes(60))
    world.run_due()
    world.lender = Lending(Dependencies(world.database, world.cloud, world.kinds, world.clock))
    return world.lease(lease)


def look(world, minutes: float = 0) -> Lent:
    world.advance(minutes=minutes)
    return world.lender.look(lambda: None)


def lent(world) -> tuple[str, ...]:
    return tuple(sorted(world.cloud.hosts_in("lent")))


def reserved(world, lease) -> list[str]:
    return sorted(world.cloud.hosts_in(only(lease).id))


def lets(world, host: str) -> bool:
    """Return whether the filter lets a preemptible server of others onto the host."""
    aggregates = [
        rule.Aggregate(each.name, each.availability_zone, each.metadata)
        for each in world.cloud.state.aggregates.values()
        if host in each.hosts
    ]
    request = rule.RequestSpec("alt", extra_specs={rule.PREEMPTIBLE_SPEC: "true"})
    return bool(rule.decide(request, aggregates, rule.Settings(allow_preemptibles=True)))


def guest(world, name: str, host: str, flavor: str = "spare") -> None:
    """Boot a preemptible server of another project, as the filter lets it."""
    assert lets(world, host)
    world.cloud.boot(name, host, "alt")
    world.cloud.state.flavor_of[name] = flavor


def servers_on(world, host: str) -> set[str]:
    return {each.id for each in world.cloud.state.servers.values() if each.host == host}


def test_hosts_that_were_unused_for_some_time_are_lent_but_one(world):
    lease = lends(world)
    assert look(world) == Lent()
    assert look(world, 9) == Lent()
    assert look(world, 1) == Lent(2)
    first, *others = reserved(world, lease)
    assert lent(world) == tuple(others)
    assert [lets(world, host) for host in (first, *others)] == [False, True, True]
    assert look(world) == Lent(2)


def test_without_the_wish_none_is(world):
    lends(world, lend=False)
    look(world)
    assert look(world, 11) == Lent()
    assert not world.cloud.hosts_in("lent")


@pytest.mark.parametrize(("keep_free", "number"), [(0, 3), (2, 1), (3, 0), (9, 0)])
def test_so_many_are_kept_free(world, keep_free, number):
    lends(world, keep_free=keep_free)
    look(world)
    assert look(world, 10) == Lent(number)
    assert len(lent(world)) == number


def test_when_the_owner_boots_another_host_is_taken_back(world):
    lease = lends(world)
    look(world)
    look(world, 10)
    first, second, third = reserved(world, lease)
    guest(world, "deleted", second)
    guest(world, "shelved", third, "kept")
    world.cloud.boot("own", first)
    assert look(world) == Lent(1, 1, 1)
    assert lent(world) == (third,)
    assert not lets(world, second)
    assert servers_on(world, second) == set()
    assert servers_on(world, first) == {"own"}
    assert servers_on(world, third) == {"shelved"}
    world.cloud.boot("own-too", second)
    look(world)
    assert lent(world) == ()
    state = world.cloud.state
    assert state.server_metadata["shelved"]["blazar_preempted"] == (
        f"host {third} is needed by the project that has reserved it"
    )
    look(world)
    assert state.servers["shelved"].status == "SHELVED_OFFLOADED"
    assert {"own", "own-too"} < set(state.servers)
    assert look(world) == Lent()


def test_the_free_ones_are_kept_so_that_few_servers_leave(world):
    lease = lends(world)
    look(world)
    look(world, 10)
    first, second, _ = reserved(world, lease)
    guest(world, "guest", second)
    world.cloud.boot("own", first)
    look(world)
    assert lent(world) == (second,)
    assert servers_on(world, second) == {"guest"}


def test_a_host_on_which_both_run_is_the_owners(world):
    lease = lends(world, keep_free=0)
    look(world)
    look(world, 10)
    first, *others = reserved(world, lease)
    guest(world, "guest", first)
    world.cloud.boot("own", first)
    look(world)
    assert servers_on(world, first) == {"own"}
    assert lent(world) == tuple(others)


@pytest.mark.parametrize("flavor", ["spare", "kept"])
def test_preemptible_servers_of_the_owner_stay(world, flavor):
    lease = lends(world, keep_free=0)
    look(world)
    look(world, 10)
    first, *_ = reserved(world, lease)
    guest(world, "guest", first)
    world.cloud.boot("own", first)
    world.cloud.state.flavor_of["own"] = flavor
    assert look(world) == Lent(2, 1, 1)
    assert servers_on(world, first) == {"own"}
    assert look(world) == Lent(2)


def test_what_was_not_seen_does_not_leave(world):
    """Between the look and its requests the host may have gone to another reservation."""
    lease = lends(world, keep_free=0)
    look(world)
    look(world, 10)
    first, *_ = reserved(world, lease)
    guest(world, "guest", first)
    world.cloud.boot("own", first)

    def boot(call: str) -> None:
        if call == "preemptible_servers_on":
            world.cloud.boot("later", first, "others")
            world.cloud.state.flavor_of["later"] = "spare"

    world.cloud.before = boot
    look(world)
    assert servers_on(world, first) == {"own", "later"}


def test_what_it_does_not_have_yet_is_left_to_the_lease_that_is_there(world):
    lease = lends(world, keep_free=0)
    first, *others = only(lease).allocations
    planned = replace(only(lease), allocations=(replace(first, bound=False), *others))
    late = replace(lease, reservations=(planned,))
    world.database.transact(lambda u: u.leases.save(late, lease, world.clock.now()))
    with world.database.read() as u:
        host = str(u.resources.get(first.resource_id).facts["service_name"])
    world.cloud.boot("theirs", host, "alt")
    world.cloud.state.flavor_of["theirs"] = "spare"
    assert look(world) == Lent()
    assert look(world, 11) == Lent(2)
    assert host not in lent(world)
    assert servers_on(world, host) == {"theirs"}


def test_what_was_used_is_lent_again_after_some_time(world):
    lease = lends(world, keep_free=0)
    first, *others = reserved(world, lease)
    world.cloud.boot("own", first)
    look(world)
    look(world, 10)
    assert lent(world) == tuple(others)
    world.cloud.compute.delete_server("own")
    look(world)
    look(world, 9)
    assert lent(world) == tuple(others)
    look(world, 1)
    assert lent(world) == (first, *others)


def test_the_owner_takes_all_back_by_a_change(world):
    lease = lends(world)
    look(world)
    look(world, 10)
    guest(world, "guest", lent(world)[0])
    change = ReservationChange(only(lease).id, {"lend": False})
    world.update(lease, reservations=(change,))
    world.run_due()
    assert look(world).taken_back == 2
    assert lent(world) == ()
    assert "guest" not in world.cloud.state.servers
    assert look(world, 30) == Lent()


def test_lending_may_begin_while_the_lease_is_active(world):
    lease = lends(world, lend=False)
    world.update(lease, reservations=(ReservationChange(only(lease).id, {"lend": True, "keep_free": 0}),))
    world.run_due()
    look(world)
    assert look(world, 10) == Lent(3)


def test_servers_of_projects_that_may_use_it_are_its_own(world):
    lease = lends(world, keep_free=0)
    Shares(world.database, world.kinds, world.clock).put(lease.id, "alt", ShareRight.USE, DEMO)
    first, *_ = reserved(world, lease)
    world.cloud.boot("theirs", first, "alt")
    look(world)
    look(world, 10)
    assert first not in lent(world)
    assert servers_on(world, first) == {"theirs"}


def test_at_the_end_guests_leave_as_their_flavors_say(world):
    lease = lends(world)
    look(world)
    look(world, 10)
    first, second, third = reserved(world, lease)
    guest(world, "deleted", second)
    guest(world, "shelved", third, "kept")
    world.cloud.boot("own", first)
    world.cloud.state.hanging = {"own"}
    world.delete(lease)
    world.run_due()
    assert not lets(world, second)
    assert not lets(world, third)
    del world.cloud.state.servers["own"]
    world.advance(minutes=5)
    assert set(world.cloud.state.servers) == {"shelved"}
    assert world.cloud.state.servers["shelved"].status == "SHELVED_OFFLOADED"
    assert look(world) == Lent()
    assert not lent(world)
    assert len(world.in_freepool()) == 4
    (aggregate,) = [each for each in world.cloud.state.aggregates.values() if each.name == "lent"]
    assert not aggregate.metadata


def test_no_snapshot_is_made_of_the_servers_of_others(world):
    lease = lends(world, before_end="snapshot")
    look(world)
    look(world, 10)
    first, second, _ = reserved(world, lease)
    world.cloud.boot("own", first)
    guest(world, "guest", second)
    world.advance(minutes=61)
    assert len(world.cloud.state.images) == 1
    assert "guest" not in world.cloud.state.images[0]


def test_what_is_left_by_a_lease_that_is_gone_is_taken_away(world):
    lease = lends(world)
    look(world)
    look(world, 10)
    world.delete(lease)
    world.run_due()
    (aggregate,) = [each for each in world.cloud.state.aggregates.values() if each.name == "lent"]
    world.cloud.compute.create_aggregate("lent", None, {only(lease).id: lease.id, "rack": "7"})
    assert len(aggregate.hosts) == 2
    assert look(world) == Lent()
    (aggregate,) = [each for each in world.cloud.state.aggregates.values() if each.name == "lent"]
    assert (aggregate.hosts, aggregate.metadata) == ((), {"rack": "7"})


def test_a_host_that_goes_to_another_reservation_is_not_lent_there(world):
    lease = lends(world)
    look(world)
    look(world, 10)
    hosts = lent(world)
    world.delete(lease)
    world.run_due()
    other = world.reserve(whole_hosts(min=4, max=4), start=5, end=60)
    world.advance(minutes=6)
    assert world.lease(other).status is LeaseStatus.ACTIVE
    assert lent(world) == hosts
    assert not any(lets(world, host) for host in hosts)


def test_what_one_reservation_has_lent_is_not_lent_by_the_next_one_at_once(world):
    """Both lend, and no look comes between them."""
    lends(world, min=4, max=4, keep_free=0)
    look(world)
    look(world, 10)
    other = world.reserve(whole_hosts(min=4, max=4, lend=True, keep_free=0), start=120, end=180)
    hosts = lent(world)
    assert len(hosts) == 4
    while world.lease(other).status is not LeaseStatus.ACTIVE:
        world.advance(minutes=1)
    assert not any(lets(world, host) for host in hosts)
    assert look(world) == Lent()
    assert look(world, 10) == Lent(4)


def test_a_restart_lends_nothing_sooner(world):
    lends(world)
    look(world)
    world.advance(minutes=9)
    world.restart()
    world.lender = Lending(Dependencies(world.database, world.cloud, world.kinds, world.clock))
    assert look(world) == Lent()
    assert look(world, 9) == Lent()
    assert look(world, 1) == Lent(2)


def test_nova_that_fails_for_one_host_does_not_keep_others_from_theirs(world, caplog):
    lends(world, min=1, max=1, keep_free=0)
    other = lends(world, min=1, max=1, keep_free=0)
    look(world)
    world.advance(minutes=10)
    (broken,) = reserved(world, other)
    fails = world.cloud.compute.servers_on

    class Failing:
        """Nova without an answer about one host."""

        def __getattr__(self, name):
            return getattr(world.cloud.compute, name)

        def servers_on(self, host):
            if host == broken:
                raise CloudUnavailable(service="Nova", reason="it is away")
            return fails(host)

    class Cloud:
        compute = Failing()
        regions = ()

        def fenced(self, check):
            return self

        def in_region(self, region):
            return self

    world.lender = Lending(Dependencies(world.database, Cloud(), world.kinds, world.clock))
    assert look(world) == Lent(1)
    assert f"reservation {only(other).id} lends is looked at later" in caplog.text
    assert MOST_FAILURES > 1


def test_the_comparison_finds_what_an_operator_has_removed(world):
    lease = lends(world)

    def found():
        with world.database.read() as uow:
            works = active_works(uow, world.database, world.kinds, [world.lease(lease)])
        seen = Look(world.cloud, world.database)
        return [each.subject for kind, work in works[lease.id] for each in kind.differences(work, seen)]

    assert found() == []
    (aggregate,) = [each for each in world.cloud.state.aggregates.values() if each.name == "lent"]
    world.cloud.compute.delete_aggregate(aggregate.id)
    assert found() == ["aggregate lent"]
    world.reconcile_all()
    assert found() == []


def test_a_cloud_that_lends_nothing_says_so():
    world = World()
    with pytest.raises(InvalidInput, match="lend no hosts"):
        world.reserve(whole_hosts(lend=True))
    assert world.reserve(whole_hosts(lend=False, keep_free=3)).status is LeaseStatus.PENDING


@pytest.mark.parametrize("wrong", [{"lend": "maybe"}, {"lend": 1}, {"lend": True, "keep_free": -1}])
def test_malformed_wishes(world, wrong):
    with pytest.raises(MalformedParameter):
        world.reserve(whole_hosts(**wrong))


def test_the_duty_looks_and_tells(world, caplog):
    caplog.set_level("INFO")
    lease = lends(world)
    duty = LendingDuty(
        world.database, world.lender, world.clock, timedelta(seconds=10), monotonic=lambda: 0.0
    )
    duty.round()
    world.advance(minutes=10)
    duty.round()
    first, second, _ = reserved(world, lease)
    guest(world, "guest", second)
    world.cloud.boot("own", first)
    world.cloud.boot("own-too", reserved(world, lease)[2])
    world.advance(seconds=11)
    duty.round()
    assert "0 hosts are lent, 2 were taken back; 1 servers have to leave" in caplog.text


@pytest.mark.slow
def test_kill_at_each_step_of_a_look():
    """What a look that was cut off has left, the next one completes."""

    def before(world):
        lease = lends(world, keep_free=1)
        look(world)
        look(world, 10)
        first, second, third = reserved(world, lease)
        guest(world, "deleted", second)
        guest(world, "shelved", third, "kept")
        world.cloud.boot("own", first)
        world.cloud.boot("own-too", second)
        return lease

    for world in dies_at_each_step(before, lambda w, _: w.lender.look(lambda: None), lending_world):
        world.lender = Lending(Dependencies(world.database, world.cloud, world.kinds, world.clock))
        look(world)
        look(world)
        state = world.cloud.state
        assert lent(world) == ()
        assert set(state.servers) == {"shelved", "own", "own-too"}
        assert state.servers["shelved"].status == "SHELVED_OFFLOADED"


HOSTS = st.lists(
    st.builds(IdleHost, st.sampled_from("abcdef"), st.integers(0, 3), st.booleans()),
    unique_by=lambda each: each.name,
)


@given(HOSTS, st.integers(0, 7))
def test_what_is_kept_free_costs_as_few_servers_as_possible(hosts, number):
    kept = to_keep_free(hosts, number)
    assert len(kept) == min(number, len(hosts))
    others = [each for each in hosts if each.name not in kept]
    assert all(mine.others <= each.others for each in others for mine in hosts if mine.name in kept)
