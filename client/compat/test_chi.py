"""Tests of python-chi, the library of notebooks, with this library and with that of 4.6."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import RunProgram
from environments import CHI, old_library

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module", params=["this client", "4.6"])
def results(request: pytest.FixtureRequest, run_program: RunProgram) -> dict[str, Any]:
    path = {} if request.param == "this client" else {"PYTHONPATH": str(old_library())}
    found: dict[str, Any] = json.loads(run_program(CHI, "chi_leases.py", cloud="sandbox-demo", **path))
    return found


def test_a_lease_of_all_kinds_becomes_active_and_is_shown(results: dict[str, Any]) -> None:
    lease = results["lease"]
    assert lease["active"] == ["of-chi", "ACTIVE"]
    assert lease["dates"] == [0, True]
    assert lease["reservations"] == {
        "nodes": ["active", "active"],
        "flavors": ["active"],
        "floating IPs": ["active"],
    }
    assert lease["shown"][0] == "Name: of-chi"
    assert lease["shown"][2] == "Status: ACTIVE"
    assert "of-chi" in lease["listed"]
    assert lease["found"] == [True, "of-chi"]


def test_what_is_reserved_is_found_and_booted_on(results: dict[str, Any]) -> None:
    lease = results["lease"]
    [address] = lease["floating IPs"]
    assert address.startswith("203.0.113.")
    assert lease["flavors"] == [[1, 512, 1]]
    assert lease["servers"] == [["inside", "ACTIVE"], ["slot", "ACTIVE"]]


def test_a_lease_is_changed_found_again_and_deleted(results: dict[str, Any]) -> None:
    lease = results["lease"]
    assert lease["changed"] == ["of-chi-longer", "1:00:00"]
    assert lease["submitted again"]
    assert lease["the same"]
    assert lease["deleted"] == ["DELETED", []]
    assert results["left"] == []


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("hosts are short", "not enough hosts available: 6 hosts match"),
        ("floating IPs are short", "not enough floating ips available"),
    ],
)
def test_a_shortage_is_in_the_users_log(results: dict[str, Any], which: str, words: str) -> None:
    assert results[which]["raises"] == "ResourceError"
    [line] = results[which]["log"]
    assert words in line


def test_other_refusals_reach_the_user(results: dict[str, Any]) -> None:
    assert results["unknown lease"]["raises"] == "CHIValueError"
    assert "Policy doesn't allow blazar:oshosts:get" in results["hosts are not for members"]["says"]
