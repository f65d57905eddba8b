"""Host leases with servers in them: access, extension, end and deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from labtests import workers
from labtests.reservations import Reservations
from labtests.reservations import hosts as reserved_hosts
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, text, until, wait_for
from openstack.connection import Connection

SLACK = 20


def reservation_id(lease: dict[str, Any]) -> str:
    return str(lease["reservations"][0]["id"])


def in_freepool(admin: Connection, hosts: Iterable[str]) -> set[str]:
    """Return those of the hosts that are in the freepool."""
    return set(hosts) & set(admin.compute.find_aggregate("freepool", ignore_missing=False).hosts)


def server_exists(admin: Connection, server_id: str) -> bool:
    return any(server.id == server_id for server in admin.compute.servers(all_projects=True))


def host_of(admin: Connection, server_id: str) -> str:
    return str(admin.compute.get_server(server_id).compute_host)


@pytest.fixture
def lease(hosts: dict[str, str], demo: Connection, name: str) -> dict[str, Any]:
    """Return an active lease of project demo over one host, which ends in some minutes."""
    service = Reservations(demo)
    answer = service.post_hosts(name, "now", boundary(5 * 60))
    assert answer.status == 201, answer
    return service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)


def test_the_owner_gets_in_on_the_reserved_host(
    lease: dict[str, Any], admin: Connection, demo: Connection, boot: Callable[..., Any]
) -> None:
    reservation = reservation_id(lease)
    server = boot(demo, reservation)
    assert server.status == "ACTIVE"
    assert [host_of(admin, server.id)] == Reservations(admin).hosts_of(reservation)


def test_a_stranger_with_the_hint_is_refused(
    lease: dict[str, Any], alt: Connection, boot: Callable[..., Any]
) -> None:
    server = boot(alt, reservation_id(lease))
    assert server.status == "ERROR"
    assert "No valid host" in server.fault["message"]


def test_a_plain_boot_is_refused_on_reserved_and_on_free_hosts_alike(
    lease: dict[str, Any], demo: Connection, boot: Callable[..., Any]
) -> None:
    server = boot(demo)
    assert server.status == "ERROR"
    assert "No valid host" in server.fault["message"]


@pytest.fixture
def ordinary_host(hosts: dict[str, str], admin: Connection) -> Iterator[str]:
    """Take one of the worker's hosts out of the service's care for the time of a story."""
    service, name = Reservations(admin), sorted(hosts)[-1]
    assert service.call("DELETE", f"/os-hosts/{hosts[name]}").status == 204
    yield name
    for server in [each for each in admin.compute.servers(all_projects=True) if each.compute_host == name]:
        admin.compute.delete_server(server)
    answer = until(
        "the host registered again",
        END_SECONDS,
        lambda: (
            (found := service.call("POST", "/os-hosts", workers.registration(name))).status == 201 and found
        ),
    )
    hosts[name] = answer.body["host"]["id"]


def test_an_open_reservation_takes_ordinary_servers_of_its_project_before_other_hosts(
    ordinary_host: str,
    admin: Connection,
    demo: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service, wish = Reservations(demo), {**reserved_hosts(), "match": "open"}
    body = {"name": name, "start_date": "now", "end_date": text(boundary(5 * 60)), "reservations": [wish]}
    answer = service.call("POST", "/leases", body, version="1.29")
    assert answer.status == 201, answer
    lease = service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    [reserved] = Reservations(admin).hosts_of(reservation_id(lease))

    def lands_on(host: str) -> bool:
        """Return whether a server gets onto the host. One that is elsewhere is deleted: nova-scheduler hears
        of aggregates by and by, and of two changes at once perhaps only with the next one."""
        server = boot(demo)
        if host_of(admin, server.id) == host:
            return True
        admin.compute.delete_server(server.id)
        until("the server gone", END_SECONDS, lambda: not server_exists(admin, server.id))
        return False

    until("a server on the reserved host", ACTIVE_SECONDS, lambda: lands_on(reserved))
    # Of two hosts, Nova's own weighers would choose the emptier one for the second server.
    assert host_of(admin, boot(demo).id) == reserved
    assert host_of(admin, boot(alt).id) == ordinary_host

    change = {"reservations": [{"id": reservation_id(lease), "match": "explicit"}]}
    changed = service.call("PUT", f"/leases/{lease['id']}", change, version="1.29")
    assert changed.status == 200, changed
    aggregate = admin.compute.find_aggregate(reservation_id(lease), ignore_missing=False)
    until(
        "the aggregate closed",
        ACTIVE_SECONDS,
        lambda: admin.compute.get_aggregate(aggregate.id).metadata["blazar:match"] == "explicit",
    )
    until("a server elsewhere", ACTIVE_SECONDS, lambda: lands_on(ordinary_host))


def test_a_hint_does_not_open_the_freepool(
    hosts: dict[str, str], demo: Connection, boot: Callable[..., Any]
) -> None:
    assert boot(demo, "freepool").status == "ERROR"


def test_another_projects_lease_does_not_exist_for_a_stranger(lease: dict[str, Any], alt: Connection) -> None:
    stranger = Reservations(alt)
    assert stranger.call("GET", f"/leases/{lease['id']}").status == 404
    assert stranger.call("PUT", f"/leases/{lease['id']}", {"name": "mine"}).status == 404
    assert stranger.delete(lease["id"]).status == 404
    assert lease["id"] not in {found["id"] for found in stranger.call("GET", "/leases").body["leases"]}


@pytest.mark.minutes(2)
def test_shortening_and_extension_while_active(
    hosts: dict[str, str], admin: Connection, demo: Connection, boot: Callable[..., Any], name: str
) -> None:
    service = Reservations(demo)
    created = service.post_hosts(name, "now", boundary(3600))
    assert created.status == 201, created
    lease_id = created.body["lease"]["id"]
    lease = service.await_status(lease_id, "ACTIVE", ACTIVE_SECONDS)
    server = boot(demo, reservation_id(lease))
    assert server.status == "ACTIVE"

    first_end = boundary(SLACK)
    for end in (first_end, first_end + 3600):
        changed = service.call("PUT", f"/leases/{lease_id}", {"end_date": text(end)})
        assert changed.status == 200, changed
    wait_for(first_end + 5)
    assert service.status(lease_id) == "ACTIVE"
    assert server_exists(admin, server.id)

    shortened = service.call("PUT", f"/leases/{lease_id}", {"end_date": text(boundary(SLACK))})
    assert shortened.status == 200, shortened
    service.await_status(lease_id, "TERMINATED", END_SECONDS)
    assert not server_exists(admin, server.id)
    assert in_freepool(admin, hosts) == set(hosts)


def test_delete_while_active_takes_the_servers_along(
    lease: dict[str, Any],
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
) -> None:
    service = Reservations(demo)
    server = boot(demo, reservation_id(lease))
    assert server.status == "ACTIVE"
    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    until("the server gone", END_SECONDS, lambda: not server_exists(admin, server.id))
    until("all hosts in the freepool", END_SECONDS, lambda: in_freepool(admin, hosts) == set(hosts))


@pytest.mark.minutes(1)
def test_a_lease_of_the_future_starts_by_itself(
    hosts: dict[str, str], admin: Connection, demo: Connection, name: str
) -> None:
    service = Reservations(demo)
    start = boundary(SLACK)
    created = service.post_hosts(name, start, start + 3600, count=2)
    assert created.status == 201, created
    lease_id = created.body["lease"]["id"]
    assert in_freepool(admin, hosts) == set(hosts)
    wait_for(start)
    lease = service.await_status(lease_id, "ACTIVE", ACTIVE_SECONDS)
    taken = Reservations(admin).hosts_of(reservation_id(lease))
    assert len(taken) == 2
    assert in_freepool(admin, hosts) == set(hosts) - set(taken)
