"""New servers on a cloud that is asked over HTTP: booted at the start where room is kept, gone at the end."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from blazar.conf.manager import SHIPPED

from .sandboxed import Sandboxed, until
from .test_server_reservations import in_minutes
from .test_slots import COMPUTE, Site

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
SINCE = {"OpenStack-API-Version": "reservation 1.20"}
SECRET = base64.b64encode(b"#!/bin/sh\necho the word is hidden").decode()


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


def new(site: Site, **more: Any) -> dict[str, Any]:
    image = site.ask("GET", "/image/v2/images")["images"][0]["id"]
    given = {"server_name": "web", "image_id": image, "flavor_id": "1", "networks": "none"}
    return {"resource_type": "instance:server", "on_end": ["delete"], **given, **more}


def servers(site: Site, user: str = "admin") -> Any:
    return site.nova(f"/servers/detail{'?all_tenants=1' if user == 'admin' else ''}", user)["servers"]


def test_from_the_image_to_the_end(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    window = {"start_date": in_minutes(site, 60), "end_date": in_minutes(site, 120)}
    asked = new(site, amount=2, user_data=SECRET, on_end=["create_image", "delete"])
    lease = _made(site, asked, **window)
    (reservation,) = lease["reservations"]
    assert (reservation["amount"], reservation["has_user_data"], reservation["servers"]) == (2, True, [])
    assert servers(site) == []

    site.sandboxed.clock.ahead += timedelta(minutes=61)
    assert until(lambda: site.lease(lease)["status"] == "ACTIVE"), site.lease(lease)
    found = servers(site)
    assert sorted(each["name"] for each in found) == ["web-1", "web-2"]
    assert {each["OS-EXT-SRV-ATTR:host"] for each in found} == {"compute-01"}
    assert {each["status"] for each in found} == {"ACTIVE"}
    assert {each["tenant_id"] for each in found} == {site.demo}
    (reservation,) = site.lease(lease)["reservations"]
    assert sorted(reservation["servers"]) == sorted(each["id"] for each in found)
    first = reservation["servers"][0]
    shown = site.ask("GET", f"{COMPUTE}/servers/{first}", version="compute 2.3")["server"]
    assert shown["OS-EXT-SRV-ATTR:user_data"] == SECRET, "the server has it"

    site.sandboxed.clock.ahead += timedelta(minutes=60)
    assert until(lambda: site.lease(lease)["status"] == "TERMINATED"), site.lease(lease)
    assert servers(site) == []
    assert reservation["id"] not in site.sandboxed.aggregates()
    images = site.ask("GET", f"/image/v2/images?blazar_reservation={reservation['id']}")["images"]
    assert sorted(image["name"] for image in images) == ["reserved_web-1", "reserved_web-2"]
    assert {image["owner"] for image in images} == {site.demo}
    told = [site.send("GET", "/v1/leases", user).text for user in ("demo", "admin")]
    assert all(SECRET not in text for text in (*told, str(lease), caplog.text))


def _made(site: Site, *reservations: Any, user: str = "demo", **more: Any) -> Any:
    answer = _post(site, *reservations, user=user, **more)
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def _post(site: Site, *reservations: Any, user: str = "demo", **more: Any) -> Any:
    body = {"name": "lease", "start_date": "now", "end_date": "2050-01-01 11:00"}
    body |= {"reservations": list(reservations), **more}
    return site.send("POST", "/v1/leases", user, json=body, headers=SINCE)


def test_a_boot_that_nova_refuses_says_so(site: Site) -> None:
    """The sandbox refuses a network that is not the project's to boot on, in Nova's own words."""
    external = next(
        net["id"] for net in site.ask("GET", "/network/v2.0/networks")["networks"] if net["router:external"]
    )
    lease = _made(site, new(site, networks=[external]))
    reason = "server web cannot be booted"
    assert until(lambda: reason in site.lease(lease).get("status_reason", "")), site.lease(lease)
    assert "external network" in site.lease(lease)["status_reason"]
    assert site.lease(lease)["status"] == "STARTING"
    assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert servers(site) == []


def test_versions_before_know_only_servers_that_exist(site: Site) -> None:
    answer = site.post(new(site))
    assert (answer.status_code, "Missing parameter server_id" in answer.text) == (400, True)
    offered = {"start_date": "now", "duration": 60, "reservations": [new(site)]}
    for path in ("/v1/offers", "/v1/leases"):
        body = {**offered, "name": "x"} if path == "/v1/leases" else offered
        headers = {"OpenStack-API-Version": "reservation 1.19"}
        answer = site.send("POST", path, "demo", json=body, headers=headers)
        assert (answer.status_code, "server_id" in answer.text) == (400, True)


@pytest.mark.parametrize(
    ("changed", "status", "told"),
    [
        ({"image_id": "00000000-0000-4000-8000-000000000000"}, 404, "Image .* could not be found"),
        ({"flavor_id": "nope"}, 404, "Flavor nope could not be found"),
        ({"networks": ["00000000-0000-4000-8000-000000000000"]}, 404, "Network .* could not be found"),
        ({"on_end": ["shelve"]}, 400, "cannot be shelved"),
        ({"on_end": ["stop", "create_image"]}, 400, "on_end"),
        ({"user_data": "the word is hidden"}, 400, "must be base64"),
        ({"amount": 0}, 400, "amount"),
    ],
)
def test_what_users_are_told(site: Site, changed: Any, status: int, told: str) -> None:
    answer = _post(site, new(site, **changed))
    assert answer.status_code == status, answer.text
    assert re.search(told, answer.text)
    assert "the word is hidden" not in answer.text
