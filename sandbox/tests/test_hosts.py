"""Tests of hypervisors, services and zones, in every microversion that changes them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.placement.state import Placement


def nova(caller: Any, path: str, version: str) -> Any:
    return caller.call("GET", "/compute/v2.1" + path, version=version)


@pytest.mark.parametrize(
    ("asked", "status", "spoken"),
    [
        ("", 200, "2.1"),
        ("2.1", 200, "2.1"),
        ("2.53", 200, "2.53"),
        ("latest", 200, "2.100"),
        ("2.101", 406, ""),
        ("1.9", 406, ""),
        ("two", 400, ""),
    ],
)
def test_microversions_are_negotiated(admin: Any, asked: str, status: int, spoken: str) -> None:
    answer = nova(admin, "/os-hypervisors", asked)
    assert answer.status == status
    if status == 200:
        assert answer.headers["X-OpenStack-Nova-API-Version"] == spoken
        assert answer.headers["OpenStack-API-Version"] == f"compute {spoken}"
        assert "OpenStack-API-Version" in answer.headers["Vary"]


def test_numbers_before_2_53_and_uuids_after(admin: Any, cloud: Cloud) -> None:
    old = nova(admin, "/os-hypervisors/detail", "2.52").body["hypervisors"][0]
    new = nova(admin, "/os-hypervisors/detail", "2.53").body["hypervisors"][0]
    host = cloud.compute.hosts.table["compute-01"]
    assert (old["id"], new["id"]) == (1, host.uuid)
    assert (old["service"]["id"], new["service"]["id"]) == (1, host.service_uuid)
    assert nova(admin, "/os-hypervisors/1", "2.1").body["hypervisor"]["hypervisor_hostname"] == "compute-01"
    assert nova(admin, f"/os-hypervisors/{host.uuid}", "2.53").body["hypervisor"]["id"] == host.uuid
    assert nova(admin, "/os-hypervisors/1", "2.53").status == 400
    assert nova(admin, "/os-hypervisors/999", "2.1").status == 404
    assert nova(admin, "/os-hypervisors/compute-01", "2.1").status == 404


def test_cpu_info_is_text_then_object_then_nothing(admin: Any) -> None:
    def seen(version: str) -> Any:
        return nova(admin, "/os-hypervisors/detail", version).body["hypervisors"][0]

    assert json.loads(seen("2.27")["cpu_info"])["vendor"] == "Intel"
    assert seen("2.28")["cpu_info"]["vendor"] == "Intel"
    assert seen("2.87")["vcpus"] == 16
    assert {"vcpus", "memory_mb", "local_gb", "cpu_info"}.isdisjoint(seen("2.88"))


def test_search_is_by_part_of_the_name(admin: Any, cloud: Cloud) -> None:
    vm = admin.boot(cloud)
    host = vm["OS-EXT-SRV-ATTR:host"]
    found = nova(admin, f"/os-hypervisors/{host}/servers", "2.1").body["hypervisors"]
    assert [(one["hypervisor_hostname"], [vm["uuid"] for vm in one["servers"]]) for one in found] == [
        (host, [vm["id"]])
    ]
    assert len(nova(admin, "/os-hypervisors/compute-0/search", "2.1").body["hypervisors"]) == 8
    assert nova(admin, "/os-hypervisors/nope/search", "2.1").status == 404
    assert nova(admin, "/os-hypervisors/compute-0/search", "2.53").status == 404
    path = f"/os-hypervisors?hypervisor_hostname_pattern={host}&with_servers=true"
    assert nova(admin, path, "2.53").body["hypervisors"][0]["servers"][0]["uuid"] == vm["id"]
    idle = next(one.name for one in cloud.compute.hosts.table if one.name != host)
    path = f"/os-hypervisors?hypervisor_hostname_pattern={idle}&with_servers=true"
    assert "servers" not in nova(admin, path, "2.74").body["hypervisors"][0]
    assert nova(admin, path, "2.75").body["hypervisors"][0]["servers"] == []
    assert nova(admin, "/os-hypervisors?hypervisor_hostname_pattern=nope", "2.53").status == 404


def test_usage_counts_servers(admin: Any, cloud: Cloud) -> None:
    host = admin.boot(cloud, flavor="2")["OS-EXT-SRV-ATTR:host"]
    seen = next(
        one
        for one in nova(admin, "/os-hypervisors/detail", "2.50").body["hypervisors"]
        if one["hypervisor_hostname"] == host
    )
    assert (seen["running_vms"], seen["vcpus_used"], seen["local_gb_used"]) == (1, 2, 10)
    totals = nova(admin, "/os-hypervisors/statistics", "2.50").body["hypervisor_statistics"]
    assert (totals["count"], totals["running_vms"], totals["vcpus_used"]) == (8, 1, 2)


def test_pages_link_to_the_next(admin: Any) -> None:
    first = nova(admin, "/os-hypervisors?limit=5", "2.53").body
    assert len(first["hypervisors"]) == 5
    href = first["hypervisors_links"][0]["href"]
    second = admin.http.get(href, headers={"OpenStack-API-Version": "compute 2.53"}).json()
    names = [one["hypervisor_hostname"] for one in (*first["hypervisors"], *second["hypervisors"])]
    assert names == [f"compute-0{number}" for number in range(1, 9)]
    assert "hypervisors_links" not in second
    assert nova(admin, "/os-hypervisors?limit=5&marker=nope", "2.53").status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/os-hypervisors",
        "/os-hypervisors/detail",
        "/os-services",
        "/os-aggregates",
        "/os-availability-zone/detail",
    ],
)
def test_the_operators_things_are_refused_to_members(demo: Any, path: str) -> None:
    answer = nova(demo, path, "2.90")
    assert answer.status == 403
    assert "Policy doesn't allow os_compute_api" in answer.body["forbidden"]["message"]


def test_a_disabled_service_shows_everywhere(admin: Any, cloud: Cloud) -> None:
    service = admin.nova("GET", "/os-services?host=compute-03&binary=nova-compute")["services"][0]
    body = {"status": "disabled", "disabled_reason": "fan"}
    changed = admin.nova("PUT", f"/os-services/{service['id']}", body)["service"]
    assert (changed["status"], changed["disabled_reason"]) == ("disabled", "fan")
    seen = admin.nova("GET", "/os-hypervisors/detail?hypervisor_hostname_pattern=compute-03")["hypervisors"][
        0
    ]
    assert (seen["status"], seen["state"], seen["service"]["disabled_reason"]) == ("disabled", "up", "fan")
    assert "COMPUTE_STATUS_DISABLED" in provider_traits(cloud.placement, "compute-03")
    admin.nova("PUT", f"/os-services/{service['id']}", {"status": "enabled", "forced_down": True})
    seen = admin.nova("GET", "/os-hypervisors/detail?hypervisor_hostname_pattern=compute-03")["hypervisors"][
        0
    ]
    assert (seen["status"], seen["state"]) == ("enabled", "down")
    assert "COMPUTE_STATUS_DISABLED" not in provider_traits(cloud.placement, "compute-03")


def provider_traits(placement: Placement, name: str) -> frozenset[str]:
    row = placement.by_name.first(name)
    assert row is not None
    return row.traits


def test_services_before_2_53_are_changed_by_host(admin: Any) -> None:
    body = {"host": "compute-02", "binary": "nova-compute"}
    assert admin.nova("PUT", "/os-services/disable", body, "2.1")["service"]["status"] == "disabled"
    assert admin.nova("PUT", "/os-services/enable", body, "2.1")["service"]["status"] == "enabled"
    forced = admin.nova("PUT", "/os-services/force-down", {**body, "forced_down": True}, "2.11")
    assert forced["service"]["forced_down"] is True
    body["host"] = "nope"
    assert admin.call("PUT", "/compute/v2.1/os-services/disable", body).status == 404


def test_zones_follow_aggregates(admin: Any, demo: Any) -> None:
    admin.aggregate("a1", "zone-1", {}, "compute-01", "compute-02")
    names = [one["zoneName"] for one in demo.nova("GET", "/os-availability-zone")["availabilityZoneInfo"]]
    assert sorted(names) == ["nova", "zone-1"]
    detail = admin.nova("GET", "/os-availability-zone/detail")["availabilityZoneInfo"]
    hosts = {one["zoneName"]: set(one["hosts"]) for one in detail}
    assert hosts["zone-1"] == {"compute-01", "compute-02"}
    assert hosts["internal"] == {"controller"}
    assert "compute-01" not in hosts["nova"]


def test_the_sdk_sees_hosts(connect: Callable[[str], Any]) -> None:
    compute = connect("admin").compute
    assert len(list(compute.hypervisors(details=True))) == 8
    found = compute.find_hypervisor("compute-05")
    assert found.name == "compute-05"
    assert compute.get_hypervisor(found.id).name == "compute-05"
    services = list(compute.services(binary="nova-compute", host="compute-05"))
    assert [one.host for one in services] == ["compute-05"]
    compute.disable_service(services[0], disabled_reason="because")
    assert next(compute.services(binary="nova-compute", host="compute-05")).status == "disabled"
