"""Tests of the life cycle of servers, and of the scheduler."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.compute.model import Flavor
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.placement.model import CustomName, Inventory


def host_of(cloud: Cloud, server: Any) -> str:
    return cloud.compute.server_table[server["id"]].host


def flavor(cloud: Cloud, name: str, vcpus: int = 1, **specs: str) -> str:
    spec = {key.replace("__", ":"): value for key, value in specs.items()}
    cloud.compute.flavors.create(Flavor(name, name, vcpus, 512, 1, extra_specs=spec))
    return name


def fill_freepool(cloud: Cloud, *names: str) -> None:
    for name in names or [host.name for host in cloud.compute.hosts.table]:
        cloud.compute.aggregates.add_host(cloud.compute.aggregates.aggregate("1"), name)


def move_to_reservation(admin: Any, cloud: Cloud, reservation_id: str, owner: str, *names: str) -> int:
    for name in names:
        cloud.compute.aggregates.remove_host(cloud.compute.aggregates.aggregate("1"), name)
    number: int = admin.aggregate(
        reservation_id, f"blazar_{reservation_id}", {"blazar:owner": cloud.project_id(owner)}, *names
    )
    return number


# --- hosts that are reserved as a whole


def test_only_the_owner_with_the_hint_gets_a_reserved_host(
    admin: Any, demo: Any, alt: Any, cloud: Cloud
) -> None:
    fill_freepool(cloud)
    move_to_reservation(admin, cloud, "r1", "demo", "compute-03")
    mine = demo.boot(cloud, hints={"reservation": "r1"})
    assert (mine["status"], host_of(cloud, mine)) == ("ACTIVE", "compute-03")
    for stranger, hints in (
        (alt, {"reservation": "r1"}),
        (demo, {}),
        (alt, {}),
        (demo, {"reservation": "r2"}),
    ):
        refused = stranger.boot(cloud, hints=hints)
        assert refused["status"] == "ERROR"
        assert refused["fault"]["message"] == "No valid host was found. There are not enough hosts available."
        assert refused["fault"]["code"] == 500


def test_both_names_of_hints_and_lists_are_heard(admin: Any, demo: Any, cloud: Cloud) -> None:
    fill_freepool(cloud)
    move_to_reservation(admin, cloud, "r1", "demo", "compute-03")
    image = next(iter(cloud.images.table)).id
    server = {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none"}
    for body in (
        {"server": server, "OS-SCH-HNT:scheduler_hints": {"reservation": "r1"}},
        {"server": server, "os:scheduler_hints": {"reservation": ["r1", "r2"]}},
        {"server": {**server, "os:scheduler_hints": {"reservation": "r1"}}},
    ):
        made = demo.nova("POST", "/servers", body)["server"]
        assert demo.wait_until_built(made["id"])["status"] == "ACTIVE", body


def test_ordinary_hosts_take_every_server_without_a_hint(demo: Any, cloud: Cloud) -> None:
    fill_freepool(cloud, "compute-01", "compute-02", "compute-03", "compute-04", "compute-05", "compute-06")
    assert host_of(cloud, demo.boot(cloud)) in ("compute-07", "compute-08")
    assert demo.boot(cloud, hints={"reservation": "r1"})["status"] == "ERROR"


def test_the_zone_of_a_reservation_is_a_zone(admin: Any, demo: Any, alt: Any, cloud: Cloud) -> None:
    fill_freepool(cloud)
    move_to_reservation(admin, cloud, "r1", "demo", "compute-03")
    mine = demo.boot(cloud, hints={"reservation": "r1"}, availability_zone="blazar_r1")
    assert mine["OS-EXT-AZ:availability_zone"] == "blazar_r1"
    assert demo.boot(cloud, availability_zone="blazar_r1")["status"] == "ERROR"


# --- instance reservations


def reserve_instances(
    admin: Any, cloud: Cloud, reservation_id: str, owner: str, slots: dict[str, int]
) -> str:
    """Create what an instance reservation needs; return the flavor's id."""
    resource_class = "CUSTOM_RESERVATION_" + reservation_id.upper()
    basics = {
        "id": reservation_id,
        "name": f"reservation:{reservation_id}",
        "vcpus": 1,
        "ram": 512,
        "disk": 1,
    }
    body: Any = {"flavor": {**basics, "os-flavor-access:is_public": False}}
    admin.nova("POST", "/flavors", body)
    specs = {"aggregate_instance_extra_specs:reservation": reservation_id, f"resources:{resource_class}": "1"}
    admin.nova("POST", f"/flavors/{reservation_id}/os-extra_specs", {"extra_specs": specs})
    project = cloud.project_id(owner)
    admin.nova("POST", f"/flavors/{reservation_id}/action", {"addTenantAccess": {"tenant": project}})
    metadata = {"reservation": reservation_id, "filter_tenant_id": project, "blazar:owner": project}
    admin.aggregate(reservation_id, None, metadata, *slots)
    admin.placement("POST", "/resource_classes", {"name": resource_class})
    for host, total in slots.items():
        parent = admin.placement("GET", f"/resource_providers?name={host}")["resource_providers"][0]["uuid"]
        body = {"name": f"blazar_{host}", "parent_provider_uuid": parent}
        child = admin.placement("POST", "/resource_providers", body)
        inventory = {"total": total, "max_unit": 1}
        body = {
            "resource_provider_generation": child["generation"],
            "inventories": {resource_class: inventory},
        }
        admin.placement("PUT", f"/resource_providers/{child['uuid']}/inventories", body)
    return reservation_id


