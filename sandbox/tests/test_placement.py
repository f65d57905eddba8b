"""Tests of Placement: providers, inventories, traits and allocations."""

from collections.abc import Callable
from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud

RP = "/resource_providers"


def uuid_of(admin: Any, name: str) -> str:
    found: str = admin.placement("GET", f"{RP}?name={name}")["resource_providers"][0]["uuid"]
    return found


def child_of(admin: Any, host: str) -> Any:
    body = {"name": f"blazar_{host}", "parent_provider_uuid": uuid_of(admin, host)}
    return admin.placement("POST", RP, body)


def inventories(admin: Any, uuid: str) -> Any:
    return admin.placement("GET", f"{RP}/{uuid}/inventories")


def code(answer: Any) -> tuple[int, str]:
    return answer.status, answer.body["errors"][0]["code"]


def call(admin: Any, method: str, path: str, body: Any = None, version: str = "1.39") -> Any:
    return admin.call(method, "/placement" + path, body, version=version)


def test_only_operators_and_services(demo: Any, caller: Callable[..., Any]) -> None:
    assert call(demo, "GET", RP).status == 403
    assert call(caller("blazar", "service"), "GET", RP).status == 200


@pytest.mark.parametrize(
    ("asked", "status"), [("1.0", 200), ("1.39", 200), ("1.40", 406), ("latest", 200), ("x", 400)]
)
def test_microversions(admin: Any, asked: str, status: int) -> None:
    answer = call(admin, "GET", RP, version=asked)
    assert answer.status == status
    if status == 200:
        spoken = {"latest": "1.39"}.get(asked, asked)
        assert answer.headers["OpenStack-API-Version"] == f"placement {spoken}"


