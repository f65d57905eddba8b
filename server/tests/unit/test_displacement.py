"""Which leases may give way, what becomes of them, and how much is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import InvalidStatus
from blazar.domain.lease.displacement import (
    DisplacedLease,
    DisplacementEffect,
    in_order,
    may_be_displaced,
    may_wait,
    moved,
    put_in_line,
)
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.planning.blocking import movable_ids
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.displacement import least
from blazar.domain.resource import Allocation, Pool, Resource
from blazar.domain.time import Interval

NOW = datetime(2030, 1, 1, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)
LOW, NORMAL, HIGH = Priority


def lease(hours: float = 2, id_: str = "l", priority: Priority = LOW, **fields: object) -> Lease:
    interval = Interval(NOW + hours * HOUR, NOW + (hours + 1) * HOUR)
    allocation = Allocation("a", "r", id_, "host", interval)
    reservation = Reservation("r", id_, "x", "physical:host", {}, allocations=(allocation,))
    events = tuple(
        Event(f"{id_}-{each}", id_, each, interval.start) for each in (EventType.START, EventType.END)
    )
    value = Lease(id_, "n", "u", "p", interval, reservations=(reservation,), events=events, priority=priority)
    return replace(value, created_at=NOW - HOUR, **fields)


def with_reservation(**fields: object) -> Lease:
    value = lease()
    return replace(value, reservations=(replace(value.reservations[0], **fields),))


READY = Event("e", "l", EventType.READY, NOW)
BOUND = replace(lease().allocations[0], bound=True)


@pytest.mark.parametrize(
    ("value", "by", "may"),
    [
        (lease(), NORMAL, True),
        (lease(), HIGH, True),
        (lease(priority=NORMAL), HIGH, True),
        (lease(), LOW, False),
        (lease(priority=NORMAL), NORMAL, False),
        (lease(priority=HIGH), HIGH, False),
        (lease(1), HIGH, True),
        (lease(0.9), HIGH, False),
        (lease(events=(READY,)), HIGH, False),
        (lease(events=(replace(READY, status=EventStatus.DONE),)), HIGH, True),
        (lease(leaving=lease().reservations), HIGH, False),
        (with_reservation(allocations=(BOUND,)), HIGH, False),
        (with_reservation(status=ReservationStatus.UNKNOWN), HIGH, False),
    ],
)
def test_who_may_be_displaced(value: Lease, by: Priority, may: bool) -> None:
    assert may_be_displaced(value, by, NOW + HOUR) is may


@pytest.mark.parametrize("status", list(LeaseStatus))
def test_only_a_pending_lease_may(status: LeaseStatus) -> None:
    assert may_be_displaced(lease(status=status), HIGH, NOW) is (status is LeaseStatus.PENDING)


def test_what_needs_its_users_rights_cannot_wait() -> None:
    assert may_wait(lease())
    assert not may_wait(lease(trust_id="t"))
    assert not may_wait(with_reservation(cloud_state={"group": "g"}))


def test_the_lowest_class_comes_first_then_the_latest_start() -> None:
    values = [lease(3, "a", NORMAL), lease(2, "b"), lease(4, "c"), lease(9, "d", NORMAL)]
    assert [each.id for each in in_order(values)] == ["c", "b", "d", "a"]


def test_one_that_waits_has_nothing_and_keeps_its_time() -> None:
    old = with_reservation(missing_resources=True, status_reason="gone")
    old = replace(old, degraded=True)
    new = put_in_line(old, NOW)
    assert (new.status, new.events, new.allocations, new.quantities) == (LeaseStatus.WAITING, (), (), {})
    assert (new.degraded, new.reservations[0].missing_resources) == (False, False)
    assert new.interval == old.interval
    assert new.waiting is not None
    assert (new.waiting.since, new.waiting.until) == (NOW, old.interval.start)
    assert new.waiting.turn == old.created_at
    assert DisplacedLease(old, new).effect is DisplacementEffect.WAITS
    assert DisplacedLease(old, moved(old, NOW)).effect is DisplacementEffect.MOVES
    with pytest.raises(InvalidStatus):
        put_in_line(replace(old, status=LeaseStatus.ACTIVE), NOW)


def test_those_that_start_last_are_looked_at() -> None:
    calendar = Calendar()
    value = Resource("host", Pool("host"))
    rows = [Allocation(f"a{n}", "r", f"l{n}", "host", lease(n).interval) for n in range(6)]
    calendar.put(value, rows)
    calendar.put(Resource("other", Pool("host")), [replace(rows[3], id="b", resource_id="other")])
    request = PlanRequest(Interval(NOW, NOW + 9 * HOUR), (Demand("new", 1, 1),))

    def found(since: float, most: int) -> list[str]:
        return movable_ids(calendar.snapshot(), request, NOW + since * HOUR, most, Budget())

    assert found(0, 9) == ["l5", "l4", "l3", "l2", "l1", "l0"]
    assert found(2, 9) == ["l5", "l4", "l3", "l2"]
    assert found(2, 2) == ["l5", "l4"]
    with pytest.raises(CutShort):
        movable_ids(calendar.snapshot(), request, NOW, 9, Budget(1))


@dataclass(frozen=True)
class Given:
    chosen: Sequence[int]
    waiting: int = 1


@pytest.mark.parametrize("calls", range(12))
def test_where_the_budget_is_spent_what_was_found_is_taken(calls: int) -> None:
    """Two of the first are as good as the third."""
    left, frees = [calls], (1, 1, 2)

    def fits(chosen: Sequence[int]) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise CutShort
        return sum(frees[n] for n in chosen) >= 2

    def outcome(chosen: Sequence[int]) -> Given | None:
        return Given(chosen) if fits(chosen) else None

    try:
        found = least(range(3), fits, outcome)
    except CutShort:
        assert calls < 5
        return
    assert found is not None
    assert list(found.chosen) in ([0, 1], [2])
    assert (list(found.chosen) == [2]) == (calls >= 8)