def test_no_more_than_reserved(admin: Any, demo: Any, alt: Any, cloud: Cloud) -> None:
    fill_freepool(cloud)
    name = reserve_instances(admin, cloud, "r1", "demo", {"compute-02": 2, "compute-05": 1})
    servers = [demo.boot(cloud, flavor=name) for _ in range(4)]
    assert [one["status"] for one in servers] == ["ACTIVE"] * 3 + ["ERROR"]
    assert sorted(host_of(cloud, one) for one in servers[:3]) == ["compute-02", "compute-02", "compute-05"]
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": name, "networks": "none"}}
    assert alt.call("POST", "/compute/v2.1/servers", body, version="2.90").status == 400, (
        "alt cannot see the flavor"
    )
    assert admin.boot(cloud, flavor=name)["status"] == "ERROR", "the aggregate is kept for another project"
    demo.nova("DELETE", f"/servers/{servers[0]['id']}")
    assert demo.boot(cloud, flavor=name)["status"] == "ACTIVE", "a slot is free again"


def test_a_used_slot_cannot_be_taken_away(admin: Any, demo: Any, cloud: Cloud) -> None:
    name = reserve_instances(admin, cloud, "r1", "demo", {"compute-02": 1})
    demo.boot(cloud, flavor=name)
    child = admin.placement("GET", "/resource_providers?name=blazar_compute-02")["resource_providers"][0][
        "uuid"
    ]
    path = f"/placement/resource_providers/{child}"
    refused = admin.call("DELETE", f"{path}/inventories/CUSTOM_RESERVATION_R1", version="1.29")
    assert (refused.status, refused.body["errors"][0]["code"]) == (409, "placement.inventory.inuse")
    assert admin.call("DELETE", path).status == 409
    assert (
        admin.call("DELETE", "/placement/resource_classes/CUSTOM_RESERVATION_R1", version="1.29").status
        == 409
    )


# --- other filters


def test_capacity_is_placements(demo: Any, cloud: Cloud) -> None:
    size = flavor(cloud, "big", 64)
    servers = [demo.boot(cloud, flavor=size) for _ in range(5)]
    assert [one["status"] for one in servers] == ["ACTIVE"] * 4 + ["ERROR"], (
        "one host has 64 CPUs, each used four times"
    )
    assert demo.boot(cloud, flavor=flavor(cloud, "too-big", 65))["status"] == "ERROR", "none has 65 at once"


