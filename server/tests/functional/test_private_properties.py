"""Private properties stay private: members can neither ask for them, nor see them, nor learn how many hosts
have them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.domain.errors import NotEnoughResources
from blazar.policies import LOOK_SECONDS
from blazar.service.context import Caller

from .canned import Canned
from .conftest import House, configured, edge

LEASE = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
UNHEARD = "Not enough hosts available: no host matches (none has the property {})."


@pytest.fixture
def secretive(tmp_path: Path) -> Iterator[House]:
    """Three hosts, two of which have the private property ``owner``; operators let readers see hosts."""
    policy = tmp_path / "policy.yaml"
    rules = ("get", "get_resource_properties")
    policy.write_text("".join(f'"blazar:oshosts:{rule}": "role:reader"\n' for rule in rules))
    text = f"[database]\nconnection = sqlite:///{tmp_path}/blazar.db\n[oslo_policy]\npolicy_file = {policy}\n"
    house = House(configured(tmp_path, text), hosts=3)
    house.manager.start()
    house.register("compute-1", "compute-2", "compute-3")
    for host_id, owner in (("1", "acme"), ("2", "zenith")):
        body = {"owner": owner, "gpu": 1}
        assert house.send("PUT", f"/v1/os-hosts/{host_id}", "admin", json=body).status_code == 200
    hide(house, True)
    yield house
    house.manager.stop()
    house.database.engine.dispose()


def hide(house: House, private: bool) -> None:
    patch = {"private": private}
    assert house.send("PATCH", "/v1/os-hosts/properties/owner", "admin", json=patch).status_code == 200


def reserve(house: House, requirement: str, persona: str = "member", count: int = 1, **more: Any) -> Any:
    reservation = {
        "resource_type": "physical:host",
        "min": count,
        "max": count,
        "hypervisor_properties": "",
        "resource_properties": requirement,
    }
    return house.send(
        "POST", "/v1/leases", persona, json={**LEASE, "reservations": [{**reservation, **more}]}
    )


@pytest.mark.parametrize(
    "requirement",
    [
        '["==", "$owner", "acme"]',
        '["==", "$owner", "initech"]',
        '[">=", "$owner", "b"]',
        '[">=", "$owner", "zz"]',
        '["in", "$owner", "acme", "zenith"]',
        '["not", ["==", "$owner", "acme"]]',
        '["or", ["==", "$owner", "acme"], [">=", "$vcpus", "1"]]',
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_requirement_over_one_is_answered_as_if_no_host_had_it(
    secretive: House, requirement: str, count: int
) -> None:
    for field in ("resource_properties", "hypervisor_properties"):
        answer = reserve(secretive, "", count=count, **{field: requirement})
        assert answer.status_code == 400
        assert answer.json["error_message"] == UNHEARD.format("owner")
    unheard = reserve(secretive, '["==", "$unheard", "acme"]', count=count)
    assert unheard.json["error_message"] == UNHEARD.format("unheard")


def test_instances_may_not_ask_for_one_either(secretive: House) -> None:
    small = {"vcpus": 1, "memory_mb": 512, "disk_gb": 1, "amount": 1, "affinity": None}
    body = {"resource_type": "virtual:instance", "resource_properties": '["==", "$owner", "acme"]', **small}
    answer = secretive.send("POST", "/v1/leases", json={**LEASE, "reservations": [body]})
    assert (answer.status_code, answer.json["error_message"]) == (400, UNHEARD.format("owner"))


def test_an_update_may_not_ask_for_one(secretive: House) -> None:
    lease = reserve(secretive, "").json["lease"]
    change = {"id": lease["reservations"][0]["id"], "resource_properties": '["==", "$owner", "acme"]'}
    answer = secretive.send("PUT", f"/v1/leases/{lease['id']}", json={"reservations": [change]})
    assert (answer.status_code, answer.json["error_message"]) == (400, UNHEARD.format("owner"))


def test_a_lease_that_asks_for_one_already_can_be_changed_otherwise(secretive: House) -> None:
    hide(secretive, False)
    lease = reserve(secretive, '["==", "$owner", "acme"]').json["lease"]
    hide(secretive, True)
    longer = {
        "end_date": "2050-01-01 12:00",
        "reservations": [{"id": lease["reservations"][0]["id"], "min": 1}],
    }
    assert secretive.send("PUT", f"/v1/leases/{lease['id']}", json=longer).status_code == 200
    other = {"id": lease["reservations"][0]["id"], "resource_properties": '["==", "$owner", "zenith"]'}
    refused = secretive.send("PUT", f"/v1/leases/{lease['id']}", json={"reservations": [other]})
    assert refused.json["error_message"] == UNHEARD.format("owner")


def test_administrators_may_ask_for_one(secretive: House) -> None:
    assert reserve(secretive, '["==", "$owner", "acme"]', "admin").status_code == 201


def test_what_is_public_may_be_asked_for_by_all(secretive: House) -> None:
    assert reserve(secretive, '["==", "$gpu", "1"]').status_code == 201


def test_the_host_list_shows_them_to_administrators_only(secretive: House) -> None:
    for path, key in (("/v1/os-hosts", "hosts"), ("/v1/os-hosts/1", "host")):
        seen = secretive.send("GET", path, "admin").json[key]
        assert "owner" in (seen[0] if key == "hosts" else seen)
        answer = secretive.send("GET", path, "reader")
        assert answer.status_code == 200
        assert "owner" not in answer.text
        assert '"gpu"' in answer.text
    listed = secretive.send("GET", "/v1/os-hosts/properties", "reader", query_string="all=true&detail=true")
    assert [each["property"] for each in listed.json["resource_properties"]] == ["gpu"]


@pytest.mark.parametrize(
    ("text", "persona", "details"),
    [("", "member", True), ("admin", "member", False), ("admin", "admin", True), ("all", "member", True)],
)
def test_who_is_told_numbers_and_dates(
    service: Canned, tmp_path: Path, text: str, persona: str, details: bool
) -> None:
    conf = configured(tmp_path, f"[api]\nshortage_details = {text}\n" if text else "")
    reason = "6 hosts match, none of them are free; first possible start 2050-01-01 10:00."
    service.failure = NotEnoughResources(noun="hosts", reason=reason)
    answer = edge(service, conf)("GET", "/v1/leases", persona)
    assert answer.status_code == 400
    assert answer.json["error_message"] == (
        f"Not enough hosts available: {reason}" if details else "Not enough hosts available."
    )


def test_a_rule_says_who_sees_them(secretive: House, tmp_path: Path) -> None:
    """The operator lets readers see private properties, and keeps them from administrators."""
    rule = '"blazar:oshosts:get_private_properties": "role:reader and not role:admin"\n'
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy.read_text() + rule)
    time.sleep(LOOK_SECONDS)  # it was looked at just now
    requirement = '["==", "$owner", "acme"]'

    def sees(persona: str) -> tuple[bool, bool, bool]:
        shown = secretive.send("GET", "/v1/os-hosts/1", persona).json["host"]
        listed = secretive.send("GET", "/v1/os-hosts/properties?all=1", persona).json["resource_properties"]
        answer = reserve(secretive, requirement, persona)
        names = {each["property"] for each in listed}
        if answer.status_code == 201:
            secretive.send("DELETE", f"/v1/leases/{answer.json['lease']['id']}", persona)
        return "owner" in shown, "owner" in names, answer.status_code == 201

    assert sees("member") == (True, True, True)
    assert sees("admin") == (False, False, False)


def test_a_manager_believes_an_api_of_the_version_before_about_administrators() -> None:
    """It does not ask the rule."""
    assert Caller("root", "admin", is_admin=True).sees_private_properties
    assert not Caller("u1", "p1").sees_private_properties
