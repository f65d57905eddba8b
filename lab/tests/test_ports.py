"""Reserved ports on a real Neutron, from their number to the end of the lease."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from labtests import workers
from labtests.reservations import Reservations, ports
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary
from openstack.connection import Connection

# The stories of other workers make ports in the same project.
pytestmark = pytest.mark.alone
LATEST = "1.42"
CONFLICT, BAD_REQUEST = 409, 400


@dataclass(frozen=True)
class Full:
    """A network in a project that has as many ports as it may have without a reservation."""

    network_id: str
    used: int


@pytest.fixture
def full(admin: Connection, demo: Connection, name: str) -> Iterator[Full]:
    """Let five ports be reserved; at the end none may be."""
    service = Reservations(admin)
    made = demo.network.create_network(name=name)
    assert service.call("PUT", "/portpool", {"ports": 5}, LATEST).status == 200
    before, used = quota(admin, demo)
    admin.network.update_quota(demo.current_project_id, ports=used)
    yield Full(str(made.id), used)
    for lease in service.call("GET", "/leases").body["leases"]:
        if workers.owns(lease["name"]):
            service.delete(lease["id"])
            service.await_gone(lease["id"], END_SECONDS)
    assert service.call("DELETE", "/portpool", None, LATEST).status == 204
    admin.network.update_quota(demo.current_project_id, ports=before)
    for port in demo.network.ports(network_id=made.id):
        demo.network.delete_port(port)
    demo.network.delete_network(made)


def quota(admin: Connection, owner: Connection) -> tuple[int, int]:
    """Return how many ports a project may have, and has."""
    found: Any = admin.network.get_quota(owner.current_project_id, details=True).ports
    return found["limit"], found["used"]


def make(owner: Connection, network_id: str) -> int:
    """Ask for a port as a user does, and return the status of the answer."""
    answer: Any = owner.network.post("/ports", json={"port": {"network_id": network_id}})
    return int(answer.status_code)


def active(demo: Connection, name: str, amount: int, **more: Any) -> str:
    """Return the id of a lease that has begun."""
    service = Reservations(demo)
    created = service.post(name, "now", boundary(3600), ports(amount, **more))
    assert created.status == 201, created
    return str(service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)["id"])


def test_they_are_promised_given_and_taken_back(
    full: Full, admin: Connection, demo: Connection, alt: Connection, name: str
) -> None:
    service = Reservations(demo)
    assert make(demo, full.network_id) == CONFLICT
    lease_id = active(demo, name, 2)
    other = Reservations(alt).post(name, "now", boundary(600), ports(4))
    assert other.status == BAD_REQUEST, other
    assert quota(admin, demo) == (full.used + 2, full.used)
    assert [make(demo, full.network_id) for _ in range(3)] == [201, 201, CONFLICT]

    # What is kept is no part of the quota.
    assert service.delete(lease_id).status == 204
    service.await_gone(lease_id, END_SECONDS)
    assert quota(admin, demo) == (full.used, full.used + 2)
    assert make(demo, full.network_id) == CONFLICT


def test_what_is_in_no_use_is_deleted_where_it_is_asked_for(
    full: Full, admin: Connection, demo: Connection, name: str
) -> None:
    service, lease_id = Reservations(demo), active(demo, name, 2, on_end="delete")
    assert [make(demo, full.network_id) for _ in range(2)] == [201, 201]
    assert service.delete(lease_id).status == 204
    service.await_gone(lease_id, END_SECONDS)
    assert quota(admin, demo) == (full.used, full.used)
