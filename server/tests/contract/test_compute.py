"""The Compute port: the cloud in memory, the sandbox and a real Nova behave the same."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.ports import Flavor, MakesWay

from .places import PASSWORD, Place, Sandbox, label, sandbox, until

NOWHERE = "00000000-0000-4000-8000-000000000000"
MISSING_AGGREGATE = 987654321


def private_flavor(name: str, **extra_specs: str) -> Flavor:
    return Flavor(name, f"{name}-flavor", 1, 512, 1, is_public=False, extra_specs=extra_specs)


def gone(place: Place, server_id: str, host: str) -> None:
    until("the server gone", lambda: all(s.id != server_id for s in place.cloud.compute.servers_on(host)))


# hypervisors


def test_a_hypervisor_is_found_by_its_name_and_by_its_number(place: Place) -> None:
    compute, (name, other) = place.cloud.compute, place.hosts
    found = compute.find_hypervisor(name)
    assert (found.hypervisor_hostname, found.service_name) == (name, name)
    assert found.number.isdigit()
    assert UUID(found.uuid)
    assert compute.find_hypervisor(found.number) == found
    another = compute.find_hypervisor(other)
    assert another.number != found.number
    assert another.uuid != found.uuid


@pytest.mark.parametrize(
    "nonsense", ["", "nope", "detail", "..", "a/b", "a?b=c", "ä", "²", "%", "987654321", NOWHERE]
)
def test_what_is_no_hypervisor_is_none(place: Place, nonsense: str) -> None:
    assert place.cloud.compute.find_hypervisor(nonsense) is None


def test_a_hypervisor_is_not_found_by_a_part_of_its_name(place: Place) -> None:
    name = place.hosts[0]
    for part in (name[:-1], name[1:], f"{name}%", name.upper() + "X"):
        assert place.cloud.compute.find_hypervisor(part) is None


def test_the_facts_of_a_hypervisor_are_those_of_a_host_of_api_1_0(place: Place) -> None:
    facts = place.cloud.compute.find_hypervisor(place.hosts[0]).facts
    assert set(facts) == {
        *("vcpus", "memory_mb", "local_gb", "cpu_info", "hypervisor_type", "hypervisor_version"),
        *("hypervisor_hostname", "service_name", "availability_zone"),
    }
    assert all(
        isinstance(facts[size], int) and facts[size] > 0 for size in ("vcpus", "memory_mb", "local_gb")
    )
    assert (facts["hypervisor_hostname"], facts["availability_zone"]) == (place.hosts[0], "nova")
    assert isinstance(facts["hypervisor_version"], int)
    assert isinstance(facts["cpu_info"], str)


def test_all_hypervisors_are_listed_as_each_is_found(place: Place) -> None:
    compute = place.cloud.compute
    listed = {each.hypervisor_hostname: each for each in compute.hypervisors()}
    for name in place.hosts:
        found = compute.find_hypervisor(name)
        assert (listed[name].uuid, listed[name].service_name) == (found.uuid, found.service_name)
        assert listed[name].number is None
        seen, alone = ({**each.facts, "cpu_info": None} for each in (listed[name], found))
        assert seen == alone
        infos = (json.loads(str(each.facts["cpu_info"])) for each in (listed[name], found))
        assert next(infos) == next(infos)


@pytest.mark.parametrize(("is_up", "is_enabled"), [(False, True), (True, False), (False, False)])
def test_a_hypervisor_tells_whether_it_is_up_and_enabled(place: Place, is_up: bool, is_enabled: bool) -> None:
    compute, (host, other) = place.cloud.compute, place.hosts

    def state(name: str) -> tuple[bool, bool]:
        found = compute.find_hypervisor(name)
        (listed,) = (each for each in compute.hypervisors() if each.hypervisor_hostname == name)
        assert (listed.is_up, listed.is_enabled) == (found.is_up, found.is_enabled)
        return found.is_up, found.is_enabled

    assert state(host) == (True, True)
    place.set_service(host, is_up, is_enabled)
    assert until("the state of the service", lambda: state(host) == (is_up, is_enabled))
    assert state(other) == (True, True)
    place.set_service(host)
    assert until("the host is back", lambda: state(host) == (True, True))


# servers


def test_servers_are_seen_on_their_host_and_by_their_flavor_until_they_are_deleted(place: Place) -> None:
    compute, (host, other), name = place.cloud.compute, place.hosts, label()
    flavor = place.add_flavor()
    server = place.boot(name, flavor, host)
    assert (server.name, server.host) == (name, host)
    assert list(compute.servers_on(host)) == [server]
    assert list(compute.servers_of(flavor)) == [server]
    assert list(compute.servers_on(other)) == []
    compute.delete_server(server.id)
    gone(place, server.id, host)
    assert list(compute.servers_of(flavor)) == []
    compute.delete_server(server.id)


def test_servers_that_may_be_ended_are_told_apart(place: Place) -> None:
    compute, host, other = place.cloud.compute, *place.hosts[:2]
    place.boot(label(), place.add_flavor(), host)
    spare = place.boot(label(), place.add_flavor(blazar__preemptible=" Yes "), host)
    place.boot(label(), place.add_flavor(blazar__preemptible="no"), host)
    kept = place.boot(label(), place.add_flavor(blazar__preemptible="shelve"), host)
    moved = place.boot(label(), place.add_flavor(blazar__preemptible="migrate"), host)
    assert compute.preemptible_servers_on(host) == {
        MakesWay.DELETED: [spare],
        MakesWay.SHELVED: [kept],
        MakesWay.MIGRATED: [moved],
    }
    assert compute.preemptible_servers_on(other) == {way: [] for way in MakesWay}
    assert not any(compute.preemptible_servers_on(NOWHERE).values())


@pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)
def test_a_server_says_whether_nova_is_at_its_deletion() -> None:
    state = Sandbox(hosts=2, password=PASSWORD)
    state.compute.servers.stuck.add_server("*")
    with sandbox(state) as place:
        compute, host = place.cloud.compute, place.hosts[0]
        place.boot(label(), place.add_flavor(), host)
        assert [each.is_being_deleted for each in compute.servers_on(host)] == [False]
        compute.delete_server(compute.servers_on(host)[0].id)
        assert [each.is_being_deleted for each in compute.servers_on(host)] == [True]


@pytest.mark.parametrize("nonsense", ["nope", NOWHERE])
def test_nothing_is_on_a_host_or_of_a_flavor_that_is_not_there(place: Place, nonsense: str) -> None:
    assert list(place.cloud.compute.servers_on(nonsense)) == []
    assert list(place.cloud.compute.servers_of(nonsense)) == []
    place.cloud.compute.delete_server(nonsense)


def test_a_snapshot_becomes_an_image(place: Place) -> None:
    compute, host, name = place.cloud.compute, place.hosts[0], label()
    server = place.boot(name, place.add_flavor(), host)
    compute.snapshot_server(server, f"{name}-image")
    until("the image", lambda: f"{name}-image" in place.images())


def test_a_server_that_is_gone_leaves_no_snapshot(place: Place) -> None:
    compute, host, name = place.cloud.compute, place.hosts[0], label()
    server = place.boot(name, place.add_flavor(), host)
    compute.delete_server(server.id)
    gone(place, server.id, host)
    compute.snapshot_server(server, f"{name}-image")
    assert f"{name}-image" not in place.images()


# aggregates


def test_an_aggregate_comes_and_goes(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    assert compute.find_aggregate(name) is None
    made = compute.create_aggregate(name, f"blazar_{name}", {"blazar:owner": "demo", "more": "x"})
    assert (made.name, made.availability_zone, made.hosts) == (name, f"blazar_{name}", ())
    assert {"blazar:owner": "demo", "more": "x"}.items() <= made.metadata.items()
    assert compute.find_aggregate(name) == made
    assert compute.aggregate(made.id) == made
    assert made in compute.aggregates()
    for _ in range(2):
        compute.delete_aggregate(made.id)
    assert compute.aggregate(made.id) is None
    assert compute.find_aggregate(name) is None


def test_an_aggregate_that_exists_is_taken_as_it_is_and_completed(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    made = compute.create_aggregate(name, None, {"a": "1", "b": "2"})
    again = compute.create_aggregate(name, f"blazar_{name}", {"b": "3", "c": "4"})
    assert (again.id, again.availability_zone) == (made.id, None)
    assert again.metadata == {"a": "1", "b": "3", "c": "4"}
    assert compute.aggregate(made.id) == again


def test_hosts_join_and_leave_and_may_do_so_again(place: Place) -> None:
    compute, (one, two) = place.cloud.compute, place.hosts
    aggregate = compute.create_aggregate(label(), None, {})
    for host in (one, two, one):
        compute.add_host(aggregate.id, host)
    assert sorted(compute.aggregate(aggregate.id).hosts) == sorted(place.hosts)
    for host in (one, one):
        compute.remove_host(aggregate.id, host)
    assert compute.aggregate(aggregate.id).hosts == (two,)
    compute.remove_host(aggregate.id, "nope")
    compute.remove_host(MISSING_AGGREGATE, one)


def test_keys_are_removed_from_metadata(place: Place) -> None:
    compute = place.cloud.compute
    aggregate = compute.create_aggregate(label(), None, {"a": "1", "b": "2", "c": "3"})
    for _ in range(2):
        compute.remove_metadata(aggregate.id, ["a", "c"])
    assert compute.aggregate(aggregate.id) == replace(aggregate, metadata={"b": "2"})
    compute.remove_metadata(MISSING_AGGREGATE, ["a"])


def test_an_aggregate_is_told_again_as_it_is(place: Place) -> None:
    compute = place.cloud.compute
    aggregate = compute.create_aggregate(label(), None, {"a": "1"})
    for host in place.hosts:
        compute.add_host(aggregate.id, host)
    for _ in range(2):
        compute.refresh_aggregate(aggregate)
    found = compute.aggregate(aggregate.id)
    assert (found.name, found.metadata, set(found.hosts)) == (aggregate.name, {"a": "1"}, set(place.hosts))
    compute.refresh_aggregate(replace(aggregate, id=MISSING_AGGREGATE))


def test_hosts_join_and_leave_one_aggregate_at_once(place: Place) -> None:
    compute = place.cloud.fenced(lambda: None).compute
    aggregate = compute.create_aggregate(label(), None, {})
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda host: compute.add_host(aggregate.id, host), place.hosts * 4))
        assert sorted(compute.aggregate(aggregate.id).hosts) == sorted(place.hosts)
        list(threads.map(lambda host: compute.remove_host(aggregate.id, host), place.hosts * 4))
    assert compute.aggregate(aggregate.id).hosts == ()


def test_an_aggregate_with_hosts_is_not_deleted(place: Place) -> None:
    compute = place.cloud.compute
    aggregate = compute.create_aggregate(label(), None, {})
    compute.add_host(aggregate.id, place.hosts[0])
    with pytest.raises(CloudRefused):
        compute.delete_aggregate(aggregate.id)
    assert compute.aggregate(aggregate.id).hosts == (place.hosts[0],)


def test_nova_refuses_hosts_that_it_does_not_know_and_aggregates_that_are_gone(place: Place) -> None:
    compute = place.cloud.compute
    aggregate = compute.create_aggregate(label(), None, {})
    with pytest.raises(CloudRefused):
        compute.add_host(aggregate.id, "nope")
    with pytest.raises(CloudRefused):
        compute.add_host(MISSING_AGGREGATE, place.hosts[0])
    assert compute.aggregate(MISSING_AGGREGATE) is None


def test_a_host_is_in_one_zone_at_a_time(place: Place) -> None:
    compute, host = place.cloud.compute, place.hosts[0]
    first, second = (compute.create_aggregate(name, f"blazar_{name}", {}) for name in (label(), label()))
    compute.add_host(first.id, host)
    assert compute.find_hypervisor(host).facts["availability_zone"] == first.availability_zone
    with pytest.raises(CloudUnavailable):
        compute.add_host(second.id, host)
    compute.remove_host(first.id, host)
    compute.add_host(second.id, host)
    assert compute.find_hypervisor(host).facts["availability_zone"] == second.availability_zone


def test_a_host_with_servers_does_not_change_its_zone(place: Place) -> None:
    """So servers must be gone before a reservation gives its hosts back."""
    compute, host, name = place.cloud.compute, place.hosts[0], label()
    zoned = compute.create_aggregate(name, f"blazar_{name}", {})
    compute.add_host(zoned.id, host)
    server = place.boot(name, place.add_flavor(), host)
    with pytest.raises(CloudRefused):
        compute.remove_host(zoned.id, host)
    compute.delete_server(server.id)
    gone(place, server.id, host)
    compute.remove_host(zoned.id, host)
    assert compute.aggregate(zoned.id).hosts == ()


# flavors


def test_a_flavor_comes_with_its_extra_specs_and_goes(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    assert compute.flavor(name) is None
    wanted = Flavor(name, f"{name}-flavor", 3, 768, 5, 2, 64, False, {"hw:a": "1", "b": "two"})
    compute.create_flavor(wanted)
    assert compute.flavor(name) == wanted
    for _ in range(2):
        compute.delete_flavor(name)
    assert compute.flavor(name) is None
    assert compute.flavor_projects(name) == frozenset()


def test_a_flavor_that_exists_keeps_its_size_and_gets_the_extra_specs(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    compute.create_flavor(private_flavor(name, a="1", b="2"))
    bigger = Flavor(name, f"{name}-flavor", 7, 7168, 70, is_public=False, extra_specs={"b": "3", "c": "4"})
    compute.create_flavor(bigger)
    known = compute.flavor(name)
    assert (known.vcpus, known.extra_specs) == (1, {"a": "1", "b": "3", "c": "4"})


def test_a_private_flavor_is_seen_by_the_projects_that_may_use_it(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    theirs = place.cloud.as_user(place.token).compute
    compute.create_flavor(private_flavor(name))
    assert compute.flavor_projects(name) == frozenset()
    assert theirs.flavor(name) is None
    for _ in range(2):
        compute.grant_flavor(name, place.project)
    assert compute.flavor_projects(name) == {place.project}
    assert theirs.flavor(name) == compute.flavor(name)
    for _ in range(2):
        compute.revoke_flavor(name, place.project)
    assert compute.flavor_projects(name) == frozenset()
    assert theirs.flavor(name) is None


def test_access_to_a_flavor_that_is_gone(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    compute.revoke_flavor(name, place.project)
    with pytest.raises(CloudRefused):
        compute.grant_flavor(name, place.project)


@pytest.mark.parametrize("nonsense", ["nope", "detail", "..", "a/b", "a?b=c", "ä", NOWHERE])
def test_what_is_no_flavor_is_none(place: Place, nonsense: str) -> None:
    assert place.cloud.compute.flavor(nonsense) is None


def test_a_public_flavor_is_everybodys(place: Place) -> None:
    flavor = place.add_flavor()
    assert place.cloud.compute.flavor(flavor).is_public
    assert place.cloud.compute.flavor_projects(flavor) == frozenset()
    assert place.cloud.as_user(place.token).compute.flavor(flavor) == place.cloud.compute.flavor(flavor)


# server groups


def test_all_flavors_are_listed_as_each_is_found(place: Place) -> None:
    compute, public = place.cloud.compute, place.add_flavor()
    private = private_flavor(label(), shelf="top")
    compute.create_flavor(private)
    listed = {flavor.id: flavor for flavor in compute.flavors()}
    assert listed[private.id] == compute.flavor(private.id) == private
    assert listed[public] == compute.flavor(public)
    compute.delete_flavor(private.id)
    assert private.id not in {flavor.id for flavor in compute.flavors()}


@pytest.mark.parametrize("policy", ["affinity", "anti-affinity", "soft-anti-affinity"])
def test_a_server_group_comes_and_goes(place: Place, policy: str) -> None:
    compute, name = place.cloud.compute, label()
    assert list(compute.server_groups(name)) == []
    made = compute.create_server_group(name, policy)
    assert (made.name, made.policy) == (name, policy)
    assert list(compute.server_groups(name)) == [made]
    for _ in range(2):
        compute.delete_server_group(made.id)
    assert list(compute.server_groups(name)) == []


def test_server_groups_may_share_a_name(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    made = {compute.create_server_group(name, "affinity").id for _ in range(2)}
    assert len(made) == 2
    assert {group.id for group in compute.server_groups(name)} == made
    other = compute.create_server_group(label(), "affinity").id
    assert {group.id for group in compute.server_groups()} >= {*made, other}


def test_a_users_server_group_is_in_the_users_project(place: Place) -> None:
    compute, name = place.cloud.compute, label()
    theirs = place.cloud.as_user(place.token).compute
    made = theirs.create_server_group(name, "anti-affinity")
    assert made.project_id == place.project
    assert list(compute.server_groups(name)) == [made]
    place.cloud.as_user(place.other_token).compute.delete_server_group(made.id)
    assert list(compute.server_groups(name)) == [made]
    theirs.delete_server_group(made.id)
    assert list(compute.server_groups(name)) == []


# whose rights


def test_what_needs_an_administrator_is_refused_to_a_user(place: Place) -> None:
    theirs, name = place.cloud.as_user(place.token).compute, label()
    for call in (
        lambda: theirs.aggregates(),
        lambda: theirs.create_aggregate(name, None, {}),
        lambda: theirs.create_flavor(private_flavor(name)),
        lambda: theirs.find_hypervisor(place.hosts[0]),
        lambda: theirs.servers_on(place.hosts[0]),
        lambda: theirs.delete_flavor(name),
    ):
        with pytest.raises(CloudRefused):
            call()


def test_a_token_that_is_not_good_is_refused(place: Place) -> None:
    with pytest.raises(CloudRefused):
        place.cloud.as_user("nonsense").compute.flavor("m1.tiny")


# fences


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudUnavailable(service="fence", reason="fallen")

    compute, name, host = place.cloud.fenced(fallen).compute, label(), place.hosts[0]
    server = place.boot(name, place.add_flavor(), host)
    for call in (
        lambda: compute.find_hypervisor(host),
        lambda: compute.servers_on(host),
        lambda: compute.servers_of("nope"),
        lambda: compute.delete_server(server.id),
        lambda: compute.snapshot_server(server, name),
        lambda: compute.aggregate(1),
        lambda: compute.find_aggregate(name),
        lambda: compute.aggregates(),
        lambda: compute.create_aggregate(name, None, {}),
        lambda: compute.add_host(1, host),
        lambda: compute.remove_host(1, host),
        lambda: compute.delete_aggregate(1),
        lambda: compute.flavor(name),
        lambda: compute.flavors(),
        lambda: compute.create_flavor(private_flavor(name)),
        lambda: compute.delete_flavor(name),
        lambda: compute.flavor_projects(name),
        lambda: compute.grant_flavor(name, place.project),
        lambda: compute.revoke_flavor(name, place.project),
        lambda: compute.create_server_group(name, "affinity"),
        lambda: compute.server_groups(name),
        lambda: compute.delete_server_group(NOWHERE),
    ):
        with pytest.raises(CloudUnavailable, match="fallen"):
            call()
    assert list(place.cloud.compute.servers_on(host)) == [server]
