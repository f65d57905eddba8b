"""Reserved floating IPs on a real Neutron, from their registration to the end of the lease."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from labtests import workers
from labtests.clients import CommandFailed, User
from labtests.processes import LabProcesses
from labtests.reservations import Json, Reservations, floating_ips
from labtests.reservations import hosts as whole_hosts
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, text, until, wait_for
from openstack.connection import Connection

OWN = [f"203.0.113.{120 + 10 * workers.NUMBER + n}" for n in range(4)]
"""Addresses of this worker, outside of the subnet's allocation pool."""
FIRST, SECOND, THIRD, UNREGISTERED = OWN


@pytest.fixture(scope="session")
def network(admin: Connection) -> str:
    return str(admin.network.find_network("public", ignore_missing=False).id)


@pytest.fixture
def turn(request: pytest.FixtureRequest, processes: LabProcesses) -> Iterator[None]:
    """Wait until the story may register addresses: one that takes any address is alone with its own."""
    is_alone = request.node.get_closest_marker("any_address") is not None
    with processes.settings.folder("floatingips.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH)
        yield


@pytest.fixture
def addresses(turn: None, admin: Connection, network: str) -> Iterator[dict[str, str]]:
    """Register three addresses, and return their ids by address; at the end they must be free again."""
    service = Reservations(admin)
    made = {}
    for address in (FIRST, SECOND, THIRD):
        answer = service.call(
            "POST", "/floatingips", {"floating_network_id": network, "floating_ip_address": address}
        )
        assert answer.status == 201, answer
        made[address] = answer.body["floatingip"]["id"]
    yield made
    for lease in service.call("GET", "/leases").body["leases"]:
        if workers.owns(lease["name"]):
            service.delete(lease["id"])
            service.await_gone(lease["id"], END_SECONDS)
    for registered in service.call("GET", "/floatingips").body["floatingips"]:
        if registered["floating_ip_address"] in OWN:
            answer = service.call("DELETE", f"/floatingips/{registered['id']}")
            assert answer.status == 204, answer
    assert in_neutron(admin) == {}


@pytest.fixture
def port(demo: Connection) -> Iterator[str]:
    """Create a port of project demo, and return its id."""
    made = demo.network.create_port(network_id=demo.network.find_network("private", ignore_missing=False).id)
    yield str(made.id)
    demo.network.delete_port(made)


def in_neutron(admin: Connection) -> dict[str, Any]:
    """Return the floating IPs of this worker by their addresses."""
    return {each.floating_ip_address: each for each in admin.network.ips() if each.floating_ip_address in OWN}


def own_reservation(lease: dict[str, Any]) -> str:
    return str(lease["reservations"][-1]["id"])


@pytest.mark.minutes(1)
def test_they_are_the_projects_until_the_lease_ends(
    addresses: dict[str, str], network: str, admin: Connection, demo: Connection, port: str, name: str
) -> None:
    service = Reservations(demo)
    created = service.post(name, "now", boundary(3600), floating_ips(network, 2, FIRST, THIRD))
    assert created.status == 201, created
    lease = service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    given = in_neutron(admin)
    assert set(given) == {FIRST, THIRD}
    for each in given.values():
        assert each.project_id == demo.current_project_id
        assert set(each.tags) == {"blazar", f"reservation:{own_reservation(lease)}"}
    mine = {each.floating_ip_address for each in demo.network.ips()}
    assert {FIRST, THIRD} <= mine

    demo.network.update_ip(given[FIRST].id, port_id=port)
    # Whatever a user does to make it look like another one ...
    demo.network.update_ip(given[FIRST].id, description="mine")
    demo.network.set_tags(given[FIRST], [])
    end = boundary(5)
    assert service.call("PUT", f"/leases/{lease['id']}", {"end_date": text(end)}).status == 200
    wait_for(end)
    service.await_status(lease["id"], "TERMINATED", END_SECONDS)
    # ... it goes back, and the port stays.
    assert in_neutron(admin) == {}
    assert demo.network.get_port(port).id == port
    # A lease that is over does not keep the operator from giving an address up.
    operator = Reservations(admin)
    assert operator.call("DELETE", f"/floatingips/{addresses[FIRST]}").status == 204
    body = {"floating_network_id": network, "floating_ip_address": FIRST}
    assert operator.call("POST", "/floatingips", body).status == 201


def test_a_host_and_an_address_in_one_lease(
    addresses: dict[str, str],
    network: str,
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service = Reservations(demo)
    too_many_hosts = service.post(
        name, "now", boundary(3600), whole_hosts(len(hosts) + 1), floating_ips(network, 1, FIRST)
    )
    assert too_many_hosts.status == 400, too_many_hosts
    too_many_addresses = service.post(
        name, "now", boundary(3600), whole_hosts(), floating_ips(network, 2, FIRST, UNREGISTERED)
    )
    assert too_many_addresses.status == 400, too_many_addresses
    assert UNREGISTERED in too_many_addresses.message
    assert in_neutron(admin) == {}

    created = service.post(name, "now", boundary(3600), whole_hosts(), floating_ips(network, 1, FIRST))
    assert created.status == 201, created
    lease = service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    assert set(in_neutron(admin)) == {FIRST}
    assert boot(demo, lease["reservations"][0]["id"]).status == "ACTIVE"
    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    assert in_neutron(admin) == {}
    free = set(admin.compute.find_aggregate("freepool", ignore_missing=False).hosts)
    assert set(hosts) <= free


def test_an_address_that_the_operator_gave_away(
    addresses: dict[str, str], network: str, admin: Connection, demo: Connection, name: str
) -> None:
    with taken(admin, network, SECOND) as theirs:
        service = Reservations(demo)
        created = service.post(name, "now", boundary(3600), floating_ips(network, 3, FIRST, SECOND, THIRD))
        lease = service.await_status(created.body["lease"]["id"], "ERROR", ACTIVE_SECONDS)
        assert lease["status_reason"] == f"The floating IP {SECOND} is in use in Neutron."
        assert {address: each.id for address, each in in_neutron(admin).items()} == {SECOND: theirs}
        assert service.delete(lease["id"]).status == 204
        service.await_gone(lease["id"], END_SECONDS)
        assert {address: each.id for address, each in in_neutron(admin).items()} == {SECOND: theirs}


@contextmanager
def taken(admin: Connection, network: str, address: str) -> Iterator[str]:
    """Create a floating IP that is not the service's own, and yield its id."""
    made = admin.network.create_ip(floating_network_id=network, floating_ip_address=address)
    try:
        yield str(made.id)
    finally:
        admin.network.delete_ip(made)


def test_neutron_is_asked_about_what_is_registered_and_reserved(
    addresses: dict[str, str], network: str, admin: Connection, demo: Connection, name: str
) -> None:
    def register(network_id: str, address: str) -> int:
        body = {"floating_network_id": network_id, "floating_ip_address": address}
        return Reservations(admin).call("POST", "/floatingips", body).status

    private = str(admin.network.find_network("private", ignore_missing=False).id)
    nowhere = "00000000-0000-0000-0000-000000000000"
    assert register(network, "203.0.113.1") == 400
    assert register(network, "203.0.113.50") == 400
    assert register(network, "198.51.100.1") == 404
    assert register(network, "203.0.113.255") == 404
    assert register(private, "10.0.0.200") == 400
    assert register(nowhere, UNREGISTERED) == 400
    assert register(network, FIRST) == 409
    with taken(admin, network, UNREGISTERED):
        assert register(network, UNREGISTERED) == 409

    service = Reservations(demo)
    for network_id, amount in ((nowhere, 1), (private, 1), (network, 0), (network, 10**12)):
        assert service.post(name, "now", boundary(3600), floating_ips(network_id, amount)).status == 400
    assert name not in {lease["name"] for lease in service.call("GET", "/leases").body["leases"]}


@pytest.mark.any_address
def test_from_their_registration_to_the_end(
    addresses: dict[str, str],
    network: str,
    operator: User,
    user: User,
    stranger: User,
    name: str,
) -> None:
    command = ("reservation", "floatingip")
    own = operator.json(*command, "create", network, UNREGISTERED)["id"]
    assert UNREGISTERED in user.run(*command, "list")
    assert user.json(*command, "show", own)["floating_ip_address"] == UNREGISTERED
    with pytest.raises(CommandFailed):
        user.run(*command, "delete", own)

    asked = floating_ips(network, 1), floating_ips(network, 1, UNREGISTERED)
    end = boundary(3600)
    user.create(name, *asked, end=end)
    one_of_any, one_of_name = user.await_status(name, "ACTIVE", ACTIVE_SECONDS)["reservations"]
    assert one_of_any.items() >= asked[0].items()
    assert one_of_name.items() >= asked[1].items()
    assert listed(user, one_of_name) == {UNREGISTERED}
    (first,) = listed(user, one_of_any)
    assert first in addresses
    assert {first, UNREGISTERED} <= listed(user)
    assert not {first, UNREGISTERED} & listed(stranger)

    user.change_reservation(name, one_of_any, amount=2)
    until("one more", ACTIVE_SECONDS, lambda: len(listed(user, one_of_any)) == 2)
    grown = listed(user, one_of_any)
    assert first in grown
    with pytest.raises(CommandFailed, match="An active reservation keeps all of its floating IPs"):
        user.change_reservation(name, one_of_any, amount=1)
    user.change(name, "--prolong-for", "1h")
    longer = user.lease(name)
    assert (longer["status"], longer["end_date"][:16]) == ("ACTIVE", text(end + 3600).replace(" ", "T"))
    assert listed(user, one_of_any) == grown
    with pytest.raises(CommandFailed):
        operator.run(*command, "delete", own)

    user.delete(name)
    user.await_gone(name, END_SECONDS)
    assert not listed(user) & {*grown, UNREGISTERED}
    operator.run(*command, "delete", own)
    assert UNREGISTERED not in user.run(*command, "list")


def listed(user: User, reservation: Json | None = None) -> set[str]:
    """Return the floating IPs of the user's project, or only those of a reservation."""
    tags = () if reservation is None else ("--tags", f"reservation:{reservation['id']}")
    return {row["Floating IP Address"] for row in user.json("floating", "ip", "list", *tags)}
