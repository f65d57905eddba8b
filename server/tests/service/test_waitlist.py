"""A lease that does not fit waits in line, and is promoted by itself when there is enough for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import (
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    LeaseChanged,
    NotEnoughResources,
    QuotaExceeded,
    UsageRefused,
    WaitlistFull,
)
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine.promoting import MOST, PAUSE, Promoting
from blazar.service.commands import NOW, ByDuration, CreateLease, RequestKey, ReservationRequest, UpdateLease
from blazar.service.context import Caller
from blazar.service.leases import WaitSettings
from blazar.service.metrics import NoMetrics
from blazar.service.ports import Identity, Report, ReportType
from blazar.service.ports.enforcement import Documents, Proposal, UsageFilter
from blazar.service.quotas import QuotaSettings

from .world import ALT, DEMO, START, World, instances, whole_hosts

HOUR = timedelta(hours=1)


def ask(
    world: World,
    *requests: ReservationRequest,
    start: float | None = 60,
    end: float = 120,
    until: float = 50,
    caller: Caller = DEMO,
    name: str = "patient",
    by_duration: ByDuration | None = None,
    key: RequestKey | None = None,
    **fields: Any,
) -> Lease:
    """Ask for a lease that may wait; minutes from now by ``start``, ``end`` and ``until``."""
    begin = NOW if start is None else world.in_minutes(start)
    asked = requests or (whole_hosts(),)
    command = CreateLease(name, begin, world.in_minutes(end), None, asked, **fields)
    lease = world.leases.create(command, caller, by_duration, key, world.in_minutes(until))
    world.clock.pause(0.001)  # the next one comes later
    return lease


def take(world: World, hosts: int, start: float = 60, end: float = 120) -> Lease:
    return world.reserve(whole_hosts(min=hosts, max=hosts), start=start, end=end, caller=ALT, name="taken")


def walk(world: World) -> None:
    for _ in world.waitlist.walk():
        pass


def status(world: World, lease: Lease) -> LeaseStatus:
    return world.lease(lease).status


@pytest.fixture
def world() -> World:
    return World(hosts=2)


def test_without_a_shortage_nothing_differs(world: World) -> None:
    lease = ask(world)
    assert (lease.status, lease.waiting) == (LeaseStatus.PENDING, None)
    assert world.notifications() == ["lease.create"]


def test_a_lease_that_does_not_fit_waits_and_is_promoted(world: World) -> None:
    other = take(world, 2)
    lease = ask(world)
    assert (lease.status, lease.allocations, lease.events) == (LeaseStatus.WAITING, (), ())
    assert lease.waiting is not None
    assert (lease.waiting.since, lease.waiting.until) == (START, START + 50 * HOUR / 60)
    assert world.waitlist.get_position(lease.id) == 1
    assert world.lease(lease) == lease
    walk(world)
    assert status(world, lease) is LeaseStatus.WAITING
    world.leases.delete(other.id, ALT)
    walk(world)
    found = world.lease(lease)
    assert (found.status, found.waiting, found.interval) == (LeaseStatus.PENDING, None, lease.interval)
    assert len(found.allocations) == 1
    assert world.waitlist.get_position(lease.id) is None
    assert world.notifications()[1:] == ["lease.waitlisted", "lease.delete", "lease.create", "lease.promoted"]
    world.advance(61)
    assert status(world, lease) is LeaseStatus.ACTIVE
    world.advance(61)
    assert status(world, lease) is LeaseStatus.TERMINATED


def test_it_waits_no_longer_than_its_user_wants(world: World) -> None:
    other = take(world, 2)
    lease = ask(world, until=30)
    world.clock.move_to(world.in_minutes(30))
    world.leases.delete(other.id, ALT)
    walk(world)
    found = world.lease(lease)
    assert (found.status, found.waiting, found.allocations) == (LeaseStatus.TERMINATED, None, ())
    assert found.status_reason == "There was not enough for it until 2030-01-01 08:30."
    assert world.notifications()[-1] == "lease.wait_timed_out"


def test_it_waits_no_longer_than_it_could_start(world: World) -> None:
    take(world, 2)
    fixed = ask(world, until=600)
    assert fixed.waiting is not None and fixed.waiting.until == fixed.interval.start


def test_one_that_starts_now_waits_until_its_end_and_starts_when_it_is_promoted(world: World) -> None:
    take(world, 2, start=0, end=20)
    lease = ask(world, start=None, end=60, until=600)
    assert lease.waiting is not None and lease.waiting.until == lease.interval.end
    assert lease.waiting.expected == START + timedelta(minutes=20)
    world.advance(20)
    walk(world)
    found = world.lease(lease)
    assert (found.status, found.interval.start) == (LeaseStatus.PENDING, START + timedelta(minutes=20))
    assert found.interval.end == lease.interval.end
    world.advance(1)
    assert status(world, lease) is LeaseStatus.ACTIVE


def test_one_of_a_duration_ends_that_much_later(world: World) -> None:
    take(world, 2, start=0, end=20)
    lease = ask(world, start=None, until=600, by_duration=ByDuration(HOUR))
    world.advance(20)
    walk(world)
    found = world.lease(lease)
    assert (found.interval.start, found.interval.duration) == (START + timedelta(minutes=20), HOUR)


def test_a_flexible_lease_is_promoted_within_its_window(world: World) -> None:
    take(world, 2, start=0, end=240)
    late = take(world, 2, start=240, end=600)
    window = ByDuration(HOUR, earliest=True, latest_end=world.in_minutes(480))
    lease = ask(world, start=None, until=10_000, by_duration=window)
    assert lease.waiting is not None and lease.waiting.until == world.in_minutes(420)
    world.advance(10)
    world.leases.delete(late.id, ALT)
    walk(world)
    found = world.lease(lease)
    assert (found.status, found.interval.start) == (LeaseStatus.PENDING, START + 4 * HOUR)
    assert found.interval.duration == HOUR


def test_those_behind_one_that_waits_get_nothing_that_suits_it(world: World) -> None:
    first_half, second_half = take(world, 1), take(world, 1)
    large = ask(world, whole_hosts(min=2, max=2), name="large")
    small = ask(world, caller=ALT, name="small", start=90, until=55)
    elsewhen = ask(world, caller=ALT, name="elsewhen", start=150, end=200)
    assert elsewhen.status is LeaseStatus.PENDING
    world.leases.delete(first_half.id, ALT)
    walk(world)
    assert [status(world, each) for each in (large, small)] == [LeaseStatus.WAITING] * 2
    world.leases.delete(second_half.id, ALT)
    walk(world)
    assert [status(world, each) for each in (large, small)] == [LeaseStatus.PENDING, LeaseStatus.WAITING]


def test_what_does_not_suit_those_ahead_is_promoted(world: World) -> None:
    on_first = whole_hosts(
        resource_properties="", hypervisor_properties='["==", "$hypervisor_hostname", "host1"]'
    )
    on_second = whole_hosts(hypervisor_properties='["==", "$hypervisor_hostname", "host2"]')
    world.reserve(on_first, start=60, end=120, caller=ALT)
    free = world.reserve(on_second, start=60, end=120, caller=ALT)
    ahead, behind = ask(world, on_first), ask(world, on_second, caller=ALT)
    world.leases.delete(free.id, ALT)
    walk(world)
    assert [status(world, each) for each in (ahead, behind)] == [LeaseStatus.WAITING, LeaseStatus.PENDING]


def test_a_lease_that_could_never_fit_is_refused(world: World) -> None:
    take(world, 1)
    with pytest.raises(NotEnoughResources):
        ask(world, whole_hosts(min=3, max=3))
    with pytest.raises(NotEnoughResources):
        ask(world, whole_hosts(resource_properties='["==", "$gpu", "yes"]'))
    assert world.waitlist.list(None) == []


def test_one_that_could_not_start_any_more_is_refused(world: World) -> None:
    take(world, 2, start=0)
    minute = world.in_minutes(0)
    command = CreateLease("late", minute, world.in_minutes(60), None, (whole_hosts(),))
    with pytest.raises(NotEnoughResources):
        world.leases.create(command, DEMO, None, None, world.in_minutes(50))


@pytest.mark.parametrize(
    ("until", "sentence"),
    [(0, "A lease cannot wait until a moment that is not ahead."), (7 * 24 * 60 + 1, "at most 168 hours")],
)
def test_a_moment_that_cannot_be_waited_for(world: World, until: float, sentence: str) -> None:
    """Also where there is enough."""
    with pytest.raises(InvalidInput, match=sentence):
        ask(world, until=until)


@pytest.mark.parametrize(
    "request_",
    [instances(amount=2, affinity=True), whole_hosts(before_end="snapshot")],
    ids=["group", "trust"],
)
def test_what_needs_the_users_own_rights_cannot_wait(world: World, request_: ReservationRequest) -> None:
    """Whether there is enough or not."""
    with pytest.raises(InvalidInput, match="This lease cannot wait"):
        ask(world, request_)
    assert world.leases.list(None) == []


def test_other_refusals_are_told(world: World) -> None:
    take(world, 2)
    with pytest.raises(InvalidInput):
        ask(world, start=60, end=30)
    assert world.waitlist.list(None) == []


def test_a_project_may_have_so_many_that_wait() -> None:
    world = World(hosts=2, waiting=WaitSettings(most=2, places=3))
    take(world, 2)
    first, second = ask(world), ask(world)
    with pytest.raises(QuotaExceeded, match="waiting_leases: the limit is 2, 2 are in use"):
        ask(world)
    ask(world, caller=ALT)
    with pytest.raises(WaitlistFull, match="3 leases wait already"):
        ask(world, caller=ALT)
    world.delete(first)
    assert ask(world).status is LeaseStatus.WAITING
    assert status(world, second) is LeaseStatus.WAITING


def test_each_one_that_waits_puts_the_next_one_of_its_project_back_by_an_hour(world: World) -> None:
    take(world, 2, start=300, end=360)
    later: dict[str, Any] = {"start": 300, "end": 360, "until": 290}
    first, second = ask(world, **later), ask(world, **later)
    world.clock.move_to(world.in_minutes(30))
    others = ask(world, caller=ALT, start=270, end=330, until=260)
    assert [each.lease.id for each in world.waitlist.list(None)] == [first.id, others.id, second.id]
    assert [each.position for each in world.waitlist.list("demo")] == [1, 3]
    assert world.waitlist.get_position(second.id) == 3


def test_a_quota_keeps_it_waiting_and_holds_up_nobody_else() -> None:
    world = World(hosts=2, quota=QuotaSettings({"hosts": 1}))
    demo = world.reserve(whole_hosts(), start=60, end=120)
    other = world.reserve(whole_hosts(), start=60, end=120, caller=ALT)
    lease, behind = ask(world), ask(world, caller=Caller("third", "third"))
    world.leases.delete(other.id, ALT)
    walk(world)
    assert status(world, lease) is LeaseStatus.WAITING
    assert status(world, behind) is LeaseStatus.PENDING
    world.delete(demo)
    walk(world)
    assert status(world, lease) is LeaseStatus.PENDING


def test_it_counts_as_one_of_the_projects_leases_and_uses_nothing() -> None:
    world = World(hosts=2, quota=QuotaSettings({"leases": 1, "host_hours": 1}))
    other = take_as(world, Caller("third", "third"), hosts=1)
    another = take_as(world, Caller("fourth", "fourth"), hosts=1)
    lease = ask(world)
    use = {each.name: each.now for each in world.quotas.get_usage("demo")}
    assert (use["leases"], use["hosts"]) == (1, 0)
    with pytest.raises(QuotaExceeded, match="for leases"):
        ask(world)
    world.leases.delete(other.id, ALT)
    walk(world)
    assert status(world, lease) is LeaseStatus.PENDING
    assert {each.name: each.peak for each in world.quotas.get_usage("demo")}["hosts"] == 1
    assert another.status is LeaseStatus.PENDING


def take_as(world: World, caller: Caller, hosts: int) -> Lease:
    return world.reserve(whole_hosts(min=hosts, max=hosts), start=60, end=120, caller=caller)


class Moody(UsageFilter):
    """Allows nothing while it is closed, and answers nothing while it is away."""

    def __init__(self, reports: frozenset[ReportType]) -> None:
        self.reports = reports
        self.is_closed = self.is_away = False

    def check_create(self, proposal: Proposal) -> None:
        if self.is_away:
            raise CloudUnavailable(service="the filter", reason="it is away")
        if self.is_closed:
            raise UsageRefused("closed")

    def check_update(self, proposal: Proposal) -> None:
        raise AssertionError("a promotion is a creation")


@pytest.mark.parametrize("reports", [frozenset(), frozenset({ReportType.CREATED})], ids=["plain", "books"])
def test_a_usage_filter_decides_at_the_promotion(reports: frozenset[ReportType]) -> None:
    moody = Moody(reports)
    world = World(hosts=1, filters=[moody])
    other = take(world, 1)
    lease = ask(world)
    world.leases.delete(other.id, ALT)
    moody.is_closed = True
    walk(world)
    assert status(world, lease) is LeaseStatus.WAITING
    moody.is_closed, moody.is_away = False, True
    walk(world)
    assert status(world, lease) is LeaseStatus.WAITING
    moody.is_away = False
    walk(world)
    assert status(world, lease) is LeaseStatus.PENDING


class Bookkeeping(UsageFilter):
    """Keeps books of leases."""

    reports = frozenset(ReportType)

    def __init__(self) -> None:
        self.told: list[ReportType] = []

    def check_create(self, proposal: Proposal) -> None:
        pass

    def check_update(self, proposal: Proposal) -> None:
        raise AssertionError("a promotion is a creation")

    def tell(self, report: Report, documents: Documents, identity: Identity) -> None:
        self.told.append(report.type)


def test_filters_are_told_of_what_is_promoted_and_of_nothing_else() -> None:
    books = Bookkeeping()
    world = World(hosts=1, filters=[books])
    other = take(world, 1)
    lease, in_vain, given_up = ask(world), ask(world, until=10), ask(world)
    world.delete(given_up)
    world.clock.move_to(world.in_minutes(11))
    walk(world)
    assert [status(world, each) for each in (lease, in_vain)] == [LeaseStatus.WAITING, LeaseStatus.TERMINATED]
    world.report()
    assert books.told == [ReportType.CREATED]
    world.leases.delete(other.id, ALT)
    walk(world)
    world.report()
    assert books.told == [ReportType.CREATED, ReportType.ENDED, ReportType.CREATED]


def test_the_time_that_it_has_waited_is_not_counted_as_used() -> None:
    world = World(hosts=1)
    take(world, 1, start=0, end=120)
    lease = ask(world, start=None, end=240, until=1000)
    world.advance(120)
    walk(world)
    assert status(world, lease) is LeaseStatus.PENDING
    hours = {each.name: (each.now, each.peak) for each in world.quotas.get_usage("demo")}
    assert hours["hosts_hours"] == (0, 2)


def test_the_warning_is_given_when_its_user_said(world: World) -> None:
    other = take(world, 2)
    command = CreateLease(
        "warned", world.in_minutes(60), world.in_minutes(120), world.in_minutes(100), (whole_hosts(),)
    )
    lease = world.leases.create(command, DEMO, None, None, world.in_minutes(50))
    world.leases.delete(other.id, ALT)
    walk(world)
    assert world.lease(lease).before_end_date == START + timedelta(minutes=100)


def test_its_name_and_its_time_may_change_and_nothing_else(world: World) -> None:
    take(world, 2)
    lease = ask(world, until=30)
    later = world.in_minutes(40)
    changed = world.leases.update(lease.id, UpdateLease(name="renamed"), DEMO, wait_until=later)
    assert (changed.name, changed.waiting and changed.waiting.until) == ("renamed", later)
    assert changed.waiting is not None and lease.waiting is not None
    assert changed.waiting.turn == lease.waiting.turn
    again = world.leases.update(lease.id, UpdateLease(name="renamed"), DEMO, wait_until=later)
    assert again.revision == changed.revision
    longest = world.leases.update(lease.id, UpdateLease(), DEMO, wait_until=world.in_minutes(600))
    assert longest.waiting is not None and longest.waiting.until == lease.interval.start
    with pytest.raises(InvalidStatus, match="only its name and on_shortage can change"):
        world.update(lease, end=world.in_minutes(200))
    with pytest.raises(InvalidStatus, match="only its name and on_shortage can change"):
        world.leases.update(lease.id, UpdateLease(), DEMO, duration=HOUR)
    with pytest.raises(InvalidInput, match="not ahead"):
        world.leases.update(lease.id, UpdateLease(), DEMO, wait_until=world.in_minutes(0))
    with pytest.raises(LeaseChanged):
        world.leases.update(lease.id, UpdateLease(name="x"), DEMO, revisions=(lease.revision,))
    shown = world.leases.preview_update(lease.id, UpdateLease(name="shown"), DEMO)
    assert (shown.name, world.lease(lease).name) == ("shown", "renamed")


def test_one_that_does_not_wait_is_not_given_longer(world: World) -> None:
    lease = ask(world)
    with pytest.raises(InvalidStatus, match="the lease is PENDING, and does not wait"):
        world.leases.update(lease.id, UpdateLease(), DEMO, wait_until=world.in_minutes(40))


def test_its_user_may_give_up(world: World) -> None:
    take(world, 2)
    lease = ask(world)
    world.delete(lease)
    assert world.waitlist.list(None) == []
    assert world.notifications()[-1] == "lease.wait_cancelled"


def test_a_call_that_is_repeated_finds_its_own_lease(world: World) -> None:
    take(world, 2)
    lease = ask(world, id="one")
    assert ask(world, id="one") == lease
    key = RequestKey("key", "print")
    keyed = ask(world, key=key)
    assert ask(world, key=key) == keyed
    assert len(world.waitlist.list(None)) == 2
    assert (lease.status, keyed.status) == (LeaseStatus.WAITING, LeaseStatus.WAITING)


def test_one_that_is_deleted_in_the_middle_of_a_walk_is_left_out(world: World) -> None:
    other = take(world, 2)
    first, second = ask(world), ask(world)
    world.leases.delete(other.id, ALT)
    under_way = world.waitlist.walk()
    next(under_way)
    world.delete(second)
    assert list(under_way) == [second.id]
    assert status(world, first) is LeaseStatus.PENDING


def test_requests_of_its_project_do_not_delay_the_line(world: World) -> None:
    other = take(world, 2)
    lease = ask(world)
    world.leases.delete(other.id, ALT)
    with world.calendars._turns.taken("demo", lambda: None):
        walk(world)
    assert status(world, lease) is LeaseStatus.PENDING


def test_two_managers_promote_a_lease_once(world: World) -> None:
    other = take(world, 2)
    lease = ask(world)
    world.leases.delete(other.id, ALT)
    beside = world.beside()
    mine, theirs = world.waitlist.walk(), beside.waitlist.walk()
    next(mine)
    assert list(theirs) == []
    assert len(world.lease(lease).allocations) == 1
    assert world.notifications().count("lease.promoted") == 1


# ----------------------------------------------------------------------------------------------- the duty


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Seen(NoMetrics):
    def __init__(self) -> None:
        self.line: tuple[int, float] | None = None

    def line_seen(self, waiting: int, oldest: float) -> None:
        self.line = waiting, oldest


def promoting(world: World, monotonic: Callable[[], float], metrics: NoMetrics | None = None) -> Promoting:
    look = timedelta(seconds=5)
    return Promoting(world.database, world.waitlist, world.clock, look, metrics or NoMetrics(), monotonic)


def test_the_line_is_walked_when_something_has_changed(world: World) -> None:
    clock, seen = Seconds(), Seen()
    duty = promoting(world, clock, seen)
    assert duty.round() == 5
    other = take(world, 2)
    lease = ask(world)
    world.clock.pause(1)
    assert (duty.round(), status(world, lease)) == (5, LeaseStatus.WAITING)
    assert seen.line == (1, 1.001)
    world.leases.delete(other.id, ALT)
    world.clock.pause(1)
    assert (duty.round(), status(world, lease)) == (5, LeaseStatus.PENDING)
    world.clock.pause(1)
    assert duty.round() == 5
    assert seen.line == (0, 0.0)


class Counting(MemoryDatabase):
    """Counts the transactions that write: a walk takes its duty by one."""

    writes = 0

    def transact(self, work: Any) -> Any:
        self.writes += 1
        return super().transact(work)


def test_nothing_is_planned_while_nothing_changes_but_once_a_minute() -> None:
    database, clock = Counting(), Seconds()
    world = World(hosts=1, database=database)
    take(world, 1, start=0, end=30)
    lease = ask(world, start=None, end=60, until=600)
    duty = promoting(world, clock)
    duty.round()
    before = database.writes
    for _ in range(5):
        world.clock.pause(5)
        clock.now += 5
        duty.round()
    assert database.writes == before
    world.clock.move_to(world.in_minutes(30))  # the end of the other lease is not carried out yet
    duty.round()
    assert status(world, lease) is LeaseStatus.WAITING
    clock.now += 60
    duty.round()
    assert status(world, lease) is LeaseStatus.PENDING


def test_a_wait_ends_at_its_time_though_nothing_changes(world: World) -> None:
    take(world, 2)
    lease = ask(world, until=30)
    duty = promoting(world, Seconds())
    duty.round()
    world.clock.move_to(world.in_minutes(29))
    duty.round()
    assert status(world, lease) is LeaseStatus.WAITING
    world.clock.pause(60)
    duty.round()
    assert status(world, lease) is LeaseStatus.TERMINATED


def test_a_long_walk_goes_on_in_the_next_round(world: World) -> None:
    other = take(world, 2)
    leases = [ask(world), ask(world)]
    clock = Seconds()

    def slow() -> float:
        clock.now += MOST
        return clock.now

    duty = promoting(world, slow)
    world.leases.delete(other.id, ALT)
    assert duty.round() == PAUSE
    assert [status(world, each) for each in leases] == [LeaseStatus.PENDING, LeaseStatus.WAITING]
    world.clock.pause(PAUSE)
    duty.round()
    assert [status(world, each) for each in leases] == [LeaseStatus.PENDING] * 2


def test_one_manager_at_a_time(world: World) -> None:
    other = take(world, 2)
    lease = ask(world)
    world.leases.delete(other.id, ALT)
    busy = promoting(world, Seconds())
    assert busy._duty.take(timedelta(0))
    second = promoting(world.beside(), Seconds())
    second.round()
    assert status(world, lease) is LeaseStatus.WAITING
    busy._duty.give_back()
    world.clock.pause(1)
    second.round()
    assert status(world, lease) is LeaseStatus.PENDING
