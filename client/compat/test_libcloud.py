"""Tests of libcloud's driver for OpenStack, which signs in, reads leases and hosts, and boots."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import RunProgram
from environments import LIBCLOUD

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def results(run_program: RunProgram) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_program(LIBCLOUD, "libcloud_nodes.py"))
    return found


def test_leases_and_hosts_are_listed(results: dict[str, Any]) -> None:
    assert {f"compute-0{number}" for number in range(1, 7)} <= set(results["hosts"])
    assert results["on hosts"]["lease"] == ["of-libcloud", "ACTIVE", True]


def test_a_server_boots_on_its_reservation_and_is_deleted(results: dict[str, Any]) -> None:
    hosts = results["on hosts"]
    assert hosts["reserved"] == [hosts["booted on"]]
    assert hosts["listed"] == ["inside"]
    assert hosts["destroyed"] is True
    assert hosts["left"] is True
    assert hosts["leases left"] == 0


def test_a_server_boots_with_the_reserved_flavor_and_ends_with_its_lease(results: dict[str, Any]) -> None:
    slots = results["with a flavor"]
    assert slots["size"] == [1, 512, 1]
    assert slots["reserved"] == [slots["booted on"]]
    assert slots["listed"] == ["slot"]
    assert slots["ended with its lease"] is True
    assert slots["sizes left"] == []


@pytest.mark.parametrize(
    ("which", "code", "words"),
    [
        ("shortage", 400, "Not enough hosts available"),
        ("unknown lease", 404, "not found"),
        ("forbidden", 403, "Policy doesn't allow blazar:oshosts:get"),
    ],
)
def test_refusals_reach_the_user(results: dict[str, Any], which: str, code: int, words: str) -> None:
    """The driver reads the first value of a body: where that is a number, it fails with a TypeError."""
    assert results[which]["code"] == code
    assert words in results[which]["says"]
