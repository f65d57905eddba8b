"""What requests about floating IPs may say: what the service is told, and how mistakes are refused."""

from __future__ import annotations

from typing import Any

import pytest

from blazar.kinds.floatingip.commands import RegisterFloatingIP

from .canned import FLOATING_IP, Canned
from .conftest import Send

NEW = {"floating_network_id": "net1", "floating_ip_address": "172.24.4.102"}


@pytest.mark.parametrize(
    "more", [{}, {"id": "mine", "reservable": False, "subnet_id": "s", "project_id": "p"}]
)
def test_registering(send: Send, service: Canned, more: dict[str, Any]) -> None:
    assert send("POST", "/v1/floatingips", "admin", json={**NEW, **more}).status_code == 201
    assert service.commands == [RegisterFloatingIP("net1", "172.24.4.102")]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "Missing parameter floating_network_id,floating_ip_address"),
        ({"floating_network_id": "net1"}, "Missing parameter floating_ip_address"),
        ({"floating_ip_address": "172.24.4.102"}, "Missing parameter floating_network_id"),
        ({**NEW, "floating_ip_address": ""}, "Missing parameter floating_ip_address"),
        ({**NEW, "floating_network_id": None}, "Missing parameter floating_network_id"),
        ({**NEW, "floating_ip_address": 5}, "strings of at most 255"),
        ({**NEW, "floating_ip_address": ["172.24.4.102"]}, "strings of at most 255"),
        ({**NEW, "floating_network_id": {"id": "net1"}}, "strings of at most 255"),
        ({**NEW, "floating_network_id": True}, "strings of at most 255"),
        ({**NEW, "floating_network_id": "n" * 256}, "strings of at most 255"),
        ({**NEW, "floating_ip_address": "1" * 256}, "strings of at most 255"),
        ({**NEW, "floating_network_id": "a\nb"}, "control characters"),
        ({**NEW, "floating_network_id": "\U0001f389"}, "Basic Multilingual Plane"),
    ],
)
def test_registering_refused(send: Send, service: Canned, body: Any, sentence: str) -> None:
    answer = send("POST", "/v1/floatingips", "admin", json=body)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]
    assert not service.commands


@pytest.mark.parametrize("body", [b"[", b"[]", b"null", b'"text"', b"5"])
def test_bodies_that_are_no_objects(send: Send, service: Canned, body: bytes) -> None:
    assert send("POST", "/v1/floatingips", "admin", body=body).status_code == 400
    assert not service.commands


def test_one_that_is_not_there(send: Send) -> None:
    for method in ("GET", "DELETE"):
        answer = send(method, "/v1/floatingips/nope", "admin")
        assert answer.status_code == 404
        assert answer.json == {
            "error_code": 404,
            "error_message": "Floating IP nope not found.",
            "error_name": 404,
        }


@pytest.mark.parametrize("floatingip_id", ["%00", "a%20b", "%ff%fe", "x" * 300])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_cannot_be_an_id(send: Send, service: Canned, floatingip_id: str, method: str) -> None:
    answer = send(method, f"/v1/floatingips/{floatingip_id}", "admin")
    assert answer.status_code == 404
    assert "not found" in answer.json["error_message"]
    assert not service.callers


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_nothing_about_one_can_be_changed(send: Send, method: str) -> None:
    answer = send(method, f"/v1/floatingips/{FLOATING_IP.id}", "admin", json=NEW)
    assert answer.status_code == 405
    assert answer.json["error"] == 405


@pytest.mark.parametrize("path", ["/v1/floatingips", f"/v1/floatingips/{FLOATING_IP.id}"])
def test_microversion_and_suffix_are_those_of_the_other_nouns(send: Send, path: str) -> None:
    answer = send("GET", f"{path}.json", "admin", headers={"OpenStack-API-Version": "reservation 1.0"})
    assert answer.status_code == 200
    assert answer.headers["openstack-api-version"] == "reservation 1.0"
    assert send("GET", path, "admin", headers={"OpenStack-API-Version": "reservation 9.9"}).status_code == 406
