"""A compute host is switched off while a lease is on it, and comes back: the whole story over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
MONITORING = {
    "enable_polling_monitor": True,
    "polling_interval": 1,
    "recovery_seconds": 1,
    "down_seconds_before_moving": 0,
    "max_failed_percent": 50,
}


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    sandboxed = Sandboxed(tmp_path_factory.mktemp("healing"), hosts=2, monitoring=MONITORING)
    for name in ("compute-01", "compute-02"):
        assert sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield sandboxed
    sandboxed.stop()


def lease_of(sandboxed: Sandboxed, lease_id: str) -> Any:
    return sandboxed.send("GET", f"/v1/leases/{lease_id}", "demo").json["lease"]


def reservable(sandboxed: Sandboxed) -> dict[str, bool]:
    hosts = sandboxed.send("GET", "/v1/os-hosts", "admin").json["hosts"]
    return {host["hypervisor_hostname"]: host["reservable"] for host in hosts}


@pytest.mark.parametrize("reservation", [HOST, INSTANCES], ids=["host", "instances"])
def test_a_lease_moves_from_a_host_that_is_switched_off(
    sandboxed: Sandboxed, reservation: dict[str, Any]
) -> None:
    both = {"compute-01": True, "compute-02": True}
    assert until(lambda: reservable(sandboxed) == both)
    body = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [reservation]}
    lease = sandboxed.send("POST", "/v1/leases", "demo", json=body).json["lease"]
    reservation_id = lease["reservations"][0]["id"]
    assert until(lambda: lease_of(sandboxed, lease["id"])["status"] == "ACTIVE")
    (down,) = sandboxed.aggregates()[reservation_id]
    (other,) = both.keys() - {down}

    sandboxed.set_power(down, is_on=False)
    assert until(lambda: reservable(sandboxed) == {down: False, other: True})
    assert until(lambda: sandboxed.aggregates()[reservation_id] == [other])
    assert until(lambda: not lease_of(sandboxed, lease["id"])["degraded"])
    moved = lease_of(sandboxed, lease["id"])["reservations"][0]
    assert (moved["missing_resources"], moved["resources_changed"]) == (False, False)
    if reservation is INSTANCES:
        assert sandboxed.boot("demo", reservation_id)["OS-EXT-SRV-ATTR:host"] == other

    sandboxed.set_power(other, is_on=False)
    sandboxed.set_power(down, is_on=True)
    assert until(lambda: lease_of(sandboxed, lease["id"])["degraded"] or down in reservable(sandboxed))
    sandboxed.set_power(other, is_on=True)
    assert until(lambda: reservable(sandboxed) == both)
    assert until(lambda: not lease_of(sandboxed, lease["id"])["degraded"])
    assert sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert until(lambda: sandboxed.aggregates() == {"freepool": ["compute-01", "compute-02"]})


def test_a_lease_that_cannot_move_tells_its_owner_until_the_host_is_back(sandboxed: Sandboxed) -> None:
    both = {"compute-01": True, "compute-02": True}
    assert until(lambda: reservable(sandboxed) == both)
    body = {
        "name": "b",
        "start_date": "now",
        "end_date": "2050-01-01 11:00",
        "reservations": [{**HOST, "min": 2, "max": 2}],
    }
    lease = sandboxed.send("POST", "/v1/leases", "demo", json=body).json["lease"]
    assert until(lambda: lease_of(sandboxed, lease["id"])["status"] == "ACTIVE")
    sandboxed.set_power("compute-01", is_on=False)
    assert until(lambda: lease_of(sandboxed, lease["id"])["degraded"])
    told = lease_of(sandboxed, lease["id"])["reservations"][0]
    assert told["missing_resources"]
    assert "has failed" in told["status_reason"]
    sandboxed.set_power("compute-01", is_on=True)
    assert until(lambda: not lease_of(sandboxed, lease["id"])["degraded"])
    assert reservable(sandboxed) == both
    assert sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204


def test_health_shows_the_monitor(sandboxed: Sandboxed) -> None:
    assert sandboxed.send("GET", "/healthcheck", "demo").json["details"]["threads"]["monitor"] == "OK"
