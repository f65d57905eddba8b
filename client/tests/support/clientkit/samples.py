"""The bodies of the service's answers, as the API documents them."""

from __future__ import annotations

from typing import Any

from .recorder import RecordingCloud

Body = dict[str, Any]

LEASE_ID = "051ec3b5-33a7-49a3-90fa-ebbb92c7439c"
OTHER_LEASE_ID = "151ec3b5-33a7-49a3-90fa-ebbb92c7439c"
MISSING_LEASE_ID = "951ec3b5-33a7-49a3-90fa-ebbb92c7439c"
FLOATINGIP_ID = "f51ec3b5-33a7-49a3-90fa-ebbb92c7439c"
SEGMENT_ID = "a7709fbf-48b5-5164-b958-59d71146a580"
VOLUME_TYPE_ID = "07709fbf-48b5-5164-b958-59d71146a580"


def event(event_type: str, time: str) -> Body:
    return {
        "id": f"0880-{event_type}",
        "lease_id": LEASE_ID,
        "event_type": event_type,
        "time": time,
        "status": "UNDONE",
        "created_at": "2026-11-20 14:58:06.506086",
        "updated_at": None,
    }


def host_reservation(**changes: Any) -> Body:
    return {
        "id": "feb5cbd6-33a7-49a3-90fa-ebbb92c7439c",
        "lease_id": LEASE_ID,
        "resource_id": "bf8ad1c0-33a7-49a3-90fa-ebbb92c7439c",
        "resource_type": "physical:host",
        "status": "pending",
        "missing_resources": False,
        "resources_changed": False,
        "created_at": "2026-11-20 14:58:06.506086",
        "updated_at": None,
        "hypervisor_properties": "",
        "resource_properties": '["==", "$gpu", "True"]',
        "before_end": "default",
        "min": 1,
        "max": 1,
    } | changes


def lease(**changes: Any) -> Body:
    return {
        "id": LEASE_ID,
        "name": "a",
        "user_id": "u1",
        "project_id": "p1",
        "start_date": "2050-01-01T10:00:00.000000",
        "end_date": "2050-01-01T11:00:00.000000",
        "trust_id": "972d27e2c26340859c1261cc0a65f04c",
        "status": "PENDING",
        "degraded": False,
        "created_at": "2026-11-20 14:58:06.496404",
        "updated_at": None,
        "reservations": [host_reservation()],
        "events": [
            event("before_end_lease", "2050-01-01T10:00:00.000000"),
            event("start_lease", "2050-01-01T10:00:00.000000"),
            event("end_lease", "2050-01-01T11:00:00.000000"),
        ],
    } | changes


def other_lease(**changes: Any) -> Body:
    values: Body = {"id": OTHER_LEASE_ID, "name": "b", "start_date": "2049-01-01T10:00:00.000000"}
    return lease(**(values | {"reservations": []} | changes))


def host(**changes: Any) -> Body:
    return {
        "id": "1",
        "vcpus": 4,
        "cpu_info": '{"arch": "x86_64", "topology": {"cores": 2}}',
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8000000,
        "hypervisor_hostname": "compute-0001",
        "service_name": "compute-0001",
        "memory_mb": 8192,
        "local_gb": 100,
        "status": None,
        "availability_zone": "nova",
        "trust_id": "1792d1c0",
        "reservable": True,
        "created_at": "2026-11-20 14:59:08.936755",
        "updated_at": None,
        "n": "5",
        "gpu": "True",
    } | changes


def allocation(**changes: Any) -> Body:
    return {
        "resource_id": "1",
        "reservations": [
            {
                "id": f"r{number}",
                "lease_id": lease_id,
                "start_date": "2050-01-01T10:00:00.000000",
                "end_date": "2050-01-01T11:00:00.000000",
            }
            for number, lease_id in ((1, LEASE_ID), (2, OTHER_LEASE_ID))
        ],
    } | changes


def floatingip(**changes: Any) -> Body:
    return {
        "id": FLOATINGIP_ID,
        "floating_network_id": "n1",
        "subnet_id": "s1",
        "floating_ip_address": "172.24.4.10",
        "reservable": True,
        "created_at": "2026-11-20 14:59:08.936755",
        "updated_at": None,
    } | changes


def port_pool(**changes: Any) -> Body:
    return {"ports": 5000, "created_at": "2026-11-20 14:59:08", "updated_at": None} | changes


def volume_type(**changes: Any) -> Body:
    return {
        "id": VOLUME_TYPE_ID,
        "name": "fast",
        "gigabytes": 10000,
        "volumes": 200,
        "created_at": "2026-11-20 14:59:08",
        "updated_at": None,
    } | changes


