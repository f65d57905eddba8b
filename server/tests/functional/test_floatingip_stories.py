"""What clients go through with floating IPs, on the real service: from the registration to the end of the
lease."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from falcon.testing import Result

from .conftest import House
from .sandboxed import until

ADDRESSES = [f"203.0.113.{n}" for n in (101, 102, 103)]


def lease(*reservations: dict[str, Any], start: str = "2050-12-26 10:00") -> dict[str, Any]:
    # The six keys that python-blazarclient always sends.
    return {
        "name": "web",
        "start_date": start,
        "end_date": "2050-12-26 11:00",
        "reservations": list(reservations),
        "events": [],
        "before_end_date": None,
    }


def reservation(**fields: Any) -> dict[str, Any]:
    asked = {
        "resource_type": "virtual:floatingip",
        "network_id": "public",
        "amount": 1,
        "required_floatingips": [],
    }
    return asked | fields


def test_floating_ips_are_registered_listed_and_given_up(house: House) -> None:
    send = house.send
    made = house.register_floating_ip(ADDRESSES[0])
    assert UUID(made["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?", made.pop("created_at"))
    shown = send("GET", f"/v1/floatingips/{made['id']}", "reader").json["floatingip"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?", shown.pop("created_at"))
    assert (
        shown
        == made
        == {
            "id": made["id"],
            "floating_network_id": "public",
            "subnet_id": "subnet",
            "floating_ip_address": ADDRESSES[0],
            "reservable": True,
            "updated_at": None,
        }
    )
    assert [each["id"] for each in send("GET", "/v1/floatingips", "stranger").json["floatingips"]] == [
        made["id"]
    ]
    assert send("DELETE", f"/v1/floatingips/{made['id']}", "admin").status_code == 204
    assert send("GET", "/v1/floatingips").json == {"floatingips": []}
    gone = send("DELETE", f"/v1/floatingips/{made['id']}", "admin")
    assert (gone.status_code, gone.json["error_message"]) == (404, f"Floating IP {made['id']} not found.")


@pytest.mark.parametrize(
    ("network_id", "address", "status", "message"),
    [
        ("nope", "203.0.113.110", 400, "Failed to find network nope"),
        ("inside", "10.0.0.5", 400, "Network inside is not external"),
        ("public", "nope", 400, "IP address nope is invalid form."),
        ("public", "198.51.100.1", 404, "Valid subnet for the floating IP 198.51.100.1 is not found."),
        ("public", "203.0.113.50", 400, "is used in allocation_pools or gateway_ip in subnet subnet"),
        ("public", "203.0.113.1", 400, "is used in allocation_pools or gateway_ip in subnet subnet"),
        ("public", ADDRESSES[0], 409, "is already registered."),
        ("public", "203.0.113.200", 409, "is in use in Neutron."),
    ],
)
def test_what_cannot_be_registered(
    house: House, network_id: str, address: str, status: int, message: str
) -> None:
    house.cloud.add_network("inside", is_external=False)
    house.cloud.state.used_addresses.add(("public", "203.0.113.200"))
    house.register_floating_ip(ADDRESSES[0])
    body = {"floating_network_id": network_id, "floating_ip_address": address}
    answer = house.send("POST", "/v1/floatingips", "admin", json=body)
    assert (answer.status_code, answer.json["error_code"]) == (status, status)
    assert message in answer.json["error_message"]
    assert len(house.send("GET", "/v1/floatingips").json["floatingips"]) == 1


def test_a_lease_of_floating_ips_from_its_making_to_its_end(house: House) -> None:
    send = house.send
    ids = [house.register_floating_ip(address)["id"] for address in ADDRESSES]
    asked = reservation(amount="2", required_floatingips=[ADDRESSES[2]])
    made = send("POST", "/v1/leases", json=lease(asked, start="now"))
    assert made.status_code == 201
    lease_id, (body,) = made.json["lease"]["id"], made.json["lease"]["reservations"]
    varying = {"id", "lease_id", "resource_id", "created_at", "updated_at"}
    assert {key: body[key] for key in body.keys() - varying} == {
        "resource_type": "virtual:floatingip",
        "status": "pending",
        "missing_resources": False,
        "resources_changed": False,
        "network_id": "public",
        "amount": 2,
        "required_floatingips": [ADDRESSES[2]],
    }
    assert body.keys() >= varying
    assert until(lambda: send("GET", f"/v1/leases/{lease_id}").json["lease"]["status"] == "ACTIVE")
    given = list(house.cloud.state.floating_ips.values())
    assert {each.project_id for each in given} == {"p1"}
    assert len(given) == 2
    assert ADDRESSES[2] in {each.address for each in given}

    shrunk = send("PUT", f"/v1/leases/{lease_id}", json={"reservations": [{"id": body["id"], "amount": 1}]})
    assert (shrunk.status_code, shrunk.json["error_message"]) == (
        400,
        "Floating IP reservation cannot be updated with requested parameters. "
        "An active reservation keeps all of its floating IPs.",
    )
    grown = send("PUT", f"/v1/leases/{lease_id}", json={"reservations": [{"id": body["id"], "amount": 3}]})
    assert (grown.status_code, grown.json["lease"]["status"]) == (200, "ACTIVE")
    assert until(lambda: len(house.cloud.state.floating_ips) == 3)

    busy = send("POST", "/v1/leases", "stranger", json=lease(reservation()))
    assert busy.status_code == 400
    assert busy.json["error_message"].startswith(
        "Not enough floating IPs available: 3 floating IPs match, none of"
    )
    kept = send("DELETE", f"/v1/floatingips/{ids[0]}", "admin")
    assert (kept.status_code, kept.json["error_message"]) == (
        409,
        f"Can't delete floating IP {ids[0]}. The floating IP is reserved.",
    )
    assert send("DELETE", f"/v1/leases/{lease_id}").status_code == 204
    assert until(lambda: not house.cloud.state.floating_ips)
    assert send("DELETE", f"/v1/floatingips/{ids[0]}", "admin").status_code == 204


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"amount": 0}, "Malformed parameter amount"),
        ({"amount": -1}, "Malformed parameter amount"),
        ({"amount": "many"}, "Malformed parameter amount"),
        ({"amount": None}, "Missing parameter amount"),
        ({"network_id": None}, "Missing parameter network_id"),
        ({"network_id": "nope"}, "Failed to find network nope"),
        ({"network_id": "inside"}, "Network inside is not external"),
        ({"network_id": 5}, "Malformed parameter network_id"),
        ({"required_floatingips": ADDRESSES[0]}, "Malformed parameter required_floatingips"),
        ({"required_floatingips": ["x"]}, "IP address x is invalid form."),
        ({"required_floatingips": ADDRESSES[:2]}, "more than the amount of 1"),
        (
            {"required_floatingips": ["203.0.113.250"]},
            "Not enough floating IPs available: 203.0.113.250 cannot be had.",
        ),
        ({"amount": 5}, "Not enough floating IPs available"),
    ],
)
def test_what_cannot_be_reserved(house: House, fields: dict[str, Any], message: str) -> None:
    house.cloud.add_network("inside", is_external=False)
    house.register_floating_ip(ADDRESSES[0])
    house.register("compute-1")
    host = {"resource_type": "physical:host", "min": 1, "max": 1}
    whole = {**host, "hypervisor_properties": "", "resource_properties": ""}
    answer = house.send("POST", "/v1/leases", json=lease(whole, reservation(**fields)))
    assert answer.status_code == 400
    assert message in answer.json["error_message"]
    assert house.send("GET", "/v1/leases").json == {"leases": []}
    assert house.send("POST", "/v1/leases", json=lease(whole, reservation())).status_code == 201


def test_a_refused_update_leaves_an_active_lease_active(house: House) -> None:
    send = house.send
    house.register_floating_ip(ADDRESSES[0])
    made = send("POST", "/v1/leases", json=lease(reservation(), start="now")).json["lease"]
    path, own = f"/v1/leases/{made['id']}", made["reservations"][0]["id"]
    assert until(lambda: send("GET", path).json["lease"]["status"] == "ACTIVE")
    before = send("GET", path).json
    for change in (
        {"amount": 2},
        {"amount": 0},
        {"network_id": "other"},
        {"required_floatingips": [ADDRESSES[0]]},
    ):
        assert send("PUT", path, json={"reservations": [{"id": own, **change}]}).status_code == 400
        assert send("GET", path).json == before


def test_one_address_is_promised_once_however_many_ask_at_once(house: House) -> None:
    def ask(_: int) -> Result:
        # Where a plan took long for once, those behind it are told to come back.
        for _ in range(50):
            answer = house.send("POST", "/v1/leases", json=lease(reservation()))
            if answer.status_code != 503:
                break
            time.sleep(0.1)
        return answer

    house.register_floating_ip(ADDRESSES[0])
    with ThreadPoolExecutor(8) as people:
        answers = list(people.map(ask, range(8)))
    assert sorted(answer.status_code for answer in answers) == [201, *[400] * 7]
    assert len(house.send("GET", "/v1/leases").json["leases"]) == 1
