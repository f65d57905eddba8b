"""Hosts that a reservation has and does not use take preemptible servers of others, and come back when its
project boots: over HTTP, with the sandbox's scheduler, which has the filter's rule and the weigher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.engine import cloud_duty
from blazar.engine.lending import LendingDuty
from blazarnova import rule

from .sandboxed import Sandboxed, until
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

COMPUTE = "/compute/v2.1"
SINCE = {"OpenStack-API-Version": "reservation 1.43"}
BEFORE = {"OpenStack-API-Version": "reservation 1.42"}
TWO = {**HOST, "min": 2, "max": 2}
LENDS = {**TWO, "lend": True}


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandboxed]:
    monkeypatch.setattr(LendingDuty, "first_wait", 0.1)
    monkeypatch.setattr(cloud_duty, "LONGEST_WAIT", 0.1)
    at = Sandboxed(
        tmp_path,
        hosts=2,
        settings=rule.Settings(allow_preemptibles=True),
        nova={"lend_idle_hosts": "true", "lend_after_minutes": 0, "lend_look_seconds": 1},
    )
    for host in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": host}).status_code == 201
    yield at
    at.stop()


def flavor(at: Sandboxed, name: str, preemptible: str = "") -> str:
    """Make a flavor of which one server fills most of a host."""
    hypervisors = at.openstack("GET", f"{COMPUTE}/os-hypervisors/detail")["hypervisors"]
    memory_mb = 5 * min(each["memory_mb"] for each in hypervisors) // 8
    body = {"flavor": {"name": name, "vcpus": 1, "ram": memory_mb, "disk": 1}}
    made = str(at.openstack("POST", f"{COMPUTE}/flavors", json=body)["flavor"]["id"])
    if preemptible:
        extra = {"extra_specs": {"blazar:preemptible": preemptible}}
        at.openstack("POST", f"{COMPUTE}/flavors/{made}/os-extra_specs", json=extra)
    return made


def reserve(at: Sandboxed, wish: Any, headers: Any = SINCE) -> Any:
    body = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [wish]}
    made = at.send("POST", "/v1/leases", "demo", json=body, headers=headers)
    assert made.status_code == 201, made.json
    path = f"/v1/leases/{made.json['lease']['id']}"
    assert until(lambda: at.send("GET", path, "demo").json["lease"]["status"] == "ACTIVE")
    return at.send("GET", path, "demo", headers=headers).json["lease"]


def host_of(server: Any) -> str:
    return str(server.get("OS-EXT-SRV-ATTR:host"))


def test_from_the_loan_to_its_return(at: Sandboxed) -> None:
    lease = reserve(at, LENDS)
    (reservation,) = lease["reservations"]
    assert (reservation["lend"], reservation["keep_free"]) == (True, 1)
    big, spare = flavor(at, "big"), flavor(at, "spare", "shelve")
    assert at.boot("alt", big)["status"] == "ERROR"
    assert until(lambda: len(at.aggregates().get("lent", ())) == 1)
    (lent,) = at.aggregates()["lent"]
    guest = at.boot("alt", spare)
    assert host_of(guest) == lent
    assert at.boot("alt", spare)["status"] == "ERROR", "the other host is kept free"

    first = at.boot("demo", big, reservation=reservation["id"])
    assert (first["status"], host_of(first) == lent) == ("ACTIVE", False)

    def shown() -> Any:
        return at.openstack("GET", f"{COMPUTE}/servers/{guest['id']}", "alt")["server"]

    assert until(lambda: shown()["status"] == "SHELVED_OFFLOADED")
    told = f"host {lent} is needed by the project that has reserved it"
    assert shown()["metadata"]["blazar_preempted"] == told
    second = at.boot("demo", big, reservation=reservation["id"])
    assert (second["status"], host_of(second)) == ("ACTIVE", lent)
    assert at.aggregates()["lent"] == []

    assert at.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert until(lambda: at.aggregates()["freepool"] == ["compute-01", "compute-02"])


def test_the_owner_says_when_it_ends(at: Sandboxed) -> None:
    lease = reserve(at, {**LENDS, "keep_free": 0})
    (reservation,) = lease["reservations"]
    spare = flavor(at, "spare", "true")
    assert until(lambda: len(at.aggregates().get("lent", ())) == 2)
    guests = [at.boot("alt", spare) for _ in range(2)]
    assert [each["status"] for each in guests] == ["ACTIVE", "ACTIVE"]
    change = {"reservations": [{"id": reservation["id"], "lend": False}]}
    answer = at.send("PUT", f"/v1/leases/{lease['id']}", "demo", json=change, headers=SINCE)
    assert answer.status_code == 200
    assert answer.json["lease"]["reservations"][0]["lend"] is False
    servers = f"{COMPUTE}/servers?all_tenants=1"
    assert until(lambda: at.openstack("GET", servers)["servers"] == [])
    assert at.aggregates()["lent"] == []


def test_versions_before_it_know_nothing_of_it(at: Sandboxed) -> None:
    lease = reserve(at, LENDS, BEFORE)
    assert "lend" not in lease["reservations"][0]
    shown = at.send("GET", f"/v1/leases/{lease['id']}", "demo", headers=SINCE).json["lease"]
    assert shown["reservations"][0]["lend"] is False


def test_a_cloud_that_lends_nothing_refuses_it(tmp_path: Path) -> None:
    at = Sandboxed(tmp_path, hosts=1)
    try:
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
        body = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00"}
        wish = {**HOST, "lend": True}
        answer = at.send("POST", "/v1/leases", "demo", json={**body, "reservations": [wish]}, headers=SINCE)
        assert answer.status_code == 400
        assert "lend no hosts" in answer.json["error_message"]
    finally:
        at.stop()
