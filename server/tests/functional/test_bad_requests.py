"""Every mistake that upstream's users have made, on the real service: a 4xx with a sentence, and nothing is
stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import House, configured

HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}


def host(**changes: Any) -> dict[str, Any]:
    """A lease with one good host reservation but for ``changes``; None takes a key away."""
    reservation = {key: value for key, value in {**HOST, **changes}.items() if value is not ...}
    return {"reservations": [reservation]}


def deep(levels: int) -> str:
    condition: Any = ["==", "$vcpus", "1"]
    text = json.dumps(condition)
    return '["and",' * levels + text + "]" * levels


LEASE: dict[str, Any] = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}

CREATES: dict[str, dict[str, Any]] = {
    "no name": {"name": ...},
    "name null": {"name": None},
    "name empty": {"name": ""},
    "name a number": {"name": 5},
    "name too long": {"name": "x" * 81},
    "name with emoji": {"name": "party \U0001f389"},
    "start null": {"start_date": None},
    "start a number": {"start_date": 2524644000},
    "start in the past": {"start_date": "2020-01-01 10:00"},
    "start in year 1": {"start_date": "0001-01-01 00:00"},
    "start bogus": {"start_date": "Bogus-date 13:13"},
    "end before start": {"end_date": "2050-01-01 09:00"},
    "end equal to start": {"end_date": "2050-01-01 10:00"},
    "end far out": {"end_date": "9999-12-31 23:59"},
    "both far out": {"start_date": "9000-01-01 00:00", "end_date": "9000-01-01 01:00"},
    "before_end outside": {"before_end_date": "2050-01-01 12:00"},
    "before_end at the start": {"before_end_date": "2050-01-01 10:00"},
    "before_end now": {"before_end_date": "now"},
    "reservations null": {"reservations": None},
    "reservations a string": {"reservations": "x"},
    "reservations of strings": {"reservations": ["x"]},
    "events a string": {"events": "x"},
    "no resource type": host(resource_type=...),
    "unknown resource type": host(resource_type="virtual:unicorn"),
    "resource type empty": host(resource_type=""),
    "min missing": host(min=...),
    "max missing": host(max=...),
    "min and max words": host(min="bar", max="foo"),
    "min zero": host(min=0),
    "min negative": host(min=-1),
    "min null": host(min=None),
    "min empty": host(min=""),
    "min a fraction": host(min=1.5),
    "min a boolean": host(min=True),
    "min a list": host(min=[1]),
    "max below min": host(min=2, max=1),
    "max 10^12": host(max=10**12),
    "max 10^400": host(max=10**400),
    "more hosts than there are": host(min=4, max=4),
    "hypervisor_properties missing": host(hypervisor_properties=...),
    "requirement a number": host(hypervisor_properties=5),
    "requirement an object": host(hypervisor_properties={"a": 1}),
    "requirement not JSON": host(hypervisor_properties="vcpus>4"),
    "requirement a word": host(hypervisor_properties='"x"'),
    "requirement an empty object": host(resource_properties="{}"),
    "requirement half": host(resource_properties='["=="]'),
    "requirement with an unknown operator": host(resource_properties='["~", "$gpu", "1"]'),
    "requirement of an unknown property": host(resource_properties='["==", "$unheard_of", "1"]'),
    "requirement of an inner name": host(resource_properties='["==", "$metadata", "1"]'),
    "requirement of another inner name": host(resource_properties='["==", "$trust_id", "1"]'),
    "requirement without a name": host(resource_properties='["==", "$", "1"]'),
    "requirement 30 levels deep": host(resource_properties=deep(30)),
    "requirement 1,000 levels deep": host(resource_properties=deep(1000)),
    "requirement 50,000 levels deep": host(resource_properties=deep(50_000)),
    "requirement with 10,000 conditions": host(
        resource_properties='["and",' + ",".join(['["==", "$vcpus", "1"]'] * 10_000) + "]"
    ),
    "before_end action unknown": host(before_end="email"),
    "before_end action a list": host(before_end=["snapshot"]),
    "before_end action an object": host(before_end={"a": 1}),
}

UPDATES: dict[str, dict[str, Any]] = {
    **{
        name: changes
        for name, changes in CREATES.items()
        if "reservations" not in changes and ... not in changes.values()
    },
    "reservation without id": {"reservations": [{"min": 1}]},
    "reservation with a foreign id": {"reservations": [{"id": "nope", "min": 1}]},
    "reservation id a number": {"reservations": [{"id": 5}]},
    "reservation id null": {"reservations": [{"id": None}]},
    "the same reservation twice": {"reservations": [{"id": "X"}, {"id": "X"}]},
    **{
        f"reservation: {name}": {"reservations": [{"id": "X", key: value}]}
        for name, key, value in [
            ("min zero", "min", 0),
            ("min words", "min", "bar"),
            ("min null", "min", None),
            ("min above max", "min", 2),
            ("max more than there are", "max", 10**12),
            ("another type", "resource_type", "virtual:instance"),
            ("requirement broken", "resource_properties", "["),
            ("requirement unknown", "resource_properties", '["==", "$unheard_of", "1"]'),
            ("requirement deep", "hypervisor_properties", deep(1000)),
            ("before_end action unknown", "before_end", "email"),
        ]
    },
}


@pytest.fixture(scope="module")
def used_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    directory: Path = tmp_path_factory.mktemp("house")
    house = House(
        configured(directory, f"[database]\nconnection = sqlite:///{directory}/blazar.db\n"), hosts=3
    )
    house.manager.start()
    house.register("compute-1", "compute-2", "compute-3")
    house.send("PUT", "/v1/os-hosts/1", "admin", json={"gpu": 2})
    assert house.send("POST", "/v1/leases", json={**LEASE, **host()}).status_code == 201
    yield house
    house.manager.stop()
    house.database.engine.dispose()


def stored(house: House) -> tuple[Any, ...]:
    everything = ("/v1/leases", "/v1/os-hosts", "/v1/os-hosts/allocations")
    return tuple(house.send("GET", path, "admin").json for path in everything)


def refused(house: House, method: str, path: str, body: dict[str, Any], persona: str = "member") -> str:
    """The sentence of the refusal, after making sure that nothing changed."""
    before = stored(house)
    sent = {key: value for key, value in body.items() if value is not ...}
    answer = house.send(method, path, persona, json=sent)
    assert 400 <= answer.status_code < 500, answer.text
    sentence: str = answer.json["error_message"]
    assert " " in sentence
    assert len(sentence) < 1000
    assert stored(house) == before
    return sentence


@pytest.mark.parametrize("case", CREATES)
def test_creating(used_house: House, case: str) -> None:
    refused(used_house, "POST", "/v1/leases", {**LEASE, **CREATES[case]})


@pytest.mark.parametrize("case", UPDATES)
def test_updating(used_house: House, case: str) -> None:
    (lease,) = used_house.send("GET", "/v1/leases").json["leases"]
    text = json.dumps(UPDATES[case]).replace('"X"', json.dumps(lease["reservations"][0]["id"]))
    refused(used_house, "PUT", f"/v1/leases/{lease['id']}", json.loads(text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("end before start", "End date must be later than start date."),
        ("max missing", "Missing parameter max"),
        ("max below min", "Invalid values for min/max of hosts. Max must be equal to or larger than min."),
        ("unknown resource type", "The virtual:unicorn resource type is not supported"),
    ],
)
def test_sentences_that_clients_know(used_house: House, name: str, expected: str) -> None:
    assert refused(used_house, "POST", "/v1/leases", {**LEASE, **CREATES[name]}) == expected


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/os-hosts", {}),
        ("POST", "/v1/os-hosts", {"name": "nope"}),
        ("POST", "/v1/os-hosts", {"name": "compute"}),
        ("POST", "/v1/os-hosts", {"name": "compute-1"}),
        ("POST", "/v1/os-hosts", {"id": "1"}),
        ("PUT", "/v1/os-hosts/1", {}),
        ("PUT", "/v1/os-hosts/1", {"vcpus": 99}),
        ("PUT", "/v1/os-hosts/1", {"gpu": [1]}),
        ("PUT", "/v1/os-hosts/9", {"gpu": 1}),
        ("DELETE", "/v1/os-hosts/9", {}),
        ("PATCH", "/v1/os-hosts/properties/nope", {"private": True}),
        ("PATCH", "/v1/os-hosts/properties/gpu", {"private": "yes"}),
    ],
)
def test_hosts(used_house: House, method: str, path: str, body: dict[str, Any]) -> None:
    refused(used_house, method, path, body, "admin")
