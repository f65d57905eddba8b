"""Durations, earliest starts and dry runs over HTTP, since version 1.3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.3"}
START = "2050-01-01 10:00"
TWO = {**HOST, "min": 2, "max": 2}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


def create(at: Sandboxed, user: str = "demo", headers: Any = VERSION, **body: Any) -> Any:
    return at.send("POST", "/v1/leases", user, json={"name": "a", **body}, headers=headers)


def delete(at: Sandboxed, lease: Any) -> None:
    assert at.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204


def test_a_lease_has_a_duration_in_place_of_its_end(at: Sandboxed) -> None:
    made = create(at, start_date=START, duration=90, reservations=[HOST])
    assert made.status_code == 201
    lease = made.json["lease"]
    assert lease["end_date"] == "2050-01-01T11:30:00.000000"
    path = f"/v1/leases/{lease['id']}"
    changed = at.send("PUT", path, "demo", json={"duration": 120}, headers=VERSION)
    assert changed.json["lease"]["end_date"] == "2050-01-01T12:00:00.000000"
    # Version 1.0 does not know it, and ignores it as any other key.
    same = at.send("PUT", path, "demo", json={"duration": 60})
    assert same.json["lease"]["end_date"] == "2050-01-01T12:00:00.000000"
    delete(at, lease)


def test_a_lease_starts_as_soon_as_there_is_enough(at: Sandboxed) -> None:
    first = create(at, start_date="now", duration=60, reservations=[TWO]).json["lease"]
    made = create(at, start_date="earliest", duration=60, reservations=[TWO, INSTANCES])
    assert made.status_code == 409  # both hosts are wanted whole, and a server needs another one
    made = create(at, start_date="earliest", duration=60, reservations=[TWO])
    assert made.status_code == 201
    lease = made.json["lease"]
    assert lease["start_date"] == first["end_date"]
    refusal = create(at, start_date="earliest", duration=60, latest_end=lease["end_date"], reservations=[TWO])
    assert refusal.status_code == 409
    assert refusal.json["error_message"].startswith("Not enough hosts available")
    delete(at, first)
    delete(at, lease)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"start_date": START}, "Give either end_date or duration."),
        ({"start_date": START, "duration": 60, "end_date": "2050-01-01 11:00"}, "Give either"),
        ({"start_date": "earliest", "end_date": "2050-01-01 11:00"}, "needs a duration"),
        ({"start_date": "earliest", "duration": 60, "before_end_date": START}, "before_end_date cannot be"),
        ({"start_date": START, "duration": 60, "latest_end": START}, "latest_end is for leases that"),
        ({"start_date": "earliest", "duration": 60, "latest_end": "2020-01-01 10:00"}, "latest end"),
        ({"start_date": START, "duration": 0}, "A duration is a number of minutes"),
        ({"start_date": START, "duration": 60, "dry_run": "yes"}, "Malformed parameter dry_run"),
        ({"duration": 60}, "Missing parameter start_date"),
    ],
)
def test_dates_that_do_not_fit_together_are_refused(at: Sandboxed, body: Any, told: str) -> None:
    refusal = create(at, reservations=[HOST], **body)
    assert refusal.status_code == 400, refusal.text
    assert told in refusal.json["error_message"]


def test_version_1_0_needs_an_end_and_makes_no_dry_runs(at: Sandboxed) -> None:
    body = {"start_date": START, "reservations": [HOST]}
    missing = create(at, headers={}, duration=60, **body)
    assert missing.json["error_message"] == "Missing parameter end_date"
    made = create(at, headers={}, end_date="2050-01-01 11:00", dry_run=True, **body)
    assert made.status_code == 201
    delete(at, made.json["lease"])


def test_a_dry_run_shows_the_lease_and_makes_nothing(at: Sandboxed) -> None:
    before = at.stored()
    body = {"start_date": START, "duration": 60, "reservations": [TWO], "dry_run": True}
    shown = create(at, **body)
    assert shown.status_code == 200
    lease = shown.json["lease"]
    assert lease.keys() >= {"name", "start_date", "end_date", "status", "reservations", "events"}
    assert "id" not in lease
    assert "resource_id" not in lease["reservations"][0]
    assert lease["planned"] == [{"resource_type": "physical:host", "units": 2}]
    planned = create(at, "admin", **body).json["lease"]["planned"]
    assert len(planned[0]["resources"]) == 2
    assert at.stored() == before
    refusal = create(at, **{**body, "reservations": [{**HOST, "min": 3, "max": 3}]})
    assert refusal.status_code == 409
    assert create(at, "viewer", **body).status_code == 403


def test_a_dry_run_of_an_update_shows_the_lease_and_changes_nothing(at: Sandboxed) -> None:
    lease = create(at, start_date=START, duration=60, reservations=[HOST]).json["lease"]
    path = f"/v1/leases/{lease['id']}"
    before = at.stored()
    body = {
        "duration": 240,
        "reservations": [{"id": lease["reservations"][0]["id"], "min": 2, "max": 2}],
        "dry_run": True,
    }
    shown = at.send("PUT", path, "demo", json=body, headers=VERSION)
    assert shown.status_code == 200
    assert shown.json["lease"]["end_date"] == "2050-01-01T14:00:00.000000"
    assert shown.json["lease"]["planned"] == [{"resource_type": "physical:host", "units": 2}]
    both = {"duration": 60, "end_date": START}
    assert at.send("PUT", path, "demo", json=both, headers=VERSION).status_code == 400
    assert at.stored() == before
    delete(at, lease)
