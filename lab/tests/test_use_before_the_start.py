"""What is reserved is used before its lease starts, and is the lease's when it does: ordinary servers of each
sort on two hosts that a real nova-scheduler fills, with the fate that their sort says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests.processes import LabProcesses
from labtests.reservations import Json, Reservations
from labtests.reservations import hosts as reserved_hosts
from labtests.reservations import instances as reserved_instances
from labtests.waiting import ACTIVE_SECONDS, boundary, text, until, wait_for
from openstack.connection import Connection
from openstack.exceptions import BadRequestException

READ_SECONDS = 60
NOTICE_SECONDS = 150
"""The lab gives notice two minutes before the start; a look comes each minute."""
START_SECONDS = 60
ALL_BOOTED_SECONDS = 120
GONE_SECONDS = 90
HOUR = 3600


def host_of(admin: Connection, server: Any) -> str | None:
    found = admin.compute.get_server(server.id).compute_host
    return str(found) if found else None


def metadata_of(admin: Connection, server: Any) -> dict[str, str]:
    return dict(admin.compute.get_server(server.id).metadata)


def exists(admin: Connection, server: Any) -> bool:
    return any(each.id == server.id for each in admin.compute.servers(all_projects=True))


def by_type(lease: Json) -> tuple[Json, Json]:
    """Return the reservation of a host, and that of instances."""
    found = {each["resource_type"]: each for each in lease["reservations"]}
    return found["physical:host"], found["virtual:instance"]


@pytest.fixture
def preemptible(special: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Return the flavors of servers that are deleted, and of those that are shelved."""
    yield tuple(special(extra_specs={"blazar:preemptible": word}) for word in ("true", "shelve"))


@pytest.mark.minutes(6)
def test_ordinary_work_fills_what_is_promised_and_all_that_was_promised_boots_at_the_start(
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    start: Callable[..., Any],
    fill: Callable[..., Any],
    preemptible: tuple[str, str],
    name: str,
) -> None:
    service, begin = Reservations(demo), boundary(4 * 60)
    wishes = (reserved_hosts(len(hosts) - 1), reserved_instances(2, affinity=True))
    answer = service.post(name, begin, begin + 10 * 60, *wishes)
    assert answer.status == 201, answer
    promised = answer.body["lease"]
    host, slots = by_type(promised)
    whole = Reservations(admin).hosts_of(host["id"])
    (shared,) = Reservations(admin).hosts_of(slots["id"])
    assert {*whole, shared} == set(hosts)

    # Before the start: hosts that are promised take what ends in time, and what may be ended at any time.
    assert boot(alt).status == "ERROR", "a server without an end has no place there"

    def landed() -> Any:
        # The scheduler begins to read what is promised with its first decision.
        server = fill(alt, begin - 60)
        return server if server.status == "ACTIVE" else None

    ends = until("a scheduler that has read what is promised", READ_SECONDS, landed)
    stays = fill(alt, begin + 5 * 60)
    assert host_of(admin, stays) == shared, "beside what is promised there is room on this host only"
    guests: dict[str, list[Any]] = {flavor: [] for flavor in preemptible}
    for _ in range(3):
        for flavor in preemptible:
            guests[flavor].append(boot(alt, flavor_id=flavor))
    deleted, shelved = (guests[flavor] for flavor in preemptible)
    assert {host_of(admin, each) for each in (*deleted, *shelved)} <= set(hosts)

    wait_for(begin - 120)
    until(
        "notice to all that have to leave",
        NOTICE_SECONDS,
        lambda: all("blazar_notice" in metadata_of(admin, each) for each in (*deleted, *shelved)),
    )
    until("the server gone that ends", GONE_SECONDS, lambda: host_of(admin, ends) is None)
    assert time.time() < begin, "it ends by itself before the start"
    assert "blazar_notice" not in metadata_of(admin, stays)

    wait_for(begin)
    lease = service.await_status(promised["id"], "ACTIVE", START_SECONDS)
    host, slots = by_type(lease)
    owned = [boot(demo, host["id"]), start(demo, slots), start(demo, slots)]
    assert [each.status for each in owned] == ["ACTIVE"] * 3
    assert host_of(admin, owned[0]) in whole
    assert [host_of(admin, each) for each in owned[1:]] == [shared, shared]
    assert time.time() - begin < ALL_BOOTED_SECONDS
    assert start(demo, slots).status == "ERROR", "what was promised is all"

    assert not any(exists(admin, each) for each in deleted)
    assert {admin.compute.get_server(each.id).status for each in shelved} == {"SHELVED_OFFLOADED"}
    assert all("blazar_preempted" in metadata_of(admin, each) for each in shelved)
    assert host_of(admin, stays) == shared, "what does not have to leave is left alone"
    assert admin.compute.get_server(stays.id).status == "ACTIVE"


