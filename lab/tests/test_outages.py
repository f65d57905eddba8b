"""Leases start and end although parts of the cloud freeze, fail or are away for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from labtests.processes import Interruptible, LabProcesses, compute_of
from labtests.reservations import Reservations
from labtests.waiting import MINUTE, boundary, wait_for
from openstack.connection import Connection

HOUR = 3600
RECOVERY_SECONDS = 180
ON_TIME_SECONDS = 20
SERVERS = ("rabbitmq", "mariadb")

alone = pytest.mark.alone
thorough = pytest.mark.thorough


@pytest.fixture(scope="module")
def interruptible(processes: LabProcesses) -> Iterator[Mapping[str, Interruptible]]:
    """Yield RabbitMQ and MariaDB as servers that a story can stop."""
    with processes.interruptible(SERVERS) as servers:
        yield servers


def post(service: Reservations, name: str, start: int | str, end: int, properties: str = "") -> str:
    answer = service.post_hosts(name, start, end, properties=properties)
    assert answer.status == 201, answer
    return str(answer.body["lease"]["id"])


@pytest.mark.thorough
@pytest.mark.minutes(2)
def test_a_frozen_compute_delays_its_own_lease_only(
    hosts: dict[str, str],
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service = Reservations(demo)
    end = boundary(20)
    stuck = post(service, f"{name}-stuck", "now", end)
    lease = service.await_status(stuck, "ACTIVE", 30)
    reservation = lease["reservations"][0]["id"]
    assert boot(demo, reservation).status == "ACTIVE"
    (host,) = Reservations(admin).hosts_of(reservation)
    compute = compute_of(host)
    # a lease that was given the frozen host next would rightly wait for it
    elsewhere = f'["!=", "$hypervisor_hostname", "{host}"]'
    ending = post(service, f"{name}-ending", "now", end, elsewhere)
    between = post(service, f"{name}-between", end, end + MINUTE, elsewhere)
    later = post(service, f"{name}-later", end + MINUTE, end + HOUR, elsewhere)
    service.await_status(ending, "ACTIVE", 30)

    wait_for(end - 3)
    processes.freeze(compute)
    wait_for(end)
    # other leases end and start on time while this server does not go away
    service.await_status(ending, "TERMINATED", ON_TIME_SECONDS)
    service.await_status(between, "ACTIVE", ON_TIME_SECONDS)
    assert service.status(stuck) == "TERMINATING"
    wait_for(end + MINUTE)
    # by now Nova may have given the compute up, and deleted the server without it
    service.await_status(between, "TERMINATED", ON_TIME_SECONDS)
    service.await_status(later, "ACTIVE", ON_TIME_SECONDS)

    processes.thaw(compute)
    service.await_status(stuck, "TERMINATED", RECOVERY_SECONDS)
    assert name not in {server.name for server in admin.compute.servers(all_projects=True)}


@alone
@pytest.mark.by_turns(2)
@pytest.mark.parametrize("api", ["nova", pytest.param("keystone", marks=thorough)])
def test_an_api_that_answers_500_and_503_for_a_while(
    api: str, hosts: dict[str, str], processes: LabProcesses, demo: Connection, name: str
) -> None:
    service = Reservations(demo)
    moment = boundary(10)
    ending = post(service, f"{name}-ending", "now", moment)
    starting = post(service, f"{name}-starting", moment, moment + HOUR)
    service.await_status(ending, "ACTIVE", 30)

    wait_for(moment - 3)
    with processes.failing(api, "500 503"):
        # long enough for several attempts to fail
        wait_for(moment + 20)

    service.await_status(ending, "TERMINATED", RECOVERY_SECONDS)
    service.await_status(starting, "ACTIVE", RECOVERY_SECONDS)
    assert service.delete(starting).status == 204


@alone
@thorough  # `make test-ha` takes both away in its short form
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_stopped_and_started_in_the_middle(
    server: str,
    interruptible: Mapping[str, Interruptible],
    hosts: dict[str, str],
    demo: Connection,
    name: str,
) -> None:
    service = Reservations(demo)
    moment = boundary(10)
    ending = post(service, f"{name}-ending", "now", moment)
    starting = post(service, f"{name}-starting", moment, moment + HOUR)
    service.await_status(ending, "ACTIVE", 30)

    wait_for(moment - 3)
    interruptible[server].stop()
    try:
        wait_for(moment + 5)
        refused = service.call("GET", "/leases")
        assert refused.status == 503, refused
        wait_for(moment + 15)
    finally:
        interruptible[server].start()

    service.await_status(ending, "TERMINATED", RECOVERY_SECONDS)
    service.await_status(starting, "ACTIVE", RECOVERY_SECONDS)
    again = post(service, f"{name}-again", moment + 2 * HOUR, moment + 3 * HOUR)
    assert service.delete(again).status == 204
