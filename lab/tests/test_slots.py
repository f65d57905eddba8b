"""Reservations of instances and of flavors on a real Nova and a real Placement."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from labtests import leftovers
from labtests import reservations as ask
from labtests.clients import CommandFailed, User
from labtests.reservations import Json, Reservations
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, text, until, wait_for
from openstack.connection import Connection

BOOT_SECONDS = 90
HOUR = 3600
SLACK = 20


@pytest.fixture
def active(hosts: dict[str, str], demo: Connection, name: str) -> Callable[..., Json]:
    """Return a function that creates a lease of project demo, and returns it when it is active."""

    def make(*reservations: Json) -> Json:
        service = Reservations(demo)
        answer = service.post(name, "now", boundary(10 * 60), *reservations)
        assert answer.status == 201, answer
        return service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)

    return make


def only(lease: Json) -> Json:
    (reservation,) = lease["reservations"]
    found: Json = reservation
    return found


def host_of(admin: Connection, server_id: str) -> str:
    return str(admin.compute.get_server(server_id).compute_host)


def servers_left(admin: Connection) -> set[str]:
    return {server.id for server in admin.compute.servers(all_projects=True)}


@pytest.mark.minutes(1)
def test_as_many_servers_as_reserved_and_only_for_the_project(
    hosts: dict[str, str], operator: User, user: User, stranger: User, admin: Connection, name: str
) -> None:
    asked = ask.instances(3)
    user.create(name, asked, end=boundary(10 * 60))
    reservation = only(user.await_status(name, "ACTIVE", ACTIVE_SECONDS))
    assert reservation.items() >= asked.items()
    flavor = ("--flavor", reservation["flavor_id"])
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: user.boot(*flavor), range(4)))
    assert sorted(server["status"] for server in made) == ["ACTIVE"] * 3 + ["ERROR"]
    (refused,) = (server for server in made if server["status"] == "ERROR")
    assert "No valid host" in str(refused["fault"])
    running = [server["id"] for server in made if server["status"] == "ACTIVE"]
    serving = operator.hosts_of(reservation["id"])
    assert {hosts[host_of(admin, server)] for server in running} <= set(serving)
    with pytest.raises(CommandFailed, match="No Flavor found"):
        stranger.boot(*flavor)

    user.change_reservation(name, reservation, amount=4)
    assert user.lease(name)["status"] == "ACTIVE"
    until("another server", BOOT_SECONDS, lambda: user.boot(*flavor)["status"] == "ACTIVE")
    with pytest.raises(CommandFailed, match="fewer than 4"):
        user.change_reservation(name, reservation, amount=1)

    end = boundary(10)
    user.change(name, "--end-date", text(end))
    wait_for(end)
    user.await_status(name, "TERMINATED", END_SECONDS)
    assert not set(running) & servers_left(admin)
    assert admin.compute.find_aggregate(reservation["id"]) is None
    assert admin.compute.find_flavor(reservation["flavor_id"]) is None


@pytest.mark.minutes(1)
@pytest.mark.parametrize("affinity", [pytest.param(True, marks=pytest.mark.thorough), False])
def test_servers_run_together_or_apart(
    affinity: bool, hosts: dict[str, str], user: User, admin: Connection, name: str
) -> None:
    amount = 3 if affinity else len(hosts)
    end = boundary(10 * 60)
    created = only(user.create(name, ask.instances(amount, affinity=affinity), end=end))
    group = created["server_group_id"]
    assert (created["amount"], created["affinity"]) == (amount, affinity)
    assert group in user.run("server", "group", "list")
    user.await_status(name, "ACTIVE", ACTIVE_SECONDS)
    words = ("--flavor", created["flavor_id"], "--hint", f"group={group}")
    made = [user.boot(*words) for _ in range(amount)]
    assert [server["status"] for server in made] == ["ACTIVE"] * amount
    assert len({host_of(admin, server["id"]) for server in made}) == (1 if affinity else amount)
    assert user.boot(*words)["status"] == "ERROR"

    user.change(name, "--prolong-for", "1h")
    assert user.lease(name)["end_date"][:16] == text(end + HOUR).replace(" ", "T")
    user.delete(name)
    user.await_gone(name, END_SECONDS)
    assert not {server["id"] for server in made} & servers_left(admin)
    assert group not in user.run("server", "group", "list")


def test_kinds_share_a_host_until_it_is_full_but_not_with_a_host_reservation(
    hosts: dict[str, str], active: Callable[..., Json], start: Callable[..., Any], demo: Connection, name: str
) -> None:
    here = f'["==", "$hypervisor_hostname", "{next(iter(hosts))}"]'
    service = Reservations(demo)
    for reservation in active(ask.instances(1, here), ask.instances(1, here, vcpus=2))["reservations"]:
        assert start(demo, reservation).status == "ACTIVE"
    beside = service.post(f"{name}-beside", "now", boundary(HOUR), ask.instances(1, here))
    assert beside.status == 201, beside
    for refused in (ask.instances(100, here, memory_mb=2048), ask.hosts(1, here)):
        answer = service.post(f"{name}-refused", "now", boundary(HOUR), refused)
        assert answer.status == 400
        assert answer.message.startswith("Not enough hosts available: 1 host matches")


@pytest.mark.thorough
@pytest.mark.minutes(1)
def test_back_to_back_on_one_host(hosts: dict[str, str], demo: Connection, name: str) -> None:
    here = f'["==", "$hypervisor_hostname", "{next(iter(hosts))}"]'
    service = Reservations(demo)
    change = boundary(SLACK)
    leases = [
        service.post(f"{name}-{number}", start, end, asked)
        for number, (start, end, asked) in enumerate(
            [
                (change, change + HOUR, ask.hosts(1, here)),
                ("now", change, ask.instances(2, here)),
                (change + HOUR, change + 2 * HOUR, ask.instances(2, here)),
            ]
        )
    ]
    assert [answer.status for answer in leases] == [201] * 3, leases
    whole, before, _ = (str(answer.body["lease"]["id"]) for answer in leases)
    service.await_status(before, "ACTIVE", ACTIVE_SECONDS)
    wait_for(change)
    service.await_status(before, "TERMINATED", END_SECONDS)
    service.await_status(whole, "ACTIVE", END_SECONDS)


@pytest.mark.minutes(1)
def test_servers_of_a_flavor(
    hosts: dict[str, str],
    special: Callable[..., str],
    user: User,
    stranger: User,
    admin: Connection,
    name: str,
) -> None:
    source = special(ephemeral=1, extra_specs={"hw:cpu_policy": "shared", "trait:COMPUTE_NODE": "required"})
    end = boundary(10 * 60)
    user.create(name, ask.servers(2, source), end=end)
    reservation = only(user.await_status(name, "ACTIVE", ACTIVE_SECONDS))
    shown = {"vcpus": 1, "memory_mb": 256, "disk_gb": 1, "amount": 2, "affinity": None}
    assert reservation.items() >= shown.items()
    made: Any = admin.compute.get_flavor(reservation["flavor_id"])
    specs = admin.compute.fetch_flavor_extra_specs(made).extra_specs
    assert (made.ram, made.ephemeral, made.is_public) == (256, 1, False)
    assert specs.items() >= {"hw:cpu_policy": "shared", "trait:COMPUTE_NODE": "required"}.items()
    flavor = ("--flavor", reservation["flavor_id"])
    servers = [user.boot(*flavor) for _ in range(3)]
    assert [server["status"] for server in servers] == ["ACTIVE", "ACTIVE", "ERROR"]
    with pytest.raises(CommandFailed, match="No Flavor found"):
        stranger.boot(*flavor)

    user.change_reservation(name, reservation, amount=3)
    until("a server more", BOOT_SECONDS, lambda: user.boot(*flavor)["status"] == "ACTIVE")
    user.change(name, "--prolong-for", "1h")
    assert user.lease(name)["end_date"][:16] == text(end + HOUR).replace(" ", "T")
    user.delete(name)
    user.await_gone(name, END_SECONDS)
    assert not {server["id"] for server in servers} & servers_left(admin)


def test_a_reservation_becomes_one_of_another_flavor_before_it_starts(
    hosts: dict[str, str], special: Callable[..., str], user: User, modern_user: User, name: str
) -> None:
    smaller, larger = special(), special(ram=512)
    start = boundary(HOUR)
    reservation = only(user.create(name, ask.servers(1, smaller), start=start, end=start + HOUR))
    with pytest.raises(CommandFailed):  # 4.6 does not know the key
        user.change_reservation(name, reservation, flavor_id=larger)
    assert only(user.lease(name))["memory_mb"] == 256
    modern_user.change_reservation(name, reservation, flavor_id=larger)
    assert only(user.lease(name))["memory_mb"] == 512


def test_flavors_that_cannot_be_reserved(
    hosts: dict[str, str], special: Callable[..., str], alt: Connection, name: str
) -> None:
    service = Reservations(alt)
    for flavor_id, status, sentence in [
        ("nope", 404, "Flavor nope could not be found."),
        (private := special(is_public=False), 404, f"Flavor {private} could not be found."),
        (
            special(extra_specs={"pci_passthrough:alias": "gpu:1"}),
            409,
            "its extra spec pci_passthrough:alias=gpu:1",
        ),
        (special(extra_specs={"resources:CUSTOM_ON_NO_HOST": "1"}), 400, "Not enough hosts available"),
        (special(extra_specs={"trait:COMPUTE_NODE": "forbidden"}), 400, "Not enough hosts available"),
    ]:
        answer = service.post(name, "now", boundary(HOUR), ask.servers(1, flavor_id))
        assert answer.status == status, answer
        assert sentence in answer.message


@pytest.mark.alone  # it compares the whole cloud, and any host may serve its flavor
def test_three_kinds_in_one_lease_are_reserved_together_or_not_at_all(
    hosts: dict[str, str],
    active: Callable[..., Json],
    start: Callable[..., Any],
    flavor: str,
    admin: Connection,
    demo: Connection,
    name: str,
) -> None:
    before = leftovers.snapshot(admin)
    wanted = ask.instances(2, affinity=True), ask.servers(1, flavor, affinity=False)
    refused = Reservations(demo).post(name, "now", boundary(HOUR), *wanted, ask.hosts(len(hosts)))
    assert refused.status == 400
    assert not leftovers.after(admin, before)

    lease = active(*wanted, ask.hosts(1))
    instance, servers, whole = lease["reservations"]
    assert start(demo, instance).status == start(demo, servers).status == "ACTIVE"
    (host,) = Reservations(admin).hosts_of(whole["id"])
    for shared in (instance, servers):
        assert host not in Reservations(admin).hosts_of(shared["id"])


@pytest.mark.minutes(1)
def test_images_are_made_for_the_user_before_the_end(
    hosts: dict[str, str], start: Callable[..., Any], admin: Connection, demo: Connection, name: str
) -> None:
    service = Reservations(demo)
    warning = boundary(SLACK)
    asked = ask.instances(1, before_end="snapshot")
    answer = service.post(name, "now", warning + HOUR, asked, warn_at=warning)
    assert answer.status == 201, answer
    lease = service.await_status(answer.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    assert start(demo, only(lease)).status == "ACTIVE"
    wait_for(warning)

    made = until("the image", END_SECONDS, lambda: admin.image.find_image(f"reserved_{name}"))
    assert made.owner_id == demo.session.get_project_id()
    admin.image.delete_image(made)
    assert service.delete(lease["id"]).status == 204


@pytest.mark.minutes(1)
def test_preemptible_servers_make_way_for_reserved_ones(
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    active: Callable[..., Json],
    start: Callable[..., Any],
    special: Callable[..., str],
) -> None:
    def spare() -> Any:
        return start(demo, {"flavor_id": flavor, "server_group_id": None})

    flavor = special(extra_specs={"blazar:preemptible": "true"})
    first = spare()
    assert first.status == "ACTIVE"
    host = host_of(admin, first.id)
    reservation = only(active(ask.instances(1, f'["==", "$hypervisor_hostname", "{host}"]')))
    assert first.id not in servers_left(admin)
    reserved = start(demo, reservation)
    assert (reserved.status, host_of(admin, reserved.id)) == ("ACTIVE", host)
    again = [spare() for _ in range(2)]
    assert [each.status for each in again] == ["ACTIVE", "ACTIVE"]
    assert host not in {host_of(admin, each.id) for each in again}


@pytest.mark.thorough
@pytest.mark.minutes(1)
def test_a_preemptible_server_is_shelved_where_its_flavor_says_so_and_its_user_brings_it_back(
    hosts: dict[str, str],
    admin: Connection,
    demo: Connection,
    active: Callable[..., Json],
    start: Callable[..., Any],
    special: Callable[..., str],
) -> None:
    flavor = special(extra_specs={"blazar:preemptible": "shelve"})
    kept = start(demo, {"flavor_id": flavor, "server_group_id": None})
    assert kept.status == "ACTIVE"
    host = host_of(admin, kept.id)
    active(ask.instances(1, f'["==", "$hypervisor_hostname", "{host}"]'))
    found = demo.compute.get_server(kept.id)
    assert (found.status, found.metadata) == (
        "SHELVED_OFFLOADED",
        {"blazar_preempted": f"host {host} is needed by a lease that starts"},
    )
    demo.compute.unshelve_server(kept)
    until("the server runs", BOOT_SECONDS, lambda: demo.compute.get_server(kept.id).status == "ACTIVE")
    assert host_of(admin, kept.id) != host
    (image,) = admin.image.images(name=f"{kept.name}-shelved")
    assert admin.identity.get_project(image.owner_id).name == "service", "Nova leaves it to the operator"
    admin.image.delete_image(image)
