"""The whole service on the sandbox cloud: a lease that starts now, and the matrix of who may do what with real tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .canned import FLOATING_IP, LEASE_ID
from .sandboxed import Sandboxed, until
from .test_policy import MATRIX, PERSONAS

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

FUTURE = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
RESERVATION = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": '["==", "$gpu", "True"]',
}
USERS = dict(zip(PERSONAS, ("admin", "demo", "colleague", "viewer", "alt", "outsider", "system"), strict=False))


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
    assert second.status_code == 409
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


@pytest.fixture
def present(sandboxed: Sandboxed) -> Iterator[dict[str, str]]:
    """What the paths of the matrix stand for: a lease of demo's, a host with a property, a floating IP."""
    made = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-02", "gpu": "True"})
    if made.status_code == 201:
        sandboxed.host_id = made.json["host"]["id"]
    lease = sandboxed.send("POST", "/v1/leases", "demo", json=FUTURE).json["lease"]
    body = {"floating_network_id": sandboxed.network_id("public"), "floating_ip_address": "203.0.113.150"}
    floatingip = sandboxed.send("POST", "/v1/floatingips", "admin", json=body).json["floatingip"]
    yield {
        LEASE_ID: lease["id"],
        "/v1/os-hosts/1": f"/v1/os-hosts/{sandboxed.host_id}",
        FLOATING_IP.id: floatingip["id"],
    }
    sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "admin")
    for each in sandboxed.send("GET", "/v1/floatingips", "admin").json["floatingips"]:
        sandboxed.send("DELETE", f"/v1/floatingips/{each['id']}", "admin")


@pytest.mark.parametrize(
    ("method", "path", "body", "user", "status"),
    [
        pytest.param(method, path, body, USERS[persona], status, id=f"{USERS[persona]} {method} {path}")
        for method, path, body, statuses in MATRIX
        for persona, status in zip(PERSONAS, statuses, strict=True)
        if persona in USERS
    ],
)
def test_matrix(
    sandboxed: Sandboxed, present: dict[str, str], method: str, path: str, body: Any, user: str, status: int
) -> None:
    for stands, real in present.items():
        path = path.replace(stands, real)
    if (method, path) == ("POST", "/v1/os-hosts"):
        body = {"name": "compute-03"}
    if (method, path) == ("POST", "/v1/floatingips"):
        body = {"floating_network_id": sandboxed.network_id("public"), "floating_ip_address": "203.0.113.151"}
    answer = sandboxed.send(method, path, user, **({"json": body} if body else {}))
    assert answer.status_code == status, answer.text
