"""Tests of the calendar and its timeline."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from blazarclient.formatting.timeline import Bar, CalendarRow, Timeline, render

START = datetime(2030, 1, 7, tzinfo=UTC)
DAY = timedelta(days=1)


def bar(label: str, first: float, last: float, status: str = "PENDING") -> Bar:
    return Bar(label, "name", "lease", "reservation", status, START + DAY * first, START + DAY * last)


def resources(rows: dict[str, list[Bar]]) -> tuple[CalendarRow, ...]:
    return tuple(CalendarRow(name, tuple(bars), "host") for name, bars in rows.items())


def lines(rows: dict[str, list[Bar]], width: int = 80, **options: bool) -> list[str]:
    timeline = Timeline(resources(rows), START, START + DAY * 7, UTC)
    options = {"unicode": False, "coloured": False} | options
    return [line.plain for line in render(timeline, width, **options)]


def test_a_picture() -> None:
    rows = {
        "compute-01": [bar("training", 0, 2), bar("nightly", 2, 3)],
        "compute-02": [bar("before", -3, 1), bar("after", 6, 9)],
        "compute-03": [],
    }
    assert lines(rows, 82) == [
        "Mon 2030-01-07 00:00 to Mon 2030-01-14 00:00 UTC",
        "            'Mon 07   'Tue 08   'Wed 09   'Thu 10   'Fri 11   'Sat 12   'Sun 13",
        "compute-01 |[training==========][nightly=]" + "." * 40,
        "compute-02 |<before==]" + "." * 50 + "[after===>",
        "compute-03 |" + "." * 70,
        "3 hosts, 4 reservations; one column is 2h 24m; < and > reach beyond",
    ]


def test_names_are_shortened_to_what_fits() -> None:
    picture = lines({"h": [bar("a long name indeed", 0, 1), bar("xyz", 1, 1.2)]}, 83)
    assert picture[2].startswith("h |[a long n~][=]")
    assert "…" in lines({"h": [bar("a long name indeed", 0, 1)]}, 83, unicode=True)[2]


def test_leases_that_overlap_are_stacked_and_those_that_touch_are_not() -> None:
    picture = lines({"host": [bar("one", 0, 2), bar("two", 1, 3), bar("three", 2, 4)]}, 90)
    assert picture[2].index("one") < picture[2].index("three")
    assert "two" in picture[3]
    assert picture[3].startswith("     |")


def test_a_lease_too_short_for_a_column_is_still_seen() -> None:
    assert lines({"h": [bar("blink", 1, 1.0001)]}, 80)[2].count("#") == 1


def test_axis_in_hours_and_in_weeks() -> None:
    hours = Timeline(resources({"h": []}), START, START + timedelta(hours=8), UTC)
    assert "'03:00" in render(hours, 80, unicode=False, coloured=False)[1].plain
    weeks = Timeline(resources({"h": []}), START, START + DAY * 90, UTC)
    assert "'21 Jan" in render(weeks, 80, unicode=False, coloured=False)[1].plain


def test_days_begin_at_local_midnight_also_when_the_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2030, 3, 29, 23, tzinfo=UTC)  # midnight in Berlin, two days before the change
    picture = render(
        Timeline(resources({"h": []}), start, start + DAY * 4, berlin), 99, unicode=False, coloured=False
    )
    axis = picture[1].plain
    # 24 columns a day, one for each hour; the day of the change has only 23.
    columns = [axis.index(mark) for mark in ("'Sat 30", "'Sun 31", "'Mon 01", "'Tue 02")]
    assert [later - earlier for earlier, later in pairwise(columns)] == [24, 23, 24]


def test_colours_tell_the_status() -> None:
    rows = resources({"h": [bar("a", 0, 1, "ACTIVE"), bar("b", 2, 3, "ERROR")]})
    timeline = Timeline(rows, START, START + DAY * 7, UTC)
    line = render(timeline, 80, unicode=True, coloured=True)[2]
    assert {str(span.style) for span in line.spans} >= {"black on green", "white on red"}


texts = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=30)
bars = st.builds(
    lambda label, first, length: bar(label, first, first + length),
    texts,
    st.floats(-3, 9),
    st.floats(0.0001, 9),
)


@given(
    st.dictionaries(texts, st.lists(bars, max_size=4), min_size=1, max_size=4),
    st.integers(40, 200),
    st.booleans(),
)
def test_no_line_is_wider_than_the_terminal_whatever_the_names(
    rows: dict[str, list[Bar]], width: int, unicode: bool
) -> None:
    picture = lines(rows, width, unicode=unicode)
    legend, rest = picture[-1], picture[:-1]
    assert all(cell_len(line) <= max(width, 60) for line in rest)
    assert legend.startswith(f"{len(rows)} host")


def test_an_administrator_sees_hosts(blazar: Blazar) -> None:
    ran = blazar("calendar-show --start-date 2050-01-01 --duration 1d --width 100")
    assert ran.code == 0
    assert [line.split("|")[0].strip() for line in ran.out.splitlines()[2:-1]] == [
        "compute-0000",
        "compute-0001",
        "",
    ]
    assert ran.out.count("[a]") == 1  # an hour is three columns wide
    assert ran.err == ""


def test_a_member_sees_leases(blazar: Blazar, cloud: RecordingCloud) -> None:
    denied = samples.error(403, "Policy doesn't allow blazar:oshosts:get to be performed")
    cloud.answer("GET", "/os-hosts", 403, denied)
    ran = blazar("calendar-show --start-date '2049-12-31 20:00' --duration 1d")
    assert ran.code == 0
    assert "only administrators may see the hosts" in ran.err
    assert [line.split("|")[0].strip() for line in ran.out.splitlines()[2:-1]] == ["b", "a"]
    assert "<PENDING" in ran.out
    rows = json.loads(blazar("calendar-show --start-date 2049-12-31 --duration 2d -f json").out)
    assert [(row["row"], row["lease"], row["status"]) for row in rows] == [
        ("b", "b", "PENDING"),
        ("a", "a", "PENDING"),
    ]


def test_a_member_who_names_a_host_is_told_in_a_sentence(blazar: Blazar, cloud: RecordingCloud) -> None:
    denied = samples.error(403, "Policy doesn't allow blazar:oshosts:get to be performed")
    cloud.answer("GET", "/os-hosts", 403, denied)
    ran = blazar("calendar-show --host compute-0001")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "Only administrators may see the hosts. "
        "Without --host the calendar shows the leases of your project.\n"
    )


def test_what_is_over_is_not_shown_to_members(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer(
        "GET", "/leases", 200, {"leases": [samples.lease(status="TERMINATED"), samples.other_lease()]}
    )
    ran = blazar("calendar-show --mine --start-date 2049-01-01 --end-date 2051-01-01 -f value -c row")
    assert ran.out == "b\n"


def test_the_calendar_for_programs(blazar: Blazar) -> None:
    options = "--start-date 2050-01-01 --duration 1d --time-zone Europe/Berlin"
    rows = json.loads(blazar(f"calendar-show {options} -f json").out)
    assert rows[0] == {
        "row": "compute-0001",
        "lease": "a",
        "lease_id": samples.LEASE_ID,
        "reservation_id": "r1",
        "status": "PENDING",
        "start_date": "2050-01-01T11:00+01:00",
        "end_date": "2050-01-01T12:00+01:00",
    }
    table = list(csv.DictReader(io.StringIO(blazar(f"calendar-show {options} -f csv").out)))
    assert [row["lease"] for row in table] == ["a", "b"]
    assert json.loads(blazar("calendar-show --start-date 2040-01-01 -f json").out) == []


def test_one_host_and_a_wrong_one(blazar: Blazar) -> None:
    ran = blazar("calendar-show --host compute-0001 --start-date 2050-01-01 -f value -c row")
    assert set(ran.out.split()) == {"compute-0001"}
    ran = blazar("calendar-show --host compute-001")
    assert ran.code == 1
    assert "did you mean 'compute-0001'" in ran.err


@pytest.mark.parametrize(
    "options", ["--start-date tomorrow --end-date now", "--duration soon", "--start-date 2050-13-01"]
)
def test_windows_that_cannot_be_meant(blazar: Blazar, options: str) -> None:
    ran = blazar(f"calendar-show {options}")
    assert ran.code == 2
    assert ran.requests == []


def test_nothing_at_all(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/leases", 200, {"leases": []})
    assert "Nothing to show" in blazar("calendar-show --mine").out
