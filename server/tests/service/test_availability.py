"""Questions for availability: each answer is a lease that can be made, and asking has no effect."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.adapters.enforcement import MaxLeaseDurationFilter
from blazar.domain.errors import (
    BlazarError,
    InvalidInput,
    NotEnoughResources,
    UnsupportedResourceType,
    UsageRefused,
)
from blazar.service.availability import Availability, AvailabilityAnswer, in_words
from blazar.service.calendars import Calendars, Limits
from blazar.service.commands import NOW, AvailabilityQuestion, CreateLease, ReservationRequest
from blazar.service.context import Caller
from blazar.service.leases import LateBindingSettings
from blazar.service.ports import ReportType
from blazar.service.ports.enforcement import Proposal, UsageFilter
from blazar.service.quotas import QuotaSettings

from .world import ADMIN, ALT, DEMO, World, floating_ips, instances, servers, whole_hosts

HOUR = 60


def ask(
    world: World,
    *reservations: ReservationRequest,
    start: float = HOUR,
    latest: float | None = None,
    duration: int = HOUR,
    shortest: int | None = None,
    caller: Caller = DEMO,
) -> Availability:
    """Ask; all times are in minutes from now."""
    return world.availability.ask(
        AvailabilityQuestion(
            reservations,
            world.in_minutes(start) if start else NOW,
            timedelta(minutes=duration),
            None if latest is None else world.in_minutes(latest),
            None if shortest is None else timedelta(minutes=shortest),
        ),
        caller,
    )


def told(world: World, found: Availability) -> list[tuple[int, int, tuple[int, ...], str]]:
    """Start and end in minutes from now, units and words of each answer."""
    now = world.in_minutes(0)
    minute = timedelta(minutes=1)
    return [
        (
            (each.interval.start - now) // minute,
            (each.interval.end - now) // minute,
            each.units,
            each.description,
        )
        for each in found.answers
    ]


def create(world: World, answer: AvailabilityAnswer, caller: Caller = DEMO) -> Any:
    interval = answer.interval
    command = CreateLease("answer", interval.start, interval.end, None, answer.reservations)
    return world.leases.create(command, caller)


def stored(world: World) -> object:
    with world.database.read() as uow:
        pools = {kind.pool for kind in world.kinds.values()}
        generations = [uow.resources.generations(pool) for pool in sorted(pools)]
        return uow.leases.list(), uow.outbox.depth(), generations, vars(world.cloud.state).copy()


def test_what_is_free_is_answered_as_asked() -> None:
    world = World()
    found = ask(world, whole_hosts(), servers(), floating_ips(amount=1))
    assert found.answers == ()
    assert str(found.reason).startswith("Not enough floating IPs available: no floating IP matches")
    world.register_floating_ip("203.0.113.101")
    found = ask(world, whole_hosts(), servers(amount=3), floating_ips())
    assert told(world, found) == [(60, 120, (1, 3, 1), "as asked for")]
    assert (found.reason, found.cut_short, found.answers[0].changes) == (None, False, ())


def test_what_is_taken_is_answered_with_the_earliest_start_fewer_and_shorter() -> None:
    world = World(cleaning=timedelta(minutes=10))
    world.create(min=2, max=2, start=90, end=200)
    world.create(min=1, max=1, start=300, end=400)
    found = ask(world, whole_hosts(min=4, max=4), duration=60, shortest=5)
    assert told(world, found) == [
        (210, 270, (4,), "starts 2 hours 30 minutes later"),
        (60, 120, (2,), "physical:host: 2 instead of 4"),
        (60, 80, (4,), "lasts 20 minutes instead of 1 hour"),
    ]
    assert [each.changes for each in found.answers] == [("start",), ("amount",), ("duration",)]
    assert found.reason is not None and "4 hosts match, 2 of them are free" in found.reason
    assert found.answers[1].reservations[0].parameters == {**whole_hosts(min=2, max=2).parameters}
    for answer in found.answers:
        world.delete(create(world, answer))
        world.run_due()


def test_a_shorter_time_may_come_before_the_whole_one() -> None:
    world = World(1)
    world.create(start=0, end=90)
    world.create(start=150, end=200)
    found = ask(world, whole_hosts(), start=60, duration=120, shortest=30)
    assert told(world, found) == [
        (200, 320, (1,), "starts 2 hours 20 minutes later"),
        (90, 150, (1,), "starts 30 minutes later; lasts 1 hour instead of 2 hours"),
    ]


def test_the_most_that_is_wanted_may_come_later() -> None:
    world = World(3)
    world.create(start=0, end=90)
    found = ask(world, whole_hosts(min=1, max=3))
    assert told(world, found) == [
        (60, 120, (2,), "as asked for"),
        (90, 150, (3,), "starts 30 minutes later"),
    ]


def test_starts_after_the_latest_are_no_answers() -> None:
    world = World(1)
    world.create(start=0, end=90)
    assert told(world, ask(world, whole_hosts(), latest=89)) == []
    assert len(ask(world, whole_hosts(), latest=90).answers) == 1


def test_only_the_reservation_that_is_short_is_reduced() -> None:
    world = World(4)
    world.create(min=2, max=2, start=0, end=90)
    found = ask(world, whole_hosts(min=1, max=1), instances(amount=100, vcpus=1), duration=60)
    later, fewer = found.answers[:2] if len(found.answers) > 1 else (None, found.answers[0])
    assert fewer.units[0] == 1 and 0 < fewer.units[1] < 100
    assert later is None or later.units[1] == 100
    create(world, fewer)


def test_what_a_quota_would_refuse_is_no_answer() -> None:
    world = World(4, quota=QuotaSettings({"hosts": 3}))
    world.create(min=2, max=2, start=0, end=100)
    found = ask(world, whole_hosts(min=2, max=2))
    assert told(world, found) == [
        (100, 160, (2,), "starts 40 minutes later"),
        (60, 120, (1,), "physical:host: 1 instead of 2"),
    ]
    assert found.reason == "Quota exceeded for hosts: the limit is 3, 2 are in use, and 2 are asked for."
    assert not found.cut_short
    assert told(world, ask(world, whole_hosts(min=2, max=2), caller=ALT)) == [(60, 120, (2,), "as asked for")]


@pytest.mark.parametrize("limits", [{"leases": 1}, {"longest_lease_hours": 1}, {"hours_ahead": 1}])
def test_limits_that_no_later_start_keeps_leave_no_answer(limits: dict[str, int]) -> None:
    world = World(4, quota=QuotaSettings(limits))
    world.create()
    found = ask(world, whole_hosts(), start=90, duration=90)
    assert found.answers == () and str(found.reason).startswith("Quota exceeded") and not found.cut_short


def test_a_limit_of_the_duration_leaves_shorter_answers() -> None:
    world = World(4, quota=QuotaSettings({"longest_lease_hours": 1}), filters=[MaxLeaseDurationFilter(2400)])
    found = ask(world, whole_hosts(), duration=90, shortest=10)
    assert told(world, found) == [(60, 100, (1,), "lasts 40 minutes instead of 1 hour 30 minutes")]
    assert found.reason is not None and "maximum lease duration of 2400 seconds" in found.reason


class Books(UsageFilter):
    """A filter that keeps books, and must not be asked in vain."""

    reports = frozenset({ReportType.ENDED})

    def check_create(self, proposal: Proposal) -> None:
        raise AssertionError("asked")


def test_filters_that_keep_books_are_not_asked() -> None:
    world = World(filters=[Books()])
    assert told(world, ask(world, whole_hosts())) == [(60, 120, (1,), "as asked for")]


def test_hours_are_limited_too_and_then_not_all_is_searched() -> None:
    world = World(4, quota=QuotaSettings({"hosts_hours": 2}, timedelta(hours=24)))
    world.create(start=0, end=60)
    found = ask(world, whole_hosts(), duration=120)
    assert found.cut_short and str(found.reason).startswith("Quota exceeded for hosts_hours")
    for answer in found.answers:
        world.delete(create(world, answer))


def test_asking_has_no_effect() -> None:
    world = World(floating_ips=1)
    world.create(min=3, max=3, start=0, end=90)
    before = stored(world)
    ask(world, whole_hosts(min=2, max=4), instances(affinity=False), floating_ips(), shortest=5)
    assert stored(world) == before


def test_a_search_that_is_cut_short_says_so() -> None:
    world = World()
    world.create(min=3, max=3, start=0, end=90)
    world.calendars._limits = Limits(availability=30)
    found = ask(world, whole_hosts(min=2, max=2), shortest=5)
    assert found.cut_short and len(found.answers) < 3


def test_a_search_ends_when_its_seconds_are_over() -> None:
    world = World()
    slow = Calendars(world.database, world.clock, Limits(seconds=0), processor_time=lambda: 1.0)
    with slow.searching(DEMO) as search:
        assert search.is_exact  # it is looked at when so many steps are spent


@pytest.mark.parametrize(
    ("reservations", "times", "error"),
    [
        ((), {}, "there is nothing to look for"),
        ((whole_hosts(),), {"latest": 10}, "must not be before the earliest"),
        ((whole_hosts(),), {"shortest": 61}, "must not be longer than the wanted"),
        ((whole_hosts(),), {"start": -1}, "later than current date"),
        ((whole_hosts(min=2),), {}, "Malformed|range|min"),
    ],
)
def test_bad_questions_are_refused(
    reservations: tuple[ReservationRequest, ...], times: dict[str, Any], error: str
) -> None:
    with pytest.raises(InvalidInput, match=error):
        ask(World(), *reservations, **times)


def test_a_kind_that_is_not_there_and_a_token_without_a_project_are_refused() -> None:
    world = World()
    with pytest.raises(UnsupportedResourceType):
        ask(world, replace(whole_hosts(), resource_type="physical:car"))
    with pytest.raises(InvalidInput):
        ask(world, whole_hosts(), caller=replace(ADMIN, project_id=None))


def test_durations_in_words() -> None:
    assert in_words(timedelta(days=1, hours=2, minutes=1)) == "1 day 2 hours 1 minute"


@st.composite
def occupied(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Hosts, start and end of leases that are there already."""
    starts = st.integers(0, 8).map(lambda n: 30 * n)
    return [
        (draw(st.integers(1, 3)), start := draw(starts), start + 30 * draw(st.integers(1, 6)))
        for _ in range(draw(st.integers(0, 5)))
    ]


