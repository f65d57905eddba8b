"""What requests about hosts and properties may say: what the service is told, and how mistakes are
refused."""

from __future__ import annotations

from typing import Any

import pytest

from blazar.kinds.registered_hosts.commands import RegisterHost

from .canned import LEASE_ID, RESERVATION_ID, Canned
from .conftest import Send


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ({"name": "compute-1"}, RegisterHost("compute-1", {})),
        ({"id": "7"}, RegisterHost("7", {})),
        ({"id": 7}, RegisterHost("7", {})),
        ({"id": "7", "name": "compute-1"}, RegisterHost("7", {})),
        ({"id": None, "name": "compute-1"}, RegisterHost("compute-1", {})),
        (
            {"name": "c", "gpu": True, "n": 5, "f": 1.5, "s": "x", "empty": ""},
            RegisterHost("c", {"gpu": "True", "n": "5", "f": "1.5", "s": "x", "empty": ""}),
        ),
        ({"name": "c", "k" * 64: "v"}, RegisterHost("c", {"k" * 64: "v"})),
        ({"name": "c", "architecture.smp_size": 2}, RegisterHost("c", {"architecture.smp_size": "2"})),
        (
            {"name": "c", "model_extra": 1, "command": 2},
            RegisterHost("c", {"model_extra": "1", "command": "2"}),
        ),
    ],
)
def test_registering(send: Send, service: Canned, body: Any, command: RegisterHost) -> None:
    assert send("POST", "/v1/os-hosts", "admin", json=body).status_code == 201
    assert service.commands == [command]


BAD_PROPERTIES: list[tuple[dict[str, Any], str]] = [
    ({"k" * 65: "v"}, "Extra capability key too long"),
    ({"vcpus": 7}, "vcpus is a field of every host"),
    ({"reservable": True}, "reservable is a field of every host"),
    ({"trust_id": "t"}, "trust_id is a field of every host"),
    ({"": "v"}, "The name of a property must not be empty"),
    ({" gpu": "v"}, "begin or end with a space"),
    ({"a/b": "v"}, "slash"),
    ({"a\nb": "v"}, "control characters"),
    ({"\U0001f389": "v"}, "Basic Multilingual Plane"),
    ({"gpu": []}, "must be a string, a number or a boolean"),
    ({"gpu": {"a": 1}}, "must be a string, a number or a boolean"),
    ({"gpu": "x" * 16_001}, "at most 16000 characters"),
    ({"gpu": "\U0001f389"}, "Basic Multilingual Plane"),
    ({"gpu": "a\x01"}, "control characters"),
    ({f"p{n}": "v" for n in range(1001)}, "at most 1000 properties"),
]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "Missing parameter name"),
        ({"gpu": "True"}, "Missing parameter name"),
        ({"name": ""}, "Missing parameter name"),
        ({"name": 5.5}, "string of at most 255"),
        ({"name": ["c"]}, "string of at most 255"),
        ({"name": "x" * 256}, "string of at most 255"),
        ({"name": "a\nb"}, "control characters"),
        ({"id": True}, "string of at most 255"),
        ({"name": "c", "gpu": None}, "must be a string, a number or a boolean"),
        *(({"name": "c", **properties}, sentence) for properties, sentence in BAD_PROPERTIES),
    ],
)
def test_registering_refused(send: Send, service: Canned, body: Any, sentence: str) -> None:
    answer = send("POST", "/v1/os-hosts", "admin", json=body)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]
    assert not service.commands


def test_describing(send: Send, service: Canned) -> None:
    body = {"gpu": 2, "rack": None, "ssd": True}
    assert send("PUT", "/v1/os-hosts/1", "admin", json=body).status_code == 200
    assert service.commands == [{"gpu": "2", "rack": None, "ssd": "True"}]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "No data to update"),
        ({"name": "c"}, "name is a field of every host"),
        ({"id": "1"}, "id is a field of every host"),
        *BAD_PROPERTIES,
    ],
)
def test_describing_refused(send: Send, service: Canned, body: Any, sentence: str) -> None:
    answer = send("PUT", "/v1/os-hosts/1", "admin", json=body)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]
    assert not service.commands


