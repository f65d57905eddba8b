"""A lease of a higher priority that does not fit displaces leases of lower ones that have not started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import InvalidInput, NotEnoughResources, QuotaExceeded, UsageRefused
from blazar.domain.lease.displacement import DisplacementEffect
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.service.commands import (
    NOW,
    ByDuration,
    ClaimOffer,
    CreateLease,
    CreateMaintenance,
    PriorityWish,
    RequestKey,
    ReservationRequest,
)
from blazar.service.context import Caller
from blazar.service.leases import DisplacementSettings, LateBindingSettings
from blazar.service.metrics import NoMetrics
from blazar.service.ports import Identity, Report, ReportType
from blazar.service.ports.enforcement import Documents, Proposal, UsageFilter
from blazar.service.quotas import QuotaSettings

from .world import ADMIN, ALT, DEMO, Crash, Steps, World, instances, whole_hosts

LOW, NORMAL, HIGH = Priority
HOUR = timedelta(hours=1)


class Counted(NoMetrics):
    def __init__(self) -> None:
        self.counts = (0, 0)

    def displaced(self, moved: int, waiting: int) -> None:
        self.counts = (self.counts[0] + moved, self.counts[1] + waiting)


def ask(
    world: World,
    *requests: ReservationRequest,
    priority: Priority = HIGH,
    start: float | None = 120,
    end: float = 180,
    displaces: bool = True,
    caller: Caller = DEMO,
    key: RequestKey | None = None,
    wait: float | None = None,
    by_duration: ByDuration | None = None,
    **fields: Any,
) -> Lease:
    """Ask for a lease of a class; minutes from now by ``start``, ``end`` and ``wait``."""
    begin = NOW if start is None else world.in_minutes(start)
    command = CreateLease(
        "urgent", begin, world.in_minutes(end), None, requests or (whole_hosts(),), **fields
    )
    until = None if wait is None else world.in_minutes(wait)
    wish = PriorityWish(priority, displaces)
    lease = world.leases.create(command, caller, by_duration, key, until, priority=wish)
    world.clock.pause(0.001)  # the next one comes later
    return lease


def take(world: World, hosts: int = 1, priority: Priority = LOW, **fields: Any) -> Lease:
    """Make a lease that displaces nothing."""
    asked = whole_hosts(min=hosts, max=hosts)
    return ask(world, asked, priority=priority, displaces=False, **{"caller": ALT, **fields})


def preview(world: World, *requests: ReservationRequest, priority: Priority = HIGH) -> Any:
    command = CreateLease(
        "x", world.in_minutes(120), world.in_minutes(180), None, requests or (whole_hosts(),)
    )
    return world.leases.preview_displacing(command, DEMO, priority=PriorityWish(priority, True))


def statuses(world: World, *leases: Lease) -> list[LeaseStatus]:
    return [world.lease(each).status for each in leases]


@pytest.fixture
def world() -> World:
    # Without late binding, which would make room for some of these leases first.
    return World(hosts=2, metrics=Counted(), late_binding=LateBindingSettings(is_on=False))


def counts(world: World) -> tuple[int, int]:
    assert isinstance(world.metrics, Counted)
    return world.metrics.counts


def test_where_it_fits_nothing_gives_way(world: World) -> None:
    low = take(world)
    before = world.lease(low)
    high = ask(world)
    assert high.status is LeaseStatus.PENDING
    assert world.lease(low) == before
    assert counts(world) == (0, 0)


def test_a_lease_that_cannot_move_waits_and_is_promoted_again(world: World) -> None:
    low = take(world, 2)
    high = ask(world)
    found = world.lease(low)
    assert (found.status, found.allocations, found.events) == (LeaseStatus.WAITING, (), ())
    assert found.status_reason == (
        "It was displaced by a lease of a higher priority at 2030-01-01 08:00, and waits in line."
    )
    assert found.waiting is not None
    assert (found.waiting.until, found.waiting.turn) == (low.interval.start, low.created_at)
    assert found.quantities == {}
    assert found.priority is LOW
    assert len(high.allocations) == 1
    assert world.notifications() == ["lease.create", "lease.create", "lease.displaced"]
    assert counts(world) == (0, 1)
    world.leases.delete(high.id, DEMO)
    for _ in world.waitlist.walk():
        pass
    back = world.lease(low)
    assert (back.status, back.status_reason, len(back.allocations)) == (LeaseStatus.PENDING, None, 2)
    assert back.interval == low.interval
    assert back.before_end_date == low.before_end_date
    world.advance(121)
    assert statuses(world, low) == [LeaseStatus.ACTIVE]


def test_it_waits_until_its_start(world: World) -> None:
    low = take(world, 2)
    ask(world)
    world.advance(120)
    for _ in world.waitlist.walk():
        pass
    found = world.lease(low)
    assert found.status is LeaseStatus.TERMINATED
    assert found.status_reason == "There was not enough for it until 2030-01-01 10:00."


def test_a_lease_that_can_move_moves(world: World) -> None:
    """The only host that suits is taken by a lease that any host suits."""
    first = take(world)
    (host,) = world.hosts_of(first)
    high = ask(world, _named(world, host))
    (other,) = world.hosts_of(first)
    assert world.hosts_of(high) == {host} != {other}
    found = world.lease(first)
    assert found.status is LeaseStatus.PENDING
    assert found.status_reason == (
        "It was moved to other resources for a lease of a higher priority at 2030-01-01 08:00."
    )
    assert (found.interval, found.events, found.quantities) == (
        first.interval,
        first.events,
        first.quantities,
    )
    assert world.notifications()[-1] == "lease.moved"
    assert counts(world) == (1, 0)
    world.advance(121)
    assert statuses(world, first, high) == [LeaseStatus.ACTIVE] * 2
    assert world.lease(first).status_reason is None


def _named(world: World, host_id: str) -> ReservationRequest:
    name = next(each.name for each in world.hosts.list(ADMIN) if each.id == host_id)
    return whole_hosts(hypervisor_properties=f'["==", "$hypervisor_hostname", "{name}"]')


def test_who_moves_keeps_as_much_as_it_had(world: World) -> None:
    """A lease of one to two hosts that has two does not move to one."""
    flexible = ask(world, whole_hosts(min=1, max=2), priority=LOW, displaces=False, caller=ALT)
    assert len(flexible.allocations) == 2
    ask(world)
    assert statuses(world, flexible) == [LeaseStatus.WAITING]


@pytest.mark.parametrize(("theirs", "ours"), [(NORMAL, NORMAL), (HIGH, NORMAL), (HIGH, HIGH), (LOW, LOW)])
def test_the_same_or_a_higher_class_stays(world: World, theirs: Priority, ours: Priority) -> None:
    other = take(world, 2, theirs)
    before = world.lease(other)
    with pytest.raises(NotEnoughResources):
        ask(world, priority=ours)
    assert world.lease(other) == before


def test_nothing_gives_way_unless_it_is_asked_for(world: World) -> None:
    take(world, 2)
    with pytest.raises(NotEnoughResources):
        ask(world, displaces=False)


def test_nothing_gives_way_in_vain(world: World) -> None:
    """It does not fit even where all of the lower class give way."""
    low, normal = take(world), take(world, priority=NORMAL)
    before = [world.lease(low), world.lease(normal)]
    with pytest.raises(NotEnoughResources):
        ask(world, whole_hosts(min=2, max=2), priority=NORMAL)
    assert [world.lease(low), world.lease(normal)] == before
    assert counts(world) == (0, 0)


def test_the_lowest_class_gives_way_first_then_the_latest_start(world: World) -> None:
    normal, low = take(world, priority=NORMAL), take(world)
    ask(world)
    assert statuses(world, normal, low) == [LeaseStatus.PENDING, LeaseStatus.WAITING]
    other = World(hosts=2)
    later, sooner = take(other, start=130), take(other, start=110)
    ask(other)
    assert statuses(other, later, sooner) == [LeaseStatus.WAITING, LeaseStatus.PENDING]


def test_as_few_as_can_be_give_way() -> None:
    world = World(hosts=4)
    single, other, two = take(world), take(world), take(world, 2, start=100)
    ask(world, whole_hosts(min=2, max=2))
    assert statuses(world, single, other, two) == [
        LeaseStatus.PENDING,
        LeaseStatus.PENDING,
        LeaseStatus.WAITING,
    ]


def test_a_lease_of_several_reservations_gives_way_as_a_whole(world: World) -> None:
    both = ask(world, whole_hosts(), instances(), priority=LOW, displaces=False, caller=ALT)
    ask(world)
    found = world.lease(both)
    assert found.status is LeaseStatus.WAITING
    assert all(not each.allocations for each in found.reservations)


def test_one_that_has_started_or_starts_soon_stays(world: World) -> None:
    started = take(world, start=None, end=600)
    world.advance(1)
    assert statuses(world, started) == [LeaseStatus.ACTIVE]
    soon = take(world, start=59, end=600)
    with pytest.raises(NotEnoughResources):
        ask(world)
    assert statuses(world, started, soon) == [LeaseStatus.ACTIVE, LeaseStatus.PENDING]
    world.displacement_settings = DisplacementSettings(notice=timedelta(minutes=30))
    world.restart()
    ask(world)
    assert statuses(world, started, soon) == [LeaseStatus.ACTIVE, LeaseStatus.WAITING]


def test_offers_and_maintenances_stay(world: World) -> None:
    first, second = (each.id for each in world.hosts.list(ADMIN))
    taken = CreateMaintenance((first,), world.in_minutes(120), world.in_minutes(180), "upgrade")
    assert world.maintenances.create(taken, ADMIN).maintenance is not None
    low = take(world)
    with pytest.raises(NotEnoughResources):
        ask(world, whole_hosts(min=2, max=2))
    assert statuses(world, low) == [LeaseStatus.PENDING]
    assert world.hosts_of(low) == {second}


def test_what_an_offer_holds_stays(world: World) -> None:
    dates = world.in_minutes(120), world.in_minutes(180)
    asked = CreateLease("", *dates, None, (whole_hosts(min=2, max=2),))
    held = world.offers.create(asked, 15 * HOUR / 60, ALT)
    with pytest.raises(NotEnoughResources):
        ask(world)
    assert world.offers.claim(held.id, ClaimOffer("kept"), ALT).status is LeaseStatus.PENDING


def test_with_both_a_lease_that_cannot_displace_waits(world: World) -> None:
    take(world, 2, NORMAL)
    lease = ask(world, priority=NORMAL, wait=100)
    assert lease.status is LeaseStatus.WAITING


def test_the_displaced_stand_in_front_of_who_came_later(world: World) -> None:
    low = take(world, 2)
    waits = ask(world, priority=LOW, displaces=False, wait=100, caller=DEMO)
    assert waits.status is LeaseStatus.WAITING
    ask(world)
    assert (world.waitlist.get_position(low.id), world.waitlist.get_position(waits.id)) == (1, 2)


def test_a_quota_that_is_exceeded_displaces_nothing() -> None:
    world = World(hosts=2, quota=QuotaSettings({"leases": 1}))
    low = take(world, 2)
    ask(world, start=600, end=660, displaces=False)
    before = world.lease(low)
    with pytest.raises(QuotaExceeded):
        ask(world)
    assert world.lease(low) == before


def test_the_displaced_uses_nothing_of_its_quota(world: World) -> None:
    world = World(hosts=2, quota=QuotaSettings({"hosts": 2}))
    take(world, 2)
    ask(world)
    with pytest.raises(NotEnoughResources):  # and no quota
        take(world, 2)


class Bookkeeping(UsageFilter):
    """Keeps books of leases, and refuses those of a name."""

    reports = frozenset(ReportType)
    refuses_urgent = False

    def __init__(self) -> None:
        self.told: list[tuple[ReportType, int]] = []

    def check_create(self, proposal: Proposal) -> None:
        if self.refuses_urgent and proposal.lease.name == "urgent" and proposal.lease.priority is HIGH:
            raise UsageRefused("too urgent")

    def check_update(self, proposal: Proposal) -> None:
        raise AssertionError("a displacement is no update by its user")

    def tell(self, report: Report, documents: Documents, identity: Identity) -> None:
        reservations = documents["lease"]["reservations"]
        self.told.append((report.type, sum(len(each["allocations"]) for each in reservations)))


def test_usage_filters_are_told_that_the_displaced_has_ended_and_begins_anew() -> None:
    books = Bookkeeping()
    world = World(hosts=2, filters=[books])
    take(world, 2)
    high = ask(world)
    world.report()
    assert sorted(books.told) == [(ReportType.CREATED, 1), (ReportType.CREATED, 2), (ReportType.ENDED, 2)]
    world.leases.delete(high.id, DEMO)
    for _ in world.waitlist.walk():
        pass
    world.report()
    assert sorted(books.told[3:]) == [(ReportType.CREATED, 2), (ReportType.ENDED, 1)]


def test_what_a_usage_filter_refuses_displaces_nothing() -> None:
    books = Bookkeeping()
    books.refuses_urgent = True
    world = World(hosts=2, filters=[books])
    low = take(world, 2)
    before = world.lease(low)
    with pytest.raises(UsageRefused):
        ask(world)
    assert world.lease(low) == before


def test_the_same_request_makes_one_lease_and_displaces_once(world: World) -> None:
    low = take(world, 2)
    key = RequestKey("night", "print")
    first = ask(world, key=key)
    displaced = world.lease(low)
    assert ask(world, key=key).id == first.id
    assert world.lease(low) == displaced
    assert world.notifications().count("lease.displaced") == 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"by_duration": ByDuration(HOUR, earliest=True)}, "as early as can be"),
        ({"affinity": True}, "made in"),
    ],
)
def test_what_cannot_be_all_or_nothing_is_refused(
    world: World, fields: Mapping[str, Any], sentence: str
) -> None:
    asked = (instances(affinity=True),) if "affinity" in fields else (whole_hosts(),)
    more = {name: value for name, value in fields.items() if name != "affinity"}
    with pytest.raises(InvalidInput, match=sentence):
        ask(world, *asked, **more)


def test_an_operator_may_forbid_it() -> None:
    world = World(hosts=2, displacement=DisplacementSettings(is_allowed=False))
    with pytest.raises(InvalidInput, match="displaces no leases"):
        ask(world)


def test_a_dry_run_tells_who_would_give_way(world: World) -> None:
    low = take(world, 2)
    before = world.lease(low)
    found = preview(world)
    (displaced,) = found.displaced
    assert (displaced.old.id, displaced.effect) == (low.id, DisplacementEffect.WAITS)
    assert len(found.lease.allocations) == 1
    assert world.lease(low) == before
    assert world.notifications() == ["lease.create"]
    assert preview(World(hosts=2)).displaced == ()


def test_what_changes_between_reading_and_committing_is_planned_again(world: World) -> None:
    """Another manager moves the one that would give way in that very moment: its lease is renamed, or
    deleted, or a host is taken."""
    for meddle in (
        lambda low: world.beside().update(low, caller=ALT, name="dinner"),
        lambda low: world.beside().leases.delete(low.id, ALT),
    ):
        low = take(world, 2)
        _at_first_commit(world, lambda low=low, meddle=meddle: meddle(low))  # type: ignore[misc]
        high = ask(world)
        assert high.status is LeaseStatus.PENDING
        world.run_due()
        names = {each.name: each.status for each in world.leases.list(None)}
        assert names in (
            {"urgent": LeaseStatus.PENDING, "dinner": LeaseStatus.WAITING},
            {"urgent": LeaseStatus.PENDING},
        )
        for each in world.leases.list(None):
            world.leases.delete(each.id, DEMO if each.project_id == "demo" else ALT)
        world.run_due()


def _at_first_commit(world: World, meddle: Callable[[], object]) -> None:
    """Have another request come between what the next one reads and what it writes."""
    done: list[bool] = []

    def step() -> None:
        if not done:
            done.append(True)
            meddle()

    world.database.step = step


@pytest.mark.parametrize("crash_at", [1, 2])
def test_a_crash_leaves_all_or_nothing(world: World, crash_at: int) -> None:
    """Before the commit, which is one, and after it."""
    low = take(world, 2)
    before = world.lease(low)
    lease_id = "11111111-2222-3333-4444-555555555555"
    world.database.step = Steps(crash_at).step
    with pytest.raises(Crash):
        ask(world, id=lease_id)
    world.database.step = lambda: None
    world.restart()
    found = world.lease(low)
    if crash_at == 1:
        assert found == before
    else:
        assert found.status is LeaseStatus.WAITING
    counted = Steps()
    world.database.step = counted.step
    assert ask(world, id=lease_id).status is LeaseStatus.PENDING
    assert counted.taken == {1: 2, 2: 1}[crash_at]  # the second one finds its lease when it commits
    assert world.notifications().count("lease.displaced") == 1
