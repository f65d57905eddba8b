"""Recurrences: how rules are read, what is refused, and what becomes of local times where clocks change."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from blazar.domain.errors import InvalidRecurrence
from blazar.domain.recurrence.occurrences import Bounds, FirstOccurrence, Occurrence, Recurrence, expand
from blazar.domain.recurrence.rule import Frequency, RecurrenceRule, Weekday, parse_rule, zone_of

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)


def occurrences(
    rule: str,
    start: datetime,
    length: datetime | timedelta = HOUR,
    exceptions: frozenset[date] = frozenset(),
    bounds: Bounds = Bounds(),  # noqa: B008 - a frozen value
) -> tuple[Occurrence, ...]:
    recurrence = Recurrence(parse_rule(rule), BERLIN, exceptions)
    return expand(recurrence, FirstOccurrence(start, length), bounds)


def berlin(year: int, month: int, day: int, hour: int = 9, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=BERLIN)


def days(rule: str, first: date) -> list[str]:
    """Return the days with their months."""
    found = occurrences(rule, berlin(first.year, first.month, first.day))
    return [f"{each.day:%m-%d}" for each in found]


def test_a_rule_is_read() -> None:
    text = "FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO,-1FR,TU;BYMONTH=3,1;BYMONTHDAY=-1,5;BYSETPOS=-1;WKST=SU;COUNT=7"
    assert parse_rule(text) == RecurrenceRule(
        Frequency.MONTHLY,
        interval=2,
        count=7,
        weekdays=(Weekday(0, 1), Weekday(4, -1), Weekday(1)),
        month_days=(-1, 5),
        months=(1, 3),
        positions=(-1,),
        week_start=6,
    )
    assert parse_rule("rrule:freq=daily;until=20301224").until == date(2030, 12, 24)
    assert parse_rule("FREQ=DAILY;UNTIL=20301224T120000Z").until == datetime(2030, 12, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FREQ=DAILY;COUNT=3", ["01-01", "01-02", "01-03"]),
        ("FREQ=DAILY;INTERVAL=2;UNTIL=20300106", ["01-01", "01-03", "01-05"]),
        ("FREQ=WEEKLY;COUNT=2", ["01-01", "01-08"]),
        ("FREQ=WEEKLY;BYDAY=MO;COUNT=2", ["01-07", "01-14"]),  # 2030-01-01 is a Tuesday
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU;COUNT=3", ["01-01", "01-14", "01-15"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,TU;WKST=SU;COUNT=3", ["01-01", "01-13", "01-15"]),
        ("FREQ=MONTHLY;BYDAY=-1FR;COUNT=2", ["01-25", "02-22"]),
        ("FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", ["01-31", "03-31", "05-31"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", ["01-31", "02-28", "03-31"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=2", ["01-31", "02-28"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=1", ["09-13"]),
        ("FREQ=YEARLY;BYMONTH=6,3;COUNT=2", ["03-01", "06-01"]),
        ("FREQ=YEARLY;BYDAY=20MO;COUNT=1", ["05-20"]),
        ("FREQ=YEARLY;BYDAY=1SU;BYMONTH=10;COUNT=1", ["10-06"]),
    ],
)
def test_a_rule_names_days(rule: str, expected: list[str]) -> None:
    assert days(rule, date(2030, 1, 1)) == expected


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("FREQ=SECONDLY", "a rule names days"),
        ("FREQ=HOURLY;COUNT=3", "a rule names days"),
        ("FREQ=DAILY", "no end"),
        ("COUNT=3", "no FREQ"),
        ("", "not a part of a rule"),
        ("FREQ=DAILY;COUNT", "COUNT is not a part"),
        ("FREQ=DAILY;COUNT=3;COUNT=4", "COUNT twice"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20300101", "not both"),
        ("FREQ=DAILY;COUNT=0", "from 1 to"),
        ("FREQ=DAILY;COUNT=٣", "from 1 to"),
        ("FREQ=DAILY;COUNT=3;INTERVAL=99999", "from 1 to"),
        ("FREQ=DAILY;COUNT=3;BYHOUR=8", "BYHOUR is not supported"),
        ("FREQ=YEARLY;COUNT=3;BYWEEKNO=8", "BYWEEKNO is not supported"),
        ("FREQ=DAILY;COUNT=3;BYDAY=1MO", "no numbers"),
        ("FREQ=MONTHLY;COUNT=3;BYDAY=0MO", "such as MO"),
        ("FREQ=WEEKLY;COUNT=3;BYDAY=MO,XX", "such as MO"),
        ("FREQ=WEEKLY;COUNT=3;BYMONTHDAY=3", "BYMONTHDAY"),
        ("FREQ=MONTHLY;COUNT=3;BYMONTHDAY=32", "from the end"),
        ("FREQ=MONTHLY;COUNT=3;BYSETPOS=1", "BYSETPOS"),
        ("FREQ=DAILY;COUNT=3;WKST=XX", "WKST"),
        ("FREQ=DAILY;UNTIL=20301301", "UNTIL"),
        ("FREQ=DAILY;UNTIL=20300101T120000", "UNTIL"),
        ("FREQ=DAILY;COUNT=3;" + "X" * 500, "500 characters"),
    ],
)
def test_a_bad_rule_is_refused_with_its_reason(rule: str, reason: str) -> None:
    with pytest.raises(InvalidRecurrence, match=reason):
        parse_rule(rule)


@pytest.mark.parametrize(
    "name", ["", "Europe", "Europe/Atlantis", "../../etc/passwd", "/etc/localtime", "localtime", "+01:00"]
)
def test_there_is_no_such_zone(name: str) -> None:
    with pytest.raises(InvalidRecurrence, match="no time zone"):
        zone_of(name)


def test_the_local_times_stay_the_same_where_clocks_change() -> None:
    start, end = berlin(2030, 3, 29, 22), berlin(2030, 3, 30, 6)
    found = occurrences("FREQ=DAILY;COUNT=3", start, end)
    assert [each.interval.start.astimezone(BERLIN).hour for each in found] == [22, 22, 22]
    assert [each.interval.end.astimezone(BERLIN).hour for each in found] == [6, 6, 6]
    assert [each.interval.duration // HOUR for each in found] == [8, 7, 8]


def test_a_duration_stays_the_same_where_clocks_change() -> None:
    found = occurrences("FREQ=DAILY;COUNT=3", berlin(2030, 3, 29, 22), 8 * HOUR)
    assert [each.interval.duration // HOUR for each in found] == [8, 8, 8]
    assert [each.interval.end.astimezone(BERLIN).hour for each in found] == [6, 7, 6]


def test_a_start_that_clocks_skip_has_the_offset_before() -> None:
    found = occurrences("FREQ=DAILY;COUNT=2", berlin(2030, 3, 30, 2, 30))
    assert [each.interval.start for each in found] == [
        datetime(2030, 3, 30, 1, 30, tzinfo=UTC),
        datetime(2030, 3, 31, 1, 30, tzinfo=UTC),  # 2:30 is skipped: it is 3:30
    ]


@pytest.mark.parametrize("fold", [0, 1])
def test_of_a_start_that_comes_twice_the_first_one_counts(fold: int) -> None:
    start = berlin(2030, 10, 27, 2, 30).replace(fold=fold).astimezone(UTC)
    (found,) = occurrences("FREQ=DAILY;COUNT=1", start)
    assert found.interval.start == datetime(2030, 10, 27, 0, 30, tzinfo=UTC)


def test_an_occurrence_that_clocks_skip_has_to_be_left_out() -> None:
    start, end = berlin(2030, 3, 30, 2, 30), berlin(2030, 3, 30, 3)
    with pytest.raises(InvalidRecurrence, match="on 2030-03-31 nothing is left"):
        occurrences("FREQ=DAILY;COUNT=3", start, end)
    found = occurrences("FREQ=DAILY;COUNT=3", start, end, frozenset({date(2030, 3, 31)}))
    assert [each.day for each in found] == [date(2030, 3, 30), date(2030, 4, 1)]


def test_the_day_is_that_of_the_zone() -> None:
    (found,) = occurrences("FREQ=DAILY;COUNT=1", datetime(2030, 6, 1, 23, tzinfo=UTC))
    assert found.day == date(2030, 6, 2)


def test_until_is_the_last_day_or_the_last_start() -> None:
    assert len(occurrences("FREQ=DAILY;UNTIL=20300103", berlin(2030, 1, 1, 23))) == 3
    assert len(occurrences("FREQ=DAILY;UNTIL=20300103T080000Z", berlin(2030, 1, 1))) == 3
    assert len(occurrences("FREQ=DAILY;UNTIL=20300103T075959Z", berlin(2030, 1, 1))) == 2


def test_days_that_are_left_out_count() -> None:
    found = occurrences("FREQ=DAILY;COUNT=3", berlin(2030, 1, 1), exceptions=frozenset({date(2030, 1, 2)}))
    assert [each.day.day for each in found] == [1, 3]


@pytest.mark.parametrize(
    ("rule", "exceptions", "reason"),
    [
        ("FREQ=DAILY;COUNT=1", {date(2030, 1, 1)}, "no day that is not left out"),
        ("FREQ=DAILY;COUNT=1", {date(2030, 1, 2)}, "has no 2030-01-02"),
        ("FREQ=DAILY;COUNT=11", set[date](), "more than 10 days"),
        ("FREQ=DAILY;COUNT=12", {date(2030, 1, 2)}, "more than 10 days"),
        ("FREQ=DAILY;UNTIL=29990101", set[date](), "more than 10 days"),
        ("FREQ=YEARLY;COUNT=2", set[date](), "beyond 90 days"),
        ("FREQ=YEARLY;UNTIL=20320101", set[date](), "beyond 90 days"),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=1", set[date](), "beyond 90 days"),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;UNTIL=20300301", set[date](), "no day that is not left out"),
        ("FREQ=YEARLY;INTERVAL=1000;COUNT=2", set[date](), "beyond 90 days"),
    ],
)
def test_what_goes_too_far_is_refused(rule: str, exceptions: set[date], reason: str) -> None:
    bounds = Bounds(most=10, horizon=timedelta(days=90))
    with pytest.raises(InvalidRecurrence, match=reason):
        occurrences(rule, berlin(2030, 1, 1), exceptions=frozenset(exceptions), bounds=bounds)


def test_occurrences_neither_overlap_nor_lie_too_close() -> None:
    touching = occurrences("FREQ=DAILY;COUNT=2", berlin(2030, 1, 1), timedelta(days=1))
    assert touching[0].interval.end == touching[1].interval.start
    with pytest.raises(InvalidRecurrence, match="2030-01-01 and 2030-01-02 overlap"):
        occurrences("FREQ=DAILY;COUNT=2", berlin(2030, 1, 1), timedelta(days=1, minutes=1))
    cleaned = Bounds(apart=timedelta(minutes=15))
    with pytest.raises(InvalidRecurrence, match="15 minutes, in which resources are cleaned"):
        occurrences("FREQ=DAILY;COUNT=2", berlin(2030, 1, 1), timedelta(days=1), bounds=cleaned)


def test_a_rule_that_never_matches_costs_no_more_than_its_horizon() -> None:
    """Ten years are looked at in far less than what would be needed for eight thousand."""
    years = Bounds(horizon=timedelta(days=3660))
    began = time.process_time()
    with pytest.raises(InvalidRecurrence, match="beyond 3660 days"):
        occurrences("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=1", berlin(2030, 1, 1), bounds=years)
    assert time.process_time() - began < 1