def network_segment(**changes: Any) -> Body:
    return {
        "id": SEGMENT_ID,
        "name": "vlan 101 of physnet1",
        "network_type": "vlan",
        "physical_network": "physnet1",
        "segmentation_id": 101,
        "created_at": "2026-11-20 14:59:08",
        "updated_at": None,
    } | changes


IMPACT = {
    "moves": 1,
    "breaks": 1,
    "stays": 0,
    "leases": [
        {
            "lease_id": LEASE_ID,
            "name": "training",
            "project_id": "demo",
            "user_id": "demo",
            "status": "PENDING",
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T13:00:00.000000",
            "effect": "moves",
            "reason": None,
            "hosts": ["1"],
            "moves": [{"reservation_id": "r", "from": ["1"], "to": ["3"]}],
        },
        {
            "lease_id": OTHER_LEASE_ID,
            "name": None,
            "project_id": None,
            "user_id": None,
            "status": None,
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T13:00:00.000000",
            "effect": "breaks",
            "reason": "not_now",
            "hosts": [],
            "moves": [],
        },
    ],
}


PROPERTIES = [
    {"property": "gpu", "private": False, "values": ["True", "False"]},
    {"property": "arch", "private": False, "values": ["x86_64"]},
]
CHANGED_PROPERTY = {
    "id": "8161d1c0",
    "resource_type": "physical:host",
    "property_name": "gpu",
    "private": True,
    "created_at": "2026-11-20T14:59:08.953466",
    "updated_at": "2026-11-20T14:59:09.128944",
}


def error(status: int, message: str) -> Body:
    return {"error_code": status, "error_message": message, "error_name": status}


def add_default_answers(cloud: RecordingCloud) -> RecordingCloud:
    """Add the answers for two leases, two hosts and one address."""
    cloud.answer("GET", "/leases", 200, {"leases": [lease(), other_lease()]})
    for sample in (lease(), other_lease()):
        for method in ("GET", "PUT"):
            cloud.answer(method, f"/leases/{sample['id']}", 200, {"lease": sample})
        cloud.answer("DELETE", f"/leases/{sample['id']}", 204)
    missing = f"Object with {{'lease_id': '{MISSING_LEASE_ID}'}} not found"
    cloud.answer("GET", f"/leases/{MISSING_LEASE_ID}", 404, error(404, missing))
    cloud.answer("POST", "/leases", 201, {"lease": lease()})
    cloud.answer(
        "GET", "/os-hosts", 200, {"hosts": [host(), host(id="2", hypervisor_hostname="compute-0000")]}
    )
    cloud.answer("POST", "/os-hosts", 201, {"host": host()})
    for method in ("GET", "PUT"):
        cloud.answer(method, "/os-hosts/1", 200, {"host": host()})
    cloud.answer("DELETE", "/os-hosts/1", 204)
    empty = allocation(resource_id="2", reservations=[])
    cloud.answer("GET", "/os-hosts/allocations", 200, {"allocations": [allocation(), empty]})
    cloud.answer("GET", "/os-hosts/1/allocation", 200, {"allocation": allocation()})
    cloud.answer("GET", "/os-hosts/properties", 200, {"resource_properties": PROPERTIES})
    cloud.answer("PATCH", "/os-hosts/properties/gpu", 200, {"resource_property": CHANGED_PROPERTY})
    cloud.answer("GET", "/floatingips", 200, {"floatingips": [floatingip()]})
    cloud.answer("POST", "/floatingips", 201, {"floatingip": floatingip()})
    cloud.answer("GET", f"/floatingips/{FLOATINGIP_ID}", 200, {"floatingip": floatingip()})
    cloud.answer("DELETE", f"/floatingips/{FLOATINGIP_ID}", 204)
    cloud.answer("GET", "/volumetypes", 200, {"volumetypes": [volume_type()]})
    cloud.answer("POST", "/volumetypes", 201, {"volumetype": volume_type()})
    for method in ("GET", "PUT"):
        cloud.answer(method, f"/volumetypes/{VOLUME_TYPE_ID}", 200, {"volumetype": volume_type()})
    cloud.answer("DELETE", f"/volumetypes/{VOLUME_TYPE_ID}", 204)
    for method in ("GET", "PUT"):
        cloud.answer(method, "/portpool", 200, {"portpool": port_pool()})
    cloud.answer("DELETE", "/portpool", 204)
    cloud.answer("GET", "/networksegments", 200, {"networksegments": [network_segment()]})
    cloud.answer("POST", "/networksegments", 201, {"networksegments": [network_segment()]})
    cloud.answer("GET", f"/networksegments/{SEGMENT_ID}", 200, {"networksegment": network_segment()})
    cloud.answer("DELETE", f"/networksegments/{SEGMENT_ID}", 204)
    return cloud
