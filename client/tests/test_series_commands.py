"""Tests of the commands of series: their requests, output and exit codes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar, FakeClock

HOST = "--reservation resource_type=physical:host,min=1,max=1"
EVERY_MONDAY = "series-create class --rule 'FREQ=WEEKLY;BYDAY=MO;COUNT=3'"
SERIES = {
    "id": "6f0a0000-0000-4000-8000-00000000000a",
    "name": "class",
    "user_id": "u",
    "project_id": "p",
    "recurrence": {
        "rule": "FREQ=WEEKLY;BYDAY=MO;COUNT=3",
        "time_zone": "Europe/Berlin",
        "except": ["2030-03-25"],
    },
    "on_conflict": "skip",
    "created_at": "2030-01-07 08:30:20",
    "updated_at": None,
}
OCCURRENCES = [
    {
        "date": "2030-03-18",
        "start_date": "2030-03-18T08:00:00.000000",
        "end_date": "2030-03-18T11:00:00.000000",
        "lease_id": samples.LEASE_ID,
        "status": "PENDING",
        "reason": None,
    },
    {
        "date": "2030-04-01",
        "start_date": "2030-04-01T07:00:00.000000",
        "end_date": "2030-04-01T10:00:00.000000",
        "lease_id": None,
        "status": None,
        "reason": "Not enough hosts available.",
    },
]
LINES = (
    f"2030-03-18  2030-03-18T09:00+01:00  2030-03-18T12:00+01:00  {samples.LEASE_ID}  PENDING\n"
    "2030-04-01  2030-04-01T09:00+02:00  2030-04-01T12:00+02:00  Not enough hosts available.\n"
)


@pytest.fixture
def series(cloud: RecordingCloud) -> str:
    """The path of a series that the cloud knows."""
    path = f"/series/{SERIES['id']}"
    shown = {"series": {**SERIES, "occurrences": OCCURRENCES}}
    cloud.answer("GET", "/series", 200, {"series": [SERIES]})
    cloud.answer("POST", "/series", 201, shown)
    for method in ("GET", "PUT"):
        cloud.answer(method, path, 200, shown)
    cloud.answer("DELETE", path, 204, None)
    return path


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (
            "--start-date '2030-03-18 9:00' --end-date '2030-03-18 12:00' --time-zone Europe/Berlin "
            "--except 2030-03-25 --except 'next monday'",
            {
                "start_date": "2030-03-18 08:00",
                "end_date": "2030-03-18 11:00",
                "recurrence": {
                    "rule": "FREQ=WEEKLY;BYDAY=MO;COUNT=3",
                    "time_zone": "Europe/Berlin",
                    "except": ["2030-03-25", "2030-01-14"],
                },
            },
        ),
        (
            "--start-date 'tomorrow 9:00' --duration 1h30m --on-conflict skip --claim-by 2h --priority low",
            {
                "claim_by": 120,
                "priority": "low",
                "start_date": "2030-01-08 09:00",
                "duration": 90,
                "on_conflict": "skip",
                "recurrence": {
                    "rule": "FREQ=WEEKLY;BYDAY=MO;COUNT=3",
                    "time_zone": "UTC",
                    "except": [],
                },
            },
        ),
    ],
)
def test_a_series_is_made(blazar: Blazar, series: str, options: str, sent: dict[str, Any]) -> None:
    ran = blazar(f"{EVERY_MONDAY} {HOST} {options} -f value -c occurrences")
    assert ran.code == 0, ran.err
    (made,) = ran.requests
    assert made.headers["openstack-api-version"] == "reservation 1.27"
    assert [each["resource_type"] for each in made.body.pop("reservations")] == ["physical:host"]
    plain = {"name": "class", "end_date": None, "duration": None, "on_conflict": "refuse"}
    assert made.body == {**plain, **sent}
    assert ran.out == "Created a new series:\n" + LINES


@pytest.mark.parametrize(
    ("is_granted", "told", "code"),
    [(True, "The series would be:", 0), (False, "The series would be refused:", 1)],
)
def test_a_dry_run_of_a_series_shows_what_can_be_had(
    blazar: Blazar, cloud: RecordingCloud, is_granted: bool, told: str, code: int
) -> None:
    shown = {name: SERIES[name] for name in ("name", "user_id", "project_id", "recurrence", "on_conflict")}
    occurrences = [
        {
            **{name: each[name] for name in ("date", "start_date", "end_date", "reason")},
            "granted": not each["reason"],
        }
        for each in OCCURRENCES
    ]
    answer = {"series": {**shown, "granted": is_granted, "occurrences": occurrences}}
    cloud.answer("POST", "/series", 200, answer)
    times = "--start-date '2030-03-18 9:00' --duration 3h --time-zone Europe/Berlin"
    ran = blazar(f"{EVERY_MONDAY} {HOST} {times} --dry-run -f value -c occurrences")
    assert ran.code == code, ran.err
    assert ran.out == f"Nothing was made. {told}\n" + LINES.replace(
        f"{samples.LEASE_ID}  PENDING", "can be had"
    )
    (sent,) = ran.requests
    assert sent.body["dry_run"] is True


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{EVERY_MONDAY} --start-date '2030-03-18 9:00' --duration 1h", "would reserve nothing"),
        (f"{EVERY_MONDAY} {HOST} --start-date '2030-03-18 9:00'", "arguments --end-date --duration"),
        (f"{EVERY_MONDAY} {HOST} --duration 1h", "arguments are required: --start-date"),
        (f"series-create class {HOST} --start-date tomorrow --duration 1h", "arguments are required: --rule"),
        (
            f"{EVERY_MONDAY} {HOST} --start-date '2030-03-18 9:00' --end-date '2030-03-18 8:00'",
            "is not after the start",
        ),
        (
            f"{EVERY_MONDAY} {HOST} --start-date tomorrow --duration 1h --time-zone Europe/Berln",
            "did you mean Europe/Berlin?",
        ),
        (f"{EVERY_MONDAY} {HOST} --start-date tomorrow --duration 1h --except someday", "is not a time"),
        (f"{EVERY_MONDAY} {HOST} --start-date tomorrow --duration 1h --claim-by 90s", "counts in minutes"),
        ("series-skip class", "there is nothing to cancel: give a day, or --cancel-after"),
    ],
)
def test_a_series_that_is_not_understood_is_not_sent(blazar: Blazar, line: str, words: str) -> None:
    ran = blazar(line)
    assert (ran.code, ran.requests) == (2, [])
    assert words in ran.err


def test_series_are_listed_and_shown(blazar: Blazar, series: str) -> None:
    listed = blazar("series-list --project p -f value -c name -c rule -c except")
    assert listed.out == "class FREQ=WEEKLY;BYDAY=MO;COUNT=3 2030-03-25\n"
    assert listed.requests[0].query == (("project_id", "p"),)
    assert blazar("series-show class -f value -c occurrences").out == LINES
    in_utc = blazar(f"series-show {SERIES['id']} -f value -c occurrences --time-zone UTC").out
    assert in_utc.startswith("2030-03-18  2030-03-18T08:00+00:00  2030-03-18T11:00+00:00  ")
    native = json.loads(blazar("series-show class -f json --native").out)
    assert (native["occurrences"], native["except"]) == (OCCURRENCES, ["2030-03-25"])
    missing = blazar("series-show clas")
    assert missing.code == 1
    assert "'clas': did you mean 'class'?" in missing.err
    assert "See what there is with `blazar series-list`." in missing.err


def test_a_series_is_looked_for_by_name_and_its_leases_by_the_series(
    blazar: Blazar, cloud: RecordingCloud, series: str
) -> None:
    asked = blazar("series-show class").requests[0]
    assert (asked.query, asked.headers["openstack-api-version"]) == (
        (("name", "class"),),
        "reservation 1.31",
    )
    lease = samples.lease(series_id=SERIES["id"], priority="low", claim_by=60)
    cloud.answer("GET", "/leases", 200, {"leases": [lease]})
    ran = blazar("lease-list --series class -f value -c id")
    assert ran.out == f"{samples.LEASE_ID}\n"
    ran = blazar(f"lease-list --series {SERIES['id']} --priority low -f value -c id -c claim_by")
    assert ran.out == f"{samples.LEASE_ID} 60\n"
    (sent,) = ran.requests
    assert sent.query == (("priority", "low"), ("series_id", SERIES["id"]))
    assert sent.headers["openstack-api-version"] == "reservation 1.31"


def test_an_unknown_name_is_told_with_the_nearest(blazar: Blazar, cloud: RecordingCloud, series: str) -> None:
    cloud.answer("GET", "/series", 200, {"series": []})
    ran = blazar("lease-list --series clas")
    assert [each.query for each in ran.requests] == [(("name", "clas"),), (("limit", "1000"),)]
    assert "Unable to find resource with name 'clas'" in ran.err


def test_days_of_a_series_are_skipped_in_its_zone(
    blazar: Blazar, cloud: RecordingCloud, series: str, clock: FakeClock
) -> None:
    clock.present = datetime(2030, 3, 31, 22, 30, tzinfo=UTC)  # Monday in Berlin, and Sunday in UTC
    ran = blazar("series-skip class 2030-03-18 today --cancel-after 2030-04-30 -f value -c name")
    assert (ran.code, ran.out) == (0, "Changed the series:\nclass\n"), ran.err
    assert ran.requests[-1].path == series
    assert ran.requests[-1].body == {"except": ["2030-03-18", "2030-04-01"], "cancel_after": "2030-04-30"}
    cloud.answer("GET", "/series", 200, {"series": [SERIES, {**SERIES, "id": samples.LEASE_ID}]})
    several = blazar("series-skip class 2030-03-18")
    assert (several.code, [each.method for each in several.requests]) == (1, ["GET"])
    assert "Use the id: `blazar series-list` shows it." in several.err


def test_days_of_a_series_are_restored(blazar: Blazar, series: str) -> None:
    ran = blazar("series-restore class 2030-04-01 'next monday' -f value -c name")
    assert (ran.code, ran.out) == (0, "Changed the series:\nclass\n"), ran.err
    assert ran.requests[-1].path == series
    assert ran.requests[-1].body == {"restore": ["2030-04-01", "2030-01-14"]}
    assert blazar("series-restore class").code == 2


def test_a_series_is_deleted_with_what_has_started_or_without(blazar: Blazar, series: str) -> None:
    ran = blazar("series-delete class --keep-started")
    assert (ran.code, ran.out) == (0, "Deleted series: class\n"), ran.err
    assert (ran.requests[-1].path, ran.requests[-1].query) == (series, (("keep_started", "true"),))
    assert blazar(f"series-delete {SERIES['id']}").requests[-1].query == ()
