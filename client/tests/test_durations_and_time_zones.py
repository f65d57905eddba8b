"""Tests of the parsers of durations and time zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazarclient.formatting.durations import format_duration
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.time_zones import (
    local_time_zone,
    parse_time_zone,
    selected_time_zone,
    time_zone_name,
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("4h", timedelta(hours=4)),
        ("90m", timedelta(minutes=90)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("2 days", timedelta(days=2)),
        ("2 days, 3 hours and 5 minutes", timedelta(days=2, hours=3, minutes=5)),
        ("1W", timedelta(weeks=1)),
        ("30s", timedelta(seconds=30)),
        ("PT4H", timedelta(hours=4)),
        ("P1DT12H", timedelta(days=1, hours=12)),
        ("p2w", timedelta(weeks=2)),
        ("an hour", timedelta(hours=1)),
        ("a day and an hour", timedelta(days=1, hours=1)),
        ("half an hour", timedelta(minutes=30)),
        ("1y", timedelta(days=365)),
        ("2 years", timedelta(days=730)),
    ],
)
def test_durations(typed: str, meant: timedelta) -> None:
    assert parse_duration(typed) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "4",
        "h",
        "-4h",
        "0h",
        "4 moons",
        "4h tomorrow",
        "P",
        "PT",
        "P1M",
        "4h3",
        "an",
        "a",
        "half",
        "a 2h",
        "an annum",
    ],
)
def test_what_is_no_duration_is_refused_with_examples(typed: str) -> None:
    with pytest.raises(InvalidInput, match="write for example 90m"):
        parse_duration(typed)


@pytest.mark.parametrize("typed", ["a month", "2 months", "1mo", "1y 1 month"])
def test_months_are_refused_as_uncertain(typed: str) -> None:
    with pytest.raises(InvalidInput, match="months differ: write for example 30d"):
        parse_duration(typed)


def test_abbreviations_lead_to_zones() -> None:
    with pytest.raises(InvalidInput, match=r"did you mean Europe/Brussels\?"):
        parse_time_zone("CEST")
    with pytest.raises(InvalidInput, match="did you mean Asia/Kolkata, Asia/Jerusalem or Europe/Dublin"):
        parse_time_zone("IST")


def test_a_duration_beyond_all_calendars_is_refused() -> None:
    with pytest.raises(InvalidInput, match="longer than 100 years"):
        parse_duration("99999999999999999999d")


@given(st.integers(1, 10**8))
def test_what_is_shown_in_two_units_is_read_again_and_is_not_more(seconds: int) -> None:
    again = parse_duration(format_duration(timedelta(seconds=seconds)))
    assert timedelta(0) <= timedelta(seconds=seconds) - again < timedelta(days=1)


def test_durations_for_people() -> None:
    assert format_duration(timedelta(hours=25, minutes=3)) == "1d 1h"
    assert format_duration(timedelta(0)) == "0s"


def test_zone_names_are_read_and_wrong_ones_corrected() -> None:
    assert parse_time_zone("utc") is UTC
    assert str(parse_time_zone("Asia/Tokyo")) == "Asia/Tokyo"
    with pytest.raises(InvalidInput, match="did you mean Asia/Tokyo"):
        parse_time_zone("Tokio")
    with pytest.raises(InvalidInput, match="Europe/Berlin"):
        parse_time_zone("../../etc/passwd")


def test_the_local_zone_follows_the_environment_with_all_its_rules() -> None:
    zone = local_time_zone({"TZ": ":Europe/Berlin"})
    assert datetime(2030, 7, 1, 9, tzinfo=zone).utcoffset() == timedelta(hours=2)
    assert datetime(2030, 1, 1, 9, tzinfo=zone).utcoffset() == timedelta(hours=1)


def test_the_local_zone_of_a_machine_without_settings_is_known_all_the_same() -> None:
    expected = datetime.fromtimestamp(0, UTC).astimezone().utcoffset()
    if Path("/etc/localtime").is_file():
        assert local_time_zone({}) is not None
    assert datetime(1970, 1, 1, tzinfo=local_time_zone({"TZ": "CET-1CEST"})).utcoffset() == expected


def test_the_name_of_a_zone_is_what_others_know_it_by(tmp_path: Path) -> None:
    assert time_zone_name(UTC) == "UTC"
    assert time_zone_name(parse_time_zone("Asia/Tokyo")) == "Asia/Tokyo"
    rules = next(Path(each, "Asia/Tokyo") for each in TZPATH if Path(each, "Asia/Tokyo").is_file())
    with rules.open("rb") as opened:
        local = ZoneInfo.from_file(opened, key="local")
    link = tmp_path / "localtime"
    link.symlink_to(tmp_path / "zoneinfo" / "Asia" / "Tokyo")
    assert time_zone_name(local, link) == "Asia/Tokyo"
    for nameless in (local, timezone(timedelta(hours=1))):
        with pytest.raises(InvalidInput, match="give --time-zone a name"):
            time_zone_name(nameless, tmp_path / "none")


def test_utc_is_the_zone_unless_one_is_chosen() -> None:
    assert selected_time_zone(None, {}) is None
    assert str(selected_time_zone(None, {"BLAZAR_TIME_ZONE": "Asia/Tokyo"})) == "Asia/Tokyo"
    assert selected_time_zone("UTC", {"BLAZAR_TIME_ZONE": "Asia/Tokyo"}) is UTC
