"""Ordinary servers on the hosts of their project's reservation, since version 1.29, with the sandbox's
scheduler, which has the filter's rule and the weigher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .sandboxed import Sandboxed, until
from .wishes import HOST

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
NEWEST = {"OpenStack-API-Version": "reservation 1.29"}
BEFORE = {"OpenStack-API-Version": "reservation 1.28"}
OPEN = {**HOST, "match": "open"}
COMPUTE = "/compute/v2.1"
RESERVED, ORDINARY = "compute-02", "compute-01"


class Site:
    """Two hosts, of which the second one can be reserved."""

    def __init__(self, sandboxed: Sandboxed) -> None:
        self.sandboxed = sandboxed
        self.ask = sandboxed.openstack
        made = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": RESERVED})
        assert made.status_code == 201
        flavors = self.ask("GET", f"{COMPUTE}/flavors/detail")["flavors"]
        self.flavor = min(flavors, key=lambda flavor: flavor["ram"])["id"]
        body = {"name": "half", "vcpus": 1, "ram": 5 * self.memory_mb(RESERVED) // 8, "disk": 1}
        self.half = str(self.ask("POST", f"{COMPUTE}/flavors", json={"flavor": body})["flavor"]["id"])

    def memory_mb(self, host: str) -> int:
        found = self.ask("GET", f"{COMPUTE}/os-hypervisors/detail")["hypervisors"]
        return int(next(each["memory_mb"] for each in found if each["hypervisor_hostname"] == host))

    def reserve(self, wish: Any = OPEN, headers: Any = NEWEST) -> Any:
        body = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [wish]}
        made = self.sandboxed.send("POST", "/v1/leases", "demo", json=body, headers=headers)
        assert made.status_code == 201, made.json
        lease = made.json["lease"]
        assert until(lambda: self.shown(lease)["status"] == "ACTIVE")
        return lease

    def shown(self, lease: Any, headers: Any = NEWEST) -> Any:
        return self.sandboxed.send("GET", f"/v1/leases/{lease['id']}", "demo", headers=headers).json["lease"]

    def change(self, lease: Any, headers: Any = NEWEST, **changes: Any) -> Any:
        body = {"reservations": [{"id": lease["reservations"][0]["id"], **changes}]}
        path = f"/v1/leases/{lease['id']}"
        return self.sandboxed.send("PUT", path, "demo", json=body, headers=headers)

    def metadata(self, lease: Any) -> Any:
        name = lease["reservations"][0]["id"]
        found = self.ask("GET", f"{COMPUTE}/os-aggregates")["aggregates"]
        return next(each["metadata"] for each in found if each["name"] == name)

    def host(self, user: str = "demo", flavor: str = "", **hints: str) -> Any:
        """Boot a server. Return its host; None where there is none for it."""
        return self.sandboxed.boot(user, flavor or self.flavor, **hints).get("OS-EXT-SRV-ATTR:host")

    def clean(self) -> None:
        for server in self.ask("GET", f"{COMPUTE}/servers?all_tenants=1")["servers"]:
            self.ask("DELETE", f"{COMPUTE}/servers/{server['id']}")
        for lease in self.sandboxed.send("GET", "/v1/leases", "admin").json["leases"]:
            self.sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "admin")
        assert until(lambda: self.sandboxed.aggregates() == {"freepool": [RESERVED]})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=2)
    yield Site(sandboxed)
    sandboxed.stop()


@pytest.fixture
def site(whole: Site) -> Iterator[Site]:
    yield whole
    whole.clean()


def test_ordinary_servers_use_what_is_reserved_first_and_then_other_hosts(site: Site) -> None:
    lease = site.reserve()
    (shown,) = site.shown(lease)["reservations"]
    assert shown["match"] == "open"
    assert site.metadata(lease)["blazar:match"] == "open"
    assert site.host("alt") == ORDINARY
    assert [site.host(flavor=site.half) for _ in range(3)] == [RESERVED, ORDINARY, None]
    assert site.host(reservation=shown["id"]) == RESERVED


def test_an_explicit_reservation_takes_no_ordinary_servers(site: Site) -> None:
    lease = site.reserve(HOST)
    assert site.shown(lease)["reservations"][0]["match"] == "explicit"
    assert "match" not in site.shown(lease, BEFORE)["reservations"][0]
    assert "blazar:match" not in site.metadata(lease)
    assert site.host() == ORDINARY


def test_a_version_before_knows_nothing_of_it(site: Site) -> None:
    lease = site.reserve(headers=BEFORE)
    assert site.shown(lease)["reservations"][0]["match"] == "explicit"
    assert site.change(lease, BEFORE, match="open").status_code == 200
    assert site.shown(lease)["reservations"][0]["match"] == "explicit"
    assert "blazar:match" not in site.metadata(lease)


def test_it_changes_while_the_lease_is_active(site: Site) -> None:
    lease = site.reserve(HOST)
    opened = site.change(lease, match="open")
    assert opened.status_code == 200, opened.json
    assert opened.json["lease"]["reservations"][0]["match"] == "open"
    assert until(lambda: site.metadata(lease).get("blazar:match") == "open")
    assert site.host() == RESERVED
    assert site.change(lease, match="explicit").status_code == 200
    assert until(lambda: site.metadata(lease)["blazar:match"] == "explicit")
    assert site.host() == ORDINARY
    refused = site.change(lease, match="all")
    assert refused.status_code == 400
    assert refused.json["error_message"].endswith("match (must be one of 'explicit', 'open')")


def test_the_end_lets_no_more_in_before_it_deletes_servers(site: Site) -> None:
    lease, journal = site.reserve(), site.sandboxed.state.journal
    assert site.host() == RESERVED
    journal.clear()
    site.sandboxed.send("DELETE", f"/v1/leases/{lease['id']}", "demo")
    assert until(lambda: site.sandboxed.aggregates() == {"freepool": [RESERVED]})
    changes = [call.template for call in journal.calls() if call.method in ("POST", "DELETE")]
    closed = next(n for n, path in enumerate(changes) if "os-aggregates" in path)
    assert closed < next(n for n, path in enumerate(changes) if "servers" in path)
    assert site.host() == ORDINARY
