"""Do the official clients, untouched, do on a real cloud all that the quick start does on the sandbox?"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from labtests import lanes
from labtests.clients import Clients, CommandFailed
from labtests.waiting import boundary, text, until, wait_for
from openstack.connection import Connection

ACTIVE_SECONDS = 30
END_SECONDS = 90


def freepool(admin: Connection) -> set[str]:
    return set(admin.compute.find_aggregate("freepool", ignore_missing=False).hosts)


def host_reservation() -> str:
    """One host of this lane, in the words of the command line."""
    return (
        "resource_type=physical:host,min=1,max=1,hypervisor_properties=[],"
        f"resource_properties={lanes.requirement()}".replace(" ", "")
    )


def lease_status(cli: Clients, name: str) -> str:
    return str(cli.json("lab-demo", "reservation", "lease", "show", name)["status"])


def boot(cli: Clients, cloud: str, name: str, *hint: str) -> dict[str, Any]:
    """Ask for a server, and wait until it is ACTIVE or refused."""
    server = ("server", "create", "--image", "dummy", "--flavor", "m1.tiny", "--nic", "none", "--wait")
    with suppress(CommandFailed):
        cli.run(cloud, *server, *hint, name)
    shown: dict[str, Any] = cli.json(cloud, "server", "show", name)
    return shown


def test_an_operators_commands(hosts: dict[str, str], cli: Clients, admin: Connection) -> None:
    operator = partial(cli.run, "lab-admin", "reservation", "host")
    listed = {host["hypervisor_hostname"] for host in cli.json("lab-admin", "reservation", "host", "list")}
    assert set(hosts) <= listed
    host = sorted(hosts)[0]
    operator("set", host, "--extra", "rack=r9")
    shown = cli.json("lab-admin", "reservation", "host", "show", host)
    assert (shown["hypervisor_hostname"], shown["rack"], shown["reservable"]) == (host, "r9", True)
    assert re.search(r"\brack\b", operator("property", "list"))

    operator("delete", host)
    assert host not in freepool(admin)
    assert host not in {each["hypervisor_hostname"] for each in cli.json("lab-admin", "reservation", "host", "list")}
    extras = (f"{lanes.PROPERTY}={lanes.LANE}", "rack=r1", "gpus=2")
    operator("create", *(word for extra in extras for word in ("--extra", extra)), host)
    assert host in freepool(admin)
    # it has another id now, which the stories to come look it up by
    hosts[host] = str(cli.json("lab-admin", "reservation", "host", "show", host)["id"])

    for command in ("list", "show", "delete"):
        with pytest.raises(CommandFailed):
            cli.run("lab-demo", "reservation", "host", command, *(() if command == "list" else (host,)))


def test_a_lease_from_create_to_end(hosts: dict[str, str], cli: Clients, admin: Connection, name: str) -> None:
    user = partial(cli.run, "lab-demo", "reservation", "lease")
    created = cli.json(
        "lab-demo",
        *("reservation", "lease", "create", name, "--end-date", text(boundary(10 * 60))),
        *("--reservation", host_reservation()),
    )
    assert created["name"] == name
    until("the lease ACTIVE", ACTIVE_SECONDS, lambda: lease_status(cli, name) == "ACTIVE")
    assert name in {lease["name"] for lease in cli.json("lab-demo", "reservation", "lease", "list")}
    reservation = re.search(r'"id": "([0-9a-f-]{36})"', str(created["reservations"]))
    assert reservation, created
    hint = ("--hint", f"reservation={reservation[1]}")
    listed = cli.json("lab-admin", "reservation", "allocation", "list", "host", "--lease-id", created["id"])
    (taken,) = [each["resource_id"] for each in listed if reservation[1] in str(each["reservations"])]
    (host,) = [host for host, number in hosts.items() if number == taken]
    assert reservation[1] in cli.run("lab-admin", "reservation", "allocation", "show", "host", taken)
    assert host not in freepool(admin)

    mine = boot(cli, "lab-demo", name, *hint)
    assert mine["status"] == "ACTIVE"
    assert admin.compute.get_server(mine["id"]).compute_host == host
    assert boot(cli, "lab-alt", f"{name}-stranger", *hint)["status"] == "ERROR"
    assert boot(cli, "lab-demo", f"{name}-plain")["status"] == "ERROR"

    end = boundary(10)
    user("set", name, "--end-date", text(end))
    wait_for(end)
    until("the lease TERMINATED", END_SECONDS, lambda: lease_status(cli, name) == "TERMINATED")
    assert mine["id"] not in {server.id for server in admin.compute.servers(all_projects=True)}
    assert host in freepool(admin)
    assert admin.compute.find_aggregate(reservation[1]) is None
    user("delete", name)
    assert name not in user("list")


def test_a_lease_of_the_future(hosts: dict[str, str], cli: Clients, name: str) -> None:
    start = boundary(3600)
    words = ("--start-date", text(start), "--end-date", text(start + 3600), "--reservation", host_reservation())
    created = cli.json("lab-demo", "reservation", "lease", "create", name, *words)
    assert lease_status(cli, created["id"]) == "PENDING"
    cli.run("lab-demo", "reservation", "lease", "set", name, "--name", f"{name}-renamed")
    assert lease_status(cli, f"{name}-renamed") == "PENDING"
    assert created["id"] not in cli.run("lab-alt", "reservation", "lease", "list")
    with pytest.raises(CommandFailed):
        cli.run("lab-alt", "reservation", "lease", "delete", created["id"])
    cli.run("lab-demo", "reservation", "lease", "delete", created["id"])
    assert created["id"] not in cli.run("lab-demo", "reservation", "lease", "list")
