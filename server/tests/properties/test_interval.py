"""What is left of an interval without others, against brute force: hour by hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.time import Interval

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LONGEST = 12

spans = st.tuples(st.integers(0, LONGEST), st.integers(0, LONGEST)).filter(lambda pair: pair[0] < pair[1])


def _interval(span: tuple[int, int]) -> Interval:
    start, end = span
    return Interval(NOON + start * HOUR, NOON + end * HOUR)


def _hours(*intervals: Interval) -> set[int]:
    return {hour for hour in range(LONGEST) if any(each.contains(NOON + hour * HOUR) for each in intervals)}


@settings(max_examples=examples(2000))
@given(spans, st.lists(spans, max_size=4))
def test_an_interval_without_others_has_its_other_hours(
    whole: tuple[int, int], others: list[tuple[int, int]]
) -> None:
    taken = [_interval(each) for each in others]
    parts = _interval(whole).without(taken)
    assert _hours(*parts) == _hours(_interval(whole)) - _hours(*taken)
    assert all(part.end < following.start for part, following in pairwise(parts)), "in order"
