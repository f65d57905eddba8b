"""The reasons of a refusal for programs, since version 1.3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Reservation
from blazar.domain.planning.plan import Cause, PartMatch, Shortage
from blazar.kinds.host import HostKind
from blazar.service.shortages import refusal_of

from .canned import Canned
from .conftest import configured, edge
from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.3"}
DATES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
SHORT = Shortage("r", "hosts", Cause.TOO_FEW, 3, matched=2, free=1, parts=(PartMatch('["==", "$a", 1]', 2),))


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name, rack in (("compute-01", "r1"), ("compute-02", "r2")):
        body = {"name": name, "rack": rack, "gpu": "1", "secret": "1"}
        assert at.send("POST", "/v1/os-hosts", "admin", json=body).status_code == 201
    private = {"private": True}
    at.send("PATCH", "/v1/os-hosts/properties/secret", "admin", json=private)
    # It names its rack, so no room is made by planning it elsewhere.
    assert create(at, {**HOST, "resource_properties": '["==", "$rack", "r1"]'}).status_code == 201
    yield at
    at.stop()


def create(at: Sandboxed, *reservations: dict[str, Any], headers: Any = VERSION) -> Any:
    body = {"name": "a", **DATES, "reservations": list(reservations)}
    return at.send("POST", "/v1/leases", "demo", json=body, headers=headers)


def test_a_shortage_tells_what_each_part_leaves_and_the_first_start(at: Sandboxed) -> None:
    asked = '["and", ["in", "$rack", "r1", "r9"], ["or", ["==", "$gpu", "1"], ["not", ["<", "$vcpus", 2]]]]'
    refusal = create(at, {**HOST, "min": 1, "max": 1, "resource_properties": asked})
    assert refusal.status_code == 409
    assert next(iter(refusal.json)) == "error_message"
    assert refusal.json["first_possible_start"] == "2050-01-01T11:00:00.000000"
    assert refusal.json["reasons"] == [
        {
            "reason": "shortage",
            "cause": "too_few",
            "resource_type": "physical:host",
            "wanted": 1,
            "matched": 1,
            "free": 0,
            "unknown_properties": [],
            "parts": [
                {"part": '["in", "$rack", "r1", "r9"]', "matched": 1},
                {"part": '["or", ["==", "$gpu", "1"], ["not", ["<", "$vcpus", "2"]]]', "matched": 2},
            ],
            "cut_short": False,
        }
    ]
    assert "first_possible_start" not in create(at, HOST, HOST, headers={}).json


def test_room_that_no_host_has_is_told(at: Sandboxed) -> None:
    (reason,) = create(at, {**INSTANCES, "vcpus": 100_000}).json["reasons"]
    assert reason["parts"] == [{"part": "room for 1 DISK_GB, 512 MEMORY_MB, 100000 VCPU", "matched": 0}]


def test_a_private_property_is_told_as_one_that_no_host_has(at: Sandboxed) -> None:
    answers = [
        create(at, {**HOST, "resource_properties": f'["==", "${name}", "1"]'}).text.replace(name, "NAME")
        for name in ("secret", "absent")
    ]
    assert answers[0] == answers[1]


def test_an_exceeded_quota_is_told(at: Sandboxed) -> None:
    project_id = at.send("GET", "/v1/leases", "demo").json["leases"][0]["project_id"]
    at.send("PUT", f"/v1/quotas/{project_id}", "admin", json={"limits": {"hosts": 1}})
    refusal = create(at, HOST)
    assert refusal.status_code == 403
    assert refusal.json["reasons"] == [
        {"reason": "quota", "limit_name": "hosts", "limit": 1, "used": 1, "asked": 1}
    ]
    assert "reasons" not in create(at, HOST, headers={}).json
    at.send("DELETE", f"/v1/quotas/{project_id}", "admin")


def test_other_refusals_and_those_of_managers_before_have_none(at: Sandboxed) -> None:
    assert "reasons" not in at.send("GET", "/v1/leases/absent", "demo", headers=VERSION).json
    service = Canned()
    service.failure = NotEnoughResources(noun="hosts", reason="2 match.")
    send = edge(service, at.conf)
    assert send("GET", "/v1/leases", headers=VERSION).json.keys() == {
        "error_message",
        "error_code",
        "error_name",
    }


def test_where_shortages_are_not_told_only_administrators_are_told_reasons(tmp_path: Path) -> None:
    service = Canned()
    kind = HostKind()
    reservation = Reservation("r", "l", "x", kind.resource_type, {})
    service.failure = refusal_of(reservation, SHORT, {kind.resource_type: kind})
    send = edge(service, configured(tmp_path, "[api]\nshortage_details = admin\n"))
    assert "reasons" not in send("GET", "/v1/leases", headers=VERSION).json
    told = send("GET", "/v1/leases", "admin", headers=VERSION).json
    assert told["reasons"][0]["parts"] == [{"part": '["==", "$a", 1]', "matched": 2}]
    assert told["first_possible_start"] is None
