"""The whole service on the sandbox cloud: a lease that starts now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .sandboxed import Sandboxed, until

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

RESERVATION = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": '["==", "$gpu", "True"]',
}


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    yield sandboxed
    sandboxed.stop()


def test_a_lease_that_starts_now(sandboxed: Sandboxed) -> None:
    send = sandboxed.send
    host = send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01", "gpu": True})
    assert host.status_code == 201
    assert host.json["host"]["hypervisor_hostname"] == "compute-01"
    assert host.json["host"]["id"].isdigit()
    assert sandboxed.aggregates() == {"freepool": ["compute-01"]}

    body = {"name": "now", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [RESERVATION]}
    made = send("POST", "/v1/leases", "demo", json=body)
    assert made.status_code == 201
    lease_id, reservation_id = made.json["lease"]["id"], made.json["lease"]["reservations"][0]["id"]
    assert until(lambda: send("GET", f"/v1/leases/{lease_id}", "demo").json["lease"]["status"] == "ACTIVE")
    lease = send("GET", f"/v1/leases/{lease_id}", "demo").json["lease"]
    assert lease["reservations"][0]["status"] == "active"
    assert {e["event_type"]: e["status"] for e in lease["events"]}["start_lease"] == "DONE"
    assert sandboxed.aggregates() == {"freepool": [], reservation_id: ["compute-01"]}

    second = send("POST", "/v1/leases", "alt", json={**body, "name": "second"})
    assert second.status_code == 400
    assert second.json["error_message"].startswith("Not enough hosts available")

    assert send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204
    assert until(lambda: sandboxed.aggregates() == {"freepool": ["compute-01"]})
    assert send("GET", "/v1/leases", "admin").json == {"leases": []}
    assert send("DELETE", f"/v1/os-hosts/{host.json['host']['id']}", "admin").status_code == 204
    assert sandboxed.aggregates() == {"freepool": []}


def test_health(sandboxed: Sandboxed) -> None:
    answer = sandboxed.send("GET", "/healthcheck", "demo")
    assert answer.status_code == 200
    assert answer.json["status"] == "OK"
