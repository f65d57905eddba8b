"""What an event does to its lease: when it begins, how it ends, and when it is tried again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.errors import InvalidStatus
from blazar.domain.lease import progress
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
HOURS = Interval(NOON, NOON + timedelta(hours=4))
TIMES = {EventType.BEFORE_END: HOURS.end - timedelta(hours=1), EventType.END: HOURS.end}
ONE = timedelta(seconds=1)

START, WARNING, END, CONVERGE, DELETE, *_ = EventType
WAITING, CREATING, PENDING, STARTING, ACTIVE, TERMINATING, TERMINATED, DELETING, ERROR, UNKNOWN = LeaseStatus
MOOT = (CREATING, TERMINATED, DELETING, UNKNOWN)
UNDONE, IN_PROGRESS, DONE, FAILED = EventStatus

NOTHING = ReservationStatus.DELETED
RUNS = ReservationStatus.ACTIVE
WAITS = ReservationStatus.PENDING
BROKEN = ReservationStatus.ERROR


def event(event_type: EventType, status: EventStatus = UNDONE, attempts: int = 0) -> Event:
    return Event("event", "lease", event_type, TIMES.get(event_type, NOON), status, attempts=attempts)


def lease(status: LeaseStatus, one: Event, *reservations: Reservation) -> Lease:
    return Lease("lease", "name", "user", "project", HOURS, status, reservations=reservations, events=(one,))


def reservation(status: ReservationStatus, bound: bool = False) -> Reservation:
    allocations = (Allocation("a1", "r", "lease", "host1", HOURS, bound=bound),)
    return Reservation("r", "lease", "", "physical:host", {}, status, allocations=allocations)


@pytest.mark.parametrize(
    ("event_type", "status", "entered"),
    [
        (START, PENDING, STARTING),
        (START, STARTING, STARTING),
        (WARNING, ACTIVE, ACTIVE),
        (CONVERGE, ACTIVE, ACTIVE),
        (END, PENDING, TERMINATING),
        (END, STARTING, TERMINATING),
        (END, ACTIVE, TERMINATING),
        (END, ERROR, TERMINATING),
        (END, TERMINATING, TERMINATING),
        (DELETE, DELETING, DELETING),
        (DELETE, CREATING, DELETING),
        (EventType.READY, PENDING, PENDING),
    ],
)  # fmt: skip
def test_an_event_that_has_something_to_do_is_begun(
    event_type: EventType, status: LeaseStatus, entered: LeaseStatus
) -> None:
    one = event(event_type)
    begun = progress.enter(lease(status, one), one, one.time)
    assert isinstance(begun, progress.Entered)
    assert begun.lease.status is entered
    assert begun.lease.events == (replace(one, status=IN_PROGRESS, attempts=1),)


@pytest.mark.parametrize(
    ("event_type", "status"),
    [
        *((START, status) for status in (ACTIVE, ERROR, TERMINATING, *MOOT)),
        *((WARNING, status) for status in (ERROR, TERMINATING, *MOOT)),
        *((END, status) for status in MOOT),
    ],
)  # fmt: skip
def test_an_event_that_has_nothing_to_do_is_done(event_type: EventType, status: LeaseStatus) -> None:
    one = event(event_type)
    left = progress.enter(lease(status, one), one, one.time)
    assert isinstance(left, progress.Left)
    assert left.lease.status is status
    assert left.lease.events == (replace(one, status=DONE, reason=f"the lease was {status}"),)


@pytest.mark.parametrize(
    ("event_type", "status"), [(CONVERGE, PENDING), (CONVERGE, ERROR), (DELETE, ACTIVE), (DELETE, TERMINATED)]
)
def test_work_of_the_engine_that_is_moot_is_forgotten(event_type: EventType, status: LeaseStatus) -> None:
    one = event(event_type)
    left = progress.enter(lease(status, one), one, NOON)
    assert isinstance(left, progress.Left)
    assert (left.lease.status, left.lease.events) == (status, ())


def test_a_warning_waits_for_a_start_that_is_late() -> None:
    one = event(WARNING)
    left = progress.enter(lease(STARTING, one), one, one.time + 8 * ONE)
    assert isinstance(left, progress.Left)
    assert left.lease.events[0].status is UNDONE
    assert left.lease.events[0].due == one.time + 10 * ONE


def test_nothing_begins_before_its_time_and_what_has_begun_goes_on() -> None:
    early = event(START)
    assert isinstance(progress.enter(lease(PENDING, early), early, NOON - ONE), progress.Left)
    begun = event(START, IN_PROGRESS, attempts=1)
    assert isinstance(progress.enter(lease(STARTING, begun), begun, NOON - ONE), progress.Entered)


def test_a_start_after_the_end_is_missed() -> None:
    one = event(START)
    left = progress.enter(lease(PENDING, one), one, HOURS.end)
    assert isinstance(left, progress.Left)
    assert (left.lease.events[0].status, left.lease.events[0].reason) == (FAILED, progress.MISSED)


LATER = NotYet("servers are left", ONE)
AWAY = NotYet("Nova is away")
REFUSED = GiveUp("no freepool")


@pytest.mark.parametrize(
    ("event_type", "outcome", "expected"),
    [
        # the status of the lease, of its event (None: it is forgotten) and of its reservation
        (START, Done(), (ACTIVE, DONE, RUNS)),
        (START, LATER, (STARTING, IN_PROGRESS, WAITS)),
        (START, AWAY, (STARTING, IN_PROGRESS, WAITS)),
        (START, REFUSED, (ERROR, FAILED, BROKEN)),
        (WARNING, Done(), (ACTIVE, DONE, RUNS)),
        (WARNING, AWAY, (ACTIVE, IN_PROGRESS, RUNS)),
        (WARNING, REFUSED, (ACTIVE, FAILED, RUNS)),
        (CONVERGE, Done(), (ACTIVE, None, RUNS)),
        (CONVERGE, LATER, (ACTIVE, IN_PROGRESS, RUNS)),
        (CONVERGE, REFUSED, (ACTIVE, None, RUNS)),
        (END, Done(), (TERMINATED, DONE, NOTHING)),
        (END, LATER, (TERMINATING, IN_PROGRESS, RUNS)),
        (END, REFUSED, (TERMINATING, IN_PROGRESS, RUNS)),
        (DELETE, LATER, (DELETING, IN_PROGRESS, RUNS)),
        (DELETE, REFUSED, (DELETING, IN_PROGRESS, RUNS)),
    ],
)
def test_what_an_outcome_makes_of_the_lease(
    event_type: EventType,
    outcome: Outcome,
    expected: tuple[LeaseStatus, EventStatus | None, ReservationStatus],
) -> None:
    one = event(event_type, IN_PROGRESS, attempts=1)
    acted = lease(progress.WHILE[event_type], one, reservation(WAITS if event_type is START else RUNS))
    after = progress.settle(acted, one, acted, {"r": outcome}, one.time)
    assert after is not None
    status = after.events[0].status if after.events else None
    assert (after.status, status, after.reservations[0].status) == expected
    if status is IN_PROGRESS:
        assert after.events[0].due == one.time + ONE
        assert after.events[0].reason == getattr(outcome, "reason", None)


def test_a_deletion_that_is_done_leaves_no_lease() -> None:
    one = event(DELETE, IN_PROGRESS, attempts=1)
    acted = lease(DELETING, one, reservation(RUNS))
    assert progress.settle(acted, one, acted, {"r": Done()}, NOON) is None


def test_a_converge_that_is_refused_degrades_and_one_that_works_mends() -> None:
    one = event(CONVERGE, IN_PROGRESS, attempts=1)
    acted = lease(ACTIVE, one, reservation(RUNS))
    refused = progress.settle(acted, one, acted, {"r": REFUSED}, NOON)
    assert refused is not None
    assert (refused.degraded, refused.reservations[0].missing_resources) == (True, True)
    again = progress.with_event(replace(refused, events=(one,)), one)
    mended = progress.settle(again, one, again, {"r": Done()}, NOON)
    assert mended is not None
    assert (mended.degraded, mended.reservations[0].missing_resources, mended.status_reason) == (
        False,
        False,
        None,
    )


@pytest.mark.parametrize(("attempts", "status"), [(1, STARTING), (4, STARTING), (5, ERROR)])
def test_a_start_that_is_refused_is_tried_as_long_as_the_operator_says(
    attempts: int, status: LeaseStatus
) -> None:
    """Its pauses are 1, 2, 4 and 8 seconds; after the fifth attempt they are fifteen together."""
    one = event(START, IN_PROGRESS, attempts=attempts)
    acted = lease(STARTING, one, reservation(WAITS))
    after = progress.settle(acted, one, acted, {"r": REFUSED}, NOON, start_retry=15 * ONE)
    assert after is not None
    assert after.status is status


def test_a_lease_that_was_changed_meanwhile_keeps_its_event_open_and_its_new_parts_unbound() -> None:
    one = event(CONVERGE, IN_PROGRESS, attempts=3)
    acted = lease(ACTIVE, one, reservation(RUNS))
    more = Allocation("a2", "r", "lease", "host2", HOURS)
    stored = replace(
        acted,
        reservations=(
            replace(acted.reservations[0], allocations=(*acted.reservations[0].allocations, more)),
        ),
    )
    after = progress.settle(stored, one, acted, {"r": Done()}, NOON)
    assert after is not None
    assert [a.bound for a in after.reservations[0].allocations] == [True, False]
    assert (after.events[0].is_open, after.events[0].due, after.events[0].attempts) == (True, NOON, 0)


@pytest.mark.parametrize(
    ("outcome", "pauses"),
    [
        pytest.param(AWAY, [1, 2, 4, 8, 10, 10], id="the cloud fails: ten seconds at the most"),
        pytest.param(REFUSED, [1, 2, 4, 8, 16, 30], id="the cloud refuses: thirty seconds at the most"),
        pytest.param(NotYet("", 2 * ONE), [2, 2.6, 3.38, 4.394, 5, 7], id="it is under way"),
    ],
)
def test_the_pauses_between_attempts_grow(outcome: Outcome, pauses: list[float]) -> None:
    found = []
    for attempts in range(1, 7):
        one = event(END, IN_PROGRESS, attempts=attempts)
        acted = lease(TERMINATING, one, reservation(RUNS))
        after = progress.settle(acted, one, acted, {"r": outcome}, HOURS.end)
        assert after is not None
        assert after.events[0].due is not None
        found.append((after.events[0].due - HOURS.end).total_seconds())
    assert found == pytest.approx(pauses)


def test_after_a_long_pause_many_are_due_at_the_same_moment() -> None:
    one = event(END, IN_PROGRESS, attempts=20)
    acted = lease(TERMINATING, one, reservation(RUNS))
    moments = [HOURS.end + timedelta(seconds=seconds) for seconds in (0, 0.3, 0.999)]
    after = [progress.settle(acted, one, acted, {"r": NotYet("", ONE)}, now) for now in moments]
    assert {each.events[0].due for each in after if each} == {HOURS.end + timedelta(seconds=30)}


def test_a_failed_start_can_be_retried_until_the_lease_is_over() -> None:
    failed = replace(event(START, FAILED, attempts=9), reason="no freepool")
    broken = lease(ERROR, failed, reservation(BROKEN))
    again = progress.retried(broken, NOON + ONE)
    assert (again.status, again.reservations[0].status) == (STARTING, WAITS)
    assert again.events == (replace(failed, status=UNDONE, due=NOON + ONE, attempts=0, reason=None),)
    with pytest.raises(InvalidStatus, match="the lease is over"):
        progress.retried(broken, HOURS.end)
    with pytest.raises(InvalidStatus, match="the lease is ACTIVE"):
        progress.retried(replace(broken, status=ACTIVE), NOON)


def test_what_was_not_made_ready_is_told_and_the_start_is_tried() -> None:
    one = event(EventType.READY, IN_PROGRESS, attempts=1)
    before = lease(PENDING, one, reservation(WAITS))
    after = progress.settle(before, one, before, {"r": GiveUp("no trust")}, NOON)
    assert after is not None
    assert (after.status, after.status_reason, after.events) == (PENDING, "no trust", ())
    assert [r.status for r in after.reservations] == [WAITS]


@pytest.mark.parametrize("status", [STARTING, ACTIVE, TERMINATING, ERROR])
def test_nothing_is_made_ready_once_the_start_has_begun(status: LeaseStatus) -> None:
    one = event(EventType.READY)
    left = progress.enter(lease(status, one), one, NOON)
    assert isinstance(left, progress.Left)
    assert left.lease.events == ()
