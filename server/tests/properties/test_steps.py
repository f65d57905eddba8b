"""The steps of curves are what brute force finds minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.steps import LENGTHS, Curve, Curves, TimeAxis, count, length_for, stepped

MIDNIGHT = datetime(2031, 3, 1, tzinfo=UTC)


@st.composite
def pictures(draw: st.DrawFn) -> tuple[Curves, int]:
    minutes = draw(st.integers(1, 60))
    moments = sorted({0, *draw(st.lists(st.integers(0, minutes - 1), max_size=12))})
    axis = TimeAxis(MIDNIGHT + timedelta(minutes=draw(st.integers(0, 90))), minutes, np.array(moments))
    values = st.lists(st.integers(0, 3), min_size=len(moments), max_size=len(moments)).map(np.array)
    curves = {"least": Curve(draw(values)), "most": Curve(draw(values), tells_most=True)}
    return Curves(axis, curves), draw(st.sampled_from((1, 2, 5, 7, 10, 30, 120)))


def minute_by_minute(axis: TimeAxis, curve: Curve) -> list[int]:
    places = np.searchsorted(axis.moments, np.arange(axis.minutes), "right") - 1
    found: list[int] = curve.values[places].tolist()
    return found


def expected(curves: Curves, length: int) -> list[tuple[int, int, int]]:
    """Begin, least and most of each step, without those in which nothing changes."""
    axis = curves.axis
    first = int(axis.start.timestamp()) // 60
    least, most = (minute_by_minute(axis, curves.by_name[name]) for name in ("least", "most"))
    found: list[tuple[int, int, int]] = []
    for number in sorted({(first + minute) // length for minute in range(axis.minutes)}):
        within = [minute for minute in range(axis.minutes) if (first + minute) // length == number]
        values = min(least[m] for m in within), max(most[m] for m in within)
        if not found or found[-1][1:] != values:
            found.append((within[0], *values))
    return found


@given(pictures())
@settings(max_examples=examples(400), deadline=None)
def test_a_step_tells_the_worst_of_its_minutes(picture: tuple[Curves, int]) -> None:
    curves, length = picture
    found = stepped(curves, length)
    told = list(zip(found.minutes, found.values["least"], found.values["most"], strict=True))
    assert told == expected(curves, length)
    assert count([curves, curves], length, Budget()) == 2 * len(told)


@given(pictures(), st.integers(1, 20))
@settings(max_examples=examples(400), deadline=None)
def test_the_length_is_the_shortest_one_that_suits(picture: tuple[Curves, int], most: int) -> None:
    curves, _ = picture
    length = length_for([curves], most, Budget())
    number = LENGTHS.index(length)
    assert length == LENGTHS[-1] or len(expected(curves, length)) <= most
    assert number == 0 or len(expected(curves, LENGTHS[number - 1])) > most


def test_the_work_is_bounded() -> None:
    axis = TimeAxis(MIDNIGHT, 60, np.arange(60))
    with pytest.raises(CutShort):
        length_for([Curves(axis, {"a": Curve(np.arange(60))})] * 9, 1, Budget(10))
