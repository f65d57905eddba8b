"""Leases that change hands: what the project that takes one over is asked, and whatever comes between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import (
    InvalidInput,
    InvalidStatus,
    KeyReused,
    NotAuthorized,
    NotEnoughResources,
    NotFound,
    QuotaExceeded,
    TooLate,
)
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.domain.subscription import LeaseEvent
from blazar.service.commands import CreateLease, RequestKey, ReservationRequest
from blazar.service.ports import Report, ReportType
from blazar.service.ports.enforcement import Proposal, UsageFilter
from blazar.service.shares import Shares
from blazar.service.webhooks import event_of

from .world import ALT, DEMO, World, floating_ips, instances, servers, whole_hosts

OTHER = str(ALT.project_id)
TAKE_OVER = ShareRight.TAKE_OVER


@pytest.fixture
def world() -> World:
    return World(hosts=2)


def shares_of(world: World) -> Shares:
    return Shares(world.database, world.kinds, world.clock)


def offered(world: World, **fields: Any) -> Lease:
    lease = world.create(**{"start": 60, "end": 120, **fields})
    shares_of(world).put(lease.id, OTHER, TAKE_OVER, DEMO)
    return world.lease(lease)


def test_the_lease_keeps_what_it_has(world: World) -> None:
    lease = offered(world)
    shares_of(world).put(lease.id, "third", ShareRight.READ, DEMO)
    taken = world.leases.take_over(lease.id, ALT)
    assert (taken.project_id, taken.user_id) == (OTHER, ALT.user_id)
    parts = [replace(each, updated_at=None) for each in taken.reservations]
    assert parts == [replace(each, updated_at=None) for each in lease.reservations]
    assert (taken.id, taken.interval, taken.status) == (lease.id, lease.interval, LeaseStatus.PENDING)
    assert world.lease(lease) == taken
    assert [each.project_id for each in shares_of(world).list(lease.id)] == ["third"]
    assert world.notifications()[-1] == "lease.taken_over"


def test_it_starts_and_ends_for_the_project_that_has_it_now(world: World) -> None:
    lease = offered(world)
    world.leases.take_over(lease.id, ALT)
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    name = lease.reservations[0].id
    (aggregate,) = (each for each in world.cloud.state.aggregates.values() if each.name == name)
    assert OTHER in aggregate.metadata.values()
    assert DEMO.project_id not in {*aggregate.metadata, *aggregate.metadata.values()}
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


@pytest.mark.parametrize(
    "wanted", [instances(amount=2), servers(), floating_ips()], ids=lambda each: each.resource_type
)
def test_each_kind_with_nothing_of_its_user_changes_hands(wanted: ReservationRequest) -> None:
    world = World(hosts=2, floating_ips=2)
    lease = world.reserve(wanted, start=60, end=120)
    shares_of(world).put(lease.id, OTHER, TAKE_OVER, DEMO)
    world.leases.take_over(lease.id, ALT)
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    access = world.cloud.state.access.get(lease.reservations[0].id, set())
    assert set(access) <= {OTHER}
    assert {each.project_id for each in world.cloud.state.floating_ips.values()} <= {OTHER}
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_a_request_that_is_repeated_finds_it_done(world: World) -> None:
    lease = offered(world)
    taken = world.leases.take_over(lease.id, ALT)
    before = world.notifications()
    assert world.leases.take_over(lease.id, ALT) == taken
    assert world.notifications() == before


@pytest.mark.parametrize("right", [None, ShareRight.READ, ShareRight.CHANGE, ShareRight.USE_AND_CHANGE])
def test_only_what_is_offered_is_taken_over(world: World, right: ShareRight | None) -> None:
    lease = world.create(start=60, end=120)
    if right is not None:
        shares_of(world).put(lease.id, OTHER, right, DEMO)
    before = world.lease(lease)
    with pytest.raises(NotAuthorized):
        world.leases.take_over(lease.id, ALT)
    assert world.lease(lease) == before


def test_one_that_has_begun_stays(world: World) -> None:
    lease = offered(world)
    world.advance(minutes=60)
    with pytest.raises(InvalidStatus, match="before it starts"):
        world.leases.take_over(lease.id, ALT)
    with pytest.raises(InvalidStatus):
        shares_of(world).put(lease.id, "third", TAKE_OVER, DEMO)
    assert world.lease(lease).project_id == DEMO.project_id


def test_what_is_made_in_the_name_of_its_user_stays(world: World) -> None:
    lease = world.reserve(instances(affinity=True), start=60, end=120)
    with pytest.raises(InvalidInput, match="belongs to its project"):
        shares_of(world).put(lease.id, OTHER, TAKE_OVER, DEMO)


def test_it_counts_for_the_project_that_takes_it(world: World) -> None:
    lease = offered(world)
    world.quotas.set(OTHER, {"leases": 0})
    with pytest.raises(QuotaExceeded):
        world.leases.take_over(lease.id, ALT)
    assert world.lease(lease).project_id == DEMO.project_id
    world.quotas.set(OTHER, {"leases": 1})
    world.leases.take_over(lease.id, ALT)
    with pytest.raises(QuotaExceeded):
        world.reserve(whole_hosts(), caller=ALT, start=120, end=180)
    uses = {each.name: each.peak for each in world.quotas.get_usage(str(DEMO.project_id))}
    assert uses["leases"] == 0


class Ledger(UsageFilter):
    """Is told all."""

    reports = frozenset(ReportType)


def test_usage_filters_are_told_an_end_and_a_new_lease() -> None:
    ledger = Ledger()
    world = World(hosts=2, filters=[ledger])
    lease = offered(world)
    world.leases.take_over(lease.id, ALT)
    now, later = world.clock.now(), world.in_minutes(10)
    found: list[Report] = []
    while some := world.database.transact(lambda uow: uow.reports.take(ledger.name, 10, now, later)):
        world.database.transact(lambda uow, some=some: uow.reports.remove([each.id for each in some]))
        found += some
    told = [(each.type, each.documents["lease"]["project_id"]) for each in found]
    assert told == [
        (ReportType.CREATED, DEMO.project_id),
        (ReportType.ENDED, DEMO.project_id),
        (ReportType.CREATED, OTHER),
    ]


def test_what_the_caller_may_not_ask_for_is_not_taken_over(world: World) -> None:
    world.hosts.set_capabilities("1", {"rack": "r1"})
    lease = world.create(start=60, end=120, resource_properties='["==", "$rack", "r1"]')
    shares_of(world).put(lease.id, OTHER, TAKE_OVER, DEMO)
    world.hosts.set_property_private("rack", True)
    with pytest.raises(NotEnoughResources):
        world.leases.take_over(lease.id, ALT)
    assert world.lease(lease).project_id == DEMO.project_id


def test_subscribers_are_told_of_a_change(world: World) -> None:
    lease = offered(world)
    world.leases.take_over(lease.id, ALT)
    with world.database.read() as uow:
        *_, told = uow.outbox.peek(1000)
    assert event_of(told) is LeaseEvent.UPDATED
    assert told.payload["project_id"] == OTHER


class Meanwhile(UsageFilter):
    """Does something in the course of a request: when it is asked."""

    def __init__(self) -> None:
        self.happens: Callable[[], object] = lambda: None

    def check_create(self, proposal: Proposal) -> None:
        happens, self.happens = self.happens, lambda: None
        happens()


def test_whatever_comes_between() -> None:
    between = Meanwhile()
    world = World(hosts=2, filters=[between])
    shares = shares_of(world)

    def meanwhile(lease: Lease, happens: Callable[[], object]) -> Callable[[], Lease]:
        between.happens = happens
        return lambda: world.leases.take_over(lease.id, ALT)

    lease = offered(world)
    with pytest.raises(NotAuthorized):
        meanwhile(lease, lambda: shares.delete(lease.id, OTHER, DEMO))()
    shares.put(lease.id, OTHER, TAKE_OVER, DEMO)
    with pytest.raises(NotAuthorized):
        meanwhile(lease, lambda: shares.put(lease.id, OTHER, ShareRight.READ, DEMO))()
    shares.put(lease.id, OTHER, TAKE_OVER, DEMO)
    with pytest.raises(NotFound):
        meanwhile(lease, lambda: world.leases.delete(lease.id, DEMO))()
    lease = offered(world)
    with pytest.raises(InvalidStatus):
        meanwhile(lease, lambda: world.advance(minutes=60))()
    lease = offered(world)
    with pytest.raises(TooLate):
        between.happens = lambda: world.clock.pause(60)
        world.leases.take_over(lease.id, replace(ALT, deadline=world.in_minutes(0.5)))
    assert world.lease(lease).project_id == DEMO.project_id
    taken = meanwhile(lease, lambda: world.leases.take_over(lease.id, ALT))()
    assert taken.project_id == OTHER
    assert world.notifications().count("lease.taken_over") == 1


def test_what_starts_with_it_stays_with_its_project(world: World) -> None:
    lease = offered(world)
    with_task = replace(world.lease(lease), start_task="webhook")
    world.database.transact(lambda uow: uow.leases.save(with_task, world.lease(lease), world.clock.now()))
    with pytest.raises(InvalidInput, match="starts with the lease"):
        world.leases.take_over(lease.id, ALT)


def test_the_key_of_its_create_tells_the_project_that_had_it_nothing(world: World) -> None:
    command, key = asked(world), RequestKey("key", "fingerprint")
    lease = world.leases.create(command, DEMO, key=key)
    shares_of(world).put(lease.id, OTHER, TAKE_OVER, DEMO)
    assert world.leases.create(command, DEMO, key=key).id == lease.id
    world.leases.take_over(lease.id, ALT)
    with pytest.raises(KeyReused):
        world.leases.create(command, DEMO, key=key)


def asked(world: World) -> CreateLease:
    return CreateLease("lease", world.in_minutes(60), world.in_minutes(120), None, (whole_hosts(),))
