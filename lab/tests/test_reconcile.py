"""Differences between the database and a real cloud: they are told in plain words, and repaired."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from labtests import leftovers
from labtests import reservations as ask
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import SOON, boundary
from openstack.connection import Connection

LASTS = 20 * 60
OVER = "expected nothing: no lease has it, or the lease is over, found is there"
pytestmark = [pytest.mark.alone, pytest.mark.by_turns(2)]


def aggregate_of(admin: Connection, name: str) -> Any:
    return admin.compute.find_aggregate(name, ignore_missing=False)


def private_flavor(admin: Connection, of: str, **more: Any) -> Any:
    sizes = {"vcpus": 1, "ram": 256, "disk": 1}
    return admin.compute.create_flavor(name=f"reservation:{of}", is_public=False, **sizes, **more)


@pytest.fixture
def of_others(admin: Connection) -> Iterator[None]:
    """Have objects in the cloud that look like those of reservations, and carry no certain mark."""
    some_id = str(uuid4())
    with ExitStack() as stack:
        aggregate = admin.compute.create_aggregate(name=some_id, availability_zone=f"theirs-{some_id}")
        stack.callback(admin.compute.delete_aggregate, aggregate)
        stack.callback(admin.compute.delete_flavor, private_flavor(admin, some_id))
        admin.placement.create_resource_class(name="CUSTOM_RESERVATION_MINE")
        stack.callback(admin.placement.delete_resource_class, "CUSTOM_RESERVATION_MINE")
        yield


def damaged(admin: Connection, of_hosts: str, reserved: str, of_instances: str, free: str) -> list[str]:
    """Take away what active reservations and a free host have in the cloud. Return how that is told."""
    admin.compute.remove_host_from_aggregate(aggregate_of(admin, of_hosts), reserved)
    admin.compute.delete_flavor(of_instances)
    admin.compute.remove_host_from_aggregate(aggregate_of(admin, "freepool"), free)
    return [
        f"aggregate {of_hosts} (reservation {of_hosts} of lease {{lease}}): "
        f"expected hosts {reserved}, found no hosts",
        f"flavor {of_instances} (reservation {of_instances} of lease {{lease}}): "
        "expected there, found missing",
        f"host {free}: expected in freepool, found in no aggregate of ours",
    ]


def orphaned(admin: Connection, host: str, project_id: str) -> list[str]:
    """Make what is left over of reservations that no lease has. Return how that is told."""
    aggregate_id, flavor_id, class_id = (str(uuid4()) for _ in range(3))
    zone = f"blazar_{aggregate_id}"
    aggregate = admin.compute.create_aggregate(name=aggregate_id, availability_zone=zone)
    admin.compute.set_aggregate_metadata(aggregate, **{"blazar:owner": project_id})
    admin.compute.remove_host_from_aggregate(aggregate_of(admin, "freepool"), host)
    admin.compute.add_host_to_aggregate(aggregate, host)
    spec = {"aggregate_instance_extra_specs:reservation": flavor_id}
    admin.compute.create_flavor_extra_specs(private_flavor(admin, flavor_id, id=flavor_id), spec)
    name = f"CUSTOM_RESERVATION_{class_id.upper().replace('-', '_')}"
    admin.placement.create_resource_class(name=name)
    return [
        f"aggregate {aggregate_id} (reservation {aggregate_id}): {OVER}",
        f"flavor {flavor_id} (reservation {flavor_id}): {OVER}",
        f"resource class {name} (reservation {class_id}): {OVER}",
    ]


def test_what_differs_is_told_and_repaired_and_nothing_else_is_touched(
    hosts: dict[str, str],
    of_others: None,
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    name: str,
) -> None:
    service, operator = Reservations(demo), Reservations(admin)
    made = service.post(name, "now", boundary(LASTS), ask.hosts(), ask.instances(1))
    assert made.status == 201, made
    lease = service.await_status(made.body["lease"]["id"], "ACTIVE", SOON)
    of_hosts, of_instances = (reservation["id"] for reservation in lease["reservations"])
    (reserved,), (lent,) = operator.hosts_of(of_hosts), operator.hosts_of(of_instances)
    free, another, *_ = sorted(set(hosts) - {reserved, lent})
    whole = leftovers.snapshot(admin)

    # A manager compares active leases with the cloud by itself, and would be faster.
    processes.stop("blazar-manager")
    lines = damaged(admin, of_hosts, reserved, of_instances, free)
    lines += orphaned(admin, another, demo.session.get_project_id())
    expected = sorted(line.format(lease=lease["id"]) for line in lines)
    broken = leftovers.snapshot(admin)
    assert processes.reconcile("--dry-run") == (1, expected)
    assert leftovers.snapshot(admin) == broken

    repaired = [f"repaired: {line}" for line in expected]
    assert processes.reconcile("--repair", "--grace", "1") == (0, repaired)
    assert leftovers.snapshot(admin) == whole
    processes.start_blazar()
    assert service.status(lease["id"]) == "ACTIVE"
