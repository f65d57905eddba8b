"""The days of rules, compared with those that dateutil finds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import InvalidRecurrence
from blazar.domain.recurrence.days import named_days
from blazar.domain.recurrence.occurrences import Bounds, FirstOccurrence, Recurrence, expand
from blazar.domain.recurrence.rule import WEEKDAYS, parse_rule

YEARS = timedelta(days=366 * 4)
"""In which days are compared."""
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")


def numbers(high: int) -> st.SearchStrategy[str]:
    number = st.integers(1, high) | st.integers(-high, -1)
    return st.lists(number, min_size=1, max_size=3, unique=True).map(lambda found: ",".join(map(str, found)))


@st.composite
def weekdays(draw: st.DrawFn, nth: int) -> str:
    """Return days of which all have numbers, or none: dateutil wants days with both to be met twice."""
    numbers = [str(n) for n in range(-nth, nth + 1) if n] if nth and draw(st.booleans()) else [""]
    day = st.tuples(st.sampled_from(numbers), st.sampled_from(WEEKDAYS)).map("".join)
    return ",".join(draw(st.lists(day, min_size=1, max_size=4, unique=True)))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Return a rule without an end."""
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    parts = {"FREQ": frequency, "INTERVAL": str(draw(st.integers(1, 5)))}
    if draw(st.booleans()):
        parts["BYDAY"] = draw(weekdays(4 if frequency in ("MONTHLY", "YEARLY") else 0))
    if draw(st.booleans()):
        parts["BYMONTH"] = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4).map(_joined))
    if frequency != "WEEKLY" and draw(st.booleans()):
        parts["BYMONTHDAY"] = draw(numbers(31))
    # dateutil begins the first week with the first day where BYSETPOS counts, and RFC 5545 with WKST.
    if frequency in ("MONTHLY", "YEARLY") and {"BYDAY", "BYMONTHDAY"} & parts.keys() and draw(st.booleans()):
        parts["BYSETPOS"] = draw(numbers(6))
    if draw(st.booleans()):
        parts["WKST"] = draw(st.sampled_from(WEEKDAYS))
    return ";".join(f"{name}={value}" for name, value in parts.items())


def _joined(found: list[int]) -> str:
    return ",".join(map(str, found))


@settings(max_examples=examples(400))
@given(rules(), st.dates(date(9975, 1, 1), date(9985, 12, 31)))
def test_the_days_are_those_of_dateutil(rule: str, first: date) -> None:
    """The years are late ones, for dateutil looks up to the year 9999 where a rule never matches."""
    start, last = datetime(first.year, first.month, first.day), first + YEARS  # noqa: DTZ001 - as dateutil wants it
    until = f";UNTIL={last:%Y%m%d}"
    expected = [each.date() for each in rrulestr(rule + until, dtstart=start)]
    assert list(named_days(parse_rule(rule + until), first, last)) == expected


@settings(max_examples=examples(200))
@given(
    rules(),
    st.datetimes(datetime(2024, 1, 1), datetime(2032, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001
    st.integers(1, 20),
    st.sampled_from(ZONES),
    st.integers(1, 3000),
)
def test_occurrences_are_apart_in_order_and_at_the_same_local_time(
    rule: str, start: datetime, most: int, zone: str, minutes: int
) -> None:
    start = start.replace(second=0, microsecond=0)
    recurrence = Recurrence(parse_rule(f"{rule};COUNT={most}"), ZoneInfo(zone))
    bounds = Bounds(most=most, horizon=timedelta(days=800), apart=timedelta(minutes=10))
    local = start.astimezone(recurrence.zone)
    try:
        found = expand(recurrence, FirstOccurrence(start, timedelta(minutes=minutes)), bounds)
    except InvalidRecurrence:
        return
    assert len(found) == most
    assert found[0].day >= local.date()
    for one, following in pairwise(found):
        assert one.interval.end + bounds.apart <= following.interval.start
    for each in found:
        begins = each.interval.start.astimezone(recurrence.zone).replace(tzinfo=None)
        moved = begins - datetime.combine(each.day, local.time())
        assert moved in (timedelta(0), timedelta(hours=1), timedelta(minutes=30)), "skipped by the clocks"
        assert each.interval.duration == timedelta(minutes=minutes)
