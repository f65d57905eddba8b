"""A lease of many hosts: a host at which the cloud fails keeps no other one from its step, and what was done
is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.domain.lease.outcome import GiveUp, NotYet
from blazar.kinds.for_each import MOST_TOLD, MOST_UNAVAILABLE, for_each, unfinished
from blazar.service.commands import ReservationRequest
from blazar.service.events import HeldClaim
from blazar.service.ports import Aggregate, Server
from blazar.service.ports.steps import one_after_another

from .world import Crash, World, instances, whole_hosts

SLOTS = instances(amount=4, affinity=False)
HOSTS = whole_hosts(min=4, max=4)
KINDS = pytest.mark.parametrize("request_", [HOSTS, SLOTS], ids=["hosts", "instances"])


@contextmanager
def unknown(world: World, host: str) -> Iterator[None]:
    """Nova refuses to have the host in an aggregate."""
    known = world.cloud.state.hypervisors.pop(host)
    yield
    world.cloud.state.hypervisors[host] = known


@contextmanager
def elsewhere(world: World, host: str) -> Iterator[None]:
    """Nova will have the host in no other zone yet."""
    world.cloud.state.aggregates[99] = Aggregate(99, "other", "other", (host,), {})
    yield
    del world.cloud.state.aggregates[99]


@contextmanager
def failing(world: World, method: str, number: int, error: Exception) -> Iterator[None]:
    """The cloud answers so to the call of this name and number; the first one is 0."""
    left = number

    def fail(call: str) -> None:
        nonlocal left
        if call == method:
            left -= 1
            if left == -1:
                raise error

    world.cloud.before = fail
    yield
    world.cloud.before = lambda call: None


def bound(world: World, lease: Lease) -> int:
    return sum(a.bound for a in world.lease(lease).allocations)


def members(world: World, lease: Lease) -> set[str]:
    return set(world.cloud.hosts_in(lease.reservations[0].id))


@pytest.mark.parametrize("host", ["host1", "host2", "host4"])
def test_a_host_that_nova_will_not_have_yet_keeps_no_other_from_its_lease(host: str) -> None:
    world = World()
    with elsewhere(world, host):
        lease = world.reserve(HOSTS)
        world.run_due()
        found = world.lease(lease)
        assert found.status is LeaseStatus.STARTING
        assert members(world, lease) == {"host1", "host2", "host3", "host4"} - {host}
        assert world.in_freepool() == {host}
        assert bound(world, lease) == 3
        assert f"host {host} is in another availability zone" in str(found.status_reason)
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert (len(members(world, lease)), bound(world, lease), world.in_freepool()) == (4, 4, set())


@KINDS
def test_a_start_that_one_host_refuses_fails_with_the_others_taken_and_its_end_gives_all_back(
    request_: ReservationRequest,
) -> None:
    world = World()
    with unknown(world, "host2"):
        lease = world.reserve(request_)
        world.run_due()
    assert world.lease(lease).reservations[0].status is ReservationStatus.ERROR
    assert "host2 could not be found" in str(world.lease(lease).status_reason)
    assert members(world, lease) == {"host1", "host3", "host4"}
    world.delete(lease)
    world.run_due()
    assert world.in_freepool() == {"host1", "host2", "host3", "host4"}
    assert not world.cloud.state.slots


@pytest.mark.parametrize("number", range(4))
def test_slots_of_a_host_that_placement_does_not_answer_for_keep_no_others_waiting(number: int) -> None:
    world = World()
    away = CloudUnavailable(service="Placement", reason="away")
    with failing(world, "set_reserved_slots", number, away):
        lease = world.reserve(SLOTS)
        world.run_due()
    assert world.lease(lease).status is LeaseStatus.STARTING
    assert (bound(world, lease), len(world.cloud.state.slots)) == (3, 3)
    with pytest.raises(CloudRefused):  # it has not begun
        world.cloud.boot_reserved("early", lease.reservations[0].id)
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert world.cloud.boot_reserved("now", lease.reservations[0].id)


@pytest.mark.parametrize(
    ("method", "number"),
    [("servers_on", 1), ("delete_server", 0), ("add_host", 2), ("remove_host", 0), ("remove_host", 3)],
)
def test_a_call_of_an_end_that_fails_keeps_nothing_else_from_being_done(method: str, number: int) -> None:
    world = World()
    lease = world.reserve(HOSTS)
    world.run_due()
    for n in range(1, 5):
        world.cloud.state.servers[f"s{n}"] = Server(f"s{n}", f"s{n}", f"host{n}", "ACTIVE", "demo")
    with failing(world, method, number, CloudUnavailable(service="Nova", reason="away")):
        world.advance(minutes=60)
        is_deleting = method in ("servers_on", "delete_server")
        assert len(world.cloud.state.servers) == (1 if is_deleting else 0)
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert world.in_freepool() == {"host1", "host2", "host3", "host4"}
    assert not world.cloud.state.servers


def test_a_claim_that_is_lost_ends_the_verb_at_once() -> None:
    world = World()
    lease = world.reserve(HOSTS)

    def held_claim(claimed: Any) -> HeldClaim:
        def check() -> None:
            if world.cloud.calls.count("add_host") - before > 1:
                raise ClaimLost(event=claimed.event.id)

        return HeldClaim(claimed, check)

    before, world.held_claim = world.cloud.calls.count("add_host"), held_claim  # type: ignore[method-assign]
    with pytest.raises(ClaimLost):
        world.run_due()
    assert world.cloud.calls.count("add_host") - before == 2
    assert world.lease(lease).status is LeaseStatus.STARTING


# ------------------------------------------------------------------------------------------------ schedulers


def told(world: World, begin: Callable[[], object]) -> list[str]:
    """Return the calls by which aggregates are changed, one name for several in a row."""
    world.cloud.calls.clear()
    begin()
    found = [call for call in world.cloud.calls if call in ("add_host", "remove_host", "refresh_aggregate")]
    return [call for n, call in enumerate(found) if n == 0 or found[n - 1] != call]


def test_schedulers_are_told_of_all_hosts_before_any_leaves_its_other_aggregate() -> None:
    world = World()
    lease = world.reserve(HOSTS)
    begun = told(world, world.run_due)
    assert begun == ["add_host", "refresh_aggregate", "remove_host", "refresh_aggregate"]
    assert told(world, lambda: world.advance(minutes=61)) == ["add_host", "refresh_aggregate", "remove_host"]
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_of_one_host_they_need_not_be_told_again() -> None:
    world = World()
    world.reserve(whole_hosts())
    assert told(world, world.run_due) == ["add_host", "remove_host"]


@KINDS
def test_they_are_told_in_the_end_where_a_manager_dies_before_it_tells_them(
    request_: ReservationRequest,
) -> None:
    world = World()
    lease = world.reserve(request_)

    def die(call: str) -> None:
        if call == "refresh_aggregate":
            raise Crash

    world.cloud.before = die
    with pytest.raises(Crash):
        world.run_due()
    assert len(members(world, lease)) == 4
    world.cloud.before = lambda call: None
    world.restart()
    assert "refresh_aggregate" in told(world, lambda: world.advance(minutes=1))
    assert world.lease(lease).status is LeaseStatus.ACTIVE


# ---------------------------------------------------------------------------------------------------- values


def test_a_cloud_that_is_away_is_not_asked_for_every_host() -> None:
    world = World(hosts=MOST_UNAVAILABLE + 4)
    world.cloud.calls.clear()
    asked = []

    def fail(call: str) -> None:
        if call == "add_host":
            asked.append(call)
            raise CloudUnavailable(service="Nova", reason="away")

    number = MOST_UNAVAILABLE + 4
    world.cloud.before = fail
    lease = world.reserve(whole_hosts(min=number, max=number))
    world.run_due()
    assert len(asked) == MOST_UNAVAILABLE
    assert bound(world, lease) == 0
    world.cloud.before = lambda call: None
    world.advance(minutes=1)
    assert (world.lease(lease).status, bound(world, lease)) == (LeaseStatus.ACTIVE, number)


REFUSED, AWAY = CloudRefused(service="Nova", reason="no"), CloudUnavailable(service="Nova", reason="away")


def test_the_results_of_steps_stand_in_the_order_of_the_items() -> None:
    def step(item: int) -> int:
        if item % 2:
            raise AWAY
        return item * 10

    results = for_each([3, 2, 1, 4], step, lambda steps: one_after_another(steps[::-1]))
    assert list(results.done.items()) == [(2, 20), (4, 40)]
    assert results.failures == [AWAY, AWAY]


def test_what_may_pass_is_raised_before_what_may_not() -> None:
    errors = iter([REFUSED, AWAY])

    def step(item: int) -> None:
        raise next(errors)

    with pytest.raises(CloudUnavailable):
        for_each([1, 2], step, one_after_another).require()


def test_a_verb_gives_up_only_where_nothing_else_is_left_to_do() -> None:
    assert unfinished([REFUSED, REFUSED], []) == GiveUp(REFUSED.message)
    assert isinstance(unfinished([REFUSED], ["servers are being deleted"]), NotYet)
    away = unfinished([REFUSED, AWAY], ["servers are being deleted"], serving=frozenset({"1"}))
    assert isinstance(away, NotYet)
    assert (away.check_after, away.serving) == (None, {"1"})
    assert away.reason == f"{REFUSED.message}; {AWAY.message}; servers are being deleted"


def test_a_reason_does_not_grow_with_the_hosts() -> None:
    many = [CloudUnavailable(service="Nova", reason=str(n)) for n in range(1000)]
    assert unfinished(many, []).reason.count("not available") == MOST_TOLD
