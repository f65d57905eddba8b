"""The operator's command reconcile on the sandbox cloud over HTTP: what it tells, repairs and leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import delete

from blazar.adapters.db import tables
from blazar.cmd.db_manage import main

from .sandboxed import Sandboxed, section, until
from .wishes import HOST, INSTANCES

# openstacksdk warns of its own next releases with every request.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::openstack.warnings.RemovedInSDK{release}Warning")
    for release in ("50", "60")
]
APART = {**INSTANCES, "affinity": False}
AGGREGATES = "/compute/v2.1/os-aggregates"


class Site(Sandboxed):
    """A service with three hosts and a floating IP, and the command beside it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, hosts=3, reconcile_seconds=0, drift_check_seconds=0)
        self.folder = folder
        self.capsys = capsys
        for number in range(1, 4):
            self.register("/v1/os-hosts", {"name": f"compute-0{number}"})
        self.network = self.network_id("public")
        self.register(
            "/v1/floatingips", {"floating_network_id": self.network, "floating_ip_address": "203.0.113.210"}
        )

    def register(self, path: str, body: dict[str, Any]) -> None:
        answer = self.send("POST", path, "admin", json=body)
        assert answer.status_code == 201, answer.text

    def lease(self, *reservations: dict[str, Any]) -> Any:
        """A lease that has begun."""
        body = {
            "name": uuid4().hex,
            "start_date": "now",
            "end_date": "2050-01-01 11:00",
            "reservations": reservations,
        }
        made = self.send("POST", "/v1/leases", "demo", json=body)
        assert made.status_code == 201, made.text
        lease_id = made.json["lease"]["id"]
        assert until(lambda: self.shown(lease_id)["status"] == "ACTIVE")
        return self.shown(lease_id)

    def shown(self, lease_id: str) -> Any:
        return self.send("GET", f"/v1/leases/{lease_id}", "demo").json["lease"]

    def floating_ip(self) -> dict[str, Any]:
        return {"resource_type": "virtual:floatingip", "network_id": self.network, "amount": 1}

    def forget(self, lease: Any) -> None:
        """Remove the lease from the database only."""
        with self.database.engine.begin() as connection:
            connection.execute(delete(tables.leases).where(tables.leases.c.id == lease["id"]))

    def run(self, *words: str) -> tuple[int, str, str]:
        """Return the exit code of the command, what it has printed, and what it has told of its progress."""
        self.capsys.readouterr()
        code = main(["--config-file", str(self.folder / "blazar.conf"), "reconcile", *words])
        out, err = self.capsys.readouterr()
        return code, out, err

    def as_json(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        code, out, _ = self.run(*words, "--format", "json")
        return code, json.loads(out)["differences"]

    def aggregate_id(self, name: str) -> int:
        found = self.openstack("GET", AGGREGATES)["aggregates"]
        return int(next(each["id"] for each in found if each["name"] == name))

    def cloud_state(self) -> dict[str, Any]:
        return {name: rows for name, rows in self.stored().items() if name.startswith("cloud: ")}


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Site]:
    site = Site(tmp_path, capsys)
    yield site
    site.stop()


def test_where_all_is_well(site: Site) -> None:
    site.lease(HOST)
    site.lease(APART, site.floating_ip())
    before = site.stored()
    for words in (("--dry-run",), ("--repair",)):
        code, out, err = site.run(*words)
        assert (code, out) == (0, ""), err
        assert "comparing active leases: 0 of 2" in err
        assert "0 are there" in err
    assert site.stored() == before


def test_what_active_leases_lack(site: Site) -> None:
    hosts, others = site.lease(HOST), site.lease(APART, site.floating_ip())
    host_id, instance_id = hosts["reservations"][0]["id"], others["reservations"][0]["id"]
    (host,) = site.aggregates()[host_id]
    aggregate_id = site.aggregate_id(host_id)
    site.openstack("POST", f"{AGGREGATES}/{aggregate_id}/action", json={"remove_host": {"host": host}})
    site.openstack("DELETE", f"{AGGREGATES}/{aggregate_id}")
    site.openstack("DELETE", f"/compute/v2.1/flavors/{instance_id}")
    for floating_ip in site.floating_ips().values():
        site.openstack("DELETE", f"/network/v2.0/floatingips/{floating_ip['id']}")
    before = site.cloud_state()

    code, out, _ = site.run("--dry-run")
    assert code == 1
    lines = out.splitlines()
    assert len(lines) == 3
    assert lines[0] == (
        f"aggregate {host_id} (reservation {host_id} of lease {hosts['id']}): "
        f"expected hosts {host}, found no such aggregate"
    )
    assert [line.split(" (")[0] for line in lines[1:]] == [
        f"flavor {instance_id}",
        "floating IP 203.0.113.210",
    ]
    assert site.cloud_state() == before
    found = site.as_json("--dry-run")
    assert found[0] == 1
    assert [each["sort"] for each in found[1]] == ["aggregate", "flavor", "floating IP"]
    assert not any(each["is_repaired"] for each in found[1])

    code, out, _ = site.run("--repair")
    assert code == 0
    assert out.splitlines() == [f"repaired: {line}" for line in lines]
    assert site.aggregates()[host_id] == [host]
    assert site.boot("demo", instance_id)["status"] == "ACTIVE"
    assert site.run("--dry-run")[:2] == (0, "")
    assert not site.shown(hosts["id"])["degraded"]


