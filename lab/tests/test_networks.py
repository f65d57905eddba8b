"""Reserved VLANs on a real Neutron, from their registration to the end of the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests import workers
from labtests.reservations import Reservations, networks
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, until
from openstack.connection import Connection

ATTACHED_SECONDS = 30
PHYSICAL = f"physnet{workers.NUMBER + 1}"
"""The physical network of this worker."""
FIRST, LAST = 101, 102
LATEST = "1.28"


@pytest.fixture
def segments(admin: Connection) -> Iterator[list[str]]:
    """Register two VLANs, and return their ids; at the end they must be free again."""
    service = Reservations(admin)
    body = {
        "network_type": "vlan",
        "physical_network": PHYSICAL,
        "segmentation_id": FIRST,
        "last_segmentation_id": LAST,
    }
    answer = service.call("POST", "/networksegments", body, LATEST)
    assert answer.status == 201, answer
    made = [each["id"] for each in answer.body["networksegments"]]
    yield made
    for lease in service.call("GET", "/leases").body["leases"]:
        if workers.owns(lease["name"]):
            service.delete(lease["id"])
            service.await_gone(lease["id"], END_SECONDS)
    for each in made:
        assert service.call("DELETE", f"/networksegments/{each}", None, LATEST).status == 204
    assert on_segments(admin) == {}


@pytest.fixture
def router(demo: Connection, name: str) -> Iterator[str]:
    made = demo.network.create_router(name=name)
    yield str(made.id)
    demo.network.delete_router(made)


def on_segments(admin: Connection) -> dict[int, Any]:
    """Return the networks on the worker's physical network by their VLANs."""
    found = admin.network.networks(provider_network_type="vlan", provider_physical_network=PHYSICAL)
    return {each.provider_segmentation_id: each for each in found}


def test_they_are_the_projects_until_the_lease_ends(
    segments: list[str],
    admin: Connection,
    demo: Connection,
    alt: Connection,
    router: str,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service = Reservations(demo)
    created = service.post(name, "now", boundary(3600), networks(2, PHYSICAL))
    assert created.status == 201, created
    other = Reservations(alt).post(name, "now", boundary(600), networks(1, PHYSICAL))
    assert other.status == 400, other
    lease = service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    reservation = lease["reservations"][0]["id"]
    given = on_segments(admin)
    assert sorted(given) == [FIRST, LAST]
    for number, each in given.items():
        assert each.project_id == demo.current_project_id
        assert each.name == f"{name}-{number}"
        assert set(each.tags) == {"blazar", f"reservation:{reservation}"}

    # Its users do with it what they like, ...
    network = demo.network.update_network(given[FIRST].id, name="mine", description="mine")
    subnet = demo.network.create_subnet(network_id=network.id, ip_version=4, cidr="192.0.2.0/24")
    demo.network.add_interface_to_router(router, subnet_id=subnet.id)
    port = demo.network.create_port(network_id=network.id)
    host = service.post_hosts(f"{name}-host", "now", boundary(3600))
    active = service.await_status(host.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    server = boot(demo, active["reservations"][0]["id"])
    demo.compute.create_server_interface(server, port_id=port.id)
    until("the server on the network", ATTACHED_SECONDS, lambda: demo.network.get_port(port.id).device_id)
    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    # ... and at the end it is gone with what is on it, and what was attached to it stays.
    assert on_segments(admin) == {}
    assert demo.network.find_port(port.id) is None
    assert not list(demo.network.ports(device_id=router))
    assert demo.compute.get_server(server.id).status == "ACTIVE"
