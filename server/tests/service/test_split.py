"""Leases that are split: what goes and what stays, and whatever comes between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import (
    Busy,
    InvalidInput,
    InvalidStatus,
    KeyReused,
    LeaseChanged,
    NotEnoughResources,
    NotFound,
    OutcomeUnknown,
    QuotaExceeded,
    TooLate,
    UsageRefused,
)
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.priority import Priority
from blazar.domain.lease.share import ShareRight
from blazar.domain.lease.split import allotted, units_of
from blazar.domain.subscription import LeaseEvent
from blazar.service.commands import (
    NOW,
    CreateLease,
    PriorityWish,
    RequestKey,
    ReservationChange,
    ReservationRequest,
    SplitLease,
    SplitReservation,
    UpdateLease,
)
from blazar.service.ports import Report, ReportType
from blazar.service.ports.enforcement import Proposal, UsageFilter
from blazar.service.shares import Shares
from blazar.service.webhooks import event_of

from .test_crashes import dies_at_each_step
from .world import ADMIN, ALT, DEMO, World, address, floating_ips, instances, whole_hosts

KEY = RequestKey("key", "fingerprint")


@pytest.fixture
def world() -> World:
    return World(hosts=4, floating_ips=4)


def going(*reservations: tuple[Reservation, int | None], name: str = "part") -> SplitLease:
    return SplitLease(name, tuple(SplitReservation(each.id, units) for each, units in reservations))


def two_lines(world: World, *others: ReservationRequest, **more: Any) -> Lease:
    lines = others or (whole_hosts(min=2, max=2), instances(amount=2))
    command = CreateLease("lease", world.in_minutes(60), world.in_minutes(120), None, lines)
    return world.leases.create(command, DEMO, **more)


def held(lease: Lease) -> list[tuple[str, int]]:
    return sorted((each.resource_id, each.slots) for each in lease.allocations)


def uses(world: World, project: str = str(DEMO.project_id)) -> dict[str, int]:
    return {each.name: each.peak for each in world.quotas.get_usage(project)}


def test_a_reservation_becomes_a_lease_of_its_own(world: World) -> None:
    lease = two_lines(world, priority=PriorityWish(Priority.LOW))
    stays, goes = lease.reservations
    counted = uses(world)
    part = world.leases.split(lease.id, going((goes, None)), DEMO)
    rest = world.lease(lease)
    assert [each.id for each in rest.reservations] == [stays.id]
    assert rest.reservations[0].allocations == stays.allocations
    (moved,) = part.reservations
    assert (moved.id, moved.parameters) == (goes.id, goes.parameters)
    assert [each.id for each in moved.allocations] == [each.id for each in goes.allocations]
    assert {each.lease_id for each in (moved, *moved.allocations, *part.events)} == {part.id}
    assert (part.name, part.project_id, part.user_id) == ("part", lease.project_id, lease.user_id)
    assert (part.interval, part.before_end_date) == (lease.interval, lease.before_end_date)
    assert (part.status, part.priority) == (LeaseStatus.PENDING, Priority.LOW)
    assert world.lease(part) == part
    assert uses(world) == {**counted, "leases": counted["leases"] + 1}
    assert rest.revision == lease.revision + 1


def test_some_hosts_go(world: World) -> None:
    lease = world.create(start=60, end=120, min=1, max=3)
    (reservation,) = lease.reservations
    counted = uses(world)
    part = world.leases.split(lease.id, going((reservation, 1)), DEMO)
    rest = world.lease(lease)
    assert sorted([*held(rest), *held(part)]) == held(lease)
    (stays,), (goes,) = rest.reservations, part.reservations
    assert (stays.id, goes.id != stays.id) == (reservation.id, True)
    assert [(r.parameters["min"], r.parameters["max"]) for r in (stays, goes)] == [(2, 2), (1, 1)]
    assert {each.reservation_id for each in part.allocations} == {goes.id}
    assert uses(world) == {**counted, "leases": 2}


def test_some_slots_of_a_host_go() -> None:
    world = World(hosts=1)
    lease = world.reserve(instances(amount=3), start=60, end=120)
    (reservation,) = lease.reservations
    part = world.leases.split(lease.id, going((reservation, 2)), DEMO)
    rest = world.lease(lease)
    assert [units_of(each.reservations[0]) for each in (rest, part)] == [1, 2]
    assert [each.reservations[0].parameters["amount"] for each in (rest, part)] == [1, 2]
    assert {each.resource_id for each in (*rest.allocations, *part.allocations)} == {
        lease.allocations[0].resource_id
    }
    assert rest.allocations[0].id != part.allocations[0].id


@pytest.mark.parametrize("units", range(1, 6))
def test_as_many_go_as_are_asked_for(world: World, units: int) -> None:
    lease = world.reserve(instances(amount=6, vcpus=4), start=60, end=120)
    ids = iter(f"new-{n}" for n in range(9))
    stay, go = allotted(lease.allocations, units, lambda: next(ids))
    assert sum(each.slots for each in go) == units
    assert sum(each.slots for each in stay) == 6 - units
    assert len({each.id for each in (*stay, *go)}) == len((*stay, *go))
    assert all(each.slots > 0 for each in (*stay, *go))
    both: dict[str, int] = {}
    for each in (*stay, *go):
        both[each.resource_id] = both.get(each.resource_id, 0) + each.slots
    assert sorted(both.items()) == held(lease)


@pytest.mark.parametrize(
    "wanted",
    [whole_hosts(min=2, max=2), instances(amount=2), floating_ips(amount=2)],
    ids=lambda each: each.resource_type,
)
def test_both_start_and_end(world: World, wanted: ReservationRequest) -> None:
    lease = world.reserve(wanted, start=60, end=120)
    part = world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO)
    world.advance(minutes=60)
    assert [world.lease(each).status for each in (lease, part)] == [LeaseStatus.ACTIVE] * 2
    assert all(each.bound for each in (*world.lease(lease).allocations, *world.lease(part).allocations))
    world.leases.update(part.id, UpdateLease(end=NOW), DEMO)
    world.advance(minutes=1)
    assert [world.lease(each).status for each in (lease, part)] == [
        LeaseStatus.ACTIVE,
        LeaseStatus.TERMINATED,
    ]
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_what_it_had_is_taken_and_becomes_free_with_the_new_lease() -> None:
    world = World(hosts=2)
    lease = world.create(start=60, end=120, min=2, max=2)
    part = world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO)
    with pytest.raises(NotEnoughResources):
        world.create(start=60, end=120)
    world.leases.delete(part.id, DEMO)
    assert held(world.create(start=60, end=120)) == held(part)


def test_the_new_lease_is_shared_with_none_and_can_be_handed_over(world: World) -> None:
    lease = two_lines(world)
    shares = Shares(world.database, world.kinds, world.clock)
    shares.put(lease.id, "third", ShareRight.READ, DEMO)
    part = world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO)
    assert not shares.list(part.id)
    assert [each.project_id for each in shares.list(lease.id)] == ["third"]
    shares.put(part.id, str(ALT.project_id), ShareRight.TAKE_OVER, DEMO)
    assert world.leases.take_over(part.id, ALT).project_id == ALT.project_id
    world.advance(minutes=60)
    assert [world.lease(each).status for each in (lease, part)] == [LeaseStatus.ACTIVE] * 2


def test_an_administrator_splits_for_the_project_that_has_it(world: World) -> None:
    lease = two_lines(world)
    part = world.leases.split(lease.id, going((lease.reservations[0], None)), ADMIN, key=KEY)
    assert (part.project_id, part.user_id) == (DEMO.project_id, DEMO.user_id)
    assert world.leases.split(lease.id, going((lease.reservations[0], None)), ADMIN, key=KEY) == part


def test_a_request_that_is_repeated_with_its_key_finds_its_lease(world: World) -> None:
    lease = world.create(start=60, end=120, min=3, max=3)
    wanted, before = going((lease.reservations[0], 1)), (lease.revision,)
    part = world.leases.split(lease.id, wanted, DEMO, before, KEY)
    told = world.notifications()
    assert world.leases.split(lease.id, wanted, DEMO, before, KEY) == part
    assert world.notifications() == told
    assert len(world.lease(lease).allocations) == 2
    with pytest.raises(KeyReused):
        world.leases.split(lease.id, wanted, DEMO, key=RequestKey(KEY.name, "other"))


def test_only_the_lease_that_was_read_is_split(world: World) -> None:
    lease = two_lines(world)
    world.leases.update(lease.id, UpdateLease(name="other"), DEMO)
    with pytest.raises(LeaseChanged):
        world.leases.split(lease.id, going((lease.reservations[0], None)), DEMO, (lease.revision,))
    assert len(world.lease(lease).reservations) == 2


def test_one_that_has_begun_stays_whole(world: World) -> None:
    lease = two_lines(world)
    world.advance(minutes=60)
    with pytest.raises(InvalidStatus, match="before it starts"):
        world.leases.split(lease.id, going((lease.reservations[0], None)), DEMO)
    assert len(world.lease(lease).reservations) == 2


def test_one_that_is_due_stays_whole(world: World) -> None:
    lease = two_lines(world)
    world.clock.move_to(lease.interval.start)
    with pytest.raises(InvalidStatus, match="about to start"):
        world.leases.split(lease.id, going((lease.reservations[0], None)), DEMO)


def refused(world: World, lease: Lease, wanted: SplitLease, match: str) -> None:
    before = world.lease(lease)
    with pytest.raises(InvalidInput, match=match):
        world.leases.split(lease.id, wanted, DEMO)
    assert world.lease(lease) == before


def test_something_goes_and_something_stays(world: World) -> None:
    lease = two_lines(world)
    hosts, slots = lease.reservations
    refused(world, lease, going((hosts, None), (slots, 2)), "has to stay")
    refused(world, lease, going((hosts, 3)), "has 2 units, of which 3")
    refused(world, lease, SplitLease("part", (SplitReservation("elsewhere"),)), "elsewhere")
    assert world.leases.split(lease.id, going((hosts, 1), (slots, 2)), DEMO)


def test_what_is_made_in_the_cloud_for_a_reservation_belongs_to_its_lease(world: World) -> None:
    lease = two_lines(world, instances(amount=2, affinity=False), whole_hosts())
    grouped, host = lease.reservations
    refused(world, lease, going((grouped, None)), "belongs to its lease")
    refused(world, lease, going((grouped, 1)), "belongs to its lease")
    assert world.leases.split(lease.id, going((host, None)), DEMO)
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_what_cannot_be_divided_goes_as_a_whole(world: World) -> None:
    lease = two_lines(world, floating_ips(amount=2, required_floatingips=[address(1)]), whole_hosts())
    refused(world, lease, going((lease.reservations[0], 1)), "as a whole")
    assert world.leases.split(lease.id, going((lease.reservations[0], None)), DEMO)


def stored(world: World, lease: Lease, **fields: Any) -> Lease:
    old = world.lease(lease)
    return world.database.transact(
        lambda uow: uow.leases.save(replace(old, **fields), old, world.clock.now())
    )


def test_what_starts_with_it_needs_all_of_it(world: World) -> None:
    lease = stored(world, two_lines(world), start_task="webhook")
    refused(world, lease, going((lease.reservations[0], None)), "starts with the lease")


def test_one_that_misses_resources_is_not_divided(world: World) -> None:
    lease = two_lines(world)
    hosts, slots = lease.reservations
    lease = stored(world, lease, degraded=True, reservations=(replace(hosts, missing_resources=True), slots))
    refused(world, lease, going((hosts, 1)), "as a whole")
    part = world.leases.split(lease.id, going((hosts, None)), DEMO)
    assert (part.degraded, world.lease(lease).degraded) == (True, False)


def test_one_whose_cloud_is_at_work_is_split_later(world: World) -> None:
    lease = two_lines(world)
    lease = stored(world, lease, status=LeaseStatus.CREATING)
    with pytest.raises(Busy):
        world.leases.split(lease.id, going((lease.reservations[0], None)), DEMO)


def test_the_new_lease_is_one_more(world: World) -> None:
    lease = two_lines(world)
    project, wanted = str(DEMO.project_id), going((lease.reservations[0], 1))
    world.quotas.set(project, {"leases": 1, "hosts": 2})
    with pytest.raises(QuotaExceeded):
        world.leases.split(lease.id, wanted, DEMO)
    assert world.lease(lease) == lease
    world.quotas.set(project, {"leases": 2, "hosts": 1, "longest_lease_hours": 0})
    world.leases.split(lease.id, wanted, DEMO)
    assert uses(world)["hosts"] == 2


def test_both_are_told_of(world: World) -> None:
    lease = two_lines(world)
    part = world.leases.split(lease.id, going((lease.reservations[0], None)), DEMO)
    with world.database.read() as uow:
        *_, changed, made = uow.outbox.peek(1000)
    assert [event_of(each) for each in (changed, made)] == [LeaseEvent.UPDATED, LeaseEvent.CREATED]
    assert [each.payload["lease_id"] for each in (changed, made)] == [lease.id, part.id]


class Meanwhile(UsageFilter):
    """Is told all, and does something in the course of a request: when it is asked."""

    reports = frozenset(ReportType)

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        self.happens: Callable[[], object] = lambda: None

    def check_create(self, proposal: Proposal) -> None:
        self._ask(proposal)

    def check_update(self, proposal: Proposal) -> None:
        self._ask(proposal)

    def _ask(self, proposal: Proposal) -> None:
        self.asked.append(proposal.current.name if proposal.current else None)
        happens, self.happens = self.happens, lambda: None
        happens()


def reports(world: World, of: UsageFilter) -> list[Report]:
    now, later, found = world.clock.now(), world.in_minutes(10), []
    while some := world.database.transact(lambda uow: uow.reports.take(of.name, 10, now, later)):
        world.database.transact(lambda uow, some=some: uow.reports.remove([each.id for each in some]))
        found += some
    return found


def test_usage_filters_are_asked_and_told_of_both() -> None:
    ledger = Meanwhile()
    world = World(hosts=4, filters=[ledger])
    lease = two_lines(world)
    ledger.asked.clear()
    reports(world, ledger)
    part = world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO)
    assert ledger.asked == ["lease", None]
    told = [(each.type, each.lease_id) for each in reports(world, ledger)]
    assert told == [(ReportType.UPDATED, lease.id), (ReportType.CREATED, part.id)]


def test_what_a_filter_refuses_is_not_split() -> None:
    between = Meanwhile()
    world = World(hosts=4, filters=[between])
    lease = two_lines(world)

    def refuse() -> None:
        raise UsageRefused("no")

    between.happens = refuse
    with pytest.raises(UsageRefused):
        world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO)
    assert world.lease(lease) == lease


def test_whatever_comes_between() -> None:
    between = Meanwhile()
    world = World(hosts=20, filters=[between])
    lease = two_lines(world)
    hosts, _ = lease.reservations

    def meanwhile(happens: Callable[[], object], units: int | None = 1, **more: Any) -> Lease:
        between.happens = happens
        return world.leases.split(lease.id, going((hosts, units)), DEMO, **more)

    part = meanwhile(lambda: world.leases.update(lease.id, UpdateLease(end=world.in_minutes(180)), DEMO))
    assert part.interval == world.lease(lease).interval
    assert part.interval.end == world.in_minutes(180)
    lease = two_lines(world)
    hosts, _ = lease.reservations
    with pytest.raises(LeaseChanged):
        meanwhile(
            lambda: world.leases.update(lease.id, UpdateLease(name="other"), DEMO),
            revisions=(lease.revision,),
        )
    with pytest.raises(InvalidInput, match="Invalid reservation IDs"):
        meanwhile(lambda: world.leases.split(lease.id, going((hosts, None)), DEMO))
    lease = world.create(start=60, end=120)
    (hosts,) = lease.reservations
    with pytest.raises(InvalidInput, match="has to stay"):
        meanwhile(lambda: None, None)
    lease = two_lines(world)
    hosts, _ = lease.reservations
    with pytest.raises(NotFound):
        meanwhile(lambda: world.leases.delete(lease.id, DEMO))
    lease = two_lines(world)
    hosts, _ = lease.reservations
    with pytest.raises(InvalidStatus):
        meanwhile(lambda: world.advance(minutes=60))
    lease = two_lines(world)
    hosts, _ = lease.reservations
    with pytest.raises(TooLate):
        between.happens = lambda: world.clock.pause(60)
        world.leases.split(lease.id, going((hosts, 1)), replace(DEMO, deadline=world.in_minutes(0.5)))
    assert world.lease(lease) == lease


def test_another_editor_just_before_the_commit(world: World) -> None:
    lease = two_lines(world)
    hosts, slots = lease.reservations
    steps = iter(range(100))

    def step() -> None:
        if next(steps) == 0:
            world.leases.update(
                lease.id, UpdateLease(reservations=(ReservationChange(hosts.id, {"max": 3, "min": 3}),)), DEMO
            )

    world.database.step = step
    part = world.leases.split(lease.id, going((hosts, 1)), DEMO)
    rest = world.lease(lease)
    assert [units_of(each.reservations[0]) for each in (rest, part)] == [2, 1]
    assert units_of(rest.reservations[1]) == units_of(slots)


def test_a_crash_leaves_one_lease_or_two() -> None:
    def split(world: World, lease: object) -> Lease:
        assert isinstance(lease, Lease)
        return world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO, key=KEY)

    numbers = set()
    for world in dies_at_each_step(two_lines, split):
        lease = world.subject
        found = world.leases.list(None)
        numbers.add(len(found))
        assert sorted(row for each in found for row in held(each)) == held(lease)
        part = split(world, lease)
        rest = world.lease(lease)
        assert sorted([*held(rest), *held(part)]) == held(lease)
        assert len(world.leases.list(None)) == 2
        assert world.notifications().count("lease.create") == 2
    assert numbers == {1, 2}


def test_a_commit_whose_outcome_is_not_known_is_found(world: World) -> None:
    lease = two_lines(world)
    steps = iter(range(100))

    def step() -> None:
        if next(steps) == 1:
            raise OutcomeUnknown(service="database", reason="gone")

    world.database.step = step
    part = world.leases.split(lease.id, going((lease.reservations[0], 1)), DEMO)
    assert len(world.leases.list(None)) == 2
    assert world.lease(part) == part
