"""Two regions of one cloud over HTTP, with everything real but the hardware, since version 1.26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blazar_sandbox.faults import Effect, Fault

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.26"}
TIMES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}
ELSEWHERE = "RegionTwo"
IN_TWO = '["==", "$region", "RegionTwo"]'
IN_ONE = '["==", "$region", "RegionOne"]'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("regions"), hosts=2, more_regions=[ELSEWHERE])
    yield at
    at.stop()


@pytest.fixture(scope="module")
def hosts(site: Sandboxed) -> dict[str, Any]:
    """The id of one host in each region, of the same name."""
    first = ask(site, "POST", "/v1/os-hosts", json={"name": "compute-01"}, user="admin")
    second = ask(site, "POST", "/v1/os-hosts", json={"name": "compute-01", "region": ELSEWHERE}, user="admin")
    assert [each.status_code for each in (first, second)] == [201, 201], (first.text, second.text)
    return {each.json["host"]["region"]: each.json["host"]["id"] for each in (first, second)}


@pytest.fixture
def at(site: Sandboxed, hosts: dict[str, Any]) -> Iterator[Sandboxed]:
    yield site
    site.state.faults.clear()
    for lease in ask(site, "GET", "/v1/leases").json["leases"]:
        assert ask(site, "DELETE", f"/v1/leases/{lease['id']}").status_code == 204
    assert until(lambda: not ask(site, "GET", "/v1/leases").json["leases"])


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None) -> Any:
    return at.send(method, path, user, json=json, headers=VERSION)


def reserve(at: Sandboxed, *reservations: Any, **more: Any) -> Any:
    body = {"name": "training", **TIMES, "reservations": list(reservations) or [HOST], **more}
    return ask(at, "POST", "/v1/leases", json=body)


def regions_of(answer: Any) -> list[str | None]:
    assert answer.status_code == 201, answer.text
    return [each["region"] for each in answer.json["lease"]["reservations"]]


def aggregates(at: Sandboxed, region: str = "") -> dict[str, list[str]]:
    where = f"/{region}" if region else ""
    found = at.openstack("GET", f"{where}/compute/v2.1/os-aggregates")["aggregates"]
    return {each["name"]: each["hosts"] for each in found}


def is_active(at: Sandboxed, lease: Any) -> bool:
    found = ask(at, "GET", f"/v1/leases/{lease['id']}").json["lease"]
    assert found["status"] != "ERROR", found
    return bool(found["status"] == "ACTIVE")


def test_hosts_of_the_same_name_are_registered_in_each_region(at: Sandboxed, hosts: dict[str, Any]) -> None:
    assert set(hosts) == {"RegionOne", ELSEWHERE}
    listed = ask(at, "GET", "/v1/os-hosts", user="admin").json["hosts"]
    assert {each["region"]: each["id"] for each in listed} == hosts
    assert aggregates(at)["freepool"] == aggregates(at, ELSEWHERE)["freepool"] == ["compute-01"]
    again = ask(at, "POST", "/v1/os-hosts", "admin", {"name": "compute-01", "region": ELSEWHERE})
    unknown = ask(at, "POST", "/v1/os-hosts", "admin", {"name": "compute-02", "region": "RegionThree"})
    assert (again.status_code, unknown.status_code) == (409, 400)


def test_a_reservation_that_may_lie_anywhere_lies_where_there_is_enough(at: Sandboxed) -> None:
    assert [regions_of(reserve(at)) for _ in range(2)] == [[None], [ELSEWHERE]]
    assert reserve(at).status_code == 409


def test_a_reservation_names_its_region(at: Sandboxed) -> None:
    two = {**HOST, "resource_properties": IN_TWO}
    assert regions_of(reserve(at, two)) == [ELSEWHERE]
    refused = reserve(at, two)
    assert refused.status_code == 409
    assert "1 host matches" in refused.text


def test_a_lease_lies_in_two_regions_where_no_single_one_has_enough(at: Sandboxed) -> None:
    assert regions_of(reserve(at, HOST, HOST)) == [None, ELSEWHERE]
    assert reserve(at).status_code == 409


def test_a_refusal_tells_the_soonest_start_of_all_regions(at: Sandboxed) -> None:
    for region, end in ((IN_ONE, "2050-01-01 14:00"), (IN_TWO, "2050-01-01 13:00")):
        assert reserve(at, {**HOST, "resource_properties": region}, end_date=end).status_code == 201
    refused = reserve(at)
    assert refused.status_code == 409
    assert refused.json["first_possible_start"] == "2050-01-01T13:00:00.000000"


def test_leases_start_and_end_in_the_cloud_of_their_region(at: Sandboxed) -> None:
    made = [
        reserve(at, {**wish, "resource_properties": region}, start_date="now").json["lease"]
        for wish, region in ((HOST, IN_ONE), (INSTANCES, IN_TWO))
    ]
    assert all(until(lambda each=each: is_active(at, each)) for each in made)
    (whole,), (servers,) = ([r["id"] for r in each["reservations"]] for each in made)
    assert aggregates(at)[whole] == ["compute-01"]
    assert whole not in aggregates(at, ELSEWHERE)
    assert aggregates(at, ELSEWHERE)[servers] == ["compute-01"]
    assert servers not in aggregates(at)
    flavors = at.openstack("GET", f"/{ELSEWHERE}/compute/v2.1/flavors?is_public=None")["flavors"]
    assert servers in [each["id"] for each in flavors]
    for each in made:
        assert ask(at, "DELETE", f"/v1/leases/{each['id']}").status_code == 204
    assert until(lambda: not ask(at, "GET", "/v1/leases").json["leases"])
    assert (
        aggregates(at)
        == aggregates(at, ELSEWHERE)
        == {
            "freepool": ["compute-01"],
        }
    )


def test_a_region_that_does_not_answer_delays_no_lease_of_another(at: Sandboxed) -> None:
    fault = at.state.faults.add(Fault(effect=Effect.HANG, service=f"{ELSEWHERE}/compute"))
    stuck = reserve(at, {**HOST, "resource_properties": IN_TWO}, start_date="now").json["lease"]
    free = reserve(at, {**HOST, "resource_properties": IN_ONE}, start_date="now").json["lease"]
    assert until(lambda: is_active(at, free), 10)
    assert not is_active(at, stuck)
    at.state.faults.remove(fault.id)
    assert until(lambda: is_active(at, stuck))
