"""Commands about what tells of leases: subscriptions, feeds, mail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar, FakeClock

SUBSCRIPTION = {
    "id": "0b7d2c8e-5a41-4f6b-9e03-7c1d8a2f4b65",
    "name": "ops",
    "url": "https://receiver.example.com/leases",
    "events": ["started", "ended"],
    "status": "ACTIVE",
    "waiting": 0,
    "last_error": None,
    "created_at": "2030-01-01 10:00:00",
}


def test_a_subscription_is_made_with_its_secret(blazar: Blazar, cloud: RecordingCloud) -> None:
    made = {**SUBSCRIPTION, "secret": "whsec_eA=="}
    cloud.answer("POST", "/subscriptions", 201, {"subscription": made})
    ran = blazar(
        "subscription-create https://receiver.example.com/leases --event started --event ended --name ops "
        "--lease l1 --resource-type physical:host --all-projects -f value -c secret"
    )
    assert ran.out == "whsec_eA==\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.41"
    assert ran.requests[-1].body == {
        "url": "https://receiver.example.com/leases",
        "events": ["started", "ended"],
        "name": "ops",
        "lease_id": "l1",
        "resource_type": "physical:host",
        "all_projects": True,
    }


def test_a_subscription_to_capacity_has_a_condition(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/subscriptions", 201, {"subscription": SUBSCRIPTION})
    url = "https://receiver.example.com/leases"
    ran = blazar(
        f"subscription-create {url} --below 5 --days 3 --resource-type virtual:floatingip --quantity x"
    )
    assert ran.requests[-1].body == {
        "url": url,
        "capacity": {"below": 5, "days": 3, "quantity": "x", "resource_type": "virtual:floatingip"},
    }
    refused = blazar(f"subscription-create {url} --days 3")
    assert (refused.code != 0, refused.requests) == (True, [])
    assert "need --below" in refused.err


def test_subscriptions_are_listed_shown_changed_and_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    path = f"/subscriptions/{SUBSCRIPTION['id']}"
    cloud.answer("GET", "/subscriptions", 200, {"subscriptions": [SUBSCRIPTION]})
    cloud.answer("GET", path, 200, {"subscription": SUBSCRIPTION})
    cloud.answer("PUT", path, 200, {"subscription": SUBSCRIPTION})
    cloud.answer("DELETE", path, 204, None)
    listed = blazar("subscription-list -f json")
    assert json.loads(listed.out)[0]["events"] == "started ended"
    shown = blazar(f"subscription-show {SUBSCRIPTION['id']} -f value -c status")
    assert shown.out == "ACTIVE\n"
    changed = blazar(f"subscription-set {SUBSCRIPTION['id']} --resume --renew-secret --event ended")
    assert changed.requests[-1].body == {"events": ["ended"], "resume": True, "renew_secret": True}
    deleted = blazar(f"subscription-delete {SUBSCRIPTION['id']}")
    assert deleted.out == f"Deleted subscription: {SUBSCRIPTION['id']}\n"


FEED = {
    "id": "f1",
    "name": "ours",
    "project_id": "p1",
    "user_id": "u1",
    "scope": "project",
    "watched_project_id": "p1",
    "watched_user_id": None,
    "lease_id": None,
    "created_at": "2030-01-01 10:00:00",
}


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ("", {"scope": "project"}),
        ("--name ours --project p2", {"scope": "project", "name": "ours", "project_id": "p2"}),
        ("--mine", {"scope": "user"}),
        ("--user u2", {"scope": "user", "user_id": "u2"}),
        ("--lease l1", {"scope": "lease", "lease_id": "l1"}),
    ],
)
def test_a_feed_is_made_with_its_address(
    blazar: Blazar, cloud: RecordingCloud, options: str, body: dict[str, str]
) -> None:
    url = "https://reservation.example.com/v1/feeds/secret.ics"
    cloud.answer("POST", "/feeds", 201, {"feed": {**FEED, "url": url}})
    ran = blazar(f"feed-create {options} -f value -c url")
    assert ran.out == f"{url}\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.17"
    assert ran.requests[-1].body == body


def test_feeds_are_listed_and_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    links = [{"rel": "next", "href": "http://inner/v1/feeds?marker=f1&user_id=u1"}]
    pages = {"feeds": [FEED], "feeds_links": links}, {"feeds": [{**FEED, "id": "f2"}]}
    cloud.answer_in_turn("GET", "/feeds", (200, pages[0]), (200, pages[1]))
    listed = blazar("feed-list --user u1 -f value -c id -c scope")
    assert listed.out == "f1 project\nf2 project\n"
    assert [each.query for each in listed.requests] == [
        (("user_id", "u1"),),
        (("marker", "f1"), ("user_id", "u1")),
    ]
    cloud.answer("DELETE", "/feeds/f1", 204, None)
    deleted = blazar("feed-delete f1")
    assert deleted.out == "Deleted feed: f1\n"
    assert deleted.requests[-1].headers["openstack-api-version"] == "reservation 1.17"


MAIL = {"enabled": True, "events": ["end_soon"], "chosen": True, "daily": False, "daily_hour": 6}


def test_what_you_are_told_by_mail_is_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/mail", 200, {"mail": MAIL})
    ran = blazar("mail-show -f value -c enabled -c events")
    assert ran.out == "True\nend_soon\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.32"


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ("--event end_soon --event ended", {"events": ["end_soon", "ended"]}),
        ("--none", {"events": []}),
        ("--usual", {"events": None}),
        ("--daily", {"daily": True}),
        ("--at-once --usual", {"events": None, "daily": False}),
    ],
)
def test_you_choose_what_you_are_told_by_mail(
    blazar: Blazar, cloud: RecordingCloud, options: str, body: dict[str, Any]
) -> None:
    cloud.answer("PUT", "/mail", 200, {"mail": MAIL})
    ran = blazar(f"mail-set {options} -f value -c daily")
    assert ran.out == "False\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.32"
    assert ran.requests[-1].body == body


@pytest.mark.parametrize("options", ["", "--none --usual", "--daily --at-once"])
def test_a_choice_that_says_nothing_is_not_sent(blazar: Blazar, cloud: RecordingCloud, options: str) -> None:
    ran = blazar(f"mail-set {options}")
    assert (ran.code, ran.requests) == (2, [])


def test_subscriptions_are_read_in_pages_and_at_once_from_an_older_service(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    rows = [{**SUBSCRIPTION, "name": name} for name in ("one", "two")]
    links = [{"rel": "next", "href": "http://inner/v1/subscriptions?marker=m1"}]
    first = {"subscriptions": rows[:1], "subscriptions_links": links}
    cloud.answer_in_turn("GET", "/subscriptions", (200, first), (200, {"subscriptions": rows[1:]}))
    listed = blazar("subscription-list -f value -c name")
    assert listed.out == "one\ntwo\n"
    assert [each.headers["openstack-api-version"] for each in listed.requests] == ["reservation 1.14"] * 2
    assert [each.query for each in listed.requests] == [(), (("marker", "m1"),)]
    refused = (406, {"error_message": "Version 1.14 is not supported by the API."})
    cloud.answer_in_turn("GET", "/subscriptions", refused, (200, {"subscriptions": rows}))
    older = blazar("subscription-list -f value -c name")
    assert older.out == "one\ntwo\n"
    assert older.requests[-1].headers["openstack-api-version"] == "reservation 1.11"


STREAM_PATH = f"/subscriptions/{SUBSCRIPTION['id']}/events"
STARTED = {
    "id": "msg_7",
    "event": "started",
    "occurred_at": "2030-01-02T09:00:03.120000",
    "lease": {"id": "l1", "name": "training"},
}
LOW = {
    "id": "msg_9",
    "event": "capacity_low",
    "occurred_at": "2030-01-02T10:00:00.000000",
    "capacity": {"minimum": 3, "below": 5, "quantity": "hosts"},
}


def told(*events: dict[str, Any], retry: int = 7000) -> tuple[int, str]:
    blocks = [f"id: {each['id']}\nevent: {each['event']}\ndata: {json.dumps(each)}\n\n" for each in events]
    return 200, f": blazar\nretry: {retry}\n\n" + "".join(blocks)


def test_a_stream_is_watched_and_followed_where_it_stopped(
    blazar: Blazar, cloud: RecordingCloud, clock: FakeClock
) -> None:
    cut_off = (200, f"data: {json.dumps(STARTED)}\n")
    away = (503, {"error_message": "away"})
    cloud.answer_in_turn("GET", STREAM_PATH, told(STARTED), cut_off, away, away, told(LOW, retry=0), told())
    began = clock.now()
    ran = blazar(f"subscription-watch {SUBSCRIPTION['id']} --count 2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "2030-01-02 09:00:03 started l1 training\n2030-01-02 10:00:00 capacity_low 3 hosts (told below 5)\n"
    )
    assert [each.headers.get("last-event-id") for each in ran.requests] == [None, *["msg_7"] * 4]
    assert {each.headers["openstack-api-version"] for each in ran.requests} == {"reservation 1.16"}
    assert {each.headers["accept"] for each in ran.requests} == {"text/event-stream"}
    assert (clock.now() - began).total_seconds() == 7 + 7 + 7 + 14


def test_a_stream_is_printed_as_lines_of_json(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", STREAM_PATH, *told(STARTED, LOW))
    watch = f"subscription-watch {SUBSCRIPTION['id']} --after msg_5 --count 2"
    ran = blazar(f"{watch} -f json")
    assert [json.loads(line) for line in ran.out.splitlines()] == [STARTED, LOW]
    assert ran.requests[-1].headers["last-event-id"] == "msg_5"
    zoned = blazar(f"{watch} --time-zone America/New_York")
    assert zoned.out.splitlines()[0] == "2030-01-02 04:00:03-05:00 started l1 training"
    cloud.answer("GET", STREAM_PATH, 404, {"error_message": "There is no subscription."})
    gone = blazar(watch)
    assert (gone.code, gone.out, len(gone.requests)) == (1, "", 1)
    assert "There is no subscription." in gone.err


def test_the_notice_of_a_server_is_a_line(blazar: Blazar, cloud: RecordingCloud) -> None:
    notice = "host compute-01 is needed by a lease that starts at 2030-01-01T12:00Z"
    server = {"id": "s1", "project_id": "p1", "region": None, "notice": notice}
    event = {"id": "msg_9", "event": "preemption_notice", "occurred_at": "2030-01-01T11:30:00.5"}
    cloud.answer("GET", STREAM_PATH, *told({**event, "server": server}))
    ran = blazar(f"subscription-watch {SUBSCRIPTION['id']} --count 1")
    assert ran.out == f"2030-01-01 11:30:00 preemption_notice s1 {notice}\n"


def test_a_subscription_without_an_address_asks_for_its_version(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    cloud.answer("POST", "/subscriptions", 201, {"subscription": {**SUBSCRIPTION, "url": None}})
    ran = blazar("subscription-create --event started")
    assert (ran.requests[-1].body, ran.requests[-1].headers["openstack-api-version"]) == (
        {"events": ["started"]},
        "reservation 1.41",
    )
