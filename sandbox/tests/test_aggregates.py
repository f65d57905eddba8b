"""Tests of Nova's rules for aggregates."""

from collections.abc import Callable
from typing import Any

from blazar_sandbox.cloud import Cloud


def act(admin: Any, number: int, verb: str, detail: dict[str, Any]) -> Any:
    return admin.call("POST", f"/compute/v2.1/os-aggregates/{number}/action", {verb: detail}, version="2.90")


def test_the_life_of_an_aggregate(connect: Callable[[str], Any]) -> None:
    compute = connect("admin").compute
    made = compute.create_aggregate(name="r1", availability_zone="blazar_r1")
    assert made.uuid
    made = compute.set_aggregate_metadata(made, {"blazar:owner": "p1", "x": "1"})
    made = compute.set_aggregate_metadata(made, {"x": None})
    assert made.metadata == {"availability_zone": "blazar_r1", "blazar:owner": "p1"}
    made = compute.add_host_to_aggregate(made, "compute-02")
    made = compute.add_host_to_aggregate(made, "compute-01")
    assert made.hosts == ["compute-02", "compute-01"]
    assert compute.find_aggregate("r1").id == made.id
    made = compute.remove_host_from_aggregate(made, "compute-02")
    made = compute.remove_host_from_aggregate(made, "compute-01")
    compute.delete_aggregate(made, ignore_missing=False)
    assert [one.name for one in compute.aggregates()] == ["freepool"]


def test_what_is_refused(admin: Any) -> None:
    number = admin.aggregate("a1", "zone-1", {}, "compute-01")
    other = admin.aggregate("a2", "zone-2", {})
    plain = admin.aggregate("a3", None, {}, "compute-01")
    body = {"aggregate": {"name": "a1"}}
    assert admin.call("POST", "/compute/v2.1/os-aggregates", body).status == 409
    assert act(admin, number, "add_host", {"host": "compute-01"}).status == 409
    assert act(admin, number, "add_host", {"host": "nope"}).status == 404
    assert act(admin, other, "remove_host", {"host": "compute-02"}).status == 404
    refused = act(admin, other, "add_host", {"host": "compute-01"})
    assert refused.status == 409
    assert "already in availability zone(s) ['zone-1']" in refused.body["conflictingRequest"]["message"]
    assert act(admin, plain, "set_metadata", {"metadata": {"availability_zone": "zone-3"}}).status == 409
    assert admin.call("DELETE", f"/compute/v2.1/os-aggregates/{number}").status == 400
    assert admin.call("DELETE", "/compute/v2.1/os-aggregates/99").status == 404
    assert act(admin, number, "dance", {}).status == 400
    assert act(admin, number, "set_metadata", {"metadata": {"a": 5}}).status == 400
    zone = {"aggregate": {"name": "a4", "availability_zone": "a:b"}}
    assert admin.call("POST", "/compute/v2.1/os-aggregates", zone).status == 400


def test_a_host_with_servers_stays_in_its_zone(admin: Any, cloud: Cloud) -> None:
    host = admin.boot(cloud)["OS-EXT-SRV-ATTR:host"]
    number = admin.aggregate("a1", "zone-1", {})
    plain = admin.aggregate("a2", None, {}, host)
    refused = act(admin, number, "add_host", {"host": host})
    assert refused.status == 409
    assert "contain instances" in refused.body["conflictingRequest"]["message"]
    assert act(admin, plain, "remove_host", {"host": host}).status == 200, (
        "an aggregate without a zone changes no host's zone"
    )


def test_a_zone_with_servers_keeps_its_hosts_and_its_name(admin: Any, cloud: Cloud) -> None:
    number = admin.aggregate("a1", "zone-1", {}, "compute-01")
    twin = admin.aggregate("a2", "zone-1", {}, "compute-01")
    vm = admin.boot(cloud, availability_zone="zone-1")
    assert act(admin, twin, "remove_host", {"host": "compute-01"}).status == 200, (
        "the other one keeps the zone"
    )
    assert act(admin, number, "set_metadata", {"metadata": {"availability_zone": "zone-9"}}).status == 400
    assert act(admin, number, "remove_host", {"host": "compute-01"}).status == 409
    admin.nova("DELETE", f"/servers/{vm['id']}")
    assert act(admin, number, "remove_host", {"host": "compute-01"}).status == 200


def test_placement_is_told(admin: Any, cloud: Cloud) -> None:
    number = admin.aggregate("a1", None, {}, "compute-01")
    uuid = admin.nova("GET", f"/os-aggregates/{number}")["aggregate"]["uuid"]
    found = admin.placement("GET", f"/resource_providers?member_of={uuid}")["resource_providers"]
    assert [one["name"] for one in found] == ["compute-01"]
    act(admin, number, "remove_host", {"host": "compute-01"})
    assert admin.placement("GET", f"/resource_providers?member_of={uuid}")["resource_providers"] == []


def test_uuids_are_told_from_2_41_on(admin: Any) -> None:
    assert "uuid" not in admin.nova("GET", "/os-aggregates/1", version="2.40")["aggregate"]
    assert "uuid" in admin.nova("GET", "/os-aggregates/1", version="2.41")["aggregate"]


def test_numbers_are_never_given_twice(admin: Any) -> None:
    first = admin.aggregate("a1", None, {})
    admin.nova("DELETE", f"/os-aggregates/{first}")
    assert admin.aggregate("a2", None, {}) == first + 1
