"""Ordinary servers with a known end on hosts that are promised to a later lease, placed by a real
nova-scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from labtests.reservations import Reservations
from labtests.waiting import boundary, until, wait_for
from openstack.connection import Connection

READ_SECONDS = 60
LEASE_SECONDS = 30
SHELVED_SECONDS = 90
START_SECONDS = 60


def host_of(admin: Connection, server: Any) -> str | None:
    found = admin.compute.get_server(server.id).compute_host
    return str(found) if found else None


@pytest.mark.thorough
@pytest.mark.minutes(5)
def test_a_server_runs_on_a_promised_host_until_its_end_and_the_lease_gets_all_of_it(
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    fill: Callable[..., Any],
    name: str,
) -> None:
    service, start = Reservations(demo), boundary(4 * 60)
    answer = service.post_hosts(name, start, start + 5 * 60, count=len(hosts))
    assert answer.status == 201, answer
    promised = answer.body["lease"]
    assert boot(demo).status == "ERROR", "one without an end has no place on hosts of the freepool"
    end = start - 60

    def landed() -> Any:
        # The scheduler begins to read what is promised with its first decision.
        server = fill(demo, end)
        return server if server.status == "ACTIVE" else None

    server = until("a scheduler that has read what is promised", READ_SECONDS, landed)
    home = host_of(admin, server)
    assert home in hosts
    assert fill(demo, start + 60).status == "ERROR", "its end is after the start of the lease"

    def adopted() -> Any:
        return admin.compute.get_server(server.id).metadata.get("blazar_lease")

    lease_id = until("a lease of the server", LEASE_SECONDS, adopted)
    service.await_status(lease_id, "ACTIVE", LEASE_SECONDS)
    assert host_of(admin, server) == home, "it stays where it was booted"
    again = service.post_hosts(f"{name}-again", "now", boundary(60), count=len(hosts))
    assert (again.status, "Not enough hosts available" in again.message) == (400, True)

    wait_for(end)
    until("the server away at its end", SHELVED_SECONDS, lambda: host_of(admin, server) is None)
    wait_for(start)
    service.await_status(promised["id"], "ACTIVE", START_SECONDS)
    reservation = promised["reservations"][0]["id"]
    assert Reservations(admin).hosts_of(reservation) == sorted(hosts)
    assert boot(demo, reservation).status == "ACTIVE"
    assert admin.compute.get_server(server.id).status == "SHELVED_OFFLOADED"


def test_a_lease_that_starts_where_a_server_was_booted_a_moment_ago(
    hosts: dict[str, str], admin: Connection, demo: Connection, fill: Callable[..., Any], name: str
) -> None:
    service, end = Reservations(demo), boundary(10 * 60)

    def landed() -> Any:
        server = fill(demo, end)
        return server if server.status == "ACTIVE" else None

    server = until("a scheduler that has read what is promised", READ_SECONDS, landed)
    answer = service.post_hosts(name, "now", boundary(5 * 60), count=len(hosts))
    if answer.status == 400:
        # The server's lease was faster: it has its host.
        assert "Not enough hosts available" in answer.message
        assert host_of(admin, server) in hosts
        return
    assert answer.status == 201, answer
    service.await_status(answer.body["lease"]["id"], "ACTIVE", SHELVED_SECONDS)
    found = admin.compute.get_server(server.id)
    assert (found.status, found.compute_host) == ("SHELVED_OFFLOADED", None)
    assert found.metadata["blazar_lease_error"]
