"""Hosts that are given back to the cloud, and what ordinary servers find there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from labtests import workers
from labtests.reservations import Reservations
from labtests.waiting import until
from openstack.connection import Connection

BOOT_SECONDS = 90
SETTLING_SECONDS = 90
PLACEMENT = "1.29"


def provider(admin: Connection, host: str) -> dict[str, Any]:
    """Return the provider that reservations use on a host."""
    placement: Any = admin.placement
    answer = placement.get("/resource_providers", params={"name": f"blazar_{host}"}, microversion=PLACEMENT)
    (found,) = answer.json()["resource_providers"]
    return dict(found)


@pytest.fixture
def given_back(hosts: dict[str, str], admin: Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Deregister a host of this worker; yield its name and the provider that it had. It is registered again
    at the end."""
    service = Reservations(admin)
    name, host_id = next(iter(hosts.items()))
    before = provider(admin, name)
    answer = service.call("DELETE", f"/os-hosts/{host_id}")
    assert answer.status == 204, answer
    yield name, before
    for server in admin.compute.servers(all_projects=True):
        if workers.owns(server.name):
            admin.compute.delete_server(server)

    def registered() -> bool:
        # refused while the server is being deleted
        return service.call("POST", "/os-hosts", workers.registration(name)).status == 201

    until(f"{name} registered again", SETTLING_SECONDS, registered)
    listed = {h["hypervisor_hostname"]: h["id"] for h in service.call("GET", "/os-hosts").body["hosts"]}
    assert listed[name] == host_id


@pytest.mark.alone
def test_an_ordinary_server_boots_at_once_on_a_host_that_is_deregistered(
    given_back: tuple[str, dict[str, Any]],
    flavor: str,
    admin: Connection,
    demo: Connection,
    image: str,
    name: str,
) -> None:
    """nova-compute remembers the host's provider from before, and fails the boot where it is gone.

    All other hosts with the worker's trait are in the freepool, so the server fits on this one only."""
    host, before = given_back
    made = demo.compute.create_server(name=name, image_id=image, flavor_id=flavor, networks="none")

    def settled() -> Any:
        # only administrators are told the host
        found = admin.compute.get_server(made.id)
        return found if found.status in ("ACTIVE", "ERROR") else None

    server = until("the server ACTIVE or in ERROR", BOOT_SECONDS, settled)
    assert server.status == "ACTIVE", server.fault
    assert server.compute_host == host
    after = provider(admin, host)
    assert (after["uuid"], after["parent_provider_uuid"]) == (before["uuid"], before["parent_provider_uuid"])
