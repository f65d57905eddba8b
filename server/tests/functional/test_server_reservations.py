"""Reservations of servers on a cloud that is asked over HTTP: the server waits shelved, comes back onto the
host that is kept for it, and is gone after its end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from requests import HTTPError

from blazar.conf.manager import SHIPPED

from .sandboxed import Sandboxed, until
from .test_slots import COMPUTE, INSTANCE, Site

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
CAPACITY = 64
"""Servers of one VCPU each that the calendar lets onto compute-01."""


@pytest.fixture
def site(tmp_path: Any) -> Iterator[Site]:
    """A service with one of the cloud's two hosts."""
    plugins = ", ".join([*SHIPPED, "instance.server.plugin"])
    sandboxed = Sandboxed(tmp_path, hosts=2, plugins=plugins)
    try:
        answer = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"})
        assert answer.status_code == 201, answer.text
        yield Site(sandboxed)
    finally:
        sandboxed.stop()


def adopted(server: Any, **more: Any) -> dict[str, Any]:
    return {"resource_type": "instance:server", "server_id": server["id"], "on_end": ["shelve"], **more}


def in_minutes(site: Site, minutes: int) -> str:
    return (site.sandboxed.clock.now() + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M")


def seen(site: Site, server: Any) -> Any:
    return site.nova(f"/servers/{server['id']}")["server"]


def is_locked(site: Site, server: Any) -> bool:
    path = f"{COMPUTE}/servers/{server['id']}"
    return bool(site.ask("GET", path, version="compute 2.9")["server"]["locked"])


def is_away(site: Site, server: Any) -> bool:
    found = seen(site, server)
    return (found["status"], found["OS-EXT-STS:task_state"]) == ("SHELVED_OFFLOADED", None)


def test_from_the_ordinary_host_to_the_kept_one_and_away(site: Site) -> None:
    server = site.boot("demo", "1")
    assert server["OS-EXT-SRV-ATTR:host"] == "compute-02"
    lease = site.reserve(
        adopted(server, on_end=["create_image", "delete"]),
        start_date=in_minutes(site, 60),
        end_date=in_minutes(site, 120),
    )
    assert until(lambda: is_away(site, server)), seen(site, server)
    assert site.lease(lease)["status"] == "PENDING"
    (reservation,) = lease["reservations"]
    assert (reservation["server_name"], reservation["vcpus"], reservation["on_end"]) == (
        "server",
        1,
        ["create_image", "delete"],
    )

    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    assert seen(site, server)["status"] == "ACTIVE"
    assert seen(site, server)["OS-EXT-SRV-ATTR:host"] == "compute-01"
    assert site.sandboxed.aggregates()[reservation["id"]] == ["compute-01"]

    site.sandboxed.clock.ahead += timedelta(minutes=60)
    assert until(lambda: site.lease(lease)["status"] == "TERMINATED"), site.lease(lease)
    assert reservation["id"] not in site.sandboxed.aggregates()
    listed = site.nova("/servers?all_tenants=1")["servers"]
    assert server["id"] not in {each["id"] for each in listed}
    images = site.ask("GET", f"/image/v2/images?blazar_reservation={reservation['id']}")["images"]
    assert [(image["name"], image["owner"]) for image in images] == [("reserved_server", site.demo)]


def test_the_host_is_full_of_others_but_for_what_is_kept(site: Site) -> None:
    """Whatever else starts on the host, the server's unshelving finds its capacity."""
    server = site.boot("demo", "1")
    window = {"start_date": in_minutes(site, 60), "end_date": in_minutes(site, 120)}
    lease = site.reserve(adopted(server), **window)
    others = {**INSTANCE, "vcpus": 1, "memory_mb": 1, "disk_gb": 0}
    refused = site.post({**others, "amount": CAPACITY}, user="alt", **window)
    assert (refused.status_code, "Not enough hosts available" in refused.text) == (400, True)
    answer = site.post({**others, "amount": CAPACITY - 1}, user="alt", **window)
    assert answer.status_code == 201, answer.text
    assert until(lambda: is_away(site, server))
    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    assert seen(site, server)["OS-EXT-SRV-ATTR:host"] == "compute-01"


def test_locked_against_its_users_accidents(site: Site) -> None:
    server = site.boot("demo", "1")
    window = {"start_date": in_minutes(site, 60), "end_date": in_minutes(site, 120)}
    lease = site.reserve(adopted(server, locked=True, on_end=["delete"]), **window)
    assert lease["reservations"][0]["locked"] is True
    assert until(lambda: is_away(site, server) and is_locked(site, server))
    with pytest.raises(HTTPError, match="409"):
        site.ask("DELETE", f"{COMPUTE}/servers/{server['id']}", "demo")
    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    assert is_locked(site, server)
    site.sandboxed.clock.ahead += timedelta(minutes=60)
    assert until(lambda: site.lease(lease)["status"] == "TERMINATED"), site.lease(lease)
    assert server["id"] not in {each["id"] for each in site.nova("/servers?all_tenants=1")["servers"]}


def test_cancelled_before_the_start_it_is_its_users_again(site: Site) -> None:
    server = site.boot("demo", "1")
    lease = site.reserve(adopted(server), start_date=in_minutes(site, 60), end_date=in_minutes(site, 120))
    assert until(lambda: is_away(site, server))
    again = site.post(adopted(server), start_date=in_minutes(site, 200), end_date=in_minutes(site, 220))
    assert again.status_code == 409
    assert "is in reservation" in again.text
    assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert seen(site, server)["metadata"], "Nova lets it not be changed while it is shelved"
    assert is_away(site, server)
    again = site.reserve(adopted(server), start_date=in_minutes(site, 60), end_date=in_minutes(site, 120))
    assert site.send("DELETE", f"/v1/leases/{again['id']}", "demo").status_code == 204
    site.ask("POST", f"{COMPUTE}/servers/{server['id']}/action", "demo", json={"unshelve": None})
    assert until(lambda: seen(site, server)["status"] == "ACTIVE")
    assert seen(site, server)["OS-EXT-SRV-ATTR:host"] == "compute-02"


def test_what_users_are_told(site: Site) -> None:
    server = site.boot("demo", "1")
    theirs = site.post(adopted(server), user="alt")
    assert (theirs.status_code, f"Server {server['id']} could not be found." in theirs.text) == (404, True)
    for body, status in (
        ({"server_id": "web"}, 400),
        ({"on_end": ["stop"]}, 400),
        ({"server_id": None}, 400),
    ):
        assert site.post(adopted(server) | body).status_code == status
    assert seen(site, server)["status"] == "ACTIVE"
    assert seen(site, server)["metadata"] == {}
