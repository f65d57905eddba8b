"""Reserved hosts that are lent to preemptible servers of another project while they are idle, by a real
nova-scheduler, and come back when their own project boots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from labtests.reservations import Reservations
from labtests.reservations import hosts as reserved_hosts
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, text, until
from openstack.connection import Connection

LENT_SECONDS = 60
BACK_SECONDS = 90


def host_of(admin: Connection, server: Any) -> str | None:
    found = admin.compute.get_server(server.id).compute_host
    return str(found) if found else None


def lent(admin: Connection, hosts: dict[str, str]) -> list[str]:
    """Return those of the worker's hosts that are lent."""
    found = admin.compute.find_aggregate("lent", ignore_missing=True)
    return sorted(set(found.hosts or ()) & set(hosts)) if found else []


def is_gone(admin: Connection, server: Any) -> bool:
    return all(each.id != server.id for each in admin.compute.servers(all_projects=True))


@pytest.mark.minutes(3)
def test_idle_hosts_take_servers_of_others_until_the_owner_needs_them(
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    special: Callable[..., str],
    name: str,
) -> None:
    service = Reservations(demo)
    wish = {**reserved_hosts(len(hosts)), "lend": True, "keep_free": len(hosts) - 1}
    body = {"name": name, "start_date": "now", "end_date": text(boundary(10 * 60)), "reservations": [wish]}
    answer = service.call("POST", "/leases", body, version="1.43")
    assert answer.status == 201, answer
    lease = service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    reservation = str(lease["reservations"][0]["id"])
    (borrowed,) = until("a host that is lent", LENT_SECONDS, lambda: lent(admin, hosts))

    spare = special(extra_specs={"blazar:preemptible": "true"})
    kept = special(extra_specs={"blazar:preemptible": "shelve"})
    assert boot(alt).status == "ERROR", "only preemptible servers of others get there"
    guests = [boot(alt, flavor_id=each) for each in (spare, kept)]
    assert [each.status for each in guests] == ["ACTIVE", "ACTIVE"]
    assert [host_of(admin, each) for each in guests] == [borrowed, borrowed]

    first = boot(demo, reservation)
    assert first.status == "ACTIVE"
    assert host_of(admin, first) not in (None, borrowed), "the weigher prefers hosts that are kept free"
    until("the host taken back", BACK_SECONDS, lambda: not lent(admin, hosts))
    until("the one server gone", BACK_SECONDS, lambda: is_gone(admin, guests[0]))
    until("the other one shelved", BACK_SECONDS, lambda: host_of(admin, guests[1]) is None)
    shelved = alt.compute.get_server(guests[1].id)
    assert shelved.metadata["blazar_preempted"] == (
        f"host {borrowed} is needed by the project that has reserved it"
    )
    assert boot(alt, flavor_id=spare).status == "ERROR"
    assert host_of(admin, first) is not None, "the owner's server is left"

    assert service.deleted(lease["id"])
    aggregate = admin.compute.find_aggregate("lent", ignore_missing=False)
    until(
        "nothing lent any more",
        END_SECONDS,
        lambda: reservation not in admin.compute.get_aggregate(aggregate.id).metadata,
    )
