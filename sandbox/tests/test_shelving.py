"""Tests of shelving, offloading and unshelving."""

from dataclasses import replace
from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud


def act(who: Any, server: Any, body: Any, version: str = "2.91") -> Any:
    return who.call("POST", f"/compute/v2.1/servers/{server['id']}/action", body, version=f"{version}")


def shown(who: Any, server: Any) -> Any:
    return who.nova("GET", f"/servers/{server['id']}")["server"]


def used(cloud: Cloud, host: str) -> int:
    return cloud.placement.used(cloud.compute.hosts.table[host].uuid, "VCPU")


def host_of(cloud: Cloud, server: Any) -> str:
    return cloud.compute.server_table[server["id"]].host


def test_a_shelved_server_is_offloaded_and_gives_its_allocations_back(demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    host = host_of(cloud, server)
    assert used(cloud, host) == 1
    assert act(demo, server, {"shelve": None}).status == 202
    seen = shown(demo, server)
    assert (seen["status"], seen["OS-EXT-STS:task_state"]) == ("SHELVED_OFFLOADED", None)
    assert (host_of(cloud, server), used(cloud, host)) == ("", 0)
    assert act(demo, server, {"unshelve": None}).status == 202
    assert shown(demo, server)["status"] == "ACTIVE"
    assert used(cloud, host_of(cloud, server)) == 1


def test_shelving_takes_its_time(demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    cloud.compute.servers.delays = replace(cloud.compute.servers.delays, shelve=3600)
    act(demo, server, {"shelve": None})
    seen = shown(demo, server)
    assert (seen["status"], seen["OS-EXT-STS:task_state"]) == ("ACTIVE", "shelving")
    assert act(demo, server, {"shelve": None}).status == 409


def test_a_cloud_that_does_not_offload(admin: Any, demo: Any, cloud: Cloud) -> None:
    cloud.compute.servers.delays = replace(cloud.compute.servers.delays, offload=-1)
    server = demo.boot(cloud)
    host = host_of(cloud, server)
    act(demo, server, {"shelve": None})
    assert shown(demo, server)["status"] == "SHELVED"
    assert used(cloud, host) == 1
    assert act(admin, server, {"unshelve": {"host": host}}).status == 409
    assert act(demo, server, {"shelveOffload": None}).status == 403
    assert act(admin, server, {"shelveOffload": None}).status == 202
    assert shown(demo, server)["status"] == "SHELVED_OFFLOADED"
    assert used(cloud, host) == 0


def test_onto_a_host_by_an_administrator_only(admin: Any, demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    act(demo, server, {"shelve": None})
    assert act(demo, server, {"unshelve": {"host": "compute-05"}}).status == 403
    assert act(admin, server, {"unshelve": {"host": "compute-05"}}, "2.77").status == 400
    assert act(admin, server, {"unshelve": {"host": "nope"}}).status == 400
    assert act(admin, server, {"unshelve": {"host": "compute-05"}}).status == 202
    assert host_of(cloud, server) == "compute-05"


def test_a_server_is_let_onto_a_host_that_is_kept_for_it(admin: Any, demo: Any, cloud: Cloud) -> None:
    cloud.compute.aggregates.add_host(cloud.compute.aggregates.aggregate("1"), "compute-05")
    server, other = demo.boot(cloud), demo.boot(cloud)
    marks = {"blazar:server": server["id"], "blazar:owner": cloud.project_id("demo")}
    admin.aggregate("r1", None, marks, "compute-05")
    for one in (server, other):
        act(demo, one, {"shelve": None})
        assert act(admin, one, {"unshelve": {"host": "compute-05"}}).status == 202
    assert (host_of(cloud, server), shown(demo, server)["status"]) == ("compute-05", "ACTIVE")
    # As in Nova: the request was accepted, and the scheduler found no host.
    assert (host_of(cloud, other), shown(demo, other)["status"]) == ("", "SHELVED_OFFLOADED")


@pytest.mark.parametrize("action", ["createImage", "os-stop", "suspend", "shelve"])
def test_what_an_offloaded_server_refuses(demo: Any, cloud: Cloud, action: str) -> None:
    server = demo.boot(cloud)
    act(demo, server, {"shelve": None})
    assert act(demo, server, {action: {"name": "x"} if action == "createImage" else None}).status == 409


def test_an_offloaded_server_is_deleted(demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    act(demo, server, {"shelve": None})
    assert demo.call("DELETE", f"/compute/v2.1/servers/{server['id']}").status == 204
    assert demo.call("GET", f"/compute/v2.1/servers/{server['id']}").status == 404


def test_images_are_found_by_a_property(demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    act(demo, server, {"createImage": {"name": "mine", "metadata": {"made_for": "r1"}}})
    (found,) = demo.ok("GET", "/image/v2/images?made_for=r1")["images"]
    assert (found["name"], found["status"]) == ("mine", "active")
    assert demo.ok("GET", "/image/v2/images?made_for=r2")["images"] == []


def images_of(who: Any, server: Any) -> Any:
    wanted = f"/image/v2/images?image_type=snapshot&instance_uuid={server['id']}"
    return [each["name"] for each in who.ok("GET", wanted)["images"]]


def test_the_image_is_of_who_has_the_server_shelved(admin: Any, demo: Any, cloud: Cloud) -> None:
    mine, theirs = demo.boot(cloud, name="mine"), demo.boot(cloud, name="theirs")
    act(demo, mine, {"shelve": None})
    act(admin, theirs, {"shelve": None})
    assert images_of(demo, mine) == ["mine-shelved"]
    assert images_of(demo, theirs) == []
    (image,) = admin.ok("GET", f"/image/v2/images?instance_uuid={theirs['id']}")["images"]
    assert (image["name"], image["owner"], image["visibility"]) == (
        "theirs-shelved",
        cloud.project_id("admin"),
        "shared",
    )


@pytest.mark.parametrize("way", ["deleted", "unshelved"])
def test_users_leave_the_images_of_others(admin: Any, demo: Any, cloud: Cloud, way: str) -> None:
    mine, theirs = demo.boot(cloud), demo.boot(cloud)
    act(demo, mine, {"shelve": None})
    act(admin, theirs, {"shelve": None})
    for server in (mine, theirs):
        if way == "deleted":
            demo.call("DELETE", f"/compute/v2.1/servers/{server['id']}")
        else:
            assert act(demo, server, {"unshelve": None}).status == 202
    assert images_of(admin, mine) == []
    assert len(images_of(admin, theirs)) == 1
