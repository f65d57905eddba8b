"""A development lab that reclaims by itself, on a cloud over HTTP: its users only boot servers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from blazar.conf.manager import SHIPPED

from .sandboxed import Sandboxed, until
from .test_server_reservations import is_away, seen
from .test_slots import COMPUTE, Site

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A service without a host of its own, and with a default lease for each server of the cloud."""
    wanted = {
        "enabled": "true",
        "look_seconds": "1",
        "reservation_length_days": "14",
        "rule": "flavor=m1.medium; days=7; warn_hours=24; on_end=create_image,delete",
        "include_existing": "true",
    }
    plugins = ", ".join([*SHIPPED, "instance.server.plugin"])
    sandboxed = Sandboxed(tmp_path, hosts=2, plugins=plugins, default_leases=wanted)
    try:
        yield Site(sandboxed)
    finally:
        sandboxed.stop()


def report(site: Site, user: str = "demo") -> Any:
    """What ends when, as the list of leases tells it."""
    path = "/v1/leases?resource_type=instance:server&sort=end_date&ends_before=2100-01-01 00:00"
    answer = site.send("GET", path, user, headers={"OpenStack-API-Version": "reservation 1.1"})
    assert answer.status_code == 200, answer.text
    return answer.json["leases"]


def lease_of(site: Site, server: Any) -> Any:
    assert until(lambda: "blazar_lease" in seen(site, server)["metadata"]), seen(site, server)
    found = {"id": seen(site, server)["metadata"]["blazar_lease"]}
    assert until(lambda: site.lease(found)["status"] == "ACTIVE"), site.lease(found)
    return site.lease(found)


def leap(site: Site, **time: float) -> None:
    site.sandboxed.clock.ahead += timedelta(**time)


def was_warned_of(site: Site, lease: Any) -> bool:
    (event,) = (each for each in site.lease(lease)["events"] if each["event_type"] == "before_end_lease")
    return bool(event["status"] == "DONE")


def test_a_server_that_is_deleted_takes_its_lease_along(site: Site) -> None:
    server = site.boot("demo", "1")
    lease = lease_of(site, server)
    site.ask("DELETE", f"{COMPUTE}/servers/{server['id']}", "demo")
    assert until(lambda: report(site) == []), site.lease(lease)


def test_from_the_boot_to_the_end(site: Site) -> None:
    kept, short = site.boot("demo", "1"), site.boot("demo", "3")
    exempt = site.boot("demo", "1", tags=["no-lease"])
    longer, week = lease_of(site, kept), lease_of(site, short)
    assert (longer["name"], longer["project_id"], longer["user_id"]) == ("server", site.demo, kept["user_id"])
    assert (longer["trust_id"], week["reservations"][0]["on_end"]) == (None, ["create_image", "delete"])
    assert [each["id"] for each in report(site)] == [week["id"], longer["id"]]
    assert report(site, "alt") == []
    for server in (kept, short):
        assert seen(site, server)["OS-EXT-SRV-ATTR:host"] == server["OS-EXT-SRV-ATTR:host"]

    leap(site, days=6, hours=1)
    assert until(lambda: was_warned_of(site, week)), site.lease(week)
    assert not was_warned_of(site, longer)
    assert seen(site, short)["status"] == "ACTIVE"
    leap(site, days=1)
    assert until(lambda: site.lease(week)["status"] == "TERMINATED"), site.lease(week)
    assert short["id"] not in {each["id"] for each in site.nova("/servers?all_tenants=1")["servers"]}
    query = f"blazar_reservation={week['reservations'][0]['id']}"
    (image,) = site.ask("GET", f"/image/v2/images?{query}", "demo")["images"]
    assert (image["name"], image["owner"]) == ("reserved_server", site.demo)

    end = datetime.fromisoformat(longer["end_date"]) + timedelta(days=7)
    asked = {"end_date": end.strftime("%Y-%m-%d %H:%M")}
    answer = site.send("PUT", f"/v1/leases/{longer['id']}", "demo", json=asked)
    assert answer.status_code == 200, answer.text
    leap(site, days=8)
    assert site.lease(longer)["status"] == "ACTIVE", "it was extended"
    leap(site, days=6)
    assert until(lambda: site.lease(longer)["status"] == "TERMINATED"), site.lease(longer)
    assert is_away(site, kept)
    assert seen(site, kept)["metadata"] == {"blazar_lease": longer["id"]}
    assert (seen(site, exempt)["status"], seen(site, exempt)["metadata"]) == ("ACTIVE", {})