@pytest.mark.parametrize("private", [True, False])
def test_changing_a_property(send: Send, service: Canned, private: bool) -> None:
    body = {"private": private, "id": "mine", "property_name": "other"}
    answer = send("PATCH", "/v1/os-hosts/properties/gpu", "admin", json=body)
    assert answer.status_code == 200
    assert service.commands == [("gpu", private)]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "Missing parameter private"),
        ({"private": None}, "Malformed parameter private"),
        ({"private": "true"}, "Malformed parameter private"),
        ({"private": 1}, "Malformed parameter private"),
    ],
)
def test_changing_a_property_refused(send: Send, service: Canned, body: Any, sentence: str) -> None:
    answer = send("PATCH", "/v1/os-hosts/properties/gpu", "admin", json=body)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]
    assert not service.commands


@pytest.mark.parametrize("name", ["nope", "a%00b", "%ff", "x" * 65, "%20", "vcpus"])
def test_a_property_that_is_not_there(send: Send, name: str) -> None:
    answer = send("PATCH", f"/v1/os-hosts/properties/{name}", "admin", json={"private": True})
    assert answer.status_code == 404
    assert answer.json["error_message"].startswith("Resource property ")


@pytest.mark.parametrize(
    ("query", "detail", "everything"),
    [
        ("", False, False),
        ("detail=True&all=True", True, True),
        ("detail=False&all=False", False, False),
        ("detail=1&all=0", True, False),
        ("detail=&all=", False, False),
        ("all=yes", False, True),
        ("detail=true&detail=false", True, False),
        ("colour=red", False, False),
    ],
)
def test_property_flags_are_booleans(
    send: Send, service: Canned, query: str, detail: bool, everything: bool
) -> None:
    answer = send("GET", "/v1/os-hosts/properties", "admin", query_string=query)
    assert answer.status_code == 200
    assert ("values" in answer.json["resource_properties"][0]) is detail
    assert service.commands == [everything]


@pytest.mark.parametrize("flag", ["detail", "all"])
def test_other_words_are_no_booleans(send: Send, flag: str) -> None:
    answer = send("GET", "/v1/os-hosts/properties", "admin", query_string=f"{flag}=maybe")
    assert answer.status_code == 400
    assert answer.json["error_message"] == f"Malformed parameter {flag}: True or False is expected."


def test_allocations_can_be_filtered(send: Send, service: Canned) -> None:
    query = {"lease_id": LEASE_ID, "colour": "red"}
    assert send("GET", "/v1/os-hosts/allocations", "admin", params=query).status_code == 200
    query = {"reservation_id": RESERVATION_ID}
    assert send("GET", "/v1/os-hosts/1/allocation", "admin", params=query).status_code == 200
    assert send("GET", "/v1/os-hosts/allocations", "admin", query_string="lease_id=").status_code == 200
    assert service.commands == [
        ("allocations", LEASE_ID, None),
        ("allocation", "1", None, RESERVATION_ID),
        ("allocations", None, None),
    ]


@pytest.mark.parametrize("value", ["%00", "a%20b", "%ff", "x" * 300])
def test_a_filter_must_be_an_id(send: Send, service: Canned, value: str) -> None:
    answer = send("GET", "/v1/os-hosts/allocations", "admin", query_string=f"lease_id={value}")
    assert answer.status_code == 400
    assert answer.json["error_message"] == "Malformed parameter lease_id: not an id."
    assert not service.commands


@pytest.mark.parametrize("host_id", ["999", "%00", "a%20b", "%ff%fe", "x" * 300, "'", '"'])
@pytest.mark.parametrize(
    ("method", "tail"), [("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/allocation")]
)
def test_a_host_that_is_not_there(send: Send, host_id: str, method: str, tail: str) -> None:
    answer = send(method, f"/v1/os-hosts/{host_id}{tail}", "admin", body=b'{"gpu": 1}')
    assert answer.status_code == 404
    assert answer.json["error_message"].startswith("Object with {'host_id': ")


@pytest.mark.parametrize("lease_id", ["x", "%00", "a%20b", "%ff%fe", "x" * 300, "'", '"', "🎉"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_lease_that_is_not_there(send: Send, lease_id: str, method: str) -> None:
    answer = send(method, f"/v1/leases/{lease_id}", body=b"{}")
    assert answer.status_code == 404
    assert answer.json["error_message"].startswith("Object with {'lease_id': ")


def test_a_query_has_a_largest_length(send: Send, service: Canned) -> None:
    answer = send("GET", "/v1/os-hosts/properties", "admin", query_string="all=true&x=" + "a" * 8192)
    assert answer.status_code == 414
    assert answer.json == {"error_message": "The query is longer than 8192 characters.", "error": 414}
    assert not service.callers