def test_dedicated_cpus_and_custom_amounts(demo: Any, cloud: Cloud) -> None:
    pinned = flavor(cloud, "pinned", 24, hw__cpu_policy="dedicated")
    servers = [demo.boot(cloud, flavor=pinned) for _ in range(2)]
    assert [host_of(cloud, one) for one in servers] == ["compute-06", ""]
    gpu = flavor(cloud, "gpu", 1, resources__VGPU="8")
    assert [demo.boot(cloud, flavor=gpu)["status"] for _ in range(2)] == ["ACTIVE", "ERROR"]


def test_traits_are_demanded_and_forbidden(demo: Any, cloud: Cloud) -> None:
    wanted = flavor(cloud, "t1", 1, trait__CUSTOM_JBOD="required")
    assert host_of(cloud, demo.boot(cloud, flavor=wanted)) == "compute-07"
    unwanted = flavor(cloud, "t2", 1, trait__STORAGE_DISK_SSD="forbidden", trait__CUSTOM_JBOD="forbidden")
    assert host_of(cloud, demo.boot(cloud, flavor=unwanted)) == "compute-08"
    unknown = flavor(cloud, "t3", 1, trait__CUSTOM_UNKNOWN="required")
    assert demo.boot(cloud, flavor=unknown)["status"] == "ERROR"


def test_specs_match_the_aggregates_metadata(admin: Any, demo: Any, cloud: Cloud) -> None:
    admin.aggregate("fast", None, {"disk": "nvme, ssd", "gen": "5"}, "compute-04")
    for name, specs in {
        "plain": {"disk": "ssd"},
        "scoped": {"aggregate_instance_extra_specs__disk": "nvme"},
        "compared": {"gen": ">= 4"},
        "either": {"disk": "<or> tape <or> nvme"},
    }.items():
        assert host_of(cloud, demo.boot(cloud, flavor=flavor(cloud, name, 1, **specs))) == "compute-04", name
    for name, specs in {
        "other": {"disk": "tape"},
        "missing": {"color": "red"},
        "less": {"gen": ">= 6"},
    }.items():
        assert demo.boot(cloud, flavor=flavor(cloud, name, 1, **specs))["status"] == "ERROR", name
    assert demo.boot(cloud, flavor=flavor(cloud, "foreign", quota__disk="9"))["status"] == "ACTIVE"


def test_aggregates_kept_for_a_project(admin: Any, demo: Any, alt: Any, cloud: Cloud) -> None:
    admin.aggregate("a1", "zone-1", {"filter_tenant_id": cloud.project_id("demo")}, "compute-01")
    assert demo.boot(cloud, availability_zone="zone-1")["status"] == "ACTIVE"
    assert alt.boot(cloud, availability_zone="zone-1")["status"] == "ERROR"


def test_zones_are_kept(admin: Any, demo: Any, cloud: Cloud) -> None:
    admin.aggregate("a1", "zone-1", {}, "compute-01")
    assert host_of(cloud, demo.boot(cloud, availability_zone="zone-1")) == "compute-01"
    assert host_of(cloud, demo.boot(cloud, availability_zone="nova")) != "compute-01"
    image = next(iter(cloud.images.table)).id
    body = {
        "server": {
            "name": "x",
            "imageRef": image,
            "flavorRef": "1",
            "networks": "none",
            "availability_zone": "no",
        }
    }
    assert demo.call("POST", "/compute/v2.1/servers", body, version="2.90").status == 400


def test_dead_and_disabled_hosts_get_nothing(demo: Any, cloud: Cloud) -> None:
    hosts = cloud.compute.hosts
    for at, name in enumerate([host.name for host in hosts.table]):
        if name == "compute-05":
            continue
        change = ({"disabled": True}, {"forced_down": True}, {"silent": True})[at % 3]
        hosts.set_service(hosts.host(name), **change)  # type: ignore[arg-type]
    assert {host_of(cloud, demo.boot(cloud)) for _ in range(3)} == {"compute-05"}


