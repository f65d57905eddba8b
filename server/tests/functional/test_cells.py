"""A Nova of two cells that both count their hypervisors from 1: the whole story of two hosts over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.db import tables

from .sandboxed import Sandboxed, until
from .test_healing import HOST, INSTANCES, MONITORING, lease_of, reservable

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
FIRST, SECOND = "compute-01", "compute-02"


@pytest.fixture
def sandboxed(tmp_path: Path) -> Iterator[Sandboxed]:
    sandboxed = Sandboxed(tmp_path, hosts=2, monitoring=MONITORING)
    with sandboxed.state.lock:
        hosts = sandboxed.state.compute.hosts.table
        hosts.put(SECOND, replace(hosts[SECOND], id=hosts[FIRST].id))
    yield sandboxed
    sandboxed.stop()


def registered(sandboxed: Sandboxed) -> dict[str, str]:
    """Return the ids of the hosts by name, once both are registered by their names."""
    answers = [sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": n}) for n in (FIRST, SECOND)]
    assert [answer.status_code for answer in answers] == [201, 201], [answer.text for answer in answers]
    return {answer.json["host"]["hypervisor_hostname"]: answer.json["host"]["id"] for answer in answers}


def lease(sandboxed: Sandboxed, *reservations: dict[str, Any]) -> Any:
    """Return an active lease."""
    body = {
        "name": "a",
        "start_date": "now",
        "end_date": "2050-01-01 11:00",
        "reservations": list(reservations),
    }
    made = sandboxed.send("POST", "/v1/leases", "demo", json=body).json["lease"]
    assert until(lambda: lease_of(sandboxed, made["id"])["status"] == "ACTIVE")
    return lease_of(sandboxed, made["id"])


def test_hosts_with_one_number_serve_leases_and_are_given_back(sandboxed: Sandboxed) -> None:
    ids = registered(sandboxed)
    assert ids[FIRST] == "1"
    assert ids[SECOND].isdigit()
    assert int(ids[SECOND]) > 2**31
    shown = {n: sandboxed.send("GET", f"/v1/os-hosts/{ids[n]}", "admin").json["host"] for n in ids}
    assert {name: host["service_name"] for name, host in shown.items()} == {FIRST: FIRST, SECOND: SECOND}

    only_second = {**HOST, "resource_properties": f'["==", "$hypervisor_hostname", "{SECOND}"]'}
    made = lease(sandboxed, only_second, INSTANCES)
    on_hosts, in_slots = (each["id"] for each in made["reservations"])
    aggregates = sandboxed.aggregates()
    assert (aggregates[on_hosts], aggregates[in_slots]) == ([SECOND], [FIRST])
    assert sandboxed.boot("demo", in_slots)["OS-EXT-SRV-ATTR:host"] == FIRST
    assert sandboxed.boot("demo", "1", reservation=on_hosts)["OS-EXT-SRV-ATTR:host"] == SECOND
    path = f"/v1/os-hosts/{ids[SECOND]}/allocation"
    (allocated,) = sandboxed.send("GET", path, "admin").json["allocation"]["reservations"]
    assert allocated["id"] == on_hosts

    assert sandboxed.send("DELETE", f"/v1/leases/{made['id']}", "demo").status_code == 204
    assert until(lambda: sandboxed.aggregates() == {"freepool": [FIRST, SECOND]})
    assert until(lambda: sandboxed.send("GET", f"/v1/leases/{made['id']}", "demo").status_code == 404)
    for host_id in ids.values():
        assert sandboxed.send("DELETE", f"/v1/os-hosts/{host_id}", "admin").status_code == 204
    assert sandboxed.aggregates() == {"freepool": []}


def test_a_number_that_two_hosts_have_is_refused(sandboxed: Sandboxed) -> None:
    refused = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"id": 1})
    assert (refused.status_code, refused.json["error_message"]) == (
        409,
        f"Multiple Hosts found for pattern '1': {FIRST}, {SECOND} have this id, each in a cell of its own. "
        "Register the host by its name.",
    )
    assert sandboxed.aggregates() == {"freepool": []}


def test_each_host_is_monitored_for_itself(sandboxed: Sandboxed) -> None:
    ids = registered(sandboxed)
    with sandboxed.database.engine.begin() as connection:  # as an earlier version registered them
        connection.execute(tables.resources.update().values(cloud_id=None))
    sandboxed.set_power(SECOND, is_on=False)
    with sandboxed.state.lock:
        hosts = sandboxed.state.compute.hosts.table
        hosts.put(FIRST, replace(hosts[FIRST], memory_mb=7))
        uuids = {host.name: host.uuid for host in hosts}
    assert until(lambda: reservable(sandboxed) == {FIRST: True, SECOND: False})

    def memory(name: str) -> int:
        host = sandboxed.send("GET", f"/v1/os-hosts/{ids[name]}", "admin").json["host"]
        return int(host["memory_mb"])

    assert until(lambda: memory(FIRST) == 7)
    assert memory(SECOND) != 7
    with sandboxed.database.engine.connect() as connection:
        rows = connection.execute(tables.resources.select()).all()
    assert {row.name: row.cloud_id for row in rows} == uuids
