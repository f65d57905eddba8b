"""Tests of the parser of times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import from_wire, to_wire

# A Monday, half past eight and some seconds.
NOW = datetime(2030, 1, 7, 8, 30, 20, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("now", "2030-01-07 08:30"),
        ("2030-01-31 09:00", "2030-01-31 09:00"),
        ("2030-1-3 9:5", "2030-01-03 09:05"),
        ("  2030-01-31   09:00 ", "2030-01-31 09:00"),
        ("2030-01-31", "2030-01-31 00:00"),
        ("2030-01-31T09:00", "2030-01-31 09:00"),
        ("2030-01-31T09:00:00.000000", "2030-01-31 09:00"),
        ("2030-01-31T09:00Z", "2030-01-31 09:00"),
        ("2030-01-31t09:00z", "2030-01-31 09:00"),
        ("2030-01-31T09:00+02:00", "2030-01-31 07:00"),
        ("2030-01-31 09:00-05:00", "2030-01-31 14:00"),
        ("20300131T0900Z", "2030-01-31 09:00"),
        ("2030-01-31 09:00 Europe/Berlin", "2030-01-31 08:00"),
        ("2030-01-31 09:00 UTC", "2030-01-31 09:00"),
        ("today 17:00", "2030-01-07 17:00"),
        ("today 7:00", "2030-01-07 07:00"),
        ("tomorrow", "2030-01-08 00:00"),
        ("tomorrow 9:00", "2030-01-08 09:00"),
        ("Tomorrow at 9am", "2030-01-08 09:00"),
        ("9:00 tomorrow", "2030-01-08 09:00"),
        ("tomorrow 9:30 pm", "2030-01-08 21:30"),
        ("tomorrow noon", "2030-01-08 12:00"),
        ("midnight tomorrow", "2030-01-08 00:00"),
        ("tomorrow 12am", "2030-01-08 00:00"),
        ("tomorrow 12pm", "2030-01-08 12:00"),
        ("9:00", "2030-01-07 09:00"),
        ("8:30", "2030-01-07 08:30"),
        ("8:00", "2030-01-08 08:00"),
        ("friday", "2030-01-11 00:00"),
        ("fri 14:30", "2030-01-11 14:30"),
        ("on friday at noon", "2030-01-11 12:00"),
        ("this friday", "2030-01-11 00:00"),
        ("monday 9:00", "2030-01-07 09:00"),
        ("monday 8:00", "2030-01-14 08:00"),
        ("next monday", "2030-01-14 00:00"),
        ("next monday 9:00", "2030-01-14 09:00"),
        ("in 2 hours", "2030-01-07 10:30"),
        ("in 1h30m", "2030-01-07 10:00"),
        ("+90m", "2030-01-07 10:00"),
        ("in 3 days at 9:00", "2030-01-10 09:00"),
        ("in 1 week", "2030-01-14 08:30"),
        ("in an hour", "2030-01-07 09:30"),
        ("In An Hour", "2030-01-07 09:30"),
        ("in half an hour", "2030-01-07 09:00"),
        ("an hour from now", "2030-01-07 09:30"),
        ("2 days from now", "2030-01-09 08:30"),
        ("in a week", "2030-01-14 08:30"),
        ("in a day at 9am", "2030-01-08 09:00"),
        ("in 1y", "2031-01-07 08:30"),
        ("tonight", "2030-01-07 20:00"),
        ("this evening", "2030-01-07 20:00"),
        ("tonight at 10pm", "2030-01-07 22:00"),
        ("22:30 tonight", "2030-01-07 22:30"),
        ("tonight CET", "2030-01-07 19:00"),
        ("next week", "2030-01-14 00:00"),
        ("next week 9:00", "2030-01-14 09:00"),
        ("next month", "2030-02-01 00:00"),
        ("next year at noon", "2031-01-01 12:00"),
        ("2030-01-31 09:00 CET", "2030-01-31 08:00"),
        ("2030-07-31 09:00 cest", "2030-07-31 07:00"),
        ("tomorrow 9:00 EST", "2030-01-08 14:00"),
        ("2030-07-31 09:00 PDT", "2030-07-31 16:00"),
        ("friday 9am JST", "2030-01-11 00:00"),
    ],
)
def test_what_is_understood(typed: str, meant: str) -> None:
    assert to_wire(TimeParser(NOW).parse(typed)) == meant


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "not a time"),
        ("yesterday-ish", "not a time"),
        ("9", "not a time"),
        ("tomorrow 25:00", "not a time"),
        ("tomorrow 13pm", "not a time"),
        ("t", "not a time"),
        ("in a while", "not a duration"),
        ("2030-02-30 09:00", "does not exist"),
        ("2030-13-01", "does not exist"),
        ("2030-01-31T09:00:30", "whole minutes"),
        ("2030-01-31 09:00 Europe/Berlni", "did you mean Europe/Berlin"),
        ("2030-07-31 09:00 CET", r"Europe/Brussels has no CET then, but CEST: .*2030-07-31T09:00\+02:00"),
        ("2030-01-31 09:00 PDT", "has no PDT then, but PST"),
        ("2030-01-31 09:00 CST", "several zones are called CST: write America/Chicago or Asia/Shanghai"),
        ("2030-01-31 09:00 XYZ", "not a time"),
        ("CET", "not a time"),
        ("2 hours", "did you mean 'in 2 hours'"),
        ("1y", "did you mean 'in 1y'"),
        ("an hour", "did you mean 'in an hour'"),
        ("in a month", "months differ"),
        ("next decade", "not a time"),
        ("tonight tomorrow", "not a time"),
        ("next tonight", "not a time"),
    ],
)
def test_what_is_not_understood_is_refused_with_help(typed: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        TimeParser(NOW).parse(typed)


@pytest.mark.parametrize(
    ("now", "typed", "meant"),
    [
        ("2030-12-31 23:59", "next month", "2031-01-01 00:00"),
        ("2030-12-31 23:59", "next year", "2031-01-01 00:00"),
        ("2030-01-13 23:59", "next week", "2030-01-14 00:00"),
        ("2030-01-14 00:00", "next week", "2030-01-21 00:00"),
        ("2028-02-29 12:00", "next month", "2028-03-01 00:00"),
        ("2028-02-28 12:00", "in 1 year", "2029-02-27 12:00"),
        ("2030-01-07 21:00", "tonight", "2030-01-07 20:00"),
    ],
)
def test_what_comes_next(now: str, typed: str, meant: str) -> None:
    assert to_wire(TimeParser(datetime.fromisoformat(f"{now}+00:00")).parse(typed)) == meant


def test_days_and_times_are_those_of_the_zone() -> None:
    # At 23:30 UTC it is already the next day in Berlin.
    time_parser = TimeParser(datetime(2030, 6, 30, 23, 30, tzinfo=UTC), BERLIN)
    assert to_wire(time_parser.parse("today 9:00")) == "2030-07-01 07:00"
    assert to_wire(time_parser.parse("tomorrow 9:00")) == "2030-07-02 07:00"
    assert to_wire(time_parser.parse("2030-01-01 09:00")) == "2030-01-01 08:00"


def test_in_three_days_at_nine_keeps_the_wall_clock_over_the_change_to_summer_time() -> None:
    # The clocks of Berlin go forward on 31 March 2030.
    time_parser = TimeParser(datetime(2030, 3, 29, 8, 0, tzinfo=UTC), BERLIN)
    assert to_wire(time_parser.parse("in 3 days at 9:00")) == "2030-04-01 07:00"
    assert to_wire(time_parser.parse("in 72 hours")) == "2030-04-01 08:00"


def test_a_local_time_that_does_not_exist_is_refused_with_the_one_that_does() -> None:
    with pytest.raises(InvalidInput, match=r"does not exist in Europe/Berlin.*write 03:30"):
        TimeParser(NOW, BERLIN).parse("2030-03-31 02:30")


def test_a_local_time_that_exists_twice_is_refused_with_both() -> None:
    with pytest.raises(InvalidInput, match=r"twice.*2030-10-27T02:30\+02:00 or 2030-10-27T02:30\+01:00"):
        TimeParser(NOW, BERLIN).parse("2030-10-27 02:30")
    assert to_wire(TimeParser(NOW, BERLIN).parse("2030-10-27T02:30+01:00")) == "2030-10-27 01:30"


minutes = st.integers(0, 50_000_000).map(
    lambda number: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(minutes, offsets)
def test_every_iso_moment_is_read_as_itself(moment: datetime, offset: timezone) -> None:
    local = moment.astimezone(offset)
    assert TimeParser(NOW).parse(local.isoformat()) == moment
    assert TimeParser(NOW).parse(local.isoformat(sep=" ", timespec="minutes")) == moment


@given(minutes)
def test_the_wire_form_is_read_as_itself(moment: datetime) -> None:
    assert TimeParser(NOW).parse(to_wire(moment)) == moment
    assert from_wire(to_wire(moment)) == moment


@given(st.text(max_size=30))
def test_whatever_is_typed_gives_a_moment_or_a_sentence(typed: str) -> None:
    try:
        moment = TimeParser(NOW, BERLIN).parse(typed)
    except InvalidInput as refusal:
        assert str(refusal)
    else:
        assert moment.tzinfo is UTC


# fmt: off
WORDS = [
    "in", "+", "at", "on", "next", "this", "today", "tomorrow", "monday", "fri", "noon", "9:00", "9am", "2",
    "h", "2h", "2030-01-31", "T", "Z", "local", "UTC", "Europe/Berlin", "99999999999", "-1", "0", "24:00",
    "31", "10000", "weeks", "an", "hour", "half", "tonight", "week", "month", "year", "y", "CET", "IST",
    "CEST", "from", "now",
]
# fmt: on


@given(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join))
def test_whatever_words_come_together_give_a_moment_or_a_sentence(typed: str) -> None:
    try:
        assert TimeParser(NOW, BERLIN).parse(typed).second == 0
    except InvalidInput as refusal:
        assert str(refusal)


def test_a_moment_without_zone_never_goes_on_the_wire() -> None:
    with pytest.raises(ValueError, match="time zone"):
        to_wire(datetime(2030, 1, 1))  # noqa: DTZ001 (that is the point)
