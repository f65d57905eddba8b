"""What may be done with a lease of any kind in each of its statuses, and that a refusal leaves it as it
was."""

from __future__ import annotations

import pytest

from blazar.domain.errors import (
    BlazarError,
    CloudRefused,
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    NotFound,
)
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import NOW, ReservationChange

from .test_slots import nothing_left
from .world import DEMO, World, floating_ips, instances, servers, whole_hosts

HOSTS = {"host1", "host2", "host3", "host4"}
ASKED = {
    "physical:host": whole_hosts(max=2),
    "virtual:instance": instances(amount=2),
    "flavor:instance": servers(amount=2),
    "virtual:floatingip": floating_ips(amount=2),
}
MORE = {
    "physical:host": {"min": 3, "max": 3},
    "virtual:instance": {"amount": 3},
    "flavor:instance": {"amount": 3},
    "virtual:floatingip": {"amount": 3},
}
OTHERWISE = {
    "physical:host": {"min": 1, "max": 1},
    "virtual:instance": {"amount": 1, "vcpus": 2, "affinity": True},
    "flavor:instance": {"amount": 1, "affinity": False},
    "virtual:floatingip": {"amount": 1},
}
"""What only a reservation that has not started can become."""
KINDS = pytest.mark.parametrize("kind", ASKED)


@pytest.fixture
def world():
    return World(floating_ips=4)


def fail(world, failure):
    """Let Nova's aggregates and Neutron's floating IPs fail from now on."""

    def before(call):
        if call in ("create_aggregate", "delete_aggregate", "create_floating_ip", "delete_floating_ip"):
            raise failure(service="the cloud", reason="not today")

    world.cloud.before = before


def pending(world, kind):
    return world.reserve(ASKED[kind], start=10, end=130)


def starting(world, kind):
    lease = pending(world, kind)
    fail(world, CloudUnavailable)
    world.advance(minutes=11)
    return lease


def active(world, kind):
    lease = pending(world, kind)
    world.advance(minutes=11)
    return lease


def in_error(world, kind):
    lease = pending(world, kind)
    fail(world, CloudRefused)
    world.advance(minutes=11)
    world.cloud.before = lambda call: None
    return lease


def terminating(world, kind):
    lease = active(world, kind)
    fail(world, CloudUnavailable)
    world.advance(minutes=120)
    return lease


def terminated(world, kind):
    lease = active(world, kind)
    world.advance(minutes=120)
    return lease


def deleting(world, kind):
    lease = active(world, kind)
    fail(world, CloudUnavailable)
    world.delete(lease)
    world.advance(seconds=5)
    return lease


STATUSES = {
    LeaseStatus.PENDING: pending,
    LeaseStatus.STARTING: starting,
    LeaseStatus.ACTIVE: active,
    LeaseStatus.ERROR: in_error,
    LeaseStatus.TERMINATING: terminating,
    LeaseStatus.TERMINATED: terminated,
    LeaseStatus.DELETING: deleting,
}
ALL = frozenset(STATUSES)
OPEN = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.ERROR})
RUNNING = frozenset({LeaseStatus.PENDING, LeaseStatus.ACTIVE})


def changes(kind):
    """Each change, with the statuses in which it is possible; a function of the world and the reservation."""
    return {
        "name": (lambda w, r: {"name": "new"}, ALL - {LeaseStatus.DELETING}),
        "start": (lambda w, r: {"start": w.in_minutes(5)}, {LeaseStatus.PENDING}),
        "later end": (lambda w, r: {"end": w.in_minutes(300)}, OPEN),
        "earlier end": (lambda w, r: {"end": w.in_minutes(60)}, OPEN),
        "end now": (lambda w, r: {"end": NOW}, {LeaseStatus.ACTIVE, LeaseStatus.ERROR}),
        "warning": (lambda w, r: {"before_end": w.in_minutes(20)}, OPEN),
        "more": (lambda w, r: {"reservations": (ReservationChange(r, MORE[kind]),)}, RUNNING),
        "otherwise": (
            lambda w, r: {"reservations": (ReservationChange(r, OTHERWISE[kind]),)},
            {LeaseStatus.PENDING},
        ),
    }


