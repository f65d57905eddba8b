"""The arithmetic of quotas, compared with counting minute by minute."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.errors import QuotaExceeded
from blazar.domain.quota import AHEAD, LONGEST, Growth, Use, UsedTime, check, peak, windows
from blazar.domain.time import Interval

START = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)
LENGTH = timedelta(hours=10)


def hours(start: float, end: float) -> Interval:
    return Interval(START + timedelta(hours=start), START + timedelta(hours=end))


def use(start: float, end: float, hosts: int, lease_id: str = "other") -> Use:
    return Use(lease_id, hours(start, end), {"hosts": hosts})


@st.composite
def uses(draw: st.DrawFn) -> Use:
    start = draw(st.integers(0, 20))
    return use(start, start + draw(st.integers(1, 12)), draw(st.integers(0, 4)))


def at(each: Use | None, hour: int) -> int:
    is_used = each is not None and each.interval.contains(START + timedelta(hours=hour))
    return each.amount("hosts") if each and is_used else 0


HOURS = range(-40, 60)
OTHERS = st.lists(uses(), max_size=6)


@pytest.mark.slow
@given(OTHERS, uses())
def test_the_peak_is_what_counting_finds(others: Sequence[Use], asked: Use) -> None:
    counted = max(
        sum(at(each, hour) for each in others)
        for hour in HOURS
        if asked.interval.contains(START + timedelta(hours=hour))
    )
    assert peak(others, "hosts", asked.interval) == counted


@pytest.mark.slow
@given(OTHERS)
def test_the_fullest_window_is_what_counting_finds(others: Sequence[Use]) -> None:
    time = UsedTime(others, "hosts")
    fullest = max((time.within(*each) for each in windows(time.moments, LENGTH)), default=0)
    counted = max(sum(at(each, h) for each in others for h in range(hour, hour + 10)) for hour in HOURS)
    assert fullest == counted * 3600


@pytest.mark.slow
@given(OTHERS, st.none() | uses(), uses(), st.integers(0, 12))
def test_a_change_is_refused_where_it_takes_more_than_it_had_and_than_there_is(
    others: Sequence[Use], old: Use | None, new: Use, limit: int
) -> None:
    is_too_much = any(
        at(new, hour) > at(old, hour) and sum(at(each, hour) for each in (*others, new)) > limit
        for hour in range(40)
    )
    assert is_refused({"hosts": limit}, Growth(old, new), others) == is_too_much


@pytest.mark.slow
@given(OTHERS, uses(), st.integers(0, 60))
def test_a_new_lease_is_refused_where_a_window_has_more_hours_than_there_are(
    others: Sequence[Use], new: Use, limit: int
) -> None:
    """Also where only a moment of the lease is in the window: in hours, the window is beside it then."""
    is_too_much = any(
        any(at(new, h) for h in range(hour - 1, hour + 11))
        and sum(at(u, h) for u in (*others, new) for h in range(hour, hour + 10)) > limit
        for hour in HOURS
    )
    assert is_refused({"hosts_hours": limit}, Growth(None, new), others) == is_too_much


@given(OTHERS, uses(), st.data())
def test_what_takes_nothing_more_passes_whatever_the_limits(
    others: Sequence[Use], old: Use, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, int(old.interval.duration.total_seconds() // 3600) - 1))
    start = old.interval.start + timedelta(hours=first)
    new = Use(
        "this", Interval(start, old.interval.end), {"hosts": data.draw(st.integers(0, old.amount("hosts")))}
    )
    nothing = dict.fromkeys(("hosts", "hosts_hours", LONGEST), 0)
    assert not is_refused(nothing, Growth(old, new), others)
    assert not Growth(old, new).is_more


def is_refused(limits: dict[str, int], growth: Growth, others: Sequence[Use]) -> bool:
    try:
        check(limits, growth, others, START, LENGTH)
    except QuotaExceeded:
        return True
    return False


def test_an_extension_counts_only_the_time_that_it_adds() -> None:
    growth = Growth(use(0, 2, 3), use(0, 4, 3))
    check({"hosts": 4}, growth, [use(0, 2, 9), use(3, 4, 1)], START, LENGTH)
    with pytest.raises(QuotaExceeded) as refusal:
        check({"hosts": 4}, growth, [use(3, 4, 2)], START, LENGTH)
    assert refusal.value.message == (
        "Quota exceeded for hosts: the limit is 4, 2 are in use, and 3 are asked for."
    )


@pytest.mark.parametrize(
    ("limits", "old", "new", "told"),
    [
        ({LONGEST: 4}, None, use(0, 4, 1), None),
        ({LONGEST: 4}, None, use(0, 4.5, 1), f"{LONGEST}: the limit is 4, 0 are in use, and 5 are"),
        ({LONGEST: 4}, use(0, 9, 1), use(0, 8, 2), None),
        ({AHEAD: 4}, None, use(4, 5, 1), None),
        ({AHEAD: 4}, None, use(4.5, 5, 1), f"{AHEAD}: the limit is 4, 0 are in use, and 5 are"),
        ({AHEAD: 4}, use(9, 10, 1), use(9, 11, 1), None),
        ({AHEAD: -1, LONGEST: -1, "hosts": -1, "hosts_hours": -1}, None, use(99, 9999, 99), None),
    ],
)
def test_length_and_distance_of_a_lease(
    limits: dict[str, int], old: Use | None, new: Use, told: str | None
) -> None:
    if told is None:
        check(limits, Growth(old, new), [], START, LENGTH)
    else:
        with pytest.raises(QuotaExceeded, match=told):
            check(limits, Growth(old, new), [], START, LENGTH)
