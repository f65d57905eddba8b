"""What may change in which status: the dates and events of a lease."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from blazar.domain.errors import BlazarError, InvalidInput, InvalidStatus
from blazar.domain.lease import change
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.resource import Allocation
from blazar.domain.time import HORIZON, MINUTE, Interval

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
START, END = EventType.START, EventType.END
WARNING = EventType.BEFORE_END
IDS = count()


def new_id() -> str:
    return f"id-{next(IDS)}"


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def lease(
    status: LeaseStatus = LeaseStatus.PENDING, start: float = 1, end: float = 5, warning: float | None = 4
) -> Lease:
    moments = [(START, start), (END, end)] + ([(WARNING, warning)] if warning is not None else [])
    events = tuple(Event(new_id(), "lease", kind, at(hours)) for kind, hours in moments)
    return Lease("lease", "name", "user", "project", Interval(at(start), at(end)), status, events=events)


@pytest.mark.parametrize(
    ("start", "end", "sentence"),
    [
        (0, 1, None),
        (-1 / 60, 1, "Start date must be later than current date"),
        (1, 1, "End date must be later than start date."),
        (2, 1, "End date must be later than start date."),
        (1, HORIZON / timedelta(hours=1), None),
        (1, HORIZON / timedelta(hours=1) + 1 / 60, "End date is too far in the future"),
    ],
)  # fmt: skip
def test_a_new_interval(start: float, end: float, sentence: str | None) -> None:
    if sentence is None:
        assert change.check_new_interval(at(start), at(end), NOON) == Interval(at(start), at(end))
    else:
        with pytest.raises(InvalidInput, match=sentence):
            change.check_new_interval(at(start), at(end), NOON)


PENDING, ACTIVE, ERROR = LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.ERROR


@pytest.mark.parametrize(
    ("status", "now", "start", "end", "error"),
    [
        pytest.param(PENDING, 0, 2, 6, None, id="both dates move before the start"),
        pytest.param(PENDING, 0, 0, 5, None, id="the start moves to this minute"),
        pytest.param(
            PENDING, 0.5, 0, 5, "Start date must be later than current date",
            id="the start moves into the past",
        ),
        pytest.param(PENDING, 2, 3, 5, "Cannot modify the start date", id="the start has passed"),
        pytest.param(ACTIVE, 2, 3, 5, "Cannot modify the start date", id="an active lease keeps its start"),
        pytest.param(ACTIVE, 2, 1, 9, None, id="an active lease is prolonged"),
        pytest.param(ACTIVE, 2, 1, 2, None, id="an active lease ends now"),
        pytest.param(ACTIVE, 2, 1, 1.5, "End date must be later than current", id="an end in the past"),
        pytest.param(ACTIVE, 0, 1, 1, "End date must be later than current", id="an end at the start"),
        pytest.param(ERROR, 2, 1, 6, None, id="a failed lease may move its end"),
        pytest.param(
            LeaseStatus.TERMINATED, 2, 1, 6, "Terminated leases can only be renamed",
            id="a lease that is over",
        ),
        pytest.param(
            ACTIVE, 6, 1, 9, "Terminated leases can only be renamed",
            id="a lease whose end has passed",
        ),
        pytest.param(LeaseStatus.STARTING, 2, 1, 6, "the lease is STARTING", id="a lease in transition"),
        pytest.param(LeaseStatus.DELETING, 2, 1, 6, "the lease is DELETING", id="a lease that is deleted"),
    ],
)  # fmt: skip
def test_a_changed_interval(
    status: LeaseStatus, now: float, start: float, end: float, error: str | None
) -> None:
    if error is None:
        found = change.check_changed_interval(lease(status), at(start), at(end), at(now))
        assert found == Interval(at(start), at(end))
        return
    with pytest.raises(BlazarError, match=error) as refused:
        change.check_changed_interval(lease(status), at(start), at(end), at(now))
    assert isinstance(refused.value, InvalidInput if status.is_stable else InvalidStatus)


@pytest.mark.parametrize(
    ("length", "ahead", "expected"),
    [
        pytest.param(4, 1, 3, id="an hour before the end"),
        pytest.param(1, 1, 0.5, id="half way, where the lease is as long as that"),
        pytest.param(0.5, 1, 0.25, id="half way, where the lease is shorter"),
        pytest.param(1 / 60, 1, 0, id="at the start of a lease of one minute"),
        pytest.param(4, 0, None, id="never, where the operator says so"),
    ],
)
def test_the_default_warning(length: float, ahead: float, expected: float | None) -> None:
    found = change.default_before_end(Interval(at(0), at(length)), timedelta(hours=ahead))
    assert found == (None if expected is None else at(expected))


@pytest.mark.parametrize(
    ("moment", "is_inside"), [(1, False), (1.5, True), (4.5, True), (5, False), (9, False)]
)
def test_a_warning_lies_inside_the_lease(moment: float, is_inside: bool) -> None:
    interval = Interval(at(1), at(5))
    if is_inside:
        assert change.check_before_end(at(moment), interval) == at(moment)
    else:
        with pytest.raises(InvalidInput, match="out of lease limits"):
            change.check_before_end(at(moment), interval)


def moved(
    old: Lease, start: float, end: float, warning: float | None = None, now: float = 0
) -> dict[EventType, Event]:
    before_end = None if warning is None else at(warning)
    events = change.moved_events(old, Interval(at(start), at(end)), before_end, at(now), new_id)
    return {event.event_type: event for event in events}


def test_the_warning_keeps_its_distance_from_the_end() -> None:
    events = moved(lease(), 2, 8)
    assert [events[kind].time for kind in (START, END, WARNING)] == [at(2), at(8), at(7)]


def test_the_user_says_when_to_be_warned() -> None:
    assert moved(lease(), 1, 5, warning=2)[WARNING].time == at(2)
    assert moved(lease(warning=None), 1, 5, warning=2)[WARNING].time == at(2)
    assert WARNING not in moved(lease(warning=None), 1, 9)


@pytest.mark.parametrize(
    ("end", "now", "status"),
    [
        pytest.param(9, 4.5, EventStatus.UNDONE, id="its new time lies ahead"),
        pytest.param(5, 4.5, EventStatus.DONE, id="its time has passed"),
    ],
)
def test_a_warning_that_was_given_is_given_again_only_ahead(
    end: float, now: float, status: EventStatus
) -> None:
    old = lease(ACTIVE)
    given = tuple(replace(e, status=EventStatus.DONE) if e.event_type is WARNING else e for e in old.events)
    assert moved(replace(old, events=given), 1, end, now=now)[WARNING].status is status


def test_an_event_that_moves_is_due_at_its_new_time() -> None:
    old = lease()
    late = replace(old, events=tuple(replace(e, due=at(9)) for e in old.events))
    events = moved(late, 1, 7)
    assert events[END].due is None
    assert events[START].due == at(9)


def test_a_lease_that_ends_in_its_first_minute_lasts_for_it() -> None:
    assert change.end_now(lease(start=1, end=5), at(1)) == at(1) + MINUTE
    assert change.end_now(lease(start=1, end=5), at(2)) == at(2)


def test_a_lease_that_ends_in_the_minute_of_its_growth_lasts_for_it() -> None:
    old = lease(ACTIVE, start=1, end=5)
    grown = (
        Allocation("old", "reservation", "lease", "1", Interval(at(1), at(5))),
        Allocation("new", "reservation", "lease", "2", Interval(at(2), at(5))),
    )
    old = replace(
        old, reservations=(Reservation("reservation", "lease", "r", "kind", {}, allocations=grown),)
    )
    assert change.end_now(old, at(2)) == at(2) + MINUTE
    assert change.end_now(old, at(2) + MINUTE) == at(2) + MINUTE
    ended = change.shrunk(replace(old, interval=Interval(at(1), change.end_now(old, at(2)))))
    assert [a.interval.end for a in ended.allocations] == [at(2) + MINUTE] * 2


def test_a_lease_has_ended_from_the_minute_of_its_end_on() -> None:
    assert [change.has_ended(lease(end=5), at(hours)) for hours in (5 - 1 / 60, 5, 6)] == [False, True, True]


def test_a_deleted_lease_does_nothing_but_release() -> None:
    gone = change.marked_for_deletion(lease(ACTIVE), at(2), new_id)
    assert gone.status is LeaseStatus.DELETING
    assert [e.event_type for e in gone.events if e.is_open] == [EventType.DELETE]
    again = change.with_work(gone, EventType.DELETE, at(3), new_id)
    assert again == gone


def test_an_unconfirmed_lease_is_forgotten_by_itself_and_was_never_announced() -> None:
    creating = change.unconfirmed(lease(), at(0.1), new_id)
    assert creating.status is LeaseStatus.CREATING
    assert [(e.event_type, e.time) for e in creating.events] == [(EventType.DELETE, at(0.1))]
    assert not change.was_announced(creating)
    ready = change.confirmed(creating, lease().events)
    assert ready.status is PENDING
    assert change.was_announced(ready)
