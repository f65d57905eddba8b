"""Reservations that are added to a lease and removed from it, before its start and while it is active."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from blazar.domain.errors import (
    BlazarError,
    CloudRefused,
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    LeaseChanged,
    NotEnoughResources,
    OutcomeUnknown,
    QuotaExceeded,
)
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.service.commands import (
    AddedReservation,
    CreateLease,
    ReservationChange,
    ReservationRequest,
    ReservationsChange,
    UpdateLease,
)
from blazar.service.leases import WaitSettings
from blazar.service.quotas import QuotaSettings

from .test_crashes import dies_at_each_step
from .test_slots import left_in_cloud, nothing_left
from .world import DEMO, World, floating_ips, instances, servers, whole_hosts

ANY = [whole_hosts(min=1, max=1), instances(amount=2), servers(amount=2), floating_ips(amount=2)]
KINDS = pytest.mark.parametrize("asked", ANY, ids=[each.resource_type for each in ANY])


def added(*requests: ReservationRequest) -> tuple[AddedReservation, ...]:
    return tuple(AddedReservation(str(uuid4()), each) for each in requests)


def change(world: World, lease: Lease, membership: ReservationsChange, **more: Any) -> Lease:
    return world.leases.update(lease.id, UpdateLease(**more), DEMO, membership=membership)


def add(world: World, lease: Lease, *requests: ReservationRequest, **more: Any) -> Lease:
    return change(world, lease, ReservationsChange(added(*requests)), **more)


def remove(world: World, lease: Lease, *numbers: int, **more: Any) -> Lease:
    ids = tuple(lease.reservations[number].id for number in numbers)
    return change(world, lease, ReservationsChange(removed=ids), **more)


def a_world() -> World:
    return World(floating_ips=3)


def active(world: World, *requests: ReservationRequest) -> Lease:
    lease = world.reserve(*requests, end=600)
    world.run_due()
    return world.lease(lease)


def clean_up(world: World) -> None:
    for lease in world.leases.list(None):
        world.delete(lease)
    world.advance(seconds=90)
    assert not world.leases.list(None)
    nothing_left(world)


@KINDS
def test_a_reservation_of_each_kind_is_added_before_the_start(asked):
    world = a_world()
    lease = world.create(start=10, end=60)
    new = add(world, lease, asked)
    assert [r.resource_type for r in new.reservations] == ["physical:host", asked.resource_type]
    assert new.reservations[1].allocations
    assert new.reservations[0].allocations == lease.reservations[0].allocations
    world.advance(minutes=11)
    assert world.lease(lease).is_settled
    clean_up(world)


@KINDS
def test_a_reservation_of_each_kind_is_added_to_an_active_lease_and_removed_again(asked):
    world = a_world()
    lease = active(world, whole_hosts(min=1, max=1))
    world.cloud.boot("tenant", world.cloud.hosts_in(lease.reservations[0].id)[0])
    new = add(world, lease, asked)
    assert new.status is LeaseStatus.ACTIVE
    assert new.reservations[1].status is ReservationStatus.PENDING
    world.run_due()
    new = world.lease(lease)
    assert new.is_settled
    assert new.reservations[1].status is ReservationStatus.ACTIVE
    assert new.reservations[0].allocations == lease.reservations[0].allocations
    with_it = left_in_cloud(world), set(world.cloud.state.floating_ips)
    gone = remove(world, new, 1)
    assert [r.id for r in gone.reservations] == [lease.reservations[0].id]
    assert [r.id for r in gone.leaving] == [new.reservations[1].id]
    world.run_due()
    gone = world.lease(lease)
    assert gone.is_settled
    assert not gone.leaving
    assert gone.reservations == lease.reservations
    assert "tenant" in world.cloud.state.servers
    assert (left_in_cloud(world), set(world.cloud.state.floating_ips)) != with_it
    clean_up(world)


def test_servers_of_what_is_removed_are_deleted_and_no_others():
    world = World()
    lease = active(world, whole_hosts(min=1, max=1), whole_hosts(min=1, max=1))
    first, second = (world.cloud.hosts_in(r.id)[0] for r in lease.reservations)
    world.cloud.boot("first", first)
    world.cloud.boot("second", second)
    remove(world, lease, 0)
    world.advance(seconds=10)
    assert set(world.cloud.state.servers) == {"second"}
    assert first in world.in_freepool()
    assert second not in world.in_freepool()


def test_who_gets_what_was_removed_waits_for_it():
    world = World(hosts=2)
    lease = active(world, whole_hosts(min=1, max=1), whole_hosts(min=1, max=1))
    host = world.cloud.hosts_in(lease.reservations[1].id)[0]
    world.cloud.boot("undying", host)
    world.cloud.state.undying.add("undying")
    remove(world, lease, 1)
    next_one = world.create(end=60)
    world.advance(seconds=30)
    assert world.lease(next_one).status is LeaseStatus.PENDING
    assert world.lease(lease).leaving
    world.cloud.state.undying.clear()
    world.advance(seconds=90)
    assert world.lease(next_one).status is LeaseStatus.ACTIVE
    assert not world.lease(lease).leaving
    assert world.cloud.hosts_in(world.lease(next_one).reservations[0].id) == (host,)


@KINDS
def test_what_takes_the_place_of_what_is_removed_comes_after_it(asked):
    """The lease has all there is; what it gets is what it gives up by the same change."""
    world = World(hosts=1, floating_ips=2)
    others = () if asked.resource_type != "virtual:floatingip" else (whole_hosts(min=1, max=1),)
    lease = active(world, floating_ips(amount=1), asked) if not others else active(world, *others, asked)
    with pytest.raises(NotEnoughResources):
        add(world, lease, whole_hosts(min=1, max=1))
    if others:
        new = change(world, lease, ReservationsChange(added(asked), (lease.reservations[1].id,)))
    else:
        members = ReservationsChange(added(whole_hosts(min=1, max=1)), (lease.reservations[1].id,))
        new = change(world, lease, members)
    world.run_due()
    world.advance(seconds=30)
    done = world.lease(lease)
    assert done.is_settled
    assert [r.id for r in done.reservations] == [r.id for r in new.reservations]
    clean_up(world)


def test_the_place_of_what_is_removed_is_taken_only_when_its_servers_are_gone():
    world = World(hosts=1, floating_ips=1)
    lease = active(world, floating_ips(amount=1), whole_hosts(min=1, max=1))
    world.cloud.boot("old", "host1")
    world.cloud.state.undying.add("old")
    members = ReservationsChange(added(whole_hosts(min=1, max=1)), (lease.reservations[1].id,))
    new = change(world, lease, members)
    world.advance(seconds=30)
    assert world.lease(lease).reservations[1].status is ReservationStatus.PENDING
    assert not world.cloud.hosts_in(new.reservations[1].id)
    world.cloud.state.undying.clear()
    world.advance(seconds=60)
    assert world.cloud.hosts_in(new.reservations[1].id) == ("host1",)
    assert world.lease(lease).is_settled


def test_all_of_it_or_nothing():
    world = World(hosts=2)
    lease = world.reserve(whole_hosts(min=1, max=1), whole_hosts(min=1, max=1), start=10, end=60)
    members = ReservationsChange(added(whole_hosts(min=3, max=3)), (lease.reservations[1].id,))
    with pytest.raises(NotEnoughResources):
        change(world, lease, members, name="other", end=world.in_minutes(90))
    assert world.lease(lease) == lease
    members = ReservationsChange(added(instances(amount=1)), (lease.reservations[1].id,))
    resized = ReservationChange(lease.reservations[0].id, {"max": 1, "min": 1, "before_end": "snapshot"})
    new = change(world, lease, members, name="other", end=world.in_minutes(90), reservations=(resized,))
    assert (new.name, new.interval.end) == ("other", world.in_minutes(90))
    assert new.reservations[0].parameters["before_end"] == "snapshot"
    assert {a.interval for a in new.allocations} == {new.interval}
    assert new.revision > lease.revision


def test_a_preview_changes_nothing_and_tells_what_would_be():
    world = World()
    lease = active(world, whole_hosts(min=1, max=1))
    command, members = UpdateLease(), ReservationsChange(added(whole_hosts(min=2, max=2)))
    would = world.leases.preview_update(lease.id, command, DEMO, membership=members)
    assert [len(r.allocations) for r in would.reservations] == [1, 2]
    assert world.lease(lease) == lease
    too_many = ReservationsChange(added(whole_hosts(min=4, max=4)))
    with pytest.raises(NotEnoughResources):
        world.leases.preview_update(lease.id, command, DEMO, membership=too_many)


def test_the_last_reservation_stays():
    world = World()
    lease = world.create(start=10)
    with pytest.raises(InvalidInput, match="last reservation"):
        remove(world, lease, 0)
    assert world.lease(lease) == lease
    swapped = change(
        world, lease, ReservationsChange(added(instances(amount=1)), (lease.reservations[0].id,))
    )
    assert [r.resource_type for r in swapped.reservations] == ["virtual:instance"]


def test_a_lease_without_reservations_may_get_one():
    world = World()
    lease = world.reserve(start=10)
    assert len(add(world, lease, whole_hosts(min=1, max=1)).reservations) == 1


def test_only_leases_that_are_pending_or_active():
    world = World(hosts=1, waiting=WaitSettings())
    first = world.create(end=60)
    command = CreateLease(
        "waits", world.in_minutes(10), world.in_minutes(20), None, (whole_hosts(min=1, max=1),)
    )
    waiting = world.leases.create(command, DEMO, wait_until=world.in_minutes(9))
    assert waiting.status is LeaseStatus.WAITING
    with pytest.raises(InvalidStatus, match="only its name"):
        add(world, waiting, instances(amount=1))
    world.delete(waiting)
    world.advance(minutes=61)
    assert world.lease(first).status is LeaseStatus.TERMINATED
    with pytest.raises(BlazarError):
        add(world, first, instances(amount=1))


def test_no_more_reservations_than_the_operator_allows():
    world = World()
    world.selection = replace(world.selection, max_reservations=2)
    world.restart()
    lease = world.reserve(instances(amount=1), instances(amount=1), start=10)
    with pytest.raises(InvalidInput, match="at most 2"):
        add(world, lease, instances(amount=1))
    swapped = ReservationsChange(added(instances(amount=1)), (lease.reservations[0].id,))
    assert len(change(world, lease, swapped).reservations) == 2


def test_quotas_count_what_is_added_and_no_longer_what_is_removed():
    world = World(quota=QuotaSettings({"hosts": 2}))
    lease = world.reserve(whole_hosts(min=1, max=1), whole_hosts(min=1, max=1), start=10)
    with pytest.raises(QuotaExceeded):
        add(world, lease, whole_hosts(min=1, max=1))
    assert world.lease(lease) == lease
    change(world, lease, ReservationsChange(added(whole_hosts(min=1, max=1)), (lease.reservations[0].id,)))
    smaller = world.lease(lease)
    remove(world, smaller, 0)
    world.create(start=10)


def test_the_editor_who_has_read_another_revision_is_refused():
    world = World()
    lease = world.create(start=10)
    members = ReservationsChange(added(instances(amount=1)))
    old = (lease.revision,)
    world.leases.update(lease.id, UpdateLease(name="other"), DEMO)
    with pytest.raises(LeaseChanged):
        world.leases.update(lease.id, UpdateLease(), DEMO, revisions=old, membership=members)


def test_the_same_request_again_adds_nothing_and_removes_nothing_more():
    world = World()
    lease = world.reserve(whole_hosts(min=1, max=1), instances(amount=1, affinity=True), start=10)
    members = ReservationsChange(added(instances(amount=1, affinity=False)), (lease.reservations[1].id,))
    first = change(world, lease, members)
    assert change(world, lease, members) == first
    assert len(world.cloud.state.groups) == 1


@pytest.mark.parametrize("start", [0, 10])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_commit_whose_outcome_is_not_known_adds_once(start, is_stored):
    world = World()
    lease = world.reserve(whole_hosts(min=1, max=1), start=start, end=600)
    world.run_due()
    commits = []
    inner = world.database.inner

    class Lost:
        def read(self):
            return inner.read()

        def transact(self, work):
            commits.append(work)
            if len(commits) == 2:  # the first one remembers what is about to be made
                if is_stored:
                    inner.transact(work)
                raise OutcomeUnknown(service="The database", reason="it was lost")
            return inner.transact(work)

    world.database.inner = Lost()
    add(world, lease, instances(amount=1, affinity=True))
    world.database.inner = inner
    world.run_due()
    assert [r.resource_type for r in world.lease(lease).reservations] == ["physical:host", "virtual:instance"]
    assert not world.lease(lease).leaving
    assert len(world.cloud.state.groups) == 1


def test_a_group_that_could_not_be_made_leaves_nothing():
    world = World()
    lease = active(world, whole_hosts(min=1, max=1))

    def down(call: str) -> None:
        if "group" in call:
            raise CloudUnavailable(service="Nova", reason="503")

    world.cloud.before = down
    with pytest.raises(CloudUnavailable):
        add(world, lease, instances(amount=1, affinity=True))
    world.cloud.before = lambda call: None
    assert world.lease(lease).reservations == lease.reservations
    world.reconcile_all()
    world.run_due()
    assert world.lease(lease).is_settled
    assert not world.cloud.state.groups


@pytest.mark.parametrize("start", [0, 10])
def test_a_group_that_cannot_be_removed_after_a_refusal_goes_later(start):
    world = World()
    lease = world.reserve(whole_hosts(min=1, max=1), start=start, end=600)
    world.run_due()

    def refuse(call: str) -> None:
        if "group" in call and world.cloud.state.groups:
            raise CloudRefused(service="Nova", reason="403")

    world.cloud.before = refuse
    with pytest.raises(CloudUnavailable, match=r"403.*removed later"):
        add(world, lease, *[instances(amount=1, affinity=True)] * 2)
    world.cloud.before = lambda call: None
    assert len(world.cloud.state.groups) == 1
    assert [r.resource_type for r in world.lease(lease).reservations] == ["physical:host"]
    world.advance(minutes=start)
    world.reconcile_all()
    world.run_due()
    assert world.lease(lease).is_settled
    assert not world.cloud.state.groups


@pytest.mark.parametrize("start", [0, 10])
def test_a_group_of_what_is_removed_goes(start):
    world = World()
    lease = world.reserve(whole_hosts(min=1, max=1), instances(amount=1, affinity=True), start=start, end=600)
    world.run_due()
    assert world.cloud.state.groups
    remove(world, world.lease(lease), 1)
    world.run_due()
    assert not world.cloud.state.groups
    world.advance(minutes=start + 1)
    assert world.lease(lease).is_settled


def test_what_is_removed_while_it_is_being_made_is_taken_back():
    """Between a verb of the engine and its settlement."""
    world = World()
    lease = active(world, whole_hosts(min=1, max=1))
    new = add(world, lease, whole_hosts(min=1, max=1))
    seen = []

    def between(call: str) -> None:
        if not seen and "remove_host" in call:
            seen.append(call)
            remove(world, world.lease(new), 1)

    world.cloud.before = between
    world.run_due()
    world.cloud.before = lambda call: None
    assert seen
    world.advance(seconds=60)
    assert world.lease(lease).is_settled
    assert world.lease(lease).reservations == lease.reservations
    assert len(world.in_freepool()) == 3


@pytest.mark.slow
def test_a_lease_ends_with_what_was_about_to_leave_it():
    world = World()
    lease = active(world, whole_hosts(min=1, max=1), instances(amount=1, affinity=True))
    world.cloud.boot_reserved("undying", lease.reservations[1].id)
    world.cloud.state.undying.add("undying")
    remove(world, lease, 1)
    world.advance(minutes=601)
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    world.cloud.state.undying.clear()
    world.advance(minutes=2)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert not world.lease(lease).leaving
    nothing_left(world)


def both(world: World) -> Lease:
    lease = active(world, whole_hosts(min=1, max=1), instances(amount=1, affinity=True))
    world.cloud.boot("stays", world.cloud.hosts_in(lease.reservations[0].id)[0])
    world.cloud.boot_reserved("goes", lease.reservations[1].id)
    return lease


def swap(world: World, lease: Lease) -> None:
    removed = (lease.reservations[1].id,)
    change(world, lease, ReservationsChange(added(instances(amount=2, affinity=False)), removed))
    world.run_due()
    world.advance(seconds=30)


@pytest.mark.slow
def test_a_crash_at_any_step_of_an_active_change():
    changed = 0
    for world in dies_at_each_step(both, swap):
        world.advance(seconds=60)
        world.reconcile_all()
        world.advance(seconds=60)
        lease = world.lease(world.subject)
        assert lease.status is LeaseStatus.ACTIVE
        assert lease.is_settled
        assert len(lease.reservations) == 2
        is_done = lease.reservations[1].id != world.subject.reservations[1].id
        changed += is_done
        assert set(world.cloud.state.servers) == ({"stays"} if is_done else {"stays", "goes"})
        assert len(world.cloud.state.groups) == 1
        assert lease.reservations[0].allocations == world.subject.reservations[0].allocations
        clean_up(world)
    assert changed


def test_a_crash_at_any_step_of_a_change_before_the_start():
    def prepare(world: World) -> Lease:
        return world.reserve(whole_hosts(min=1, max=1), servers(affinity=True), start=10, end=600)

    def exchange(world: World, lease: Lease) -> None:
        removed = (lease.reservations[1].id,)
        change(world, lease, ReservationsChange(added(servers(amount=2, affinity=False)), removed))

    for world in dies_at_each_step(prepare, exchange):
        world.advance(minutes=12)
        lease = world.lease(world.subject)
        assert lease.is_settled
        assert len(lease.reservations) == 2
        assert len(world.cloud.state.groups) == 1
        clean_up(world)


def test_what_is_removed_frees_capacity_at_once():
    world = World(hosts=1, floating_ips=1)
    lease = world.reserve(whole_hosts(min=1, max=1), floating_ips(amount=1), start=10)
    with pytest.raises(NotEnoughResources):
        world.create(start=10)
    remove(world, lease, 0)
    assert world.create(start=10).allocations


def test_suggestions_for_a_change_count_what_is_given_up():
    world = World(hosts=2)
    lease = world.reserve(whole_hosts(min=1, max=1), instances(amount=1), start=10, end=60)
    members = ReservationsChange(added(whole_hosts(min=2, max=2)), (lease.reservations[1].id,))
    with pytest.raises(NotEnoughResources):
        change(world, lease, members)
    found = world.explanations.explain_update(lease.id, UpdateLease(), DEMO, membership=members)
    fewer = next(each for each in found.suggestions if each.units[1] == 1)
    assert [each.resource_type for each in fewer.reservations] == [
        "physical:host",
        "physical:host",
        "virtual:instance",
    ]
    assert fewer.reservations[2].parameters == {"id": lease.reservations[1].id, "remove": True}
    assert fewer.units == (1, 1, 0)