@pytest.mark.slow
@given(
    occupied(),
    st.sampled_from(
        [
            (whole_hosts(min=2, max=2),),
            (whole_hosts(min=1, max=3),),
            (whole_hosts(min=3, max=4),),
            (whole_hosts(), instances(amount=9, vcpus=4)),
            (instances(amount=12, vcpus=4), floating_ips(amount=2)),
            (servers(amount=3, affinity=False), whole_hosts(min=1, max=2)),
        ]
    ),
    st.sampled_from([{}, {}, {"hosts": 2}, {"instances": 8}, {"hosts": 3, "vcpus": 20}]),
    st.integers(1, 4).map(lambda n: 30 * n),
)
@settings(max_examples=examples(200), deadline=None)
def test_every_answer_can_be_made_and_the_first_is_the_earliest(
    leases: list[tuple[int, int, int]],
    reservations: tuple[ReservationRequest, ...],
    limits: dict[str, int],
    duration: int,
) -> None:
    # Answers tell what is free as things are planned; a create may make room besides.
    as_planned = LateBindingSettings(is_on=False)
    world = World(3, quota=QuotaSettings(limits), floating_ips=2, late_binding=as_planned)
    for hosts, start, end in leases:
        try:
            world.create(min=hosts, max=hosts, start=start, end=end)
        except BlazarError:
            continue
    found = ask(world, *reservations, duration=duration, shortest=20)
    event(f"{len(found.answers)} answers")
    for answer in found.answers:
        world.leases.delete(create(world, answer).id, DEMO)
        world.run_due()
    whole = [a for a in found.answers if a.interval.duration == timedelta(minutes=duration)]
    first = next((a for a in whole if a.reservations == reservations), None)
    if found.cut_short:
        return
    for start in range(HOUR, 16 * 30, 10):
        if first is not None and world.in_minutes(start) >= first.interval.start:
            break
        with pytest.raises((NotEnoughResources, BlazarError)):
            world.reserve(*reservations, start=start, end=start + duration)


def test_the_work_of_quotas_is_counted_too() -> None:
    world = World(2, quota=QuotaSettings({"hosts": 1}))
    for number in range(40):
        world.create(start=60 * number + 1, end=60 * number + 60)
    found = ask(world, whole_hosts())
    assert told(world, found) == [(2400, 2460, (1,), "starts 1 day 15 hours later")]
    world.calendars._limits = Limits(availability=400)
    assert ask(world, whole_hosts()).cut_short


class Weekdays(UsageFilter):
    """A filter that looks at the start: leases start on working days."""

    def check_create(self, proposal: Proposal) -> None:
        if proposal.lease.interval.start.weekday() >= 5:
            raise UsageRefused("Leases start on working days.")


def test_a_filter_that_looks_at_the_start_is_asked_about_the_next_days() -> None:
    world = World(filters=[Weekdays()])
    saturday = 4 * 24 * HOUR + 60
    found = ask(world, whole_hosts(), start=saturday)
    (answer,) = found.answers
    assert f"{answer.interval.start:%a %H:%M}" == "Mon 00:00"
    assert found.reason == "Leases start on working days."
    assert found.cut_short