@pytest.mark.minutes(2)
def test_a_lease_starts_early_and_stays_late_where_the_time_is_free(
    hosts: dict[str, str], admin: Connection, demo: Connection, boot: Callable[..., Any], name: str
) -> None:
    service, begin = Reservations(demo), boundary(HOUR)
    next_one = begin + 3 * HOUR
    lease_id = service.post_hosts(name, begin, begin + HOUR).body["lease"]["id"]
    assert service.post_hosts(f"{name}-next", next_one, next_one + HOUR, count=len(hosts)).status == 201

    assert service.call("PUT", f"/leases/{lease_id}", {"start_date": "now"}).status == 200
    early = service.await_status(lease_id, "ACTIVE", ACTIVE_SECONDS)
    assert time.time() < begin
    assert boot(demo, early["reservations"][0]["id"]).status == "ACTIVE"

    body = {"latest_end": text(next_one + 8 * HOUR)}
    answer = service.call("PUT", f"/leases/{lease_id}", body, version="1.35")
    assert answer.status == 200, answer
    end = answer.body["lease"]["end_date"]
    assert end[:16].replace("T", " ") == text(next_one), "it is told until when it may stay"


@pytest.mark.alone
@pytest.mark.minutes(2)
def test_while_the_service_is_dead_what_has_started_is_never_given_to_others(
    hosts: dict[str, str],
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    start: Callable[..., Any],
    fill: Callable[..., Any],
    preemptible: tuple[str, str],
    name: str,
) -> None:
    service = Reservations(demo)
    wishes = (reserved_hosts(len(hosts) - 1), reserved_instances(2, affinity=True))
    answer = service.post(name, "now", boundary(10 * 60), *wishes)
    assert answer.status == 201, answer
    lease = service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    host, slots = by_type(lease)
    for process in ("blazar-manager", "blazar-api"):
        processes.kill(process)

    assert boot(alt).status == "ERROR"
    assert boot(alt, host["id"]).status == "ERROR"
    with pytest.raises(BadRequestException, match="could not be found"):
        start(alt, slots)
    for flavor in preemptible:
        assert boot(alt, flavor_id=flavor).status == "ERROR"
    assert fill(alt, boundary(5 * 60)).status == "ERROR"

    owned = [boot(demo, host["id"]), start(demo, slots), start(demo, slots)]
    assert [each.status for each in owned] == ["ACTIVE"] * 3
    (shared,) = {host_of(admin, each) for each in owned[1:]}
    assert host_of(admin, owned[0]) in set(hosts) - {str(shared)}
    assert start(demo, slots).status == "ERROR", "Placement knows how many were promised"
    processes.start_blazar()
    assert service.status(lease["id"]) == "ACTIVE"


@pytest.mark.minutes(1)
def test_a_server_that_may_be_moved_runs_on_another_host_when_its_own_is_needed(
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    special: Callable[..., str],
    name: str,
) -> None:
    guest = boot(alt, flavor_id=special(extra_specs={"blazar:preemptible": "migrate"}))
    assert guest.status == "ACTIVE"
    here = host_of(admin, guest)
    service, end = Reservations(demo), boundary(5 * 60)
    wish = {**reserved_hosts(), "hypervisor_properties": f'["==", "$hypervisor_hostname", "{here}"]'}
    answer = service.post(name, "now", end, wish)
    assert answer.status == 201, answer
    lease = service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    assert Reservations(admin).hosts_of(lease["reservations"][0]["id"]) == [here]
    moved = admin.compute.get_server(guest.id)
    assert (moved.status, moved.compute_host in set(hosts) - {str(here)}) == ("ACTIVE", True)
