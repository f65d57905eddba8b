"""A start that cannot be: it waits for the room that earlier servers take, and outlasts refusals that
pass."""

from __future__ import annotations

from datetime import timedelta

import pytest

from blazar.domain.errors import (
    CloudRefused,
    CloudUnavailable,
    InvalidStatus,
    NotEnoughResources,
    NotFound,
)
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.progress import spent
from blazar.service.commands import NOW, ReservationChange
from blazar.service.recovery import retry_lease

from .world import World, floating_ips, instances, servers, whole_hosts

REQUESTS = {
    "physical:host": whole_hosts(),
    "virtual:instance": instances(),
    "flavor:instance": servers(),
    "virtual:floatingip": floating_ips(),
}
KINDS = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())


@pytest.fixture
def world() -> World:
    world = World(floating_ips=2)
    world.start_retry = timedelta(seconds=300)
    world.restart()
    return world


# ------------------------------------------------------------------------------------------------ earlier
# servers


@pytest.mark.parametrize(
    ("first", "second", "waits"), [(8, 1, True), (5, 4, True), (4, 4, False), (1, 7, False)]
)
def test_instances_wait_for_earlier_servers_that_take_their_room(first, second, waits):
    world = World(hosts=1)
    earlier = world.reserve(instances(vcpus=first), end=60)
    later = world.reserve(instances(vcpus=second), start=60, end=120)
    world.run_due()
    world.cloud.boot_reserved("undying", earlier.reservations[0].id)
    world.cloud.state.undying.add("undying")
    world.advance(minutes=61)
    assert world.lease(earlier).status is LeaseStatus.TERMINATING
    found = world.lease(later)
    if waits:
        assert found.status is LeaseStatus.PENDING
        assert found.status_reason == "An earlier lease on the same resource has not ended yet."
        assert earlier.id not in str(found.status_reason)
    else:
        assert found.status is LeaseStatus.ACTIVE
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert world.lease(earlier).status is LeaseStatus.TERMINATED
    assert (world.lease(later).status, world.lease(later).status_reason) == (LeaseStatus.ACTIVE, None)


def test_room_that_a_third_lease_has_is_not_there():
    world = World(hosts=1)
    earlier = world.reserve(instances(vcpus=4), end=60)
    world.reserve(instances(vcpus=4), end=180)
    later = world.reserve(instances(vcpus=4), start=60, end=120)
    world.run_due()
    world.cloud.boot_reserved("undying", earlier.reservations[0].id)
    world.cloud.state.undying.add("undying")
    world.advance(minutes=61)
    assert world.lease(later).status is LeaseStatus.PENDING
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert world.lease(later).status is LeaseStatus.ACTIVE


def grown(world, lease, amount):
    (reservation,) = lease.reservations
    return world.update(lease, reservations=(ReservationChange(reservation.id, {"amount": amount}),))


def slots_of(world, lease):
    """What the calendar has of the lease: slots, and whether they are bound."""
    (reservation,) = world.lease(lease).reservations
    return sorted((a.slots, a.bound) for a in reservation.allocations)


@pytest.mark.parametrize(("first", "more", "waits"), [(4, 4, True), (4, 3, True), (2, 2, False)])
def test_instances_that_grow_wait_for_earlier_servers_that_take_their_room(first, more, waits):
    world = World(hosts=1)
    earlier = world.reserve(instances(vcpus=first), end=60)
    growing = world.reserve(instances(vcpus=1, amount=4), end=600)
    world.run_due()
    world.cloud.boot_reserved("undying", earlier.reservations[0].id)
    world.cloud.state.undying.add("undying")
    world.advance(minutes=61)
    assert world.lease(earlier).status is LeaseStatus.TERMINATING
    grown(world, growing, 4 + more)
    world.advance(seconds=5)
    found = world.lease(growing)
    told = sum(n for (_, name), n in world.cloud.state.slots.items() if name.endswith(own_class(growing)))
    if waits:
        assert (found.status, told) == (LeaseStatus.ACTIVE, 4)
        assert found.status_reason == "An earlier lease on the same resource has not ended yet."
        assert slots_of(world, growing) == sorted([(4, True), (more, False)])
    else:
        assert (found.status, found.status_reason, told) == (LeaseStatus.ACTIVE, None, 4 + more)
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    found = world.lease(growing)
    assert world.lease(earlier).status is LeaseStatus.TERMINATED
    assert (found.status, found.status_reason) == (LeaseStatus.ACTIVE, None)
    assert sum(world.cloud.state.slots.values()) == 4 + more
    # One allocation again, that has its start: nothing grows with every change.
    assert slots_of(world, growing) == [(4 + more, True)]
    assert found.allocations[0].interval == found.interval


def own_class(lease):
    return lease.reservations[0].id.upper().replace("-", "_")


