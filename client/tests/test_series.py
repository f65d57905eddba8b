"""The calls of the library for leases that recur, as the service is asked for them."""

from __future__ import annotations

from clientkit.recorder import RecordingCloud
from keystoneauth1 import session
from keystoneauth1.identity import v3

from blazarclient.v1.client import Client
from blazarclient.v1.series import SeriesManager

SERIES = {"id": "s1", "name": "class", "occurrences": []}
HOSTS = {"resource_type": "physical:host", "min": 1, "max": 1}


def calls(cloud: RecordingCloud) -> SeriesManager:
    project = {"project_name": "demo", "user_domain_name": "Default", "project_domain_name": "Default"}
    auth = v3.Password(cloud.auth_url, username="demo", password="x", **project)
    return Client(session=session.Session(auth)).series


def test_a_series_is_made_with_a_key(cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/series", 201, {"series": SERIES})
    made = calls(cloud).create(
        "class",
        [HOSTS],
        "2030-03-18T09:00+01:00",
        duration=180,
        rule="FREQ=WEEKLY;COUNT=4",
        time_zone="Europe/Berlin",
        exceptions=["2030-03-25"],
        on_conflict="skip",
    )
    sent = cloud.requests[-1]
    assert made == SERIES
    assert sent.body == {
        "name": "class",
        "start_date": "2030-03-18T09:00+01:00",
        "end_date": None,
        "duration": 180,
        "reservations": [HOSTS],
        "recurrence": {
            "rule": "FREQ=WEEKLY;COUNT=4",
            "time_zone": "Europe/Berlin",
            "except": ["2030-03-25"],
        },
        "on_conflict": "skip",
    }
    assert sent.headers["openstack-api-version"] == "reservation 1.27"
    assert len(sent.headers["idempotency-key"]) == 36


def test_a_dry_run_has_no_key(cloud: RecordingCloud) -> None:
    shown = {"name": "class", "granted": True, "occurrences": []}
    cloud.answer("POST", "/series", 200, {"series": shown})
    dates = {"duration": 180, "rule": "FREQ=WEEKLY;COUNT=4", "time_zone": "Europe/Berlin"}
    assert calls(cloud).create("class", [HOSTS], "2030-03-18T09:00+01:00", dry_run=True, **dates) == shown
    sent = cloud.requests[-1]
    assert sent.body["dry_run"] is True
    assert sent.headers["openstack-api-version"] == "reservation 1.33"
    assert "idempotency-key" not in sent.headers


def test_series_are_listed_shown_and_cancelled(cloud: RecordingCloud) -> None:
    series = calls(cloud)
    links = [{"rel": "next", "href": "http://inner/v1/series?marker=s1"}]
    pages = {"series": [SERIES], "series_links": links}, {"series": [{**SERIES, "id": "s2"}]}
    cloud.answer_in_turn("GET", "/series", (200, pages[0]), (200, pages[1]))
    assert [each["id"] for each in series.list()] == ["s1", "s2"]
    cloud.answer("GET", "/series/s1", 200, {"series": SERIES})
    assert series.get("s1") == SERIES
    cloud.answer("PUT", "/series/s1", 200, {"series": SERIES})
    assert series.skip("s1", ["2030-04-01"], cancel_after="2030-04-30") == SERIES
    assert cloud.requests[-1].body == {"except": ["2030-04-01"], "cancel_after": "2030-04-30"}
    assert series.restore("s1", ["2030-04-01"]) == SERIES
    assert cloud.requests[-1].body == {"restore": ["2030-04-01"]}
    assert cloud.requests.pop().headers["openstack-api-version"] == "reservation 1.33"
    cloud.answer("DELETE", "/series/s1", 204, None)
    series.delete("s1", keep_started=True)
    assert cloud.requests[-1].query == (("keep_started", "true"),)
    assert {each.headers["openstack-api-version"] for each in cloud.requests if "series" in each.path} == {
        "reservation 1.27"
    }