def test_groups_keep_together_and_apart(demo: Any, alt: Any, cloud: Cloud) -> None:
    def group(policy: str) -> str:
        body = {"server_group": {"name": policy, "policy": policy}}
        made: str = demo.nova("POST", "/os-server-groups", body)["server_group"]["id"]
        return made

    together, apart = group("affinity"), group("anti-affinity")
    assert len({host_of(cloud, demo.boot(cloud, hints={"group": together})) for _ in range(3)}) == 1
    servers = [demo.boot(cloud, hints={"group": apart}) for _ in range(9)]
    assert len({host_of(cloud, one) for one in servers[:8]}) == 8
    assert servers[8]["status"] == "ERROR"
    shown = demo.nova("GET", f"/os-server-groups/{together}")["server_group"]
    assert len(shown["members"]) == 3
    old = demo.nova("GET", f"/os-server-groups/{together}", version="2.1")["server_group"]
    assert (old["policies"], old["metadata"]) == (["affinity"], {})
    assert alt.call("GET", f"/compute/v2.1/os-server-groups/{together}").status == 404
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none"},
            "os:scheduler_hints": {"group": together}}  # fmt: skip
    assert alt.call("POST", "/compute/v2.1/servers", body, version="2.90").status == 400


def test_near_to_and_far_from_other_servers(demo: Any, cloud: Cloud) -> None:
    first = demo.boot(cloud)
    assert host_of(cloud, demo.boot(cloud, hints={"same_host": first["id"]})) == host_of(cloud, first)
    assert host_of(cloud, demo.boot(cloud, hints={"different_host": first["id"]})) != host_of(cloud, first)


def test_an_operator_chooses_the_host(admin: Any, demo: Any, cloud: Cloud) -> None:
    fill_freepool(cloud, "compute-02")
    assert host_of(cloud, admin.boot(cloud, availability_zone="nova:compute-02")) == "compute-02", (
        "filters not asked"
    )
    image = next(iter(cloud.images.table)).id
    body = {
        "server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none", "host": "compute-02"}
    }
    made = admin.nova("POST", "/servers", body)["server"]
    assert admin.wait_until_built(made["id"])["status"] == "ERROR", "filters asked"
    body["server"]["availability_zone"] = "nova:compute-03"
    assert demo.call("POST", "/compute/v2.1/servers", body, version="2.90").status == 403


def test_races_for_the_last_place_have_one_winner(demo: Any, cloud: Cloud) -> None:
    cloud.placement.custom_classes.put("CUSTOM_LAST", CustomName("CUSTOM_LAST"))
    row = cloud.placement.by_name.first("compute-04")
    assert row is not None
    cloud.placement.set_inventories(row, None, {**row.inventories, "CUSTOM_LAST": Inventory(1)})
    name = flavor(cloud, "last", 1, resources__CUSTOM_LAST="1")
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": name, "networks": "none", "max_count": 5}}
    demo.nova("POST", "/servers", body)
    states = sorted(one["status"] for one in demo.nova("GET", "/servers/detail")["servers"])
    assert states == ["ACTIVE", "ERROR", "ERROR", "ERROR", "ERROR"]


# --- life


def test_boot_and_deletion_take_their_time(demo: Any, cloud: Cloud) -> None:
    cloud.compute.servers.delays = Delays(boot=3600, delete=3600)
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none"}}
    server_id = demo.nova("POST", "/servers", body)["server"]["id"]
    seen = demo.nova("GET", f"/servers/{server_id}")["server"]
    assert (seen["status"], seen["OS-EXT-STS:task_state"]) == ("BUILD", "spawning")
    row = cloud.compute.server_table[server_id]
    demo.nova("DELETE", f"/servers/{server_id}")
    demo.nova("DELETE", f"/servers/{server_id}")
    seen = demo.nova("GET", f"/servers/{server_id}")["server"]
    assert seen["OS-EXT-STS:task_state"] == "deleting"
    assert cloud.placement.consumers.get(server_id) is not None, "the place is taken until it is gone"
    cloud.compute.server_table.put(server_id, replace(cloud.compute.server_table[server_id], due=0.0))
    cloud.compute.servers.resume()
    assert demo.call("GET", f"/compute/v2.1/servers/{server_id}").status == 404
    assert cloud.placement.consumers.get(server_id) is None
    assert row.host


