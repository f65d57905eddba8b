"""Commands that show what of leases is used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

HOST = "--reservation resource_type=physical:host,min=1,max=1"


def test_a_lease_shows_what_of_it_is_used(blazar: Blazar, cloud: RecordingCloud) -> None:
    told = {"used": 1, "left": 2, "looked_at": "2030-01-01T10:00:03.120000"}
    nothing = {"used": None, "left": None, "looked_at": None}
    reservations = [
        {"id": "r1", "resource_type": "virtual:instance", "units": 3, "use": told},
        {"id": "r2", "resource_type": "physical:host", "units": 1, "use": nothing},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c use")
    assert shown.out.splitlines() == [
        "1 of 3 x virtual:instance used, 2 left (at 2030-01-01 10:00 UTC)",
        "1 x physical:host: not known",
    ]
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.22"


def test_a_lease_shows_how_much_of_volumes_is_used(blazar: Blazar, cloud: RecordingCloud) -> None:
    quantities = [
        {"name": "volume_gigabytes", "used": 500, "left": 300},
        {"name": "volumes", "used": 1, "left": 1},
    ]
    told = {"used": 1, "left": 0, "looked_at": "2030-01-01T10:00:03.120000", "quantities": quantities}
    reservations = [
        {"id": "r1", "resource_type": "storage:volume", "units": 1, "use": told},
        {"id": "r2", "resource_type": "physical:host", "units": 1, "use": {**told, "quantities": []}},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c quantities")
    assert shown.out.splitlines() == [
        "500 of 800 volume_gigabytes used, 300 left",
        "1 of 2 volumes used, 1 left",
    ]
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.42"
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease()})
    assert blazar(f"lease-show {samples.LEASE_ID} -f value -c quantities").out == "\n"


def test_a_lease_shows_what_is_only_planned(blazar: Blazar, cloud: RecordingCloud) -> None:
    reservations = [
        {"id": "r1", "resource_type": "virtual:instance", "units": 3, "bound": True},
        {"id": "r2", "resource_type": "physical:host", "units": 1, "bound": False},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c bound -c units")
    assert shown.out.splitlines() == [
        "3 x virtual:instance: bound",
        "1 x physical:host: planned",
        "3 x virtual:instance",
        "1 x physical:host",
    ]
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.23"


def test_a_lease_shows_which_servers_it_takes(blazar: Blazar, cloud: RecordingCloud) -> None:
    reservations = [
        {"id": "r1", "resource_type": "virtual:instance", "units": 3},
        {"id": "r2", "resource_type": "physical:host", "units": 1, "match": "open"},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c match")
    assert shown.out == "open\n"
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.29"


def test_a_lease_shows_what_it_lends(blazar: Blazar, cloud: RecordingCloud) -> None:
    reservations = [
        {"id": "r1", "resource_type": "virtual:instance", "units": 3},
        {"id": "r2", "resource_type": "physical:host", "units": 3, "lend": True, "keep_free": 1},
        {"id": "r3", "resource_type": "physical:host", "units": 1, "lend": False, "keep_free": 1},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c lend")
    assert shown.out == "unused hosts but 1\nnothing\n"
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.43"


USAGE_ROW = {
    "project_id": "p1",
    "user_id": None,
    "resource_type": "physical:host",
    "leases": 3,
    "no_shows": 1,
    "promised_hours": 30.0,
    "used_hours": 12.5,
    "unused_hours": 17.0,
    "unknown_hours": 0.5,
}


def test_the_usage_of_a_window_is_reported(blazar: Blazar, cloud: RecordingCloud) -> None:
    window = {"start_date": "2030-01-01T00:00:00.000000", "end_date": "2030-01-08T00:00:00.000000"}
    cloud.answer("GET", "/usage", 200, {"usage": {**window, "rows": [USAGE_ROW]}})
    ran = blazar("usage-report -f csv")
    assert ran.out.splitlines() == [
        '"project_id","resource_type","leases","no_shows","promised_hours","used_hours","unused_hours",'
        '"unknown_hours"',
        '"p1","physical:host",3,1,30.0,12.5,17.0,0.5',
    ]
    assert (
        ran.err
        == "From 2030-01-01 00:00 to 2030-01-08 00:00; one hour of one host, server or address is 1.\n"
    )
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.21"
    assert ran.requests[-1].query == ()
    asked = (
        "--start-date 2030-01-01 --end-date 2030-01-08 --project p1 --user u1 --resource-type physical:host"
    )
    ran = blazar(f"usage-report {asked} --group-by user --group-by project -f value -c user_id -c leases")
    assert dict(ran.requests[-1].query) == {
        "start_date": "2030-01-01 00:00",
        "end_date": "2030-01-08 00:00",
        "project_id": "p1",
        "user_id": "u1",
        "resource_type": "physical:host",
        "group_by": "project,user",
    }
    assert ran.out == " 3\n"
    ran = blazar("usage-report --end-date 2030-01-08 --duration 7d --group-by none -f value")
    assert dict(ran.requests[-1].query) == {
        "start_date": "2030-01-01 00:00",
        "end_date": "2030-01-08 00:00",
        "group_by": "none",
    }
    assert ran.out == "physical:host 3 1 30.0 12.5 17.0 0.5\n"


CLAIM_BY = samples.lease(claim_by=120, claim_by_date="2050-01-01T12:00:00.000000")


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (f"lease-create {HOST} --claim-by 2h x", {"name": "x", "claim_by": 120}),
        (f"lease-create {HOST} --claim-by 'half an hour' --duration 4h x", {"claim_by": 30}),
        (f"lease-create {HOST} --claim-by never --dry-run x", {"claim_by": 0, "dry_run": True}),
        (f"lease-create {HOST} --claim-by default x", {"claim_by": None}),
        (f"lease-create {HOST} --claim-by 1d --or-wait-until 'in 2 hours' x", {"claim_by": 1440}),
        ("lease-create --offer y --claim-by 2h x", {"offer": "y", "claim_by": 120}),
        (f"lease-update --claim-by 2h {samples.LEASE_ID}", {"claim_by": 120}),
        (f"lease-update --claim-by never --name y {samples.LEASE_ID}", {"claim_by": 0, "name": "y"}),
        (f"lease-update --claim-by default --dry-run {samples.LEASE_ID}", {"claim_by": None}),
    ],
)
def test_the_time_in_which_a_lease_has_to_be_used_is_sent(blazar: Blazar, line: str, more: Any) -> None:
    ran = blazar(line)
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.9"
    assert sent.body | more == sent.body


@pytest.mark.parametrize("value", ["soon", "30s", "90s", "1mo"])
def test_what_is_no_number_of_minutes_is_not_sent(blazar: Blazar, value: str) -> None:
    ran = blazar(f"lease-create {HOST} --claim-by {value} x")
    assert (ran.code, ran.requests) == (2, [])
    assert value in ran.err


def test_without_it_other_versions_are_asked_for(blazar: Blazar) -> None:
    (created,) = blazar(f"lease-create {HOST} x").requests
    (changed,) = blazar(f"lease-update --name y {samples.LEASE_ID}").requests
    for sent in (created, changed):
        assert "openstack-api-version" not in sent.headers
        assert "claim_by" not in sent.body


def test_show_tells_until_when_a_lease_has_to_be_used(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": CLAIM_BY})
    line = f"lease-show {samples.LEASE_ID} -f json -c claim_by -c claim_by_date --time-zone Europe/Berlin"
    ran = blazar(line)
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.9"
    assert json.loads(ran.out) == {"claim_by": 120, "claim_by_date": "2050-01-01T13:00+01:00"}


def test_show_with_these_columns_needs_a_service_of_version_1_9(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    path = f"/leases/{samples.LEASE_ID}"
    cloud.answer("GET", path, 406, {"error_message": "Version 1.9 is not supported by the API."})
    ran = blazar(f"lease-show {samples.LEASE_ID} -c claim_by")
    assert (ran.code, len(ran.requests)) == (1, 1)
    assert "Version 1.9 is not supported by the API." in ran.err
