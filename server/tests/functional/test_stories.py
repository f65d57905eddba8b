"""What clients go through, on the real service: the stories that official test suites and clients tell."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from .conftest import House

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?")
NINE, TEN, ELEVEN, NOON = (f"2050-12-26 {hour}:00" for hour in ("09", "10", "11", "12"))
RESERVATION = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "[]",
    "resource_properties": "[]",
}


def lease(name: str = "my-lease", start: str = TEN, end: str = ELEVEN, **more: Any) -> dict[str, Any]:
    return {"name": name, "start_date": start, "end_date": end, "before_end_date": None, "events": [], **more}


def test_hosts_are_registered_described_and_given_back(house: House) -> None:
    send = house.send
    too_long = send("POST", "/v1/os-hosts", "admin", json={"name": "compute-1", "k" * 65: "v"})
    assert (too_long.status_code, too_long.json["error_message"]) == (400, "Extra capability key too long")

    made = send("POST", "/v1/os-hosts", "admin", json={"name": "compute-1", "gpu": True, "n": 5})
    assert made.status_code == 201
    host = made.json["host"]
    assert STAMP.fullmatch(host.pop("created_at"))
    host.pop("updated_at")
    assert host == {
        "id": "1",
        "vcpus": 8,
        "cpu_info": "{}",
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8000000,
        "hypervisor_hostname": "compute-1",
        "service_name": "compute-1",
        "memory_mb": 16384,
        "local_gb": 100,
        "status": None,
        "availability_zone": "nova",
        "trust_id": None,
        "reservable": True,
        "gpu": "True",
        "n": "5",
    }
    again = send("POST", "/v1/os-hosts", "admin", json={"name": "compute-1"})
    assert (again.status_code, again.json["error_name"]) == (409, 409)
    unknown = send("POST", "/v1/os-hosts", "admin", json={"name": "compute"})
    assert (unknown.status_code, unknown.json["error_message"]) == (404, "Host 'compute' not found!")
    assert len(send("GET", "/v1/os-hosts", "admin").json["hosts"]) == 1

    changed = send("PUT", "/v1/os-hosts/1", "admin", json={"gpu": None, "rack": "r1"})
    assert {key: changed.json["host"].get(key) for key in ("gpu", "n", "rack")} == {
        "gpu": None,
        "n": "5",
        "rack": "r1",
    }
    assert "gpu" not in changed.json["host"]

    private = send("PATCH", "/v1/os-hosts/properties/rack", "admin", json={"private": True})
    assert private.json["resource_property"]["private"] is True
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?", private.json["resource_property"]["updated_at"]
    )
    listed = send("GET", "/v1/os-hosts/properties", "admin")
    assert listed.json == {"resource_properties": [{"property": "n"}]}
    listed = send("GET", "/v1/os-hosts/properties", "admin", query_string="detail=True&all=True")
    assert listed.json["resource_properties"] == [
        {"property": "n", "private": False, "values": ["5"]},
        {"property": "rack", "private": True, "values": ["r1"]},
    ]

    assert send("DELETE", "/v1/os-hosts/1", "admin").status_code == 204
    assert send("GET", "/v1/os-hosts", "admin").json == {"hosts": []}
    gone = send("DELETE", "/v1/os-hosts/1", "admin")
    assert (gone.status_code, gone.json["error_message"]) == (404, "Object with {'host_id': '1'} not found")


def test_a_lease_without_reservations(house: House) -> None:
    send = house.send
    for body, message in [
        (lease(start=ELEVEN, end=TEN), "End date must be later than start date."),
        (
            lease(start="Bogus-date 13:13"),
            "Bogus-date 13:13 is an invalid date. Required format: %Y-%m-%d %H:%M",
        ),
        ({"name": "a", "start_date": TEN}, "Missing parameter end_date"),
        (lease(start="2020-01-01 10:00"), "Start date must be later than current date"),
    ]:
        refused = send("POST", "/v1/leases", json=body)
        assert (refused.status_code, refused.json["error_message"]) == (400, message)

    made = send("POST", "/v1/leases", json=lease())
    assert made.status_code == 201
    assert send("GET", "/v1/leases").json == {"leases": [made.json["lease"]]}
    assert send("DELETE", f"/v1/leases/{made.json['lease']['id']}").status_code == 204
    assert send("GET", "/v1/leases").json == {"leases": []}


def test_a_lease_of_a_host_from_its_making_to_its_end(house: House) -> None:
    send = house.send
    house.register("compute-1")
    made = send("POST", "/v1/leases", json=lease(reservations=[RESERVATION]))
    assert made.status_code == 201
    body = made.json["lease"]
    assert UUID(body["id"])
    (reservation,) = body["reservations"]
    assert {
        key: body[key]
        for key in body
        if key not in ("id", "events", "reservations", "created_at", "updated_at")
    } == {
        "name": "my-lease",
        "user_id": "u1",
        "project_id": "p1",
        "start_date": "2050-12-26T10:00:00.000000",
        "end_date": "2050-12-26T11:00:00.000000",
        "trust_id": None,
        "status": "PENDING",
        "degraded": False,
    }
    assert set(reservation) == {
        *(
            "id",
            "lease_id",
            "resource_id",
            "resource_type",
            "status",
            "missing_resources",
            "resources_changed",
        ),
        *(
            "created_at",
            "updated_at",
            "min",
            "max",
            "hypervisor_properties",
            "resource_properties",
            "before_end",
        ),
    }
    assert (reservation["min"], reservation["before_end"], reservation["status"]) == (1, "default", "pending")
    assert {event["event_type"]: event["time"] for event in body["events"]} == {
        "start_lease": "2050-12-26T10:00:00.000000",
        "before_end_lease": "2050-12-26T10:30:00.000000",
        "end_lease": "2050-12-26T11:00:00.000000",
    }
    assert all(STAMP.fullmatch(each["created_at"]) for each in (body, reservation, *body["events"]))

    changed = send("PUT", f"/v1/leases/{body['id']}", json={"name": "renamed", "end_date": NOON})
    assert changed.status_code == 200
    assert changed.json["lease"]["name"] == "renamed"
    assert changed.json["lease"]["end_date"] == "2050-12-26T12:00:00.000000"
    assert send("GET", f"/v1/leases/{body['id']}").json == changed.json

    busy = send(
        "POST",
        "/v1/leases",
        "stranger",
        json=lease(start="2050-12-26T11:30Z", end=NOON, reservations=[RESERVATION]),
    )
    assert busy.status_code == 400
    assert busy.json["error_message"].startswith("Not enough hosts available")
    assert send("DELETE", "/v1/os-hosts/1", "admin").json["error_message"] == (
        "Can't delete host 1. The host is reserved."
    )
    assert send("DELETE", f"/v1/leases/{body['id']}").status_code == 204
    assert send("DELETE", f"/v1/leases/{body['id']}").status_code == 404
    assert send("DELETE", "/v1/os-hosts/1", "admin").status_code == 204


def test_allocations_of_two_leases_on_one_host(house: House) -> None:
    send = house.send
    house.register("compute-1", "compute-2")
    leases = [
        send("POST", "/v1/leases", json=lease(name, start, end, reservations=[RESERVATION])).json["lease"]
        for name, start, end in [("one", NINE, TEN), ("two", TEN, ELEVEN)]
    ]
    everything = send("GET", "/v1/os-hosts/allocations", "admin").json["allocations"]
    assert [each["resource_id"] for each in everything] == ["1", "2"]
    assert sorted(r["lease_id"] for each in everything for r in each["reservations"]) == sorted(
        each["id"] for each in leases
    )
    one = send("GET", "/v1/os-hosts/allocations", "admin", params={"lease_id": leases[0]["id"]}).json[
        "allocations"
    ]
    assert [r for each in one for r in each["reservations"]] == [
        {
            "id": leases[0]["reservations"][0]["id"],
            "lease_id": leases[0]["id"],
            "start_date": "2050-12-26T09:00:00.000000",
            "end_date": "2050-12-26T10:00:00.000000",
        }
    ]
    single = send("GET", "/v1/os-hosts/1/allocation", "admin").json["allocation"]
    assert single == everything[0]
    assert send("GET", "/v1/os-hosts/9/allocation", "admin").status_code == 404


def test_leases_of_other_projects_are_out_of_sight(house: House) -> None:
    send = house.send
    ours = send("POST", "/v1/leases", "member", json=lease("ours")).json["lease"]
    theirs = send("POST", "/v1/leases", "stranger", json=lease("theirs")).json["lease"]
    assert [each["name"] for each in send("GET", "/v1/leases", "colleague").json["leases"]] == ["ours"]
    assert [each["name"] for each in send("GET", "/v1/leases", "stranger").json["leases"]] == ["theirs"]
    assert len(send("GET", "/v1/leases", "admin").json["leases"]) == 2
    for method in ("GET", "PUT", "DELETE"):
        refused = send(method, f"/v1/leases/{theirs['id']}", "member", body=b"{}")
        assert refused.status_code == 404
        assert refused.json["error_message"] == f"Object with {{'lease_id': '{theirs['id']}'}} not found"
    assert send("GET", f"/v1/leases/{ours['id']}", "reader").status_code == 200
    assert send("PUT", f"/v1/leases/{theirs['id']}", "admin", json={"name": "seen"}).status_code == 200
    assert theirs["project_id"] == "p2"


def test_nobody_moves_a_lease_by_naming_its_columns(house: House) -> None:
    send = house.send
    made = send(
        "POST",
        "/v1/leases",
        json=lease(id="mine", project_id="p2", user_id="u9", status="ACTIVE", degraded=True),
    )
    stored = made.json["lease"]
    assert (stored["project_id"], stored["user_id"], stored["status"], stored["degraded"]) == (
        "p1",
        "u1",
        "PENDING",
        False,
    )
    assert stored["id"] != "mine"
    body = {"name": "b", "project_id": "p2", "user_id": "u9", "status": "TERMINATED", "trust_id": "t"}
    changed = send("PUT", f"/v1/leases/{stored['id']}", json=body).json["lease"]
    assert {key: value for key, value in changed.items() if stored[key] != value and key != "updated_at"} == {
        "name": "b"
    }