def test_the_flavor_of_a_server_outlives_the_flavor(admin: Any, demo: Any, cloud: Cloud) -> None:
    name = flavor(cloud, "short", 3)
    server = demo.boot(cloud, flavor=name)
    admin.nova("DELETE", f"/flavors/{name}")
    assert demo.nova("GET", f"/servers/{server['id']}")["server"]["flavor"]["vcpus"] == 3
    found = admin.nova("GET", f"/servers?all_tenants=1&flavor={name}")["servers"]
    assert [one["id"] for one in found] == [server["id"]]
    assert demo.nova("GET", f"/servers/{server['id']}", version="2.46")["server"]["flavor"]["id"] == name


def test_lists_are_filtered(admin: Any, demo: Any, alt: Any, cloud: Cloud) -> None:
    mine, other = demo.boot(cloud, name="web-1"), alt.boot(cloud, name="db-1", flavor="2")

    def ids(caller: Any, query: str) -> set[str]:
        return {one["id"] for one in caller.nova("GET", f"/servers/detail?{query}")["servers"]}

    assert ids(demo, "") == {mine["id"]}
    assert ids(admin, "") == set()
    assert ids(admin, "all_tenants=1") == {mine["id"], other["id"]}
    assert ids(admin, "all_tenants=True&project_id=" + cloud.project_id("alt")) == {other["id"]}
    assert ids(admin, "all_tenants=1&host=" + host_of(cloud, mine)) >= {mine["id"]}
    assert ids(admin, "all_tenants=1&host=nope") == set()
    assert ids(admin, "all_tenants=1&flavor=2") == {other["id"]}
    assert ids(admin, "all_tenants=1&name=^web") == {mine["id"]}
    assert ids(admin, "all_tenants=1&status=ERROR") == set()
    assert ids(admin, "all_tenants=1&status=active&limit=1&sort_key=created_at&sort_dir=asc") == {mine["id"]}
    assert ids(demo, "host=nope") == {mine["id"]}, "members cannot ask for hosts, so the filter is not heard"
    assert demo.call("GET", "/compute/v2.1/servers?all_tenants=1").status == 403
    assert alt.call("GET", f"/compute/v2.1/servers/{mine['id']}").status == 404
    assert alt.call("DELETE", f"/compute/v2.1/servers/{mine['id']}").status == 404
    assert admin.call("DELETE", f"/compute/v2.1/servers/{mine['id']}").status == 204


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"flavorRef": "nope"}, 400),
        ({"imageRef": "nope"}, 400),
        ({"imageRef": ""}, 400),
        ({"name": ""}, 400),
        ({"networks": [{"uuid": "nope"}]}, 400),
        ({"networks": "some"}, 400),
        ({"networks": None}, 400),
        ({"max_count": 0}, 400),
        ({"key_name": "nope"}, 400),
        ({"metadata": {"a": {}}}, 400),
    ],
)
def test_requests_that_are_wrong(demo: Any, cloud: Cloud, change: dict[str, Any], status: int) -> None:
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none", **change}}
    assert demo.call("POST", "/compute/v2.1/servers", body, version="2.90").status == status
    assert len(cloud.compute.server_table) == 0


def test_readers_read_only(caller: Callable[..., Any], admin: Any, cloud: Cloud) -> None:
    user = admin.ok("POST", "/v3/users", {"user": {"name": "eye", "password": "p"}})["user"]["id"]
    role = next(role.id for role in cloud.identity.roles if role.name == "reader")
    admin.ok("PUT", f"/v3/projects/{cloud.project_id('demo')}/users/{user}/roles/{role}")
    eye = caller("eye", "demo", "p")
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none"}}
    assert eye.call("POST", "/compute/v2.1/servers", body, version="2.90").status == 403
    assert eye.call("GET", "/compute/v2.1/servers").status == 200


