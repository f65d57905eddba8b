"""The capacity over time over HTTP, with everything real but the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from falcon.testing import Result

from blazar.rpc.codec import Codec
from blazar.rpc.proxy import remote_service
from blazar.service.capacity import CapacityQuestion
from blazar.service.context import Caller

from .conftest import CORE, House, Send, configured
from .sandboxed import Sandboxed
from .test_calls import Wire

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.2"}
DAY = {"start_date": "2050-01-01 08:00", "end_date": "2050-01-02 08:00"}
EIGHT = "2050-01-01T08:00:00.000000"
TEN = "2050-01-01T10:00:00.000000"
NOON = "2050-01-01T12:00:00.000000"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    """Three hosts; demo has one of them from ten to noon, and two instances on another."""
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name, rack in (("compute-01", "r1"), ("compute-02", "r2"), ("compute-03", "r2")):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name, "rack": rack}).status_code == 201
    reservations = [
        {
            "resource_type": "physical:host",
            "min": 1,
            "max": 1,
            "hypervisor_properties": "",
            "resource_properties": '["==", "$rack", "r1"]',
        },
        {
            "resource_type": "virtual:instance",
            "vcpus": 2,
            "memory_mb": 1024,
            "disk_gb": 0,
            "amount": 2,
            "affinity": True,
            "resource_properties": "",
        },
    ]
    dates = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}
    lease = {"name": "layoffs", **dates, "reservations": reservations}
    assert at.send("POST", "/v1/leases", "demo", json=lease).status_code == 201
    yield at
    at.stop()


def ask(at: Sandboxed, user: str = "alt", version: Any = VERSION, **query: Any) -> Result:
    answer: Result = at.send("GET", "/v1/capacity", user, params={**DAY, **query}, headers=version)
    return answer


def capacity(at: Sandboxed, user: str = "alt", **query: Any) -> dict[str, Any]:
    answer = ask(at, user, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["capacity"]
    return found


def one(at: Sandboxed, user: str = "alt", **query: Any) -> dict[str, Any]:
    (found,) = capacity(at, user, **query)["quantities"]
    return dict(found)


def test_a_member_is_told_what_there_is_and_what_is_available(at: Sandboxed) -> None:
    answer = capacity(at, "alt", quantity="hosts")
    assert answer == {
        "start_date": EIGHT,
        "end_date": "2050-01-02T08:00:00.000000",
        "step": 1,
        "quantities": [
            {
                "name": "hosts",
                "resource_types": ["physical:host"],
                "minimum": 1,
                "throughout": 1,
                "steps": [
                    {"from": EIGHT, "total": 3, "available": 3},
                    {"from": TEN, "total": 3, "available": 1},
                    {"from": NOON, "total": 3, "available": 3},
                ],
            }
        ],
        "left_out": [],
        "density": None,
    }


def test_an_administrator_is_told_what_is_reserved_as_well(at: Sandboxed) -> None:
    steps = one(at, "admin", quantity="hosts")["steps"]
    assert steps[1] == {"from": TEN, "total": 3, "available": 1, "reserved": 2, "in_use": 0}
    vcpus = one(at, "admin", quantity="VCPU")["steps"]
    assert vcpus[1]["total"] - vcpus[1]["reserved"] == vcpus[1]["available"] < vcpus[0]["available"]


def test_names_and_owners_are_told_to_none(at: Sandboxed) -> None:
    for user in ("viewer", "demo", "alt", "admin"):
        text = ask(at, user, flavor_id="1").text
        assert "layoffs" not in text
        assert "compute-01" not in text


def test_how_many_servers_fit_is_told_host_by_host(at: Sandboxed) -> None:
    density = capacity(at, vcpus=1, memory_mb=512, disk_gb=1)["density"]
    assert density["resource_type"] == "virtual:instance"
    assert [step["from"] for step in density["steps"]] == [EIGHT, TEN, NOON]
    assert density["minimum"] == density["throughout"] == density["steps"][1]["fits"]
    assert density["minimum"] < density["steps"][0]["fits"]
    flavor = capacity(at, flavor_id="1")["density"]
    assert flavor["resource_type"] == "flavor:instance"


def test_resources_are_chosen(at: Sandboxed) -> None:
    racks = one(at, quantity="hosts", resource_properties='["==", "$rack", "r2"]')
    assert [step["available"] for step in racks["steps"]] == [2, 1, 2]
    assert one(at, quantity="hosts", traits="STORAGE_DISK_SSD")["minimum"] >= 1
    assert one(at, quantity="hosts", traits="!STORAGE_DISK_SSD,CUSTOM_NONE")["steps"][0]["total"] == 0
    assert one(at, quantity="hosts", availability_zone="mars")["steps"][0]["total"] == 0
    assert one(at, resource_type="virtual:floatingip")["name"] == "floating_ips"


def test_a_longer_step_tells_the_worst_of_its_minutes(at: Sandboxed) -> None:
    found = capacity(at, "admin", quantity="hosts", step="720")
    assert found["step"] == 720
    told = [(step["from"], step["available"], step["reserved"]) for step in found["quantities"][0]["steps"]]
    assert told == [(EIGHT, 1, 2), (NOON, 3, 0)]


def test_without_a_time_it_is_the_week_from_now_on(at: Sandboxed) -> None:
    answer = at.send("GET", "/v1/capacity", "demo", headers=VERSION)
    assert answer.status_code == 200
    assert [len(each["steps"]) for each in answer.json["capacity"]["quantities"]] == [1] * 5


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"start_date": "soon"}, "soon is an invalid date"),
        ({"end_date": "2050-13-01 10:00"}, "2050-13-01 10:00 is an invalid date"),
        ({"end_date": "2050-01-01 08:00"}, "End date must be later than start date."),
        ({"end_date": "2052-01-01 08:00"}, "The time is longer than 366 days."),
        ({"start_date": "9999-12-31 23:59", "end_date": ""}, "more than a hundred years ahead"),
        ({"step": "0"}, "Malformed parameter step: must be a number from 1 to 10080."),
        ({"step": "1.5"}, "Malformed parameter step"),
        ({"step": "-1"}, "Malformed parameter step"),
        ({"resource_type": "physical:unicorn"}, "physical:unicorn"),
        ({"quantity": "love"}, "There is no quantity love; there are hosts, vcpus"),
        ({"resource_properties": "["}, "Malformed"),
        ({"resource_properties": '["==", "$colour", "red"]'}, "No resource has the property colour."),
        ({"traits": "gpu"}, "Malformed parameter traits"),
        ({"traits": ","}, "Malformed parameter traits"),
        ({"flavor_id": "1", "vcpus": "1"}, "Ask for a flavor or for a size, not for both."),
        ({"vcpus": "1"}, "memory_mb"),
        ({"vcpus": "0", "memory_mb": "1"}, "vcpus"),
        ({"vcpus": "many", "memory_mb": "1"}, "Malformed parameter vcpus: must be a number from 0 to"),
        ({"vcpus": "9999999999", "memory_mb": "1"}, "Malformed parameter vcpus"),
        ({"flavor_id": "1", "resource_type": "physical:host"}, "has units of a size given by flavor_id"),
    ],
)
def test_what_is_wrong_is_refused_in_one_sentence(
    at: Sandboxed, query: dict[str, str], sentence: str
) -> None:
    answer = ask(at, **query)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]
    assert answer.json["error_message"].count("\n") == 0


def test_a_flavor_that_is_not_there_is_not_found(at: Sandboxed) -> None:
    answer = ask(at, flavor_id="nope")
    assert answer.status_code == 404
    assert "nope" in answer.json["error_message"]


@pytest.mark.parametrize("version", [{}, {"OpenStack-API-Version": "reservation 1.1"}])
def test_there_is_no_such_route_before_version_1_2(at: Sandboxed, version: dict[str, str]) -> None:
    answer = ask(at, version=version)
    assert answer.status_code == 404
    assert answer.json == {"error": 404, "error_message": "The requested URL was not found on the server."}


def test_the_description_says_since_when(at: Sandboxed) -> None:
    described = at.send("GET", "/v1/openapi.json", "demo").json["paths"]["/v1/capacity"]["get"]
    (version,) = (each for each in described["parameters"] if each["in"] == "header")
    assert version["schema"]["enum"][0] == "reservation 1.2"
    of_query = [each for each in described["parameters"] if each["in"] == "query"]
    assert {each["name"]: each["schema"]["type"] for each in of_query} == dict.fromkeys(
        (
            "start_date", "end_date", "step", "resource_type", "quantity", "resource_properties", "traits",
            "availability_zone", "flavor_id", "vcpus", "memory_mb", "disk_gb",
        ),
        "string",
    )  # fmt: skip


def test_operators_decide_who_is_told_what_is_reserved(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text('"blazar:capacity:get_reserved": "role:reader"\n"blazar:capacity:get": "role:member"\n')
    text = f"[database]\nconnection = sqlite:///{tmp_path}/blazar.db\n[oslo_policy]\npolicy_file = {policy}\n"
    house = House(configured(tmp_path, text), hosts=1)
    house.manager.start()
    house.register("compute-1")
    told = house.send("GET", "/v1/capacity", "member", headers=VERSION).json["capacity"]["quantities"][0]
    assert told["steps"][0].keys() == {"from", "total", "available", "reserved", "in_use"}
    assert house.send("GET", "/v1/capacity", "reader", headers=VERSION).status_code == 403
    house.manager.stop()
    house.database.engine.dispose()


def test_question_and_answer_cross_the_broker(house: House) -> None:
    house.register("compute-1", "compute-2")
    codec = Codec(CORE)
    remote = remote_service(Wire(house.manager.use_cases, codec=codec), codec)
    caller = Caller("u1", "p1", ("member",))
    question = CapacityQuestion(
        unit={"vcpus": 1, "memory_mb": 64}, forbidden_traits=("A",), tells_reserved=True
    )
    here = house.manager.use_cases.noun("capacity").get(question, caller)
    assert remote.called_by(caller).noun("capacity").get(question, caller).quantities == here.quantities


def test_nothing_is_told_without_a_token(send: Send) -> None:
    assert send("GET", "/v1/capacity", None, headers=VERSION).status_code == 401