def test_what_waits_to_grow_can_grow_more_be_prolonged_and_end():
    world = World(hosts=1)
    earlier = world.reserve(instances(vcpus=4), end=60)
    growing = world.reserve(instances(vcpus=1, amount=4), end=600)
    world.run_due()
    world.cloud.boot_reserved("undying", earlier.reservations[0].id)
    world.cloud.state.undying.add("undying")
    world.advance(minutes=61)
    grown(world, growing, 5)
    world.advance(minutes=3)
    grown(world, growing, 7)
    world.advance(minutes=3)
    assert slots_of(world, growing) == [(3, False), (4, True)]
    world.update(growing, end=world.in_minutes(700))
    with pytest.raises(NotEnoughResources):
        world.reserve(instances(vcpus=1, amount=2), start=10, end=20)
    world.advance(minutes=1)
    assert slots_of(world, growing) == [(3, False), (4, True)]
    world.update(growing, end=NOW)
    world.advance(minutes=1)
    assert world.lease(growing).status is LeaseStatus.TERMINATED
    assert not [name for _, name in world.cloud.state.slots if name.endswith(own_class(growing))]


# ------------------------------------------------------------------------------------------------------
# refusals


def refuse(world):
    def refused(call):
        raise CloudRefused(service="Nova", reason="Forbidden (HTTP 403)")

    world.cloud.before = refused


@KINDS
def test_a_refusal_that_passes_is_outlasted(world, request_):
    lease = world.reserve(request_, end=600)
    refuse(world)
    world.advance(seconds=30)
    waiting = world.lease(lease)
    assert waiting.status is LeaseStatus.STARTING
    assert "Forbidden" in str(waiting.status_reason)
    world.cloud.before = lambda call: None
    world.advance(seconds=15)
    started = world.lease(lease)
    assert (started.status, started.status_reason) == (LeaseStatus.ACTIVE, None)
    assert all(r.status_reason is None for r in started.reservations)


@KINDS
def test_a_refusal_that_lasts_is_an_error_that_an_operator_can_have_retried(world, request_):
    lease = world.reserve(request_, end=600)
    refuse(world)
    world.advance(seconds=280)
    assert world.lease(lease).status is LeaseStatus.STARTING
    world.advance(seconds=60)
    failed = world.lease(lease)
    assert failed.status is LeaseStatus.ERROR
    assert "Forbidden" in str(failed.status_reason)
    world.advance(minutes=30)
    assert world.lease(lease).status is LeaseStatus.ERROR
    assert retry_lease(world.database, world.clock, lease.id).status is LeaseStatus.STARTING
    world.advance(seconds=60)
    assert world.lease(lease).status is LeaseStatus.STARTING, "it has its time anew"
    world.cloud.before = lambda call: None
    world.advance(seconds=15)
    started = world.lease(lease)
    assert (started.status, started.status_reason) == (LeaseStatus.ACTIVE, None)
    assert started.event(EventType.START).status is EventStatus.DONE
    world.advance(minutes=601)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


KEPT = 4000
"""Characters of a refusal."""


@pytest.mark.parametrize("retry", [0, 300])
def test_a_refusal_at_great_length_is_cut(world, retry):
    world.start_retry = timedelta(seconds=retry)
    world.restart()
    lease = world.create(end=600)

    def refused(call):
        raise CloudRefused(service="Nova", reason="host-1, " * 10_000)

    world.cloud.before = refused
    world.advance(seconds=30)
    found = world.lease(lease)
    assert found.status is (LeaseStatus.STARTING if retry else LeaseStatus.ERROR)
    assert len(str(found.status_reason)) == KEPT
    reasons = {len(r.status_reason or "") for r in found.reservations} | {
        len(e.reason or "") for e in found.events
    }
    assert max(reasons) == KEPT


def test_a_missing_freepool_is_waited_for(world):
    lease = world.create(end=600)
    state = world.cloud.state
    freepool = next(a for a in state.aggregates.values() if a.name == "freepool")
    del state.aggregates[freepool.id]
    world.advance(seconds=60)
    assert world.lease(lease).status is LeaseStatus.STARTING
    assert "freepool" in str(world.lease(lease).status_reason)
    state.aggregates[freepool.id] = freepool
    world.advance(seconds=15)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_a_lease_whose_start_is_refused_up_to_its_end_ends(world):
    lease = world.create(end=2)
    refuse(world)
    world.advance(seconds=121)
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    world.cloud.before = lambda call: None
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


@pytest.mark.slow
def test_an_outage_is_no_refusal(world):
    lease = world.create(end=600)

    def away(call):
        raise CloudUnavailable(service="Nova", reason="503")

    world.cloud.before = away
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.STARTING


def test_only_a_lease_whose_start_failed_can_be_retried(world):
    pending = world.create(start=10, end=600)
    active = world.create(end=600)
    world.run_due()
    for lease in (pending, active):
        before = world.lease(lease)
        with pytest.raises(InvalidStatus):
            retry_lease(world.database, world.clock, lease.id)
        assert world.lease(lease) == before
    with pytest.raises(NotFound):
        retry_lease(world.database, world.clock, "no-such-lease")


def test_the_time_spent_is_that_of_the_pauses():
    assert [spent(n).total_seconds() for n in (1, 2, 3, 5, 6)] == [0, 1, 3, 15, 25]