def test_which_servers_an_aggregate_lets_in(site: Site) -> None:
    hosts = site.lease(HOST)
    host_id = hosts["reservations"][0]["id"]
    action = f"{AGGREGATES}/{site.aggregate_id(host_id)}/action"
    site.openstack("POST", action, json={"set_metadata": {"metadata": {"blazar:match": "open"}}})
    line = (
        f"blazar:match of aggregate {host_id} (reservation {host_id} of lease {hosts['id']}): "
        "expected explicit, found open"
    )
    assert site.run("--dry-run")[:2] == (1, f"{line}\n")
    assert site.run("--repair")[:2] == (0, f"repaired: {line}\n")
    assert site.run("--dry-run")[:2] == (0, "")


def test_what_no_lease_has(site: Site) -> None:
    empty = site.cloud_state()
    kept = site.lease(APART)
    gone = [site.lease(HOST), site.lease(APART, site.floating_ip())]
    ids = {each["id"] for lease in gone for each in lease["reservations"]}
    for lease in gone:
        site.forget(lease)
    before = site.cloud_state()
    code, found = site.as_json("--dry-run")
    assert code == 1
    assert {each["reservation_id"] for each in found} == ids
    assert {each["sort"] for each in found} == {
        *("aggregate", "flavor", "floating IP", "inventory", "resource class", "server group")
    }
    assert {each["lease_id"] for each in found} == {None}
    assert site.cloud_state() == before

    code, found = site.as_json("--repair", "--grace", "1")
    assert (code, all(each["is_repaired"] for each in found)) == (0, True)
    assert site.shown(kept["id"])["status"] == "ACTIVE"
    assert site.boot("demo", kept["reservations"][0]["id"])["status"] == "ACTIVE"
    assert site.send("DELETE", f"/v1/leases/{kept['id']}", "demo").status_code == 204
    assert until(lambda: site.aggregates() == {"freepool": ["compute-01", "compute-02", "compute-03"]})
    assert site.run("--dry-run")[:2] == (0, "")
    after = site.cloud_state()
    assert {n for n in empty if after[n].keys() != empty[n].keys()} <= {"cloud: aggregate_counter"}


def test_servers_of_users_stay(site: Site) -> None:
    lease = site.lease(APART)
    reservation_id = lease["reservations"][0]["id"]
    server = site.boot("demo", reservation_id)
    site.forget(lease)
    code, out, _ = site.run("--repair", "--grace", "0")
    assert code == 1
    assert f"flavor {reservation_id}" in out
    path = f"/compute/v2.1/servers/{server['id']}"
    assert site.openstack("GET", path)["server"]["status"] == "ACTIVE"
    site.openstack("DELETE", path)
    assert until(lambda: not site.openstack("GET", "/compute/v2.1/servers?all_tenants=1")["servers"])
    assert site.run("--repair", "--grace", "0")[0] == 0


def test_a_cloud_that_is_away_is_said_and_nothing_changes(site: Site) -> None:
    lease = site.lease(HOST)
    site.forget(lease)
    before = site.cloud_state()
    for service in ("placement", "network", "compute"):
        fault = {"service": service, "method": "GET", "path": ".*", "status": 503, "times": 1000}
        answer = site.http.post(f"{site.cloud.url}/sandbox/faults", json=fault, timeout=30)
        assert answer.status_code < 300, answer.text
        code, out, err = site.run("--repair", "--grace", "0")
        assert (code, out) == (3, "")
        assert "is not available" in err.splitlines()[-1]
        site.http.delete(f"{site.cloud.url}/sandbox/faults", timeout=30).raise_for_status()
    assert site.cloud_state() == before


@pytest.mark.parametrize(
    "words", [(), ("--dry-run", "--repair"), ("--dry-run", "--format", "xml"), ("--repair", "--grace", "-1")]
)
def test_words_that_are_not_understood(site: Site, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ending:
        site.run(*words)
    assert ending.value.code == 2


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (section("cloud", auth_type="nonsense"), "nonsense"),
        (section("manager", plugins="nonsense"), "no such resource plugin: nonsense"),
        (section("manager", plugins="physical.host.plugin"), "[manager] plugins lacks the kind"),
    ],
)
def test_a_configuration_that_cannot_be_used(site: Site, more: str, reason: str) -> None:
    site.lease(APART)
    (site.folder / "blazar.conf").write_text(
        section("database", connection=f"sqlite:///{site.folder}/blazar.db") + more
    )
    code, out, err = site.run("--dry-run")
    assert (code, out) == (2, "")
    assert reason in err
