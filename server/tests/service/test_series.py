"""Leases that recur: all of them or those that can be had, and their cancellation, whatever comes between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from blazar.adapters.enforcement import MaxLeaseDurationFilter
from blazar.domain.errors import (
    InvalidInput,
    InvalidRecurrence,
    InvalidStatus,
    KeyReused,
    NotEnoughResources,
    QuotaExceeded,
    SeriesNotFound,
)
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.series import OnConflict, Series
from blazar.service.commands import (
    ClaimByWish,
    CreateSeries,
    PriorityWish,
    RequestKey,
    ReservationRequest,
    UpdateSeries,
)
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.pages import ResourcePage
from blazar.service.ports import UnitOfWork
from blazar.service.quotas import QuotaSettings
from blazar.service.series import SeriesPreview, SeriesSettings

from .world import ALT, DEMO, START, Crash, Steps, World, instances, whole_hosts

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MONDAYS = "FREQ=WEEKLY;BYDAY=MO;COUNT=4"
FIRST = date(2030, 1, 7)
"""The first Monday after START, which is a Tuesday."""


def command(*requests: ReservationRequest, **fields: Any) -> CreateSeries:
    return CreateSeries(
        **{
            "id": new_id(),
            "name": "class",
            "start": START + HOUR,
            "length": 2 * HOUR,
            "reservations": requests or (whole_hosts(),),
            "rule": MONDAYS,
            "time_zone": "Europe/Berlin",
            **fields,
        }
    )


def make(world: World, *requests: ReservationRequest, caller: Caller = DEMO, **fields: Any) -> Series:
    return world.series.create(command(*requests, **fields), caller).series


def everything(world: World) -> object:
    with world.database.read() as uow:
        generations = uow.resources.generations(world.kinds["physical:host"].pool)
        return uow.leases.list(), uow.series.page(None, 100, None), uow.outbox.depth(), generations


def statuses(world: World, series: Series) -> list[LeaseStatus]:
    leases = world.series.get(series.id).leases
    return [each.status for each in sorted(leases, key=lambda each: each.interval.start)]


@pytest.fixture
def world() -> World:
    return World(hosts=1)


def test_each_occurrence_is_a_lease_of_the_series(world: World) -> None:
    found = world.series.create(command(), DEMO)
    series = found.series
    assert [each.day for each in series.occurrences] == [FIRST + n * 7 * DAY for n in range(4)]
    leases = {each.id: each for each in found.leases}
    for each in series.occurrences:
        lease = world.leases.get(str(each.lease_id))
        assert (lease.interval, lease.series_id, lease.name) == (each.interval, series.id, "class")
        assert [(r.lease_id, len(r.allocations)) for r in lease.reservations] == [(lease.id, 1)]
        assert leases[lease.id].reservations[0].resource_id == lease.reservations[0].resource_id
    assert len({r.resource_id for lease in leases.values() for r in lease.reservations}) == 4
    assert world.notifications() == ["lease.create"] * 4
    world.advance_to(series.occurrences[1].interval.start + HOUR)
    assert statuses(world, series) == ["TERMINATED", "ACTIVE", "PENDING", "PENDING"]
    world.advance_to(series.ends_at)
    assert set(statuses(world, series)) == {LeaseStatus.TERMINATED}


def test_local_times_stay_the_same_where_clocks_change(world: World) -> None:
    rule, berlin = "FREQ=DAILY;COUNT=3", ZoneInfo("Europe/Berlin")
    start = datetime(2030, 3, 29, 22, tzinfo=berlin)
    series = make(world, rule=rule, start=start, length=datetime(2030, 3, 30, 6, tzinfo=berlin))
    lengths = [each.interval.duration // HOUR for each in series.occurrences]
    assert lengths == [8, 7, 8]


def test_all_or_nothing_makes_nothing_where_one_does_not_fit(world: World) -> None:
    make(world, rule="FREQ=DAILY;COUNT=1", start=START + 20 * DAY + HOUR, caller=ALT)  # the third Monday
    before = everything(world)
    with pytest.raises(NotEnoughResources, match="on 2030-01-21: "):
        make(world)
    assert everything(world) == before


def test_best_effort_makes_what_fits_and_tells_the_rest(world: World) -> None:
    make(world, rule="FREQ=DAILY;COUNT=1", start=START + 20 * DAY + HOUR, caller=ALT)
    series = make(world, on_conflict=OnConflict.SKIP)
    assert [each.lease_id is None for each in series.occurrences] == [False, False, True, False]
    assert "Not enough hosts available" in str(series.occurrences[2].reason)
    assert len(statuses(world, series)) == 3
    before = everything(world)
    with pytest.raises(NotEnoughResources, match="on 2030-01-07"):
        make(world, on_conflict=OnConflict.SKIP, rule="FREQ=DAILY;COUNT=1", start=START + 6 * DAY + HOUR)
    assert everything(world) == before


@pytest.mark.parametrize("on_conflict", OnConflict)
def test_what_is_committed_while_it_is_planned_is_planned_around(
    world: World, on_conflict: OnConflict
) -> None:
    """Another project takes the host on the last Monday, after all are planned and before the commit."""
    last = START + 27 * DAY + HOUR
    others = [lambda: make(world, rule="FREQ=DAILY;COUNT=1", start=last, caller=ALT)]

    def step() -> None:
        if others:
            others.pop()()

    world.database.step = step
    if on_conflict is OnConflict.REFUSE:
        with pytest.raises(NotEnoughResources, match="on 2030-01-28"):
            make(world, on_conflict=on_conflict)
        assert len(world.leases.list(None)) == 1
    else:
        series = make(world, on_conflict=on_conflict)
        assert [each.lease_id is None for each in series.occurrences] == [False, False, False, True]


def test_what_changes_between_two_plans_has_all_planned_again(world: World) -> None:
    """Another project takes the host on the first Monday when that is planned and the second is not."""
    numbers, plan = count(), world.calendars.plan

    def planned(*args: Any) -> Any:
        if next(numbers) == 1:
            make(world, rule="FREQ=DAILY;COUNT=1", start=START + 6 * DAY + HOUR, caller=ALT)
        return plan(*args)

    world.calendars.plan = planned  # type: ignore[method-assign]
    with pytest.raises(NotEnoughResources, match="on 2030-01-07"):
        make(world)
    assert [each.project_id for each in world.leases.list(None)] == ["alt"]


@pytest.mark.parametrize(("limits", "made"), [({"leases": 3}, 2), ({"hosts_hours": 5}, 1)])
def test_quotas_count_the_leases_before_in_the_same_series(limits: dict[str, int], made: int) -> None:
    world = World(hosts=1, quota=QuotaSettings(limits))
    make(world, rule="FREQ=DAILY;COUNT=1")
    before = everything(world)
    with pytest.raises(QuotaExceeded, match=r"on 2030-01-\d\d: Quota exceeded"):
        make(world)
    assert everything(world) == before
    series = make(world, on_conflict=OnConflict.SKIP)
    kept = [each for each in series.occurrences if each.lease_id is not None]
    assert len(kept) == made
    assert "Quota exceeded" in str(series.occurrences[-1].reason)
    with pytest.raises(QuotaExceeded, match="on "):
        make(world, on_conflict=OnConflict.SKIP, rule="FREQ=DAILY;COUNT=2", start=START + 8 * DAY)


def preview(world: World, **fields: Any) -> SeriesPreview:
    """Return what a dry run tells, which changes nothing."""
    before = everything(world)
    told = world.series.preview(command(**fields), DEMO)
    assert everything(world) == before
    return told


@pytest.mark.parametrize("on_conflict", OnConflict)
def test_a_dry_run_tells_which_could_be_had(world: World, on_conflict: OnConflict) -> None:
    assert preview(world, on_conflict=on_conflict).is_granted
    make(world, rule="FREQ=DAILY;COUNT=1", start=START + 20 * DAY + HOUR, caller=ALT)
    told = preview(world, on_conflict=on_conflict)
    assert [each.occurrence.day for each in told.occurrences] == [FIRST + n * 7 * DAY for n in range(4)]
    assert [each.reason is None for each in told.occurrences] == [True, True, False, True]
    assert (told.occurrences[2].short_of, told.occurrences[0].short_of) == ("hosts", None)
    assert "Not enough hosts available" in str(told.occurrences[2].reason)
    assert told.is_granted == (on_conflict is OnConflict.SKIP)
    none = preview(world, on_conflict=on_conflict, rule="FREQ=DAILY;COUNT=1", start=START + 20 * DAY + HOUR)
    assert not none.is_granted


@pytest.mark.parametrize("limits", [{"leases": 3}, {"hosts_hours": 5}, {"leases": 1}, {"hosts": 0}])
def test_a_dry_run_counts_as_the_create_does(limits: dict[str, int]) -> None:
    world = World(hosts=1, quota=QuotaSettings({**limits}))
    if limits.get("hosts") != 0:
        make(world, rule="FREQ=DAILY;COUNT=1")
    told = preview(world, on_conflict=OnConflict.SKIP)
    if not told.is_granted:
        with pytest.raises(QuotaExceeded):
            make(world, on_conflict=OnConflict.SKIP)
        assert all("Quota exceeded" in str(each.reason) for each in told.occurrences)
        return
    series = make(world, on_conflict=OnConflict.SKIP)
    assert [each.reason for each in told.occurrences] == [each.reason for each in series.occurrences]


def test_a_dry_run_asks_filters_that_keep_no_books() -> None:
    longest = MaxLeaseDurationFilter(3600)
    told = preview(World(hosts=1, filters=[longest]))
    assert not told.is_granted
    assert all("duration" in str(each.reason) for each in told.occurrences)


def test_cleaning_time_lies_between_occurrences() -> None:
    world = World(hosts=1, cleaning=timedelta(minutes=30))
    with pytest.raises(InvalidRecurrence, match="30 minutes, in which resources are cleaned"):
        make(world, rule="FREQ=DAILY;COUNT=2", length=DAY)
    assert len(make(world, rule="FREQ=DAILY;COUNT=2", length=DAY - HOUR / 2).occurrences) == 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"rule": "FREQ=SECONDLY"}, "a rule names days"),
        ({"rule": "FREQ=DAILY;COUNT=6"}, "more than 5 days"),
        ({"rule": "FREQ=YEARLY;COUNT=2"}, "beyond 90 days"),
        ({"time_zone": "Mars/Olympus"}, "no time zone"),
        ({"start": START - DAY, "rule": "FREQ=DAILY;COUNT=2"}, "Start date must be later"),
        ({"reservations": (instances(affinity=True),)}, "cannot recur"),
    ],
)
def test_what_cannot_recur_is_refused_and_nothing_is_made(fields: dict[str, Any], reason: str) -> None:
    world = World(hosts=1, series=SeriesSettings(most=5, horizon=90 * DAY))
    before = everything(world)
    with pytest.raises(InvalidInput, match=reason):
        make(world, **fields)
    with pytest.raises(InvalidInput, match=reason):
        preview(world, **fields)
    assert everything(world) == before


def test_an_operator_may_allow_none() -> None:
    with pytest.raises(InvalidRecurrence, match="allows no leases that recur"):
        make(World(hosts=1, series=SeriesSettings(most=0)))


def test_a_request_that_is_made_again_makes_no_second_series(world: World) -> None:
    asked, key = command(), RequestKey("monday", "f" * 64)
    first = world.series.create(asked, DEMO, key).series
    before = everything(world)
    assert world.series.create(asked, DEMO).series == first
    assert world.series.create(command(), DEMO, key).series == first
    with pytest.raises(KeyReused):
        world.series.create(command(), DEMO, RequestKey("monday", "e" * 64))
    with pytest.raises(SeriesNotFound):
        world.series.create(asked, ALT)
    assert everything(world) == before


def test_a_crash_at_any_step_makes_all_or_nothing_and_the_same_request_finishes_it() -> None:
    for number in count(1):
        world, asked = World(hosts=1), command()
        steps = Steps(number)
        world.database.step = steps.step
        try:
            world.series.create(asked, DEMO)
        except Crash:
            world.restart()
            world.database.step = lambda: None
            assert len(world.leases.list(None)) in (0, 4)
            series = world.series.create(asked, DEMO).series
            assert len(world.leases.list(None)) == len(series.lease_ids) == 4
        else:
            assert number > 2, "there was a step before and one after the commit"
            return


def test_some_days_are_cancelled(world: World) -> None:
    series = make(world)
    changed = world.series.update(series.id, UpdateSeries("lecture", (FIRST + 7 * DAY,)), DEMO).series
    assert (changed.name, changed.exceptions) == ("lecture", (FIRST + 7 * DAY,))
    assert [each.lease_id is None for each in changed.occurrences] == [False, True, False, False]
    assert {each.id for each in world.leases.list(None)} == set(changed.lease_ids)
    # What was free again is had by another one, and asking again changes nothing.
    make(world, rule="FREQ=DAILY;COUNT=1", start=START + 13 * DAY + HOUR, caller=ALT)
    again = world.series.update(series.id, UpdateSeries(exceptions=(FIRST + 7 * DAY,)), DEMO).series
    assert again == changed
    with pytest.raises(InvalidInput, match="no occurrence on 2030-01-08"):
        world.series.update(series.id, UpdateSeries(exceptions=(FIRST + DAY,)), DEMO)


def test_those_after_a_day_are_cancelled_but_for_those_that_have_begun(world: World) -> None:
    series = make(world)
    world.advance_to(series.occurrences[1].interval.start + HOUR)
    with pytest.raises(InvalidStatus, match="the occurrence of 2030-01-14 has begun"):
        world.series.update(series.id, UpdateSeries(exceptions=(FIRST + 7 * DAY,)), DEMO)
    changed = world.series.update(series.id, UpdateSeries(last_day=FIRST), DEMO).series
    assert [each.lease_id is None for each in changed.occurrences] == [False, False, True, True]
    assert changed.exceptions == (FIRST + 14 * DAY, FIRST + 21 * DAY)
    assert statuses(world, changed) == ["TERMINATED", "ACTIVE"]


@pytest.mark.parametrize(
    ("keeps_started", "left"), [(True, ["TERMINATED", "ACTIVE"]), (False, ["TERMINATED"])]
)
def test_a_series_is_deleted_with_what_is_not_over(
    world: World, keeps_started: bool, left: list[str]
) -> None:
    series = make(world)
    world.advance_to(series.occurrences[1].interval.start + HOUR)
    world.series.delete(series.id, DEMO, keeps_started)
    world.run_due()
    assert sorted((each.status for each in world.leases.list(None)), reverse=True) == left
    with pytest.raises(SeriesNotFound):
        world.series.get(series.id)
    with pytest.raises(SeriesNotFound):
        world.series.delete(series.id, DEMO)


def test_what_was_cancelled_is_made_again_as_it_was_asked_for(world: World) -> None:
    wishes = ClaimByWish(2 * HOUR, may_be_later=True), PriorityWish(Priority.LOW)
    series = world.series.create(command(), DEMO, None, *wishes).series
    first, second, third, _ = series.occurrences
    world.series.update(series.id, UpdateSeries(exceptions=(second.day, third.day)), DEMO)
    world.delete(world.leases.get(str(first.lease_id)))
    days = (first.day, second.day)
    told = world.series.restore(series.id, days, DEMO)
    assert told.series.exceptions == (third.day,)
    assert [each.lease_id is None for each in told.series.occurrences] == [False, False, True, False]
    assert statuses(world, series) == ["PENDING"] * 3
    fields = ("interval", "series_id", "name", "priority", "claim_by", "user_id", "project_id")
    fourth = world.leases.get(str(series.occurrences[3].lease_id))
    for old, new in zip((first, second), told.series.occurrences, strict=False):
        lease = world.leases.get(str(new.lease_id))
        assert new.lease_id != old.lease_id
        assert [getattr(lease, each) for each in fields] == [
            old.interval,
            *(getattr(fourth, each) for each in fields[1:]),
        ]
        assert [len(each.allocations) for each in lease.reservations] == [1]
    before = everything(world)
    assert world.series.restore(series.id, days, DEMO).series == told.series
    assert everything(world) == before
    world.advance_to(second.interval.start + HOUR)
    assert statuses(world, series)[:2] == ["TERMINATED", "ACTIVE"]


def test_what_did_not_fit_is_made_once_it_does(world: World) -> None:
    other = make(world, rule="FREQ=DAILY;COUNT=1", start=START + 20 * DAY + HOUR, caller=ALT)
    series = make(world, on_conflict=OnConflict.SKIP)
    days = (FIRST + 14 * DAY,)
    before = everything(world)
    with pytest.raises(NotEnoughResources, match="on 2030-01-21: "):
        world.series.restore(series.id, days, DEMO)
    assert everything(world) == before
    world.series.delete(other.id, ALT)
    assert len(world.series.restore(series.id, days, DEMO).leases) == 4


def test_all_days_are_restored_or_none() -> None:
    world = World(hosts=1, quota=QuotaSettings({"leases": 4}))
    series = make(world)
    days = tuple(each.day for each in series.occurrences[1:3])
    world.series.update(series.id, UpdateSeries(exceptions=days), DEMO)
    make(world, rule="FREQ=DAILY;COUNT=1", start=START + 60 * DAY)
    before = everything(world)
    with pytest.raises(QuotaExceeded, match="on 2030-01-21: Quota exceeded"):
        world.series.restore(series.id, days, DEMO)
    assert everything(world) == before


def test_what_cannot_be_restored_is_refused(world: World) -> None:
    series = make(world)
    days = tuple(each.day for each in series.occurrences[:2])
    world.series.update(series.id, UpdateSeries(exceptions=days), DEMO)
    for day, refusal, reason in (
        (FIRST + DAY, InvalidInput, "no occurrence on 2030-01-08"),
        (FIRST, InvalidStatus, "the occurrence of 2030-01-07 has begun"),
    ):
        world.clock.move_to(series.occurrences[0].interval.start)
        before = everything(world)
        with pytest.raises(refusal, match=reason):
            world.series.restore(series.id, (day, days[1]), DEMO)
        assert everything(world) == before
    with pytest.raises(InvalidInput, match="with a token of its project"):
        world.series.restore(series.id, days[1:], ALT)
    with pytest.raises(SeriesNotFound):
        world.series.restore(new_id(), days, DEMO)


def test_what_an_earlier_version_has_made_is_not_restored(world: World) -> None:
    series = make(world)
    world.series.update(series.id, UpdateSeries(exceptions=(FIRST,)), DEMO)

    def forget(uow: UnitOfWork) -> Series:
        old = uow.series.get(series.id)
        assert old is not None
        uow.series.remove(series.id)
        return uow.series.add(old, START)

    world.database.transact(forget)
    with pytest.raises(InvalidInput, match="an earlier version of the service has made it"):
        world.series.restore(series.id, (FIRST,), DEMO)


def test_a_restoration_that_died_is_finished_by_the_next_one() -> None:
    for number in count(1):
        world = World(hosts=1)
        series = make(world)
        days = (FIRST, FIRST + 7 * DAY)
        world.series.update(series.id, UpdateSeries(exceptions=days), DEMO)
        steps = Steps(number)
        world.database.step = steps.step
        try:
            world.series.restore(series.id, days, DEMO)
        except Crash:
            world.restart()
            world.database.step = lambda: None
            assert len(world.leases.list(None)) in (2, 4)
            world.series.restore(series.id, days, DEMO)
            assert len(world.leases.list(None)) == 4
        else:
            assert number == 3, "a step before the commit and one after it"
            return


def test_two_restorations_make_one_lease(world: World) -> None:
    series = make(world)
    world.series.update(series.id, UpdateSeries(exceptions=(FIRST,)), DEMO)
    between(world, lambda: world.series.restore(series.id, (FIRST,), DEMO))
    told = world.series.restore(series.id, (FIRST,), DEMO)
    assert len(world.leases.list(None)) == len(told.series.lease_ids) == 4


def between(world: World, happens: Callable[[], object]) -> None:
    """Have something happen between the look at a lease and its deletion, once."""
    waiting = [happens]

    def step() -> None:
        if waiting:
            waiting.pop()()

    world.database.step = step


def test_what_starts_just_before_it_is_cancelled_goes_on(world: World) -> None:
    series = make(world)
    start = series.occurrences[0].interval.start
    between(world, lambda: world.advance_to(start))
    changed = world.series.update(series.id, UpdateSeries(exceptions=(FIRST,)), DEMO).series
    assert changed.occurrences[0].lease_id is not None
    assert statuses(world, changed)[0] == "ACTIVE"


def test_a_series_is_deleted_although_its_leases_change_and_go(world: World) -> None:
    series = make(world)
    first, second, *_ = (world.leases.get(each) for each in series.lease_ids)

    def happens() -> None:
        world.update(first, name="renamed")
        world.delete(second)

    between(world, happens)
    world.series.delete(series.id, DEMO)
    assert world.leases.list(None) == []


def test_a_deletion_that_died_is_finished_by_the_next_one() -> None:
    for number in count(1):
        world = World(hosts=1)
        series = make(world)
        steps = Steps(number)
        world.database.step = steps.step
        try:
            world.series.delete(series.id, DEMO)
        except Crash:
            world.restart()
            world.database.step = lambda: None
            with suppress(SeriesNotFound):
                world.series.delete(series.id, DEMO)
            assert world.leases.list(None) == []
        else:
            assert number == 11, "two steps for each of four leases and for the series"
            return


def test_series_are_forgotten_as_long_after_their_end_as_leases() -> None:
    for kept, left in ((30 * DAY, 0), (None, 1)):
        world = World(hosts=1, series=SeriesSettings(kept=kept))
        series = make(world)
        world.clock.move_to(series.ends_at + 30 * DAY - HOUR)
        world.series.forget()
        assert len(world.series.list(None, ResourcePage(10))) == 1
        world.clock.move_to(series.ends_at + 30 * DAY)
        world.series.forget()
        assert len(world.series.list(None, ResourcePage(10))) == left