def test_servers_are_sorted_by_their_last_change(admin: Any, demo: Any, cloud: Cloud) -> None:
    first, second = demo.boot(cloud), demo.boot(cloud)
    demo.nova("POST", f"/servers/{first['id']}/action", {"os-stop": None})

    def ids(direction: str) -> list[str]:
        query = f"all_tenants=1&sort_key=updated_at&sort_dir={direction}"
        return [one["id"] for one in admin.nova("GET", f"/servers?{query}")["servers"]]

    assert ids("asc") == [second["id"], first["id"]]
    assert ids("desc") == [first["id"], second["id"]]


def test_servers_that_are_being_built_have_no_last_change(admin: Any, demo: Any, cloud: Cloud) -> None:
    cloud.compute.servers.delays = Delays(boot=60)
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none", "max_count": 2}}
    demo.nova("POST", "/servers", body)
    by_change = "/compute/v2.1/servers?all_tenants=1&sort_key=updated_at"
    assert admin.call("GET", by_change).status == 500
    assert admin.ok("GET", by_change + "&status=ACTIVE&status=ERROR")["servers"] == []


def test_servers_that_were_deleted_are_listed_for_those_who_ask_what_has_changed(
    admin: Any, alt: Any, demo: Any, cloud: Cloud
) -> None:
    kept, gone = demo.boot(cloud), demo.boot(cloud)
    demo.nova("DELETE", f"/servers/{gone['id']}")

    def ids(caller: Any, query: str) -> set[str]:
        return {one["id"] for one in caller.nova("GET", f"/servers/detail?{query}")["servers"]}

    since = "changes-since=2020-01-01T00:00:00Z"
    assert ids(demo, "") == {kept["id"]}
    assert ids(demo, since) == ids(admin, f"all_tenants=1&{since}") == {kept["id"], gone["id"]}
    assert ids(alt, since) == set()
    assert ids(admin, f"all_tenants=1&{since}&deleted=false") == {kept["id"]}
    assert ids(admin, f"all_tenants=1&{since}&deleted=true") == {gone["id"]}
    assert ids(admin, "all_tenants=1&changes-since=2100-01-01T00:00:00Z&deleted=true") == set()
    (seen,) = admin.nova("GET", "/servers/detail?all_tenants=1&deleted=true")["servers"]
    assert (seen["status"], seen["OS-EXT-STS:vm_state"]) == ("DELETED", "deleted")


def test_tags(admin: Any, alt: Any, demo: Any, cloud: Cloud) -> None:
    tagged, other = demo.boot(cloud)["id"], demo.boot(cloud)["id"]

    def listed(caller: Any, query: str) -> set[str]:
        return {one["id"] for one in caller.nova("GET", f"/servers/detail?{query}")["servers"]}

    for tag in ("a", "a", "b"):
        demo.nova("PUT", f"/servers/{tagged}/tags/{tag}")
    demo.nova("PUT", f"/servers/{other}/tags/b")
    assert demo.nova("GET", f"/servers/{tagged}/tags")["tags"] == ["a", "b"]
    assert listed(admin, "all_tenants=1&tags=a") == listed(demo, "tags=a,b") == {tagged}
    assert listed(demo, "tags=b") == {tagged, other}
    assert listed(alt, "tags=b") == set()
    demo.nova("DELETE", f"/servers/{tagged}/tags/a")
    assert listed(admin, "all_tenants=1&tags=a") == set()


