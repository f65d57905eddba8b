"""One manager at a time works on a lease, in the right order, and only its settlement counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event

from blazar.adapters.db import SqlDatabase
from blazar.domain.errors import ClaimLost
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.ports import ANY_NUMBER, Database, StandingClaim

from .builders import HOUR, NOW, START, event_of, hours, lease, minutes, new_id, with_event

UNTIL = START + minutes(1)


@pytest.fixture
def value(database: Database) -> Lease:
    return add(database, lease("1"))


@pytest.fixture
def start(value: Lease) -> Event:
    return event_of(value, EventType.START)


def add(database: Database, value: Lease) -> Lease:
    database.transact(lambda u: u.leases.add(value, NOW))
    with database.read() as u:
        stored = u.leases.get(value.id)
    assert stored is not None
    return stored


def only(event_type: EventType, time: datetime, event_id: str | None = None) -> Lease:
    """A lease with this event alone."""
    value = lease("1")
    return replace(value, events=(Event(event_id or new_id(), value.id, event_type, time),))


def due(database: Database, now: datetime, limit: int = 100) -> list[Event]:
    with database.read() as u:
        return list(u.events.due(now, limit))


def due_ids(database: Database, now: datetime, limit: int = 100) -> list[str]:
    return [event.id for event in due(database, now, limit)]


def claim(
    database: Database, event: Event, token: str = "me", now: datetime = START, until: datetime = UNTIL
) -> bool:
    return database.transact(lambda u: u.events.claim(event.id, token, now, until))


def settle(database: Database, event: Event, token: str = "me", now: datetime = START) -> None:
    database.transact(lambda u: u.events.release_claim(event.id, token, now))


def next_due(database: Database, now: datetime) -> datetime | None:
    with database.read() as u:
        return u.events.next_due(now)


def lag(database: Database, now: datetime) -> float:
    with database.read() as u:
        return u.events.lag(now)


def waiting(database: Database, now: datetime, limit: int = 10) -> int:
    with database.read() as u:
        return u.events.waiting(now, limit)


# -------------------------------------------------------------------------------------------------------- due


def test_an_event_is_due_at_its_time(database: Database, start: Event) -> None:
    assert due(database, START - minutes(1 / 60)) == []
    assert due(database, START) == [start]


def test_an_event_tried_in_vain_is_due_later(database: Database, value: Lease, start: Event) -> None:
    later = with_event(value, EventType.START, due=START + minutes(5), attempts=1)
    database.transact(lambda u: u.leases.save(later, value, START))
    assert due(database, START + minutes(4)) == []
    assert due_ids(database, START + minutes(5)) == [start.id]


@pytest.mark.parametrize("status", EventStatus)
def test_only_open_events_are_due(database: Database, status: EventStatus) -> None:
    value = with_event(lease("1"), EventType.START, status=status)
    add(database, value)
    is_open = status in (EventStatus.UNDONE, EventStatus.IN_PROGRESS)
    assert [event.status for event in due(database, START)] == [status] * is_open


def test_what_is_earlier_and_what_ends_comes_first(database: Database) -> None:
    expected = [
        only(EventType.START, START - HOUR),
        only(EventType.END, START, "00000000-1"),
        only(EventType.DELETE, START, "00000000-2"),
        only(EventType.CONVERGE, START),
        only(EventType.START, START, "00000000-3"),
        only(EventType.START, START, "00000000-4"),
        only(EventType.BEFORE_END, START),
        only(EventType.END, START + minutes(1)),
    ]
    for value in reversed(expected):
        add(database, value)
    ids = [value.events[0].id for value in expected]
    assert due_ids(database, START + HOUR) == ids
    assert due_ids(database, START + HOUR, limit=3) == ids[:3]


def test_what_was_put_off_comes_after_what_was_due_before(database: Database) -> None:
    """Leases that cannot end are tried again and again; they stay behind those that are due for the first
    time."""
    stuck = only(EventType.END, START - hours(9))
    stuck = replace(stuck, events=(replace(stuck.events[0], due=START + minutes(1), attempts=40),))
    values = [only(EventType.START, START), stuck, only(EventType.START, START + minutes(2))]
    for value in reversed(values):
        add(database, value)
    first, again, last = (value.events[0].id for value in values)
    assert due_ids(database, START + minutes(3)) == [first, again, last]
    with database.read() as u:
        assert [e.id for e in u.events.due(START + minutes(3), 9, attempts=range(1))] == [first, last]
        assert [e.id for e in u.events.due(START + minutes(3), 9, attempts=range(1, 41))] == [again]
        assert [e.id for e in u.events.due(START + minutes(3), 9, attempts=range(40, ANY_NUMBER.stop))] == [
            again
        ]
        assert not u.events.due(START + minutes(3), 9, attempts=range(1, 40))
        assert [e.id for e in u.events.due(START + minutes(3), 1, attempts=range(1))] == [first]


def test_an_event_that_is_put_off_is_a_retry_and_free(database: Database, start: Event) -> None:
    claim(database, start)
    with pytest.raises(ClaimLost):
        database.transact(lambda u: u.events.put_off(start.id, "other", START, START + minutes(2)))
    database.transact(lambda u: u.events.put_off(start.id, "me", START, START + minutes(2)))
    assert claims(database) == []
    assert due(database, START + minutes(1)) == []
    (later,) = due(database, START + minutes(2))
    assert (later.id, later.due, later.attempts) == (start.id, START + minutes(2), 1)


# --------------------------------------------------------------------------------- active leases and the
# cloud


def active(number: str, start: datetime = START) -> Lease:
    return replace(lease(number, start=start), status=LeaseStatus.ACTIVE)


def unreconciled(database: Database, before: datetime, now: datetime = START, limit: int = 9) -> list[str]:
    with database.read() as u:
        return list(u.events.unreconciled(before, now, limit))


def claim_lease(
    database: Database, value: Lease, before: datetime, now: datetime = START, token: str = "me"
) -> bool:
    until = now + minutes(1)
    return database.transact(lambda u: u.events.claim_lease(value.id, token, now, until, before))


def mark(database: Database, value: Lease, now: datetime) -> None:
    database.transact(lambda u: u.events.mark_reconciled(value.id, now))


def test_active_leases_are_compared_again_in_the_order_of_their_last_comparison(database: Database) -> None:
    values = [add(database, active(str(n))) for n in range(1, 5)]
    for status in set(LeaseStatus) - {LeaseStatus.ACTIVE}:
        add(database, replace(lease("1"), status=status))
    never, first, second, last = values
    for value, moment in ((second, 3), (last, 7), (first, 2)):
        mark(database, value, START + hours(moment))
    now = START + hours(9)
    assert unreconciled(database, START - minutes(1), now) == []
    assert unreconciled(database, START, now) == [never.id]
    assert unreconciled(database, START + hours(5), now) == [never.id, first.id, second.id]
    assert unreconciled(database, START + hours(7), now, limit=2) == [never.id, first.id]
    assert unreconciled(database, START + hours(7), now)[-1] == last.id


def test_one_manager_claims_a_lease_to_compare_it(database: Database) -> None:
    value = add(database, active("1"))
    start = event_of(value, EventType.START)
    assert not claim_lease(database, value, START - minutes(1))
    assert claim_lease(database, value, START)
    assert not claim_lease(database, value, START, token="other")
    assert unreconciled(database, START) == []
    assert claims(database) == [StandingClaim(value.id, "me", START + minutes(1))]
    assert not claim(database, start), "its events wait"
    assert due(database, START) == []
    assert not database.transact(lambda u: u.events.extend(value.id, "other", START, UNTIL))
    assert database.transact(lambda u: u.events.extend(value.id, "me", START, UNTIL + HOUR))
    with pytest.raises(ClaimLost):
        database.transact(lambda u: u.events.release_claim(value.id, "other", START))
    database.transact(
        lambda u: (u.events.release_claim(value.id, "me", START), u.events.mark_reconciled(value.id, START))
    )
    assert claims(database) == []
    assert claim(database, start)
    assert not claim_lease(database, value, START), "an event of it is worked on"


def test_a_lease_that_was_compared_meanwhile_is_not_claimed(database: Database) -> None:
    value = add(database, active("1"))
    mark(database, value, START + minutes(1))
    assert not claim_lease(database, value, START)
    assert claim_lease(database, value, START + minutes(1))
    assert not claim_lease(database, add(database, lease("2")), START + HOUR)


def test_an_expired_claim_on_a_lease_is_taken_over(database: Database) -> None:
    value = add(database, active("1"))
    assert claim_lease(database, value, START)
    later = START + minutes(2)
    assert unreconciled(database, START, later) == [value.id]
    assert claim_lease(database, value, START, later, "other")
    with pytest.raises(ClaimLost):
        database.transact(lambda u: u.events.release_claim(value.id, "me", later))


def test_a_comparison_changes_nothing_that_users_see(database: Database) -> None:
    value = add(database, active("1"))
    mark(database, value, START + HOUR)
    with database.read() as u:
        assert u.leases.get(value.id) == value


# ----------------------------------------------------------------------------------------------------- claims


def test_one_manager_claims_an_event(database: Database, start: Event) -> None:
    assert claim(database, start, "first")
    assert not claim(database, start, "second")
    assert not claim(database, start, "first")


def test_a_claimed_event_is_not_due_for_others(database: Database, start: Event) -> None:
    claim(database, start)
    assert due(database, UNTIL - minutes(0.01)) == []
    assert due(database, UNTIL) == [start]


def test_a_claimed_event_keeps_its_siblings_back(database: Database, value: Lease, start: Event) -> None:
    end, other = event_of(value, EventType.END), event_of(add(database, lease("2")), EventType.START)
    claim(database, start, now=START + hours(2), until=START + hours(3))
    assert not claim(database, end, "second", START + hours(2), START + hours(3))
    assert other.id in due_ids(database, START + hours(2))
    assert end.id not in due_ids(database, START + hours(2))
    assert claim(database, other, "second", START + hours(2), START + hours(3))
    settle(database, start, now=START + hours(2))
    assert claim(database, end, "second", START + hours(2), START + hours(3))


def test_an_expired_claim_is_taken_over(database: Database, start: Event) -> None:
    claim(database, start, "first")
    assert claim(database, start, "second", UNTIL, UNTIL + HOUR)
    assert not claim(database, start, "third", UNTIL, UNTIL + HOUR)


def test_an_event_that_was_put_off_since_it_was_found_is_not_claimed(
    database: Database, value: Lease, start: Event
) -> None:
    later = with_event(value, EventType.START, due=START + minutes(5))
    database.transact(lambda u: u.leases.save(later, value, START))
    assert not claim(database, start, now=START + minutes(4))
    assert claim(database, start, now=START + minutes(5), until=START + minutes(6))


def test_a_sibling_takes_over_an_expired_claim(database: Database, value: Lease, start: Event) -> None:
    claim(database, start, "first")
    assert claim(database, event_of(value, EventType.END), "second", START + hours(2), START + hours(3))
    with pytest.raises(ClaimLost):
        settle(database, start, "first")


@pytest.mark.parametrize("status", [EventStatus.DONE, EventStatus.ERROR])
def test_a_closed_event_is_not_claimed(database: Database, status: EventStatus) -> None:
    value = add(database, with_event(lease("1"), EventType.START, status=status))
    assert not claim(database, event_of(value, EventType.START))


def test_an_unknown_event_is_not_claimed(database: Database, start: Event) -> None:
    assert not claim(database, replace(start, id=new_id()))
    assert not database.transact(lambda u: u.events.extend(new_id(), "me", START, UNTIL))


def test_a_claim_is_extended_by_who_has_it(database: Database, value: Lease, start: Event) -> None:
    claim(database, start)
    later, end = UNTIL + HOUR, event_of(value, EventType.END)
    assert not database.transact(lambda u: u.events.extend(start.id, "another", START, later))
    assert not database.transact(lambda u: u.events.extend(end.id, "me", START, later))
    assert not claim(database, start, "second", later - HOUR - minutes(0.01), later)
    assert database.transact(lambda u: u.events.extend(start.id, "me", UNTIL - minutes(0.01), later))
    assert not claim(database, start, "second", UNTIL, later)
    assert claim(database, start, "second", later, later + HOUR)


def test_an_expired_claim_is_not_extended(database: Database, start: Event) -> None:
    claim(database, start)
    assert not database.transact(lambda u: u.events.extend(start.id, "me", UNTIL, UNTIL + HOUR))
    assert claim(database, start, "second", UNTIL, UNTIL + HOUR)


def claims(database: Database) -> list[StandingClaim]:
    with database.read() as u:
        return list(u.events.claims())


def test_claims_stand_until_they_are_given_back_however_old_they_are(
    database: Database, start: Event
) -> None:
    assert claims(database) == []
    claim(database, start)
    assert claims(database) == [StandingClaim(start.lease_id, "me", UNTIL)]
    database.transact(lambda u: u.events.extend(start.id, "me", START, UNTIL + HOUR))
    assert claims(database) == [StandingClaim(start.lease_id, "me", UNTIL + HOUR)]
    settle(database, start)
    assert claims(database) == []


def test_a_void_claim_is_free_for_others(database: Database, start: Event) -> None:
    claim(database, start, until=START + hours(9))
    (standing,) = claims(database)
    for other in (
        replace(standing, token="theirs"),
        replace(standing, until=UNTIL),
        replace(standing, lease_id="no"),
    ):
        assert not database.transact(lambda u, other=other: u.events.void(other))  # type: ignore[misc]
    assert not claim(database, start, "second")
    assert database.transact(lambda u: u.events.void(standing))
    assert not database.transact(lambda u: u.events.void(standing))
    assert claims(database) == []
    with pytest.raises(ClaimLost):
        settle(database, start)
    assert claim(database, start, "second")


# ----------------------------------------------------------------------------------- after a clock that was
# ahead


def bring_forward(database: Database, now: datetime) -> int:
    return database.transact(lambda u: u.events.bring_forward(now, now + minutes(1), now + minutes(2)))


def dues(database: Database, value: Lease) -> dict[EventType, datetime]:
    with database.read() as u:
        stored = u.leases.get(value.id)
    assert stored is not None
    return {event.event_type: event.next_try for event in stored.events}


@pytest.mark.parametrize("now", [START - minutes(10), START + minutes(10)])
def test_a_retry_that_is_too_far_ahead_is_made_at_the_events_time(database: Database, now: datetime) -> None:
    add(database, lease("2"))
    value = add(database, with_event(lease("1"), EventType.START, due=now + hours(3)))
    before = dues(database, value)
    assert bring_forward(database, now) == 1
    assert dues(database, value) == before | {EventType.START: START}
    assert bring_forward(database, now) == 0


@pytest.mark.parametrize("due", [None, START + hours(3)], ids=["begun too early", "tried again too late"])
def test_what_is_in_progress_goes_on_at_once(database: Database, due: datetime | None) -> None:
    now = START - minutes(10)
    value = add(database, with_event(lease("1"), EventType.START, due=due, status=EventStatus.IN_PROGRESS))
    before = dues(database, value)
    assert bring_forward(database, now) == 1
    assert dues(database, value) == before | {EventType.START: now}
    assert bring_forward(database, now) == 0


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_all_that_lies_ahead_is_not_read_for_it(sql: SqlDatabase) -> None:
    """An index has all that is asked: it is looked at with each start of a manager."""
    sent: list[tuple[str, Any]] = []

    @event.listens_for(sql.engine, "before_cursor_execute")
    def on_execute(*words: Any) -> None:
        sent.append((words[2], words[3]))

    bring_forward(sql, START)
    ((statement, parameters),) = [each for each in sent if each[0].startswith("SELECT events")]
    with sql.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    ((*_, detail),) = plan
    assert "COVERING INDEX" in detail
    assert "(status=? AND due>?)" in detail


def test_what_is_tried_soon_or_is_over_stays_as_it_is(database: Database) -> None:
    values = [
        with_event(lease("1"), EventType.START, due=START + minutes(1)),
        with_event(lease("2"), EventType.START, due=START + hours(3), status=EventStatus.DONE),
        with_event(lease("3"), EventType.START, due=START + hours(3), status=EventStatus.ERROR),
    ]
    before = [dues(database, add(database, value)) for value in values]
    assert bring_forward(database, START) == 0
    assert [dues(database, value) for value in values] == before


@pytest.mark.parametrize("event_type", [EventType.DELETE, EventType.CONVERGE])
def test_the_engines_own_work_is_never_put_off(database: Database, event_type: EventType) -> None:
    value = add(database, only(event_type, START + minutes(1)))
    assert bring_forward(database, START) == 1
    assert due(database, START) == [replace(value.events[0], time=START)]


@pytest.mark.parametrize(("later", "moved"), [(minutes(2), 0), (minutes(3), 1)])
def test_a_creation_under_way_is_left_its_time(database: Database, later: timedelta, moved: int) -> None:
    add(database, replace(only(EventType.DELETE, START + later), status=LeaseStatus.CREATING))
    assert bring_forward(database, START) == moved
    assert len(due(database, START)) == moved


# --------------------------------------------------------------------------------------------------
# settlement


def test_settling_gives_the_claim_back(database: Database, start: Event) -> None:
    claim(database, start)
    settle(database, start)
    assert due(database, START) == [start]
    assert claim(database, start, "second")


@pytest.mark.parametrize(
    ("token", "now"),
    [("another", START), ("me", UNTIL), ("me", UNTIL + HOUR)],
    ids=["other", "expired", "late"],
)
def test_settling_needs_a_valid_claim(database: Database, start: Event, token: str, now: datetime) -> None:
    claim(database, start)
    with pytest.raises(ClaimLost):
        settle(database, start, token, now)


def test_settling_twice_is_refused(database: Database, start: Event) -> None:
    claim(database, start)
    settle(database, start)
    with pytest.raises(ClaimLost):
        settle(database, start)


def test_a_manager_that_was_asleep_writes_nothing(database: Database, value: Lease, start: Event) -> None:
    claim(database, start, "asleep")
    claim(database, start, "awake", UNTIL, UNTIL + HOUR)
    done = with_event(value, EventType.START, status=EventStatus.DONE)
    with pytest.raises(ClaimLost):
        database.transact(
            lambda u: (
                u.leases.save(done, value, UNTIL),
                u.events.release_claim(start.id, "asleep", UNTIL + minutes(1)),
            )
        )
    with database.read() as u:
        assert u.leases.get(value.id) == value


def test_settling_and_removing_the_lease_in_one_transaction(
    database: Database, value: Lease, start: Event
) -> None:
    claim(database, start)
    database.transact(lambda u: (u.events.release_claim(start.id, "me", START), u.leases.remove(value)))
    assert due(database, START + HOUR) == []
    with pytest.raises(ClaimLost):
        settle(database, start)


def test_saving_a_lease_leaves_its_claim_alone(database: Database, value: Lease, start: Event) -> None:
    claim(database, start)
    started = with_event(value, EventType.START, status=EventStatus.IN_PROGRESS)
    database.transact(lambda u: u.leases.save(started, value, START))
    assert not claim(database, start, "second")
    settle(database, start)


# --------------------------------------------------------------------------------------------- what comes
# next


def test_nothing_is_due_in_an_empty_database(database: Database) -> None:
    assert due(database, START) == []
    assert next_due(database, START) is None
    assert lag(database, START) == 0.0


def test_the_next_moment_is_that_of_the_next_open_event(
    database: Database, value: Lease, start: Event
) -> None:
    assert next_due(database, NOW) == START
    assert next_due(database, START + HOUR) == START
    done = with_event(value, EventType.START, status=EventStatus.DONE)
    database.transact(lambda u: u.leases.save(done, value, START))
    assert next_due(database, START) == START + HOUR - minutes(10)


def test_the_next_moment_counts_events_in_progress_and_postponed_ones(database: Database) -> None:
    value = with_event(lease("1"), EventType.START, status=EventStatus.IN_PROGRESS, due=START + minutes(7))
    add(database, value)
    assert next_due(database, START) == START + minutes(7)


def test_a_claimed_event_is_waited_for_until_its_claim_ends(database: Database, start: Event) -> None:
    claim(database, start)
    assert next_due(database, START) == UNTIL
    assert next_due(database, UNTIL) == START


def test_a_claim_does_not_hide_other_leases(database: Database, start: Event) -> None:
    other = add(database, lease("2", start=START + minutes(0.5)))
    claim(database, start)
    assert next_due(database, START) == other.interval.start


def test_a_claim_that_outlives_all_times_keeps_the_later_events_back(
    database: Database, value: Lease, start: Event
) -> None:
    claim(database, start, until=START + hours(9))
    assert next_due(database, START) == START + hours(9)


def test_no_next_moment_without_open_events(database: Database) -> None:
    value = lease("1")
    add(database, replace(value, events=tuple(replace(e, status=EventStatus.DONE) for e in value.events)))
    assert next_due(database, NOW) is None


def test_an_event_that_was_made_after_its_time_is_late_since_then(database: Database) -> None:
    """A lease that starts now has a start at the beginning of this minute."""
    now = START + minutes(0.9)
    value = lease("1")
    database.transact(lambda u: u.leases.add(value, now))
    assert lag(database, now) == 0.0
    assert lag(database, now + minutes(0.5)) == 30.0


def test_lag_is_how_late_the_oldest_free_event_is(database: Database, start: Event) -> None:
    other = add(database, lease("2", start=START + minutes(1)))
    assert lag(database, START) == 0.0
    assert lag(database, START + minutes(2)) == 120.0
    claim(database, start, now=START + minutes(2), until=START + hours(2))
    assert lag(database, START + minutes(2)) == 60.0
    claim(database, event_of(other, EventType.START), now=START + minutes(2), until=START + hours(2))
    assert lag(database, START + minutes(2)) == 0.0


def test_events_that_are_due_and_free_are_counted_up_to_a_limit(database: Database, start: Event) -> None:
    add(database, lease("2", start=START + minutes(1)))
    assert waiting(database, NOW) == 0
    assert waiting(database, START) == 1
    assert waiting(database, START + minutes(1)) == 2
    assert waiting(database, START + minutes(1), limit=1) == 1
    claim(database, start, now=START + minutes(1), until=START + hours(2))
    assert waiting(database, START + minutes(1)) == 1