FULFILLED = {("end now", LeaseStatus.TERMINATING), ("end now", LeaseStatus.TERMINATED)}
"""What has come true already: the answer is the lease as it is."""


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("what", changes("physical:host"))
def test_update(world, kind, status, what):
    lease = STATUSES[status](world, kind)
    before = world.lease(lease)
    assert before.status is status
    make, possible = changes(kind)[what]
    wanted = make(world, lease.reservations[0].id)
    if status in possible:
        assert world.update(lease, **wanted) == world.lease(lease) != before
        assert world.lease(lease).status is status
    elif (what, status) in FULFILLED:
        assert world.update(lease, **wanted) == world.lease(lease) == before
    else:
        with pytest.raises(BlazarError if status.is_stable else InvalidStatus):
            world.update(lease, **wanted)
        assert world.lease(lease) == before
    world.cloud.before = lambda call: None
    world.advance(minutes=400)
    assert all(each.status is LeaseStatus.TERMINATED for each in world.leases.list(None))
    nothing_left(world)
    assert world.in_freepool() == HOSTS
    assert not world.cloud.state.floating_ips


@pytest.mark.parametrize("status", [LeaseStatus.STARTING, LeaseStatus.TERMINATING])
def test_what_a_lease_in_transition_has_already_is_no_change(world, status):
    """A request is repeated whose answer was lost."""
    lease = STATUSES[status](world, "physical:host")
    reservation = lease.reservations[0]
    has = ReservationChange(reservation.id, {"min": reservation.parameters["min"]})
    assert world.update(lease, end=lease.interval.end, reservations=(has,)) == world.lease(lease)
    for change in ({"end": world.in_minutes(500)}, {"name": "new", "start": world.in_minutes(1)}):
        with pytest.raises(InvalidStatus):
            world.update(lease, reservations=(has,), **change)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("status", STATUSES)
def test_delete(world, kind, status):
    lease = STATUSES[status](world, kind)
    assert world.lease(lease).status is status
    world.delete(lease)
    world.cloud.before = lambda call: None
    world.advance(minutes=2)
    with pytest.raises(NotFound):
        world.lease(lease)
    nothing_left(world)
    assert world.in_freepool() == HOSTS
    assert not world.cloud.state.floating_ips
    world.create(min=4, max=4)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("status", STATUSES)
def test_a_deletion_is_begun_and_not_waited_for(world, kind, status):
    lease = STATUSES[status](world, kind)
    began = world.clock.now()
    is_removed = world.leases.begin_deletion(lease.id, DEMO)
    assert world.clock.now() == began
    if not is_removed:
        assert world.lease(lease).status is LeaseStatus.DELETING
        assert not world.leases.begin_deletion(lease.id, DEMO)
    world.cloud.before = lambda call: None
    world.advance(minutes=2)
    with pytest.raises(NotFound):
        world.leases.begin_deletion(lease.id, DEMO)
    nothing_left(world)


@KINDS
def test_a_lease_whose_start_was_refused_ends_at_its_end(world, kind):
    lease = in_error(world, kind)
    failed = world.lease(lease)
    assert "not today" in str(failed.status_reason)
    assert world.event_statuses(lease) == {
        "start_lease": "ERROR",
        "before_end_lease": "UNDONE",
        "end_lease": "UNDONE",
    }
    world.advance(minutes=120)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert world.event_statuses(lease)["end_lease"] == "DONE"
    nothing_left(world)


@KINDS
def test_its_own_allocations_are_never_in_the_way_of_an_update(world, kind):
    """The whole pool is this lease's; every other shape of it on the same resources is possible."""
    everything = {
        "physical:host": ({"min": 4, "max": 4}, {"min": 2, "max": 3}),
        "virtual:instance": ({"vcpus": 4, "amount": 8}, {"vcpus": 8, "amount": 4, "affinity": False}),
        "flavor:instance": ({"amount": 16}, {"amount": 4, "affinity": True}),
        "virtual:floatingip": ({"amount": 4}, {"amount": 3}),
    }
    full, other = everything[kind]
    request = {
        "physical:host": whole_hosts,
        "virtual:instance": instances,
        "flavor:instance": servers,
        "virtual:floatingip": floating_ips,
    }[kind]
    lease = world.reserve(request(**full), start=10, end=60)
    moved = world.update(lease, start=world.in_minutes(20), end=world.in_minutes(90))
    assert moved.interval.end == world.in_minutes(90)
    changed = world.update(lease, reservations=(ReservationChange(lease.reservations[0].id, other),))
    assert changed.reservations[0].parameters.items() >= other.items()
    world.update(
        lease, reservations=(ReservationChange(lease.reservations[0].id, {**full, "affinity": None}),)
    )


@KINDS
def test_refused_dates(world, kind):
    lease = active(world, kind)
    before = world.lease(lease)
    for wanted, sentence in [
        ({"start": world.in_minutes(5)}, "Cannot modify the start date of already started leases"),
        ({"end": world.in_minutes(-1)}, "End date must be later than current and start date"),
        ({"before_end": world.in_minutes(500)}, "Datetime is out of lease limits"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            world.update(lease, **wanted)
        assert world.lease(lease) == before