def test_actions(connect: Callable[[str], Any], demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    conn = connect("demo")
    conn.compute.stop_server(server["id"])
    assert conn.compute.get_server(server["id"]).status == "SHUTOFF"
    conn.compute.start_server(server["id"])
    conn.compute.reboot_server(server["id"], "HARD")
    assert conn.compute.get_server(server["id"]).status == "ACTIVE"
    image = conn.compute.create_server_image(server["id"], "reserved_vm", wait=True)
    assert conn.image.get_image(image.id).owner == cloud.project_id("demo")
    assert conn.image.get_image(image.id).status == "active"
    assert demo.call("POST", f"/compute/v2.1/servers/{server['id']}/action", {"os-start": None}).status == 409
    assert demo.call("POST", f"/compute/v2.1/servers/{server['id']}/action", {"fly": None}).status == 400
    reset = {"os-resetState": {"state": "error"}}
    assert demo.call("POST", f"/compute/v2.1/servers/{server['id']}/action", reset).status == 403
    admin = connect("admin")
    admin.compute.reset_server_state(server["id"], "error")
    assert conn.compute.get_server(server["id"]).status == "ERROR"
    admin.compute.delete_server(server["id"], force=True)
    assert conn.compute.find_server(server["id"]) is None


def test_the_sdk_boots_into_a_network(connect: Callable[[str], Any], cloud: Cloud) -> None:
    conn = connect("demo")
    server = conn.create_server(
        "web", image="dummy", flavor="m1.small", network="private", wait=True, auto_ip=False
    )
    assert server.status == "ACTIVE"
    assert server.addresses["private"][0]["addr"].startswith("10.0.")
    ports = list(conn.network.ports(device_id=server.id))
    assert len(ports) == 1
    conn.delete_server(server.id, wait=True)
    assert list(conn.network.ports(device_id=server.id)) == []
    assert len(cloud.placement.consumers) == 0


def test_flavors_are_seen_by_those_who_may(connect: Callable[[str], Any], cloud: Cloud) -> None:
    admin, demo, alt = (connect(user).compute for user in ("admin", "demo", "alt"))
    made = admin.create_flavor(name="mine", id="f9", vcpus=1, ram=256, disk=0, is_public=False)
    admin.create_flavor_extra_specs(made, {"a": "b", "c:d": "e"})
    assert admin.fetch_flavor_extra_specs(made).extra_specs == {"a": "b", "c:d": "e"}
    admin.update_flavor_extra_specs_property(made, "a", "z")
    admin.delete_flavor_extra_specs_property(made, "c:d")
    assert admin.get_flavor_extra_specs_property(made, "a") == "z"
    assert demo.find_flavor("f9") is None
    admin.flavor_add_tenant_access(made, cloud.project_id("demo"))
    assert [one["tenant_id"] for one in admin.get_flavor_access(made)] == [cloud.project_id("demo")]
    assert demo.find_flavor("mine").id == "f9"
    assert alt.find_flavor("mine") is None
    assert "mine" in {one.name for one in demo.flavors()}
    assert "mine" not in {one.name for one in admin.flavors(is_public=True)}
    assert "mine" in {one.name for one in admin.flavors(is_public=None)}
    admin.flavor_remove_tenant_access(made, cloud.project_id("demo"))
    assert demo.find_flavor("mine") is None
    admin.delete_flavor(made, ignore_missing=False)


def test_flavor_conflicts(admin: Any, cloud: Cloud) -> None:
    def create(**fields: Any) -> int:
        body = {"flavor": {"id": "f1", "name": "one", "vcpus": 1, "ram": 1, "disk": 0, **fields}}
        status: int = admin.call("POST", "/compute/v2.1/flavors", body).status
        return status

    assert create() == 200
    assert create(name="two") == 409
    assert create(id="f2") == 409
    assert create(id="f2", name="two", vcpus=0) == 400
    assert create(id="f2", name="two", **{"os-flavor-access:is_public": False}) == 200
    access = {"addTenantAccess": {"tenant": cloud.project_id("demo")}}
    assert admin.call("POST", "/compute/v2.1/flavors/f2/action", access).status == 200
    assert admin.call("POST", "/compute/v2.1/flavors/f2/action", access).status == 409
    access = {"removeTenantAccess": {"tenant": cloud.project_id("alt")}}
    assert admin.call("POST", "/compute/v2.1/flavors/f2/action", access).status == 404
    assert admin.call("GET", "/compute/v2.1/flavors/f1/os-flavor-access").status == 404
    assert admin.call("DELETE", "/compute/v2.1/flavors/nope").status == 404
    shown = admin.nova("GET", "/flavors/f1", version="2.60")["flavor"]
    assert "extra_specs" not in shown
    assert shown["swap"] == ""
    assert admin.nova("GET", "/flavors/f1", version="2.75")["flavor"]["swap"] == 0
