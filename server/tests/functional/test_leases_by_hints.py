"""A server that is booted with a hint, on a cloud that is asked over HTTP: its user does nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from blazar.conf.manager import SHIPPED

from .sandboxed import Sandboxed, until
from .test_server_reservations import in_minutes, is_away, seen
from .test_slots import COMPUTE, Site

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")


@pytest.fixture
def site(tmp_path: Any) -> Iterator[Site]:
    """A service with one of the cloud's two hosts."""
    plugins = ", ".join([*SHIPPED, "instance.server.plugin"])
    hints = {"enabled": "true", "look_seconds": "1"}
    sandboxed = Sandboxed(tmp_path, hosts=2, plugins=plugins, lease_hints=hints)
    try:
        answer = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"})
        assert answer.status_code == 201, answer.text
        yield Site(sandboxed)
    finally:
        sandboxed.stop()


def leases(site: Site) -> Any:
    return site.send("GET", "/v1/leases", "demo").json["leases"]


def test_from_the_hint_to_the_end(site: Site) -> None:
    wanted = {"name": "hinted", "start": in_minutes(site, 60), "end": in_minutes(site, 120)}
    wanted |= {"reservation": {"on_end": ["delete"]}}
    server = site.boot("demo", "1", lease_params=json.dumps(wanted))
    assert until(lambda: leases(site)), seen(site, server)
    (lease,) = leases(site)
    assert (lease["name"], lease["project_id"], lease["trust_id"]) == ("hinted", site.demo, None)
    assert lease["user_id"] == server["user_id"]
    assert until(lambda: is_away(site, server))
    assert seen(site, server)["metadata"]["blazar_lease"] == lease["id"]
    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    assert seen(site, server)["OS-EXT-SRV-ATTR:host"] == "compute-01"
    site.sandboxed.clock.ahead += timedelta(minutes=60)
    assert until(lambda: site.lease(lease)["status"] == "TERMINATED"), site.lease(lease)
    assert site.nova("/servers?all_tenants=1")["servers"] == []


def test_its_project_has_the_image_that_the_hint_asks_for(site: Site) -> None:
    wanted = {"name": "imaged", "duration": 60, "reservation": {"on_end": ["create_image", "delete"]}}
    server = site.boot("demo", "1", lease_params=json.dumps(wanted))
    assert until(lambda: leases(site)), seen(site, server)
    (lease,) = leases(site)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "TERMINATED"), site.lease(lease)
    assert site.nova("/servers?all_tenants=1")["servers"] == []
    query = f"blazar_reservation={lease['reservations'][0]['id']}"
    (image,) = site.ask("GET", f"/image/v2/images?{query}", "demo")["images"]
    assert (image["name"], image["owner"], image["status"]) == ("reserved_server", site.demo, "active")
    assert site.ask("GET", f"/image/v2/images?{query}", "alt")["images"] == []
    assert site.ask("DELETE", f"/image/v2/images/{image['id']}", "demo") is None, "it is the project's"


def test_one_that_boots_from_a_volume_is_shelved(site: Site) -> None:
    wanted = {"name": "kept", "duration": 60, "reservation": {"on_end": ["create_image", "delete"]}}
    disk = {"source_type": "blank", "destination_type": "volume", "boot_index": 0, "volume_size": 1}
    body = {
        "server": {"name": "v", "flavorRef": "1", "networks": "none", "block_device_mapping_v2": [disk]},
        "OS-SCH-HNT:scheduler_hints": {"lease_params": json.dumps(wanted)},
    }
    server = site.ask("POST", f"{COMPUTE}/servers", "demo", version="compute 2.52", json=body)["server"]
    assert until(lambda: leases(site)), seen(site, server)
    (lease,) = leases(site)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "TERMINATED"), site.lease(lease)
    assert is_away(site, server)
    images = site.ask("GET", "/image/v2/images")["images"]
    assert not [image["name"] for image in images if image["name"].startswith("reserved_")]


def test_a_bad_hint_is_told_at_the_server(site: Site) -> None:
    server = site.boot("demo", "1", lease_params='{"name": "x", "end": "Sunday"}')
    assert until(lambda: seen(site, server)["metadata"]), seen(site, server)
    told = seen(site, server)["metadata"]["blazar_lease_error"]
    assert told == "lease_params: Sunday is an invalid date. Required format: %Y-%m-%d %H:%M"
    assert (leases(site), seen(site, server)["status"]) == ([], "ACTIVE")


def test_ordinary_servers_get_none(site: Site) -> None:
    first = site.boot("demo", "1")
    second = site.boot("demo", "1", different_host=first["id"])
    wanted = {"name": "last", "duration": 60}
    site.boot("demo", "1", lease_params=json.dumps(wanted))
    assert until(lambda: [lease["name"] for lease in leases(site)] == ["last"]), leases(site)
    for server in (first, second):
        if server["status"] == "ACTIVE":
            assert seen(site, server)["metadata"] == {}
