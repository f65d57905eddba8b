"""The switch from upstream Blazar on a cloud where its leases are active: they go on, and end here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from blazar_lab.settings import PASSWORD
from contract.places import password_of
from functional.upstream_cloud import UpstreamCloud
from functional.upstream_rows import UpstreamRows
from keystoneauth1.session import Session
from labtests import leftovers
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import END_SECONDS, boundary, until, wait_for
from openstack.connection import Connection
from sqlalchemy import make_url

from blazar.adapters.openstack.cloud import connect as connect_to

BEFORE_THE_END = 60
# The sandbox sees the same at each run.
pytestmark = [pytest.mark.alone, pytest.mark.thorough, pytest.mark.minutes(2)]


@dataclass
class Switch:
    """A lab where upstream has served until now: its database, and what it has made in the cloud."""

    source: str
    rows: UpstreamRows
    upstream: UpstreamCloud
    owner: dict[str, str]
    hosts: list[str]

    def lease(self, name: str, end: int) -> str:
        """Begin a lease in upstream's database; return its id."""
        hours = (datetime.fromtimestamp(end, UTC) - self.rows.now) / timedelta(hours=1)
        return self.rows.lease("ACTIVE", -1, hours, name=name, **self.owner)


@pytest.fixture
def switch(
    hosts: dict[str, str], processes: LabProcesses, admin: Connection, demo: Connection
) -> Iterator[Switch]:
    """Have the service on an empty database, and stopped; beside it, a database of upstream's."""
    before = leftovers.snapshot(admin)
    auth_url = demo.session.auth.auth_url
    own = connect_to(Session(password_of(auth_url, "blazar", PASSWORD, "service")))
    now = datetime.fromtimestamp(int(time.time()), UTC)
    with (
        processes.empty_database("upstream") as source,
        processes.on_empty_database("switched"),
        closing(UpstreamRows(make_url(source), now)) as rows,
    ):
        rows.create_tables()
        user, project = demo.session.get_user_id(), demo.session.get_project_id()
        identity = own.as_user(demo.session.get_token()).identity
        trust = identity.create_trust(user, project, ["member"], now + timedelta(days=30))
        owner = {"user_id": user, "project_id": project, "trust_id": trust}
        switch = Switch(source, rows, UpstreamCloud(own, rows), owner, list(hosts))
        for number, host in enumerate(hosts, 1):
            switch.upstream.register(number, host)
        yield switch
        processes.start_blazar()
        service = Reservations(admin)
        for lease in service.call("GET", "/leases").body["leases"]:
            until(f"lease {lease['id']} gone", END_SECONDS, lambda id_=lease["id"]: service.deleted(id_))
        assert not leftovers.after(admin, before)


def test_active_leases_of_upstream_end_here(
    switch: Switch,
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    image: str,
    name: str,
) -> None:
    service, project = Reservations(demo), switch.owner["project_id"]
    end = boundary(BEFORE_THE_END)
    whole = switch.lease(f"{name}-hosts", end)
    shared = switch.lease(f"{name}-instances", end)
    host = switch.upstream.reserve_host(whole, project, 1, switch.hosts[0])
    slots = switch.upstream.reserve_slots(shared, project, 2, switch.hosts[1])
    servers = [boot(demo, host), boot_of(demo, image, slots, name)]
    assert [server.status for server in servers] == ["ACTIVE"] * 2
    where = [admin.compute.get_server(server.id).compute_host for server in servers]
    assert where == switch.hosts[:2]

    told = processes.manage("import", "--from", switch.source)
    assert "lease: 2 taken" in told
    assert processes.manage("reconcile", "--dry-run") == ""
    processes.start_blazar()
    for lease in (whole, shared):
        assert service.lease(lease)["status"] == "ACTIVE"
    assert Reservations(admin).hosts_of(host) == switch.hosts[:1]
    wait_for(end)
    for lease in (whole, shared):
        service.await_status(lease, "TERMINATED", END_SECONDS)
    assert not {server.id for server in servers} & {s.id for s in admin.compute.servers(all_projects=True)}
    assert not {host, slots} & {aggregate.name for aggregate in admin.compute.aggregates()}
    assert admin.compute.find_flavor(slots) is None
    freepool = admin.compute.find_aggregate("freepool", ignore_missing=False)
    assert set(switch.hosts) <= set(freepool.hosts)
    assert processes.manage("reconcile", "--dry-run") == ""


def boot_of(user: Connection, image: str, flavor: str, name: str) -> Any:
    """Create a server of a reserved flavor, and return it when it is ACTIVE or in ERROR."""
    server = user.compute.create_server(name=name, image_id=image, flavor_id=flavor, networks="none")

    def settled() -> Any:
        found = user.compute.get_server(server.id)
        return found if found.status in ("ACTIVE", "ERROR") else None

    return until("the server ACTIVE or in ERROR", END_SECONDS, settled)
