"""A compute host fails under a lease: the lease is healed, and the host's recovery is noticed.

Nova announces both over the broker. The monitor looks by itself every ten minutes only, so it has heard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import SOON, boundary, until
from openstack.connection import Connection

RECOVERY_SECONDS = 90
LASTS = 20 * 60
pytestmark = [pytest.mark.alone, pytest.mark.by_turns(2)]


@pytest.fixture(scope="module", autouse=True)
def monitored(processes: LabProcesses) -> Iterator[None]:
    """Have the manager hear what Nova announces, and believe it at once."""
    with processes.configured(
        "physical:host",
        enable_notification_monitor=True,
        polling_interval=600,
        down_seconds_before_moving=0,
        recovery_seconds=0,
    ):
        yield


@pytest.fixture
def lease(hosts: dict[str, str], demo: Connection, name: str) -> dict[str, Any]:
    """Return an active lease of project demo over one host."""
    service = Reservations(demo)
    answer = service.post_hosts(name, "now", boundary(LASTS))
    assert answer.status == 201, answer
    return service.await_status(answer.body["lease"]["id"], "ACTIVE", SOON)


def compute_of(admin: Connection, host: str) -> Any:
    (found,) = admin.compute.services(binary="nova-compute", host=host)
    return found


def is_reservable(admin: Connection, host: str) -> bool:
    listed = Reservations(admin).call("GET", "/os-hosts").body["hosts"]
    (found,) = (each["reservable"] for each in listed if each["hypervisor_hostname"] == host)
    return bool(found)


def test_a_compute_that_stops_loses_its_lease_and_comes_back(
    lease: dict[str, Any],
    hosts: dict[str, str],
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
) -> None:
    service, operator = Reservations(demo), Reservations(admin)
    (reservation,) = (each["id"] for each in lease["reservations"])
    server = boot(demo, reservation)
    assert server.status == "ACTIVE"
    (failed,) = operator.hosts_of(reservation)
    compute = compute_of(admin, failed)

    with processes.without_compute(failed):
        admin.compute.update_service_forced_down(compute, forced=True)  # as a fencing agent does
        try:
            until("the lease on another host", SOON, lambda: operator.hosts_of(reservation) != [failed])
            assert not is_reservable(admin, failed)
            until("the lease whole", SOON, lambda: not service.lease(lease["id"])["degraded"])
            (told,) = service.lease(lease["id"])["reservations"]
            assert (told["missing_resources"], told["resources_changed"]) == (False, False)
            aggregate = admin.compute.find_aggregate(reservation, ignore_missing=False)
            assert aggregate.hosts == operator.hosts_of(reservation)
            assert server.id not in {each.id for each in admin.compute.servers(all_projects=True)}
            began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
            processes.start_compute(failed)  # it stays forced down
            again = boot(demo, reservation)
            assert again.status == "ACTIVE"
            assert [admin.compute.get_server(again.id).compute_host] == aggregate.hosts
            until("a report", RECOVERY_SECONDS, lambda: compute_of(admin, failed).updated_at > began)
        finally:
            admin.compute.update_service_forced_down(compute, forced=False)
    until("the host reservable", SOON, lambda: is_reservable(admin, failed))
    freepool = admin.compute.find_aggregate("freepool", ignore_missing=False)
    assert failed in freepool.hosts


def test_a_disabled_compute_keeps_its_lease_and_says_so(
    lease: dict[str, Any], admin: Connection, demo: Connection
) -> None:
    service, operator = Reservations(demo), Reservations(admin)
    (reservation,) = (each["id"] for each in lease["reservations"])
    (host,) = operator.hosts_of(reservation)
    compute = compute_of(admin, host)

    admin.compute.disable_service(compute, disabled_reason="a story")
    try:
        until("the lease degraded", SOON, lambda: service.lease(lease["id"])["degraded"])
        (told,) = service.lease(lease["id"])["reservations"]
        assert (told["missing_resources"], told["resources_changed"]) == (True, False)
        assert operator.hosts_of(reservation) == [host]
        assert not is_reservable(admin, host)
    finally:
        admin.compute.enable_service(compute)
    until("the lease whole", SOON, lambda: not service.lease(lease["id"])["degraded"])
    assert is_reservable(admin, host)
