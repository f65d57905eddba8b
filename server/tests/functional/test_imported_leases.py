"""Leases that upstream has started on the sandbox cloud, and that end here after the import."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.db.engine import parse_url
from blazar.cmd.db_manage import main
from blazar.kinds.registered_hosts.monitor import store_cloud_ids
from blazar.kinds.registered_hosts.pool import POOL

from .sandboxed import Sandboxed, until
from .upstream_cloud import UpstreamCloud
from .upstream_rows import UpstreamRows

# openstacksdk warns of its own next releases with every request.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::openstack.warnings.RemovedInSDK{release}Warning")
    for release in ("50", "60")
]
HOSTS = ("compute-01", "compute-02", "compute-03")
ADDRESS = "203.0.113.210"


class Switch(Sandboxed):
    """A service without anything, on a cloud where upstream has served until now: three hosts and a floating
    IP, an active lease of each kind, and one that is to come."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, hosts=3, reconcile_seconds=0, drift_check_seconds=0)
        self.folder = folder
        self.capsys = capsys
        self.rows = UpstreamRows(parse_url(f"sqlite:///{folder}/upstream.db"), self.clock.now())
        self.rows.create_tables()
        self.upstream = UpstreamCloud(self.service_cloud, self.rows)
        for number, host in enumerate(HOSTS, 1):
            self.upstream.register(number, host)
        self.project = self.state.project_id("demo")
        self.network = self.network_id("public")
        self.leases: dict[str, str] = {}
        self.reservations: dict[str, str] = {}

    def stop(self) -> None:
        self.rows.close()
        super().stop()

    # what upstream has done, by the names of its objects

    def lease(self, name: str, status: str = "ACTIVE", start: float = -1, end: float = 1) -> str:
        user = self.service_cloud.as_user(self.token("demo"))
        expires = self.clock.now() + timedelta(days=30)
        user_id = next(e for e in self.openstack("GET", "/v3/users")["users"] if e["name"] == "demo")["id"]
        trust = user.identity.create_trust(user_id, self.project, ["member"], expires)
        owner = {"user_id": user_id, "project_id": self.project, "trust_id": trust}
        self.leases[name] = self.rows.lease(status, start, end, name=name, **owner)
        return self.leases[name]

    def reserve_host(self, name: str, host: int) -> None:
        id_ = self.upstream.reserve_host(self.lease(name), self.project, host, HOSTS[host - 1])
        self.reservations[name] = id_

    def reserve_slots(self, name: str, host: int, affinity: bool, flavor: bool) -> None:
        """Two slots of a size, or of a flavor."""
        user = self.service_cloud.as_user(self.token("demo")) if affinity else None
        place = host, HOSTS[host - 1]
        id_ = self.upstream.reserve_slots(self.lease(name), self.project, *place, flavor, user)
        self.reservations[name] = id_

    def reserve_floatingip(self, name: str) -> None:
        lease_id = self.lease(name)
        (subnet,) = self.service_cloud.network.subnets(self.network)
        row = self.rows.floatingip(ADDRESS, self.network, subnet.id)
        id_ = self.rows.floatingips_of(lease_id, "ACTIVE", [row], network=self.network)
        network = self.service_cloud.network
        made = network.create_floating_ip(self.network, subnet.id, ADDRESS, self.project, "")
        network.set_floating_ip_tags(made.id, ["blazar", f"reservation:{id_}"])

    # what is done here

    def run(self, *words: str) -> tuple[int, str]:
        self.capsys.readouterr()
        code = main(["--config-file", str(self.folder / "blazar.conf"), *words])
        return code, self.capsys.readouterr().out

    def status(self, name: str) -> str:
        answer = self.send("GET", f"/v1/leases/{self.leases[name]}", "demo")
        return str(answer.json["lease"]["status"])

    def leap(self, hours: float) -> None:
        self.clock.ahead += timedelta(hours=hours)

    def made_by_upstream(self) -> dict[str, Any]:
        """All that is in the cloud for reservations."""
        trusts = self.openstack("GET", "/v3/OS-TRUST/trusts")["trusts"]
        compute, placement = self.service_cloud.compute, self.service_cloud.placement
        return {
            "aggregates": {name for name in self.aggregates() if name != "freepool"},
            "flavors": {each.id for each in compute.flavors() if each.id in self.reservations.values()},
            "groups": {each.name for each in compute.server_groups()},
            "classes": {
                each for each in placement.resource_classes() if each.startswith("CUSTOM_RESERVATION_")
            },
            "addresses": set(self.floating_ips()),
            "trusts": {each["id"] for each in trusts},
        }


