"""The official clients, unmodified, with host leases on a real cloud.

Stories of the other kinds are in the modules of these kinds.
"""

from __future__ import annotations

import re

import pytest
from labtests import reservations as ask
from labtests import workers
from labtests.clients import CommandFailed, User
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, text, wait_for
from openstack.connection import Connection


def freepool(admin: Connection) -> set[str]:
    return set(admin.compute.find_aggregate("freepool", ignore_missing=False).hosts)


def test_an_operators_commands(hosts: dict[str, str], operator: User, user: User, admin: Connection) -> None:
    command = ("reservation", "host")
    listed = {host["hypervisor_hostname"] for host in operator.json(*command, "list")}
    assert set(hosts) <= listed
    host = sorted(hosts)[0]
    operator.run(*command, "set", host, "--extra", "rack=r9")
    shown = operator.json(*command, "show", host)
    assert (shown["hypervisor_hostname"], shown["rack"], shown["reservable"]) == (host, "r9", True)
    assert re.search(r"\brack\b", operator.run(*command, "property", "list"))

    operator.run(*command, "delete", host)
    assert host not in freepool(admin)
    assert host not in {each["hypervisor_hostname"] for each in operator.json(*command, "list")}
    extras = (f"{workers.PROPERTY}={workers.WORKER}", "rack=r1", "gpus=2")
    operator.run(*command, "create", *(word for extra in extras for word in ("--extra", extra)), host)
    assert host in freepool(admin)
    # it has another id now, which the stories to come look it up by
    hosts[host] = str(operator.json(*command, "show", host)["id"])

    for verb in ("list", "show", "delete"):
        with pytest.raises(CommandFailed):
            user.run(*command, verb, *(() if verb == "list" else (host,)))


@pytest.mark.minutes(1)
def test_a_lease_from_create_to_end(
    hosts: dict[str, str],
    operator: User,
    user: User,
    stranger: User,
    admin: Connection,
    flavor: str,
    name: str,
) -> None:
    created = user.create(name, ask.hosts(), end=boundary(10 * 60))
    assert created["name"] == name
    user.await_status(name, "ACTIVE", ACTIVE_SECONDS)
    assert name in {lease["name"] for lease in user.json("reservation", "lease", "list")}
    (reservation,) = (each["id"] for each in created["reservations"])
    taken = operator.hosts_of(reservation)
    (host,) = [host for host, number in hosts.items() if number in taken]
    assert reservation in operator.run("reservation", "allocation", "show", "host", host)
    assert host not in freepool(admin)

    hint = ("--hint", f"reservation={reservation}")
    mine = user.boot("--flavor", flavor, *hint)
    assert mine["status"] == "ACTIVE"
    assert admin.compute.get_server(mine["id"]).compute_host == host
    assert stranger.boot("--flavor", flavor, *hint)["status"] == "ERROR"
    assert user.boot("--flavor", flavor)["status"] == "ERROR"

    end = boundary(10)
    user.change(name, "--end-date", text(end))
    wait_for(end)
    user.await_status(name, "TERMINATED", END_SECONDS)
    assert mine["id"] not in {server.id for server in admin.compute.servers(all_projects=True)}
    assert host in freepool(admin)
    assert admin.compute.find_aggregate(reservation) is None
    user.delete(name)
    assert name not in user.run("reservation", "lease", "list")


def test_a_lease_of_the_future(hosts: dict[str, str], user: User, stranger: User, name: str) -> None:
    start = boundary(3600)
    created = user.create(name, ask.hosts(), start=start, end=start + 3600)
    assert user.lease(created["id"])["status"] == "PENDING"
    user.change(name, "--name", f"{name}-renamed")
    assert user.lease(f"{name}-renamed")["status"] == "PENDING"
    assert created["id"] not in stranger.run("reservation", "lease", "list")
    with pytest.raises(CommandFailed):
        stranger.delete(created["id"])
    user.delete(created["id"])
    assert created["id"] not in user.run("reservation", "lease", "list")
