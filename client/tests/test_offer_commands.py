"""Commands that ask when a lease could be had, and that hold it."""

from __future__ import annotations

import json

import pytest
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

HOST = "--reservation resource_type=physical:host,min=1,max=1"
ANSWERS = {
    "answers": [
        {
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T16:30:00.000000",
            "duration": 270,
            "changes": ["start"],
            "description": "starts 3 hours later",
            "reservations": [{"resource_type": "physical:host", "units": 1}],
            "lease": {"start_date": "2030-01-08 12:00", "end_date": "2030-01-08 16:30", "reservations": []},
        }
    ],
    "reason": "Not enough hosts available.",
    "cut_short": True,
}


def test_a_question_for_availability_asks_for_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/availability", 200, {"availability": ANSWERS})
    ran = blazar(
        f"availability-show {HOST} --earliest-start 'tomorrow 9:00' --latest-start 2030-01-31 "
        "--duration 4h30m --min-duration 1h -f json"
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.6"
    assert sent.body["start"] == {"earliest": "2030-01-08 09:00", "latest": "2030-01-31 00:00"}
    assert sent.body["duration"] == {"wanted": 270, "minimum": 60}
    assert [each["resource_type"] for each in sent.body["lease"]["reservations"]] == ["physical:host"]
    assert json.loads(ran.out) == [
        {
            "rank": 1,
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T16:30:00.000000",
            "duration": "4h 30m",
            "reservations": "1 physical:host",
            "description": "starts 3 hours later",
        }
    ]
    assert "Not as asked for: Not enough hosts available." in ran.err
    assert "The search was cut short" in ran.err


def test_a_question_without_reservations_is_not_sent(blazar: Blazar) -> None:
    ran = blazar("availability-show")
    assert (ran.code, ran.requests) == (2, [])
    assert "there is nothing to look for" in ran.err


OFFER = {
    "id": "5e1f0000-0000-4000-8000-00000000000a",
    "user_id": "u",
    "project_id": "p",
    "start_date": "2030-01-08T09:00:00.000000",
    "end_date": "2030-01-08T13:00:00.000000",
    "expires_at": "2030-01-07T10:10:00.000000",
    "created_at": "2030-01-07 10:00:00",
    "reservations": [{"resource_type": "physical:host", "min": 1, "max": 1}],
    "planned": [{"resource_type": "physical:host", "units": 1}],
}


def test_an_offer_asks_for_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/offers", 201, {"offer": OFFER})
    ran = blazar(
        f"offer-create {HOST} --start-date 'tomorrow 9:00' --duration 4h --hold 10m -f json --native"
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.4"
    body = {key: value for key, value in sent.body.items() if key != "reservations"}
    assert body == {
        "start_date": "2030-01-08 09:00",
        "end_date": "2030-01-08 13:00",
        "duration": None,
        "latest_end": None,
        "hold": 10,
    }
    assert [each["resource_type"] for each in sent.body["reservations"]] == ["physical:host"]
    assert json.loads(ran.out)["expires_at"] == OFFER["expires_at"]


def test_offers_are_listed_shown_and_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/offers", 200, {"offers": [OFFER]})
    cloud.answer("GET", f"/offers/{OFFER['id']}", 200, {"offer": OFFER})
    cloud.answer("DELETE", f"/offers/{OFFER['id']}", 204, None)
    listed = blazar("offer-list -f json")
    assert json.loads(listed.out)[0]["planned"] == "1 physical:host"
    shown = blazar(f"offer-show {OFFER['id']} -f value -c expires_at")
    assert shown.out == f"{OFFER['expires_at']}\n"
    deleted = blazar(f"offer-delete {OFFER['id']}")
    assert deleted.out == f"Deleted offer: {OFFER['id']}\n"
    for ran in (listed, shown, deleted):
        assert [each.headers["openstack-api-version"] for each in ran.requests] == ["reservation 1.4"]


def test_a_lease_takes_what_an_offer_holds(blazar: Blazar) -> None:
    ran = blazar(f"lease-create --offer {OFFER['id']} --before-end-date 'tomorrow 12:00' x")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.4"
    assert sent.body == {"name": "x", "offer": OFFER["id"], "before_end_date": "2030-01-08 12:00"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--duration 4h", "--duration"),
        ("--start-date now", "--start-date"),
        ("--earliest", "--earliest"),
        ("--dry-run", "--dry-run"),
        (HOST, "--reservation"),
    ],
)
def test_what_an_offer_says_already_is_not_sent(blazar: Blazar, options: str, named: str) -> None:
    ran = blazar(f"lease-create --offer x {options} name")
    assert (ran.code, ran.requests) == (2, [])
    assert f"an offer has its times and its reservations: leave out {named}" in ran.err


def test_an_offer_of_nothing_is_not_sent(blazar: Blazar) -> None:
    ran = blazar("offer-create")
    assert (ran.code, ran.requests) == (2, [])
    assert "there is nothing to hold" in ran.err