@pytest.fixture
def switch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Switch]:
    switch = Switch(tmp_path, capsys)
    yield switch
    switch.stop()


def test_active_leases_go_on_and_end(switch: Switch) -> None:
    switch.reserve_host("hosts", 1)
    switch.reserve_slots("instances", 2, affinity=True, flavor=False)
    switch.reserve_slots("flavors", 3, affinity=False, flavor=True)
    switch.reserve_floatingip("addresses")
    ids = switch.reservations
    servers = [
        switch.boot("demo", switch_flavor(switch), reservation=ids["hosts"]),
        switch.boot("demo", ids["instances"]),
        switch.boot("demo", ids["flavors"]),
    ]
    assert [each["status"] for each in servers] == ["ACTIVE"] * 3
    pending = switch.lease("pending", "PENDING", 2, 3)
    switch.reservations["pending"] = switch.rows.hosts_of(pending, "PENDING", ["1"])

    code, out = switch.run("import", "--from", str(switch.rows.url))
    assert code == 0, out
    assert "lease: 4 taken, 1 mapped" in out
    # The cloud is as the database says, before any manager has touched it.
    assert switch.run("reconcile", "--dry-run")[:2] == (0, "")
    assert {switch.status(name) for name in ("hosts", "instances", "flavors", "addresses")} == {"ACTIVE"}
    assert switch.boot("demo", ids["flavors"])["status"] == "ACTIVE"

    switch.leap(1.1)
    for name in ("hosts", "instances", "flavors", "addresses"):
        assert until(lambda name=name: switch.status(name) == "TERMINATED"), name  # type: ignore[misc]
    left = switch.made_by_upstream()
    assert len(left.pop("trusts")) == 1
    assert not any(left.values()), left
    assert switch.aggregates() == {"freepool": list(HOSTS)}
    assert switch.openstack("GET", "/compute/v2.1/servers?all_tenants=1")["servers"] == []

    switch.leap(1)
    assert until(lambda: switch.status("pending") == "ACTIVE")
    assert switch.aggregates()[ids["pending"]] == ["compute-01"]
    switch.leap(1)
    assert until(lambda: switch.status("pending") == "TERMINATED")
    assert switch.made_by_upstream()["trusts"] == set()
    assert switch.run("reconcile", "--dry-run")[:2] == (0, "")


def switch_flavor(switch: Switch) -> str:
    found = switch.openstack("GET", "/compute/v2.1/flavors")["flavors"]
    return str(found[0]["id"])


def test_hosts_are_those_of_nova(switch: Switch) -> None:
    """The UUID of the hypervisor comes from Nova, and the manager goes on with the host that it knows."""
    switch.run("import", "--from", str(switch.rows.url))
    answer = switch.send("GET", "/v1/os-hosts", "admin")
    assert [each["id"] for each in answer.json["hosts"]] == ["1", "2", "3"]
    again = switch.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"})
    assert again.status_code == 409
    # As the upkeep does.
    store_cloud_ids(switch.database, switch.service_cloud, switch.clock, frozenset())
    with switch.database.read() as uow:
        stored = {host.cloud_id for host in uow.resources.list(POOL)}
    assert stored == {each.uuid for each in switch.service_cloud.compute.hypervisors()}


def test_what_upstream_had_broken_is_cleaned_up(switch: Switch) -> None:
    switch.reserve_host("broken", 1)
    switch.reserve_floatingip("deleted")
    with switch.rows._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE leases SET status = 'DELETING' WHERE name = 'deleted'")
        connection.exec_driver_sql("UPDATE leases SET status = 'TERMINATING' WHERE name = 'broken'")
        connection.exec_driver_sql("UPDATE events SET status = 'IN_PROGRESS' WHERE event_type = 'end_lease'")
        connection.exec_driver_sql("DELETE FROM computehost_allocations")
    code, out = switch.run("import", "--from", str(switch.rows.url))
    assert code == 0, out
    assert until(lambda: switch.status("broken") == "TERMINATED")
    path = f"/v1/leases/{switch.leases['deleted']}"
    assert until(lambda: switch.send("GET", path, "demo").status_code == 404)
    assert not any(switch.made_by_upstream().values())
    assert switch.aggregates() == {"freepool": list(HOSTS)}
