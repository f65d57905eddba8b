"""Commands for leases that start as early as can be, and for those that wait."""

from __future__ import annotations

import json

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

HOST = "--reservation resource_type=physical:host,min=1,max=1"


def test_a_lease_that_starts_as_early_as_can_be_asks_for_its_version(blazar: Blazar) -> None:
    ran = blazar(f"lease-create {HOST} --earliest --duration 4h --latest-end 2030-01-31 x")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.5"
    assert sent.headers["idempotency-key"]
    body = {key: sent.body[key] for key in ("start_date", "end_date", "duration", "latest_end")}
    assert body == {
        "start_date": "earliest",
        "end_date": None,
        "duration": 240,
        "latest_end": "2030-01-31 00:00",
    }
    assert sent.body["dry_run"] is False


@pytest.mark.parametrize(
    "options",
    [
        "--earliest --end-date 2030-01-31",
        "--earliest --before-end-date 2030-01-31",
        "--earliest --start-date now",
        "--latest-end 2030-01-31",
    ],
)
def test_times_that_need_a_known_start_are_refused(blazar: Blazar, options: str) -> None:
    ran = blazar(f"lease-create {HOST} {options} x")
    assert (ran.code, ran.requests) == (2, [])


WAITING = {
    "id": samples.LEASE_ID,
    "name": "x",
    "status": "WAITING",
    "waiting": {
        "position": 2,
        "since": "2030-01-07T10:00:00.000000",
        "until": "2030-01-09T10:00:00.000000",
        "expected_start": None,
    },
}
PLACE = {
    "lease_id": samples.LEASE_ID,
    "name": "x",
    "start_date": "2030-01-10T10:00:00.000000",
    "end_date": "2030-01-11T10:00:00.000000",
    **WAITING["waiting"],
}


def test_a_lease_that_may_wait_asks_for_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/leases", 201, {"lease": WAITING})
    ran = blazar(f"lease-create {HOST} --duration 4h --or-wait-until 'in 2 hours' -c status -f value x")
    assert ran.code == 0, ran.err
    assert ran.out == "There is not enough now. The lease waits:\nWAITING\n"
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.7"
    assert sent.headers["idempotency-key"]
    assert sent.body["on_shortage"] == {"wait_until": "2030-01-07 10:30"}
    assert (sent.body["start_date"], sent.body["end_date"]) == ("now", "2030-01-07 12:30")


def test_one_that_need_not_wait_is_told_as_any_other(blazar: Blazar) -> None:
    ran = blazar(f"lease-create {HOST} --earliest --or-wait-until 'in 2 hours' x")
    assert ran.out.startswith("Created a new lease:")
    (sent,) = ran.requests
    assert (sent.body["start_date"], sent.body["duration"]) == ("earliest", 1440)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (f"{HOST} --dry-run --or-wait-until tomorrow", "a dry run lets nothing wait"),
        ("--offer y --or-wait-until tomorrow", "leave out --or-wait-until"),
        (f"{HOST} --or-wait-until whenever", "whenever"),
    ],
)
def test_what_cannot_wait_is_not_sent(blazar: Blazar, options: str, named: str) -> None:
    ran = blazar(f"lease-create {options} x")
    assert (ran.code, ran.requests) == (2, [])
    assert named in ran.err


def test_the_waitlist_is_listed_and_changed(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/waitlist", 200, {"waitlist": [PLACE]})
    cloud.answer("PUT", f"/leases/{samples.LEASE_ID}", 200, {"lease": WAITING})
    listed = blazar("waitlist-list -f json --time-zone Europe/Berlin")
    (row,) = json.loads(listed.out)
    assert (row["position"], row["lease_id"], row["until"]) == (2, samples.LEASE_ID, "2030-01-09T11:00+01:00")
    changed = blazar(f"waitlist-set {samples.LEASE_ID} --until 'in 2 days'")
    assert changed.out == f"Lease {samples.LEASE_ID} waits until 2030-01-09T10:00 UTC.\n"
    assert changed.requests[0].body == {"on_shortage": {"wait_until": "2030-01-09 08:30"}}
    for ran in (listed, changed):
        assert [each.headers["openstack-api-version"] for each in ran.requests] == ["reservation 1.7"]


def test_only_what_waits_is_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    path = f"/leases/{samples.LEASE_ID}"
    cloud.answer("GET", path, 200, {"lease": WAITING})
    cloud.tag = '"3"'
    cloud.answer("DELETE", path, 204, None)
    ran = blazar(f"waitlist-delete {samples.LEASE_ID}")
    assert ran.out == f"Deleted lease: {samples.LEASE_ID}\n", ran.err
    assert ran.requests[-1].headers["if-match"] == '"3"'
    cloud.answer("GET", path, 200, {"lease": {**WAITING, "status": "PENDING"}})
    ran = blazar(f"waitlist-delete {samples.LEASE_ID}")
    assert ran.code == 1
    assert "The lease does not wait: it is PENDING." in ran.err
    assert [each.method for each in ran.requests] == ["GET"]
