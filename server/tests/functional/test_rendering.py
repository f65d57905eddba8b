"""Golden bodies: what API 1.0 shows, key by key and character by character."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blazar.api.views.leases import lease_view
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.service.context import Caller

from .canned import FLOATING_IP, LEASE, LEASE_ID, RESERVATION_ID, Canned, ShownKind
from .conftest import Send


def event(name: str, hour: int) -> dict[str, Any]:
    return {
        "id": f"event-{name}",
        "lease_id": LEASE_ID,
        "event_type": name,
        "time": f"2050-01-01T{hour}:00:00.000000",
        "status": "UNDONE",
        "created_at": "2026-11-20 14:58:06",
        "updated_at": None,
    }


RESERVATION_BODY = {
    "id": RESERVATION_ID,
    "lease_id": LEASE_ID,
    "resource_id": "bf8a0d6e-8a70-4f1c-9b06-8e2a3a0a2222",
    "resource_type": "physical:host",
    "status": "pending",
    "missing_resources": False,
    "resources_changed": False,
    "created_at": "2026-11-20 14:58:06",
    "updated_at": None,
    "hypervisor_properties": "",
    "resource_properties": "",
    "before_end": "default",
    "min": 1,
    "max": 1,
}
LEASE_BODY = {
    "id": LEASE_ID,
    "name": "a",
    "user_id": "u1",
    "project_id": "p1",
    "start_date": "2050-01-01T10:00:00.000000",
    "end_date": "2050-01-01T11:00:00.000000",
    "trust_id": None,
    "status": "PENDING",
    "degraded": False,
    "created_at": "2026-11-20 14:58:06",
    "updated_at": "2026-11-20 14:58:07",
    "reservations": [RESERVATION_BODY],
    "events": [event("before_end_lease", 10), event("end_lease", 11), event("start_lease", 10)],
}
HOST_BODY = {
    "id": "1",
    "vcpus": 4,
    "cpu_info": '{"arch": "x86_64"}',
    "hypervisor_type": "QEMU",
    "hypervisor_version": 8000000,
    "hypervisor_hostname": "compute-0001",
    "service_name": "compute-0001",
    "memory_mb": 8192,
    "local_gb": 100,
    "status": None,
    "availability_zone": "nova",
    "trust_id": None,
    "reservable": True,
    "created_at": "2026-11-20 14:58:06",
    "updated_at": None,
    "n": "5",
    "gpu": "True",
}
FLOATING_IP_BODY = {
    "id": FLOATING_IP.id,
    "floating_network_id": "net1",
    "subnet_id": "subnet1",
    "floating_ip_address": "172.24.4.102",
    "reservable": True,
    "created_at": "2026-11-20 14:58:06",
    "updated_at": None,
}
NEW_FLOATING_IP = {"floating_network_id": "net1", "floating_ip_address": "172.24.4.102"}
ON_HOST = {
    "id": RESERVATION_ID,
    "lease_id": LEASE_ID,
    "start_date": "2050-01-01T10:00:00.000000",
    "end_date": "2050-01-01T11:00:00.000000",
}
NEW = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
DETAIL = {"detail": "True", "all": "True"}


@pytest.mark.parametrize(
    ("method", "path", "request_body", "status", "body"),
    [
        ("GET", "/v1/leases", None, 200, {"leases": [LEASE_BODY]}),
        ("POST", "/v1/leases", NEW, 201, {"lease": LEASE_BODY}),
        ("GET", f"/v1/leases/{LEASE_ID}", None, 200, {"lease": LEASE_BODY}),
        ("PUT", f"/v1/leases/{LEASE_ID}", {"name": "a"}, 200, {"lease": LEASE_BODY}),
    ],
)
def test_leases_as_their_owner_sees_them(
    send: Send, method: str, path: str, request_body: Any, status: int, body: Any
) -> None:
    answer = send(method, path, json=request_body) if request_body else send(method, path)
    assert (answer.status_code, answer.json) == (status, body)


@pytest.mark.parametrize(
    ("method", "path", "query", "request_body", "status", "body"),
    [
        ("GET", "/v1/os-hosts", {}, None, 200, {"hosts": [HOST_BODY]}),
        ("POST", "/v1/os-hosts", {}, {"name": "compute-0001"}, 201, {"host": HOST_BODY}),
        ("GET", "/v1/os-hosts/1", {}, None, 200, {"host": HOST_BODY}),
        ("PUT", "/v1/os-hosts/1", {}, {"gpu": "True"}, 200, {"host": HOST_BODY}),
        (
            "GET",
            "/v1/os-hosts/allocations",
            {},
            None,
            200,
            {
                "allocations": [
                    {"resource_id": "1", "reservations": [ON_HOST, ON_HOST]},
                    {"resource_id": "2", "reservations": []},
                ]
            },
        ),
        (
            "GET",
            "/v1/os-hosts/1/allocation",
            {},
            None,
            200,
            {"allocation": {"resource_id": "1", "reservations": [ON_HOST, ON_HOST]}},
        ),
        ("GET", "/v1/os-hosts/properties", {}, None, 200, {"resource_properties": [{"property": "gpu"}]}),
        (
            "GET",
            "/v1/os-hosts/properties",
            DETAIL,
            None,
            200,
            {
                "resource_properties": [
                    {"property": "gpu", "private": False, "values": ["False", "True"]},
                    {"property": "rack", "private": True, "values": ["r1"]},
                ]
            },
        ),
        (
            "PATCH",
            "/v1/os-hosts/properties/gpu",
            {},
            {"private": True},
            200,
            {
                "resource_property": {
                    "id": "8161",
                    "resource_type": "physical:host",
                    "property_name": "gpu",
                    "private": True,
                    "created_at": "2026-11-20T14:58:06",
                    "updated_at": "2026-11-20T14:58:07",
                }
            },
        ),
    ],
)
def test_hosts_as_an_administrator_sees_them(
    send: Send, method: str, path: str, query: Any, request_body: Any, status: int, body: Any
) -> None:
    more = {"json": request_body} if request_body else {}
    answer = send(method, path, "admin", params=query, **more)
    assert (answer.status_code, answer.json) == (status, body)


@pytest.mark.parametrize(
    ("method", "path", "request_body", "status", "body"),
    [
        ("GET", "/v1/floatingips", None, 200, {"floatingips": [FLOATING_IP_BODY]}),
        (
            "POST",
            "/v1/floatingips",
            NEW_FLOATING_IP,
            201,
            {"floatingip": {**FLOATING_IP_BODY, "created_at": "2026-11-20T14:58:06"}},
        ),
        ("GET", f"/v1/floatingips/{FLOATING_IP.id}", None, 200, {"floatingip": FLOATING_IP_BODY}),
    ],
)
def test_floating_ips_as_an_administrator_sees_them(
    send: Send, method: str, path: str, request_body: Any, status: int, body: Any
) -> None:
    more = {"json": request_body} if request_body else {}
    answer = send(method, path, "admin", **more)
    assert (answer.status_code, answer.json) == (status, body)


@pytest.mark.parametrize(
    "path", [f"/v1/leases/{LEASE_ID}", "/v1/os-hosts/1", f"/v1/floatingips/{FLOATING_IP.id}"]
)
def test_deletions_answer_without_a_body(send: Send, path: str) -> None:
    answer = send("DELETE", path, "admin")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-type" not in answer.headers


def test_only_administrators_see_the_trust(send: Send) -> None:
    assert send("GET", f"/v1/leases/{LEASE_ID}", "admin").json["lease"]["trust_id"] == LEASE.trust_id
    assert send("GET", f"/v1/leases/{LEASE_ID}", "member").json["lease"]["trust_id"] is None


def test_a_reason_is_shown_only_where_there_is_one() -> None:
    caller = Caller("u1", "p1")
    kinds: Any = {"physical:host": ShownKind()}
    failed = replace(
        LEASE,
        status=LeaseStatus.ERROR,
        status_reason="host4 is not in the freepool",
        degraded=True,
        reservations=(
            replace(
                LEASE.reservations[0],
                status=ReservationStatus.ERROR,
                status_reason="gone",
                missing_resources=True,
            ),
        ),
    )
    view: Any = lease_view(failed, caller, kinds)
    assert view == {
        **LEASE_BODY,
        "status": "ERROR",
        "status_reason": "host4 is not in the freepool",
        "degraded": True,
        "reservations": [
            {**RESERVATION_BODY, "status": "error", "status_reason": "gone", "missing_resources": True}
        ],
    }


def test_a_reservation_of_a_kind_that_is_switched_off_is_still_shown() -> None:
    view: Any = lease_view(LEASE, Caller("u1", "p1"), {})
    assert view["reservations"][0]["resource_type"] == "physical:host"
    assert "min" not in view["reservations"][0]


def test_what_the_service_is_told_about_the_caller(send: Send, service: Canned) -> None:
    request_id = "req-9c3ba32f-4a1b-4d37-91a5-1c8e9b2f9a01"
    answer = send("GET", "/v1/leases", "admin", headers={"X-OpenStack-Request-Id": request_id})
    assert service.callers == [
        Caller(
            user_id="root",
            project_id="admin",
            roles=("admin", "manager", "member", "reader"),
            is_admin=True,
            user_name="root",
            request_id=answer.headers["x-openstack-request-id"],
            global_request_id=request_id,
            token="admin",
            sees_private=True,
        )
    ]
