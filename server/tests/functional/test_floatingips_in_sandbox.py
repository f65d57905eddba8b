"""Reserved floating IPs in the sandbox cloud's Neutron, over HTTP: given to the project, used, and taken
back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from .sandboxed import Sandboxed, until

# openstacksdk warns of its own next releases with every connection and request.
pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)
FIRST, SECOND, THIRD = (f"203.0.113.{n}" for n in (201, 202, 203))
NETWORK = "/network/v2.0"


@pytest.fixture
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=1, start_retry_seconds=0)
    for address in (FIRST, SECOND, THIRD):
        body = {"floating_network_id": sandboxed.network_id("public"), "floating_ip_address": address}
        assert sandboxed.send("POST", "/v1/floatingips", "admin", json=body).status_code == 201
    yield sandboxed
    sandboxed.stop()


def reserve(sandboxed: Sandboxed, *others: dict[str, Any], user: str = "demo", **fields: Any) -> Any:
    asked = {
        "resource_type": "virtual:floatingip",
        "network_id": sandboxed.network_id("public"),
        "amount": 1,
        **fields,
    }
    body = {
        "name": "web",
        "start_date": "now",
        "end_date": "2050-01-01 11:00",
        "reservations": [*others, asked],
    }
    return sandboxed.send("POST", "/v1/leases", user, json=body)


def soon(sandboxed: Sandboxed) -> str:
    return (sandboxed.clock.now() + timedelta(minutes=2)).strftime("%Y-%m-%d %H:%M")


def becomes(sandboxed: Sandboxed, lease: Any, status: str) -> bool:
    path = f"/v1/leases/{lease['id']}"
    return until(lambda: bool(sandboxed.send("GET", path, "admin").json["lease"]["status"] == status))


def test_an_address_is_given_used_and_taken_back(sandboxed: Sandboxed) -> None:
    assert sandboxed.floating_ips() == {}
    lease = reserve(sandboxed, amount=2, required_floatingips=[SECOND]).json["lease"]
    assert becomes(sandboxed, lease, "ACTIVE")
    given = sandboxed.floating_ips()
    assert SECOND in given
    assert len(given) == 2
    for each in given.values():
        assert each["project_id"] == sandboxed.state.project_id("demo")
        assert set(each["tags"]) == {"blazar", f"reservation:{lease['reservations'][0]['id']}"}

    body = {"port": {"network_id": sandboxed.network_id("private")}}
    port = sandboxed.openstack("POST", f"{NETWORK}/ports", json=body)["port"]
    bound = {"floatingip": {"port_id": port["id"]}}
    sandboxed.openstack("PUT", f"{NETWORK}/floatingips/{given[SECOND]['id']}", json=bound)

    assert sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert until(lambda: sandboxed.floating_ips() == {})
    assert sandboxed.openstack("GET", f"{NETWORK}/ports/{port['id']}")["port"]["id"] == port["id"]


def test_a_user_sees_and_uses_them_but_cannot_keep_them(sandboxed: Sandboxed) -> None:
    lease = reserve(sandboxed, required_floatingips=[FIRST]).json["lease"]
    assert becomes(sandboxed, lease, "ACTIVE")
    own = sandboxed.openstack("GET", f"{NETWORK}/floatingips", "demo")["floatingips"]
    assert [each["floating_ip_address"] for each in own] == [FIRST]
    path = f"{NETWORK}/floatingips/{own[0]['id']}"
    sandboxed.openstack("PUT", path, "demo", json={"floatingip": {"description": ""}})
    sandboxed.openstack("PUT", f"{path}/tags", "demo", json={"tags": []})
    sandboxed.send("PUT", f"/v1/leases/{lease['id']}", "demo", json={"end_date": soon(sandboxed)})
    sandboxed.clock.ahead += timedelta(minutes=2)
    assert becomes(sandboxed, lease, "TERMINATED")
    assert sandboxed.floating_ips() == {}


def test_an_address_that_an_operator_gave_away_is_a_reason_on_the_lease(sandboxed: Sandboxed) -> None:
    body = {"floating_network_id": sandboxed.network_id("public"), "floating_ip_address": FIRST}
    sandboxed.openstack("POST", f"{NETWORK}/floatingips", json={"floatingip": body})
    lease = reserve(sandboxed, amount=3).json["lease"]
    assert becomes(sandboxed, lease, "ERROR")
    told = sandboxed.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]
    assert told["status_reason"] == f"The floating IP {FIRST} is in use in Neutron."
    assert told["reservations"][0]["status"] == "error"
    assert list(sandboxed.floating_ips()) == [FIRST]
    assert sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert list(sandboxed.floating_ips()) == [FIRST]


def test_a_host_and_an_address_come_together_or_not_at_all(sandboxed: Sandboxed) -> None:
    assert sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    host = {
        "resource_type": "physical:host",
        "min": 1,
        "max": 1,
        "hypervisor_properties": "",
        "resource_properties": "",
    }
    refused = reserve(sandboxed, host, amount=4)
    assert refused.status_code == 400
    assert refused.json["error_message"].startswith("Not enough floating IPs available")
    assert sandboxed.aggregates() == {"freepool": ["compute-01"]}
    lease = reserve(sandboxed, host, amount=3).json["lease"]
    assert becomes(sandboxed, lease, "ACTIVE")
    assert sandboxed.aggregates() == {"freepool": [], lease["reservations"][0]["id"]: ["compute-01"]}
    assert set(sandboxed.floating_ips()) == {FIRST, SECOND, THIRD}
    assert sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert until(lambda: sandboxed.aggregates() == {"freepool": ["compute-01"]})
    assert until(lambda: sandboxed.floating_ips() == {})


def test_registration_asks_neutron_itself(sandboxed: Sandboxed) -> None:
    def register(network: str, address: str) -> tuple[int, str]:
        body = {"floating_network_id": network, "floating_ip_address": address}
        answer = sandboxed.send("POST", "/v1/floatingips", "admin", json=body)
        return answer.status_code, answer.json.get("error_message", "")

    public, private = sandboxed.network_id("public"), sandboxed.network_id("private")
    port = {"port": {"network_id": public, "fixed_ips": [{"ip_address": "203.0.113.240"}]}}
    sandboxed.openstack("POST", f"{NETWORK}/ports", json=port)
    assert register(public, "203.0.113.240") == (409, "The floating IP 203.0.113.240 is in use in Neutron.")
    assert register(public, "203.0.113.10")[0] == 400
    assert register(public, "203.0.113.1")[0] == 400
    assert register(public, "198.51.100.1")[0] == 404
    assert register(private, "10.0.0.1")[0] == 400
    assert register("00000000-0000-0000-0000-000000000000", "203.0.113.9")[0] == 400
    assert register(public, FIRST)[0] == 409
    subnet = {"network_id": public, "cidr": "198.51.100.0/28", "ip_version": 4, "gateway_ip": None}
    pools = [{"start": "198.51.100.8", "end": "198.51.100.14"}]
    sandboxed.openstack("POST", f"{NETWORK}/subnets", json={"subnet": {**subnet, "allocation_pools": pools}})
    assert register(public, "198.51.100.1")[0] == 201