def test_hosts_are_providers(admin: Any, cloud: Cloud) -> None:
    found = admin.placement("GET", RP)["resource_providers"]
    assert [one["name"] for one in found] == [f"compute-0{number}" for number in range(1, 9)]
    assert found[0]["uuid"] == cloud.compute.hosts.table["compute-01"].uuid
    seen = inventories(admin, found[5]["uuid"])["inventories"]
    assert set(seen) == {"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}
    assert seen["MEMORY_MB"]["reserved"] == 512
    traits = admin.placement("GET", f"{RP}/{found[4]['uuid']}/traits")["traits"]
    assert {"CUSTOM_GPU_A100", "COMPUTE_NODE", "HW_CPU_X86_AVX2"} <= set(traits)


def test_about_so_many_traits_as_asked_for() -> None:
    cloud = Cloud(hosts=16, traits=100)
    assert {len(row.traits) for row in cloud.placement.providers} == {100}
    assert all(cloud.placement.knows_trait(name) for row in cloud.placement.providers for name in row.traits)


def test_nested_providers(admin: Any) -> None:
    child = child_of(admin, "compute-01")
    parent = uuid_of(admin, "compute-01")
    assert (child["parent_provider_uuid"], child["root_provider_uuid"]) == (parent, parent)
    tree = admin.placement("GET", f"{RP}?in_tree={child['uuid']}")["resource_providers"]
    assert {one["name"] for one in tree} == {"compute-01", "blazar_compute-01"}
    assert code(call(admin, "DELETE", f"{RP}/{parent}")) == (
        409,
        "placement.resource_provider.cannot_delete_parent",
    )
    body = {"name": "blazar_compute-01"}
    assert code(call(admin, "POST", RP, body)) == (409, "placement.duplicate_name")
    body = {"name": "orphan", "parent_provider_uuid": "00000000-0000-0000-0000-000000000000"}
    assert call(admin, "POST", RP, body).status == 400
    assert call(admin, "DELETE", f"{RP}/{child['uuid']}").status == 204
    assert call(admin, "GET", f"{RP}/{child['uuid']}").status == 404


def test_fields_and_answers_by_version(admin: Any) -> None:
    assert "parent_provider_uuid" not in admin.placement("GET", RP, version="1.13")["resource_providers"][0]
    old = call(admin, "POST", RP, {"name": "old"}, "1.19")
    assert (old.status, old.body) == (201, None)
    assert old.headers["Location"].endswith(uuid_of(admin, "old"))
    assert call(admin, "POST", RP, {"name": "new"}, "1.20").body["generation"] == 0


def test_generations_referee(admin: Any) -> None:
    child = child_of(admin, "compute-01")
    path = f"{RP}/{child['uuid']}/inventories"
    admin.placement("POST", "/resource_classes", {"name": "CUSTOM_RESERVATION_R1"})
    body = {"resource_provider_generation": 0, "inventories": {"CUSTOM_RESERVATION_R1": {"total": 2}}}
    assert admin.placement("PUT", path, body)["resource_provider_generation"] == 1
    assert code(call(admin, "PUT", path, body)) == (409, "placement.concurrent_update")
    body["resource_provider_generation"] = 1
    body["inventories"] = {"CUSTOM_RESERVATION_R1": {"total": 5, "max_unit": 1}}
    seen = admin.placement("PUT", path, body)["inventories"]["CUSTOM_RESERVATION_R1"]
    assert seen == {
        "total": 5,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 1,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    assert admin.placement("GET", f"{path}/CUSTOM_RESERVATION_R1")["total"] == 5
    one = {"resource_provider_generation": 2, "total": 3}
    assert admin.placement("PUT", f"{path}/CUSTOM_RESERVATION_R1", one)["total"] == 3
    assert call(admin, "DELETE", f"{path}/CUSTOM_RESERVATION_R1").status == 204
    assert call(admin, "DELETE", f"{path}/CUSTOM_RESERVATION_R1").status == 404


@pytest.mark.parametrize(
    ("inventory", "status"),
    [
        ({"total": 0}, 400),
        ({"total": -1}, 400),
        ({"total": "many"}, 400),
        ({}, 400),
        ({"total": 1, "reserved": 2}, 400),
        ({"total": 1, "reserved": 1}, 200),
        ({"total": 1, "allocation_ratio": "big"}, 400),
        (5, 400),
    ],
)
def test_inventories_that_cannot_be(admin: Any, inventory: Any, status: int) -> None:
    child = child_of(admin, "compute-01")
    body = {"resource_provider_generation": 0, "inventories": {"VGPU": inventory}}
    assert call(admin, "PUT", f"{RP}/{child['uuid']}/inventories", body).status == status


def test_resource_classes(admin: Any) -> None:
    assert call(admin, "POST", "/resource_classes", {"name": "CUSTOM_A"}).status == 201
    assert call(admin, "POST", "/resource_classes", {"name": "CUSTOM_A"}).status == 409
    assert call(admin, "POST", "/resource_classes", {"name": "custom_a"}).status == 400
    assert call(admin, "POST", "/resource_classes", {"name": "A"}).status == 400
    assert call(admin, "PUT", "/resource_classes/CUSTOM_A").status == 204
    assert call(admin, "PUT", "/resource_classes/CUSTOM_B").status == 201
    assert call(admin, "GET", "/resource_classes/CUSTOM_B").status == 200
    assert call(admin, "DELETE", "/resource_classes/CUSTOM_B").status == 204
    assert call(admin, "DELETE", "/resource_classes/CUSTOM_B").status == 404
    assert call(admin, "DELETE", "/resource_classes/VCPU").status == 400
    names = [one["name"] for one in admin.placement("GET", "/resource_classes")["resource_classes"]]
    assert names[0] == "VCPU"
    assert names[-1] == "CUSTOM_A"
    child = child_of(admin, "compute-01")
    body = {"resource_provider_generation": 0, "inventories": {"CUSTOM_NOPE": {"total": 1}}}
    assert call(admin, "PUT", f"{RP}/{child['uuid']}/inventories", body).status == 400


def test_traits(admin: Any) -> None:
    child = child_of(admin, "compute-01")
    path = f"{RP}/{child['uuid']}/traits"
    assert call(admin, "PUT", "/traits/CUSTOM_NEW").status == 201
    assert call(admin, "PUT", "/traits/CUSTOM_NEW").status == 204
    assert call(admin, "PUT", "/traits/new").status == 400
    assert call(admin, "GET", "/traits/CUSTOM_NOPE").status == 404
    body = {"resource_provider_generation": 0, "traits": ["CUSTOM_NEW", "HW_CPU_X86_AVX2"]}
    assert admin.placement("PUT", path, body)["traits"] == ["CUSTOM_NEW", "HW_CPU_X86_AVX2"]
    assert code(call(admin, "PUT", path, body)) == (409, "placement.concurrent_update")
    assert (
        call(admin, "PUT", path, {"resource_provider_generation": 1, "traits": ["CUSTOM_NOPE"]}).status == 400
    )
    assert call(admin, "DELETE", "/traits/CUSTOM_NEW").status == 409
    assert call(admin, "DELETE", path).status == 204
    assert call(admin, "DELETE", "/traits/CUSTOM_NEW").status == 204
    assert admin.placement("GET", "/traits?name=in:CUSTOM_JBOD,CUSTOM_NOPE")["traits"] == ["CUSTOM_JBOD"]
    named = admin.placement("GET", "/traits?name=startswith:CUSTOM_&associated=true")["traits"]
    assert sorted(named) == ["CUSTOM_BIG_MEMORY", "CUSTOM_GPU_A100", "CUSTOM_JBOD", "CUSTOM_RACK_0001"]


@pytest.mark.parametrize(
    ("query", "version", "names"),
    [
        ("required=CUSTOM_JBOD", "1.18", ["07"]),
        ("required=STORAGE_DISK_SSD,!CUSTOM_GPU_A100,!HW_NIC_SRIOV", "1.22", ["01", "02", "03", "04"]),
        ("required=in:CUSTOM_JBOD,CUSTOM_GPU_A100", "1.39", ["05", "07"]),
        ("required=STORAGE_DISK_SSD&resources=VCPU:30", "1.39", ["03", "04", "05"]),
        ("resources=VGPU:8", "1.39", ["05"]),
        ("resources=VGPU:9", "1.39", []),
    ],
)
def test_providers_are_found(admin: Any, query: str, version: str, names: list[str]) -> None:
    found = admin.placement("GET", f"{RP}?{query}", version=version)["resource_providers"]
    assert sorted(one["name"] for one in found) == [f"compute-{name}" for name in names]


def test_queries_that_are_wrong(admin: Any) -> None:
    for query in ("required=CUSTOM_NOPE", "resources=VCPU", "resources=VCPU:x", "resources=VCPU:0"):
        assert call(admin, "GET", f"{RP}?{query}").status == 400, query
    assert call(admin, "GET", f"{RP}?required=in:CUSTOM_JBOD", version="1.22").status == 400


def test_allocations_are_counted_and_bounded(admin: Any, cloud: Cloud) -> None:
    uuid, project = uuid_of(admin, "compute-05"), cloud.project_id("demo")
    path = "/allocations/11111111-1111-1111-1111-111111111111"
    body = {"allocations": {uuid: {"resources": {"VGPU": 5}}}, "project_id": project, "user_id": "u",
            "consumer_generation": None, "consumer_type": "RESERVATION"}  # fmt: skip
    assert call(admin, "PUT", path, body).status == 204
    assert code(call(admin, "PUT", path, body)) == (409, "placement.concurrent_update")
    seen = admin.placement("GET", path)
    assert seen["allocations"][uuid]["resources"] == {"VGPU": 5}
    assert seen["consumer_generation"] == 1
    other = "/allocations/22222222-2222-2222-2222-222222222222"
    assert (
        call(admin, "PUT", other, {**body, "allocations": {uuid: {"resources": {"VGPU": 4}}}}).status == 409
    )
    body = {**body, "consumer_generation": 1, "allocations": {uuid: {"resources": {"VGPU": 8}}}}
    assert call(admin, "PUT", path, body).status == 204
    assert admin.placement("GET", f"{RP}/{uuid}/usages")["usages"]["VGPU"] == 8
    assert admin.placement("GET", f"/usages?project_id={project}", version="1.37")["usages"] == {"VGPU": 8}
    assert list(admin.placement("GET", f"{RP}/{uuid}/allocations")["allocations"]) == [path.split("/")[2]]
    shrink = {"resource_provider_generation": cloud.placement.provider(uuid).generation, "inventories": {}}
    assert code(call(admin, "PUT", f"{RP}/{uuid}/inventories", shrink)) == (409, "placement.inventory.inuse")
    assert call(admin, "DELETE", path).status == 204
    assert call(admin, "DELETE", path).status == 404
    assert admin.placement("GET", path)["allocations"] == {}


def test_several_consumers_all_or_nothing(admin: Any) -> None:
    uuid = uuid_of(admin, "compute-05")
    first, second = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"

    def body(a: int, b: int, generation: int | None) -> dict[str, Any]:
        return {
            one: {"allocations": {uuid: {"resources": {"VGPU": amount}}} if amount else {}, "project_id": "p",
                  "user_id": "u", "consumer_generation": known, "consumer_type": "INSTANCE"}
            for one, amount, known in ((first, a, generation), (second, b, None))
        }  # fmt: skip

    assert call(admin, "POST", "/allocations", body(8, 1, None)).status == 409
    assert admin.placement("GET", f"{RP}/{uuid}/usages")["usages"]["VGPU"] == 0
    assert call(admin, "POST", "/allocations", body(8, 0, None)).status == 204
    assert call(admin, "POST", "/allocations", body(0, 8, 1)).status == 204, (
        "swapped at once, never above capacity"
    )
    assert admin.placement("GET", f"/allocations/{second}")["allocations"][uuid]["resources"] == {"VGPU": 8}
    assert admin.placement("GET", f"/allocations/{first}")["allocations"] == {}


def test_candidates(admin: Any) -> None:
    child = child_of(admin, "compute-05")
    admin.placement("POST", "/resource_classes", {"name": "CUSTOM_R"})
    body = {"resource_provider_generation": 0, "inventories": {"CUSTOM_R": {"total": 1}}}
    admin.placement("PUT", f"{RP}/{child['uuid']}/inventories", body)
    found = admin.placement("GET", "/allocation_candidates?resources=VCPU:2,CUSTOM_R:1")
    parent = uuid_of(admin, "compute-05")
    assert [one["allocations"] for one in found["allocation_requests"]] == [
        {parent: {"resources": {"VCPU": 2}}, child["uuid"]: {"resources": {"CUSTOM_R": 1}}}
    ]
    assert set(found["provider_summaries"]) == {parent, child["uuid"]}
    path = "/allocation_candidates?resources=VCPU:1&required=!CUSTOM_JBOD&limit=3"
    assert len(admin.placement("GET", path)["allocation_requests"]) == 3
    assert admin.placement("GET", "/allocation_candidates?resources=VCPU:65")["allocation_requests"] == []
    assert call(admin, "GET", "/allocation_candidates?resources=CUSTOM_NOPE:1").status == 400
    assert call(admin, "GET", "/allocation_candidates").status == 400


def test_unused_space_is_not_moved_between_trees(admin: Any) -> None:
    body = {"name": "renamed"}
    child = child_of(admin, "compute-01")
    assert admin.placement("PUT", f"{RP}/{child['uuid']}", body)["name"] == "renamed"
    body["name"] = "compute-02"
    assert call(admin, "PUT", f"{RP}/{child['uuid']}", body).status == 409
    body = {"name": "renamed", "parent_provider_uuid": uuid_of(admin, "compute-02")}
    assert call(admin, "PUT", f"{RP}/{child['uuid']}", body).status == 400


def test_the_sdk_speaks_placement(connect: Callable[[str], Any]) -> None:
    placement = connect("blazar").placement
    parent = next(placement.resource_providers(name="compute-01"))
    child = placement.create_resource_provider(name="blazar_compute-01", parent_provider_id=parent.id)
    placement.create_resource_class(name="CUSTOM_RESERVATION_X")
    made = placement.create_resource_provider_inventory(
        child.id, "CUSTOM_RESERVATION_X", total=2, resource_provider_generation=child.generation
    )
    assert made.total == 2
    assert [one.resource_class for one in placement.resource_provider_inventories(child)] == [
        "CUSTOM_RESERVATION_X"
    ]
    placement.delete_resource_provider_inventory("CUSTOM_RESERVATION_X", child)
    placement.delete_resource_class("CUSTOM_RESERVATION_X")
    placement.delete_resource_provider(child)
    assert list(placement.resource_providers(name="blazar_compute-01")) == []
