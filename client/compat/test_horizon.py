"""Tests of Horizon's reservation plugin with this library and with that of 4.6."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clientkit.output import normalize
from conftest import RunProgram
from environments import HORIZON, old_library


@pytest.fixture(scope="module")
def ours(run_program: RunProgram) -> str:
    return run_program(HORIZON, "horizon_pages.py").splitlines()[-1]


@pytest.mark.parametrize("who", ["leases of a member", "leases of an administrator"])
def test_leases_are_created_shown_changed_and_deleted(ours: str, who: str) -> None:
    results: dict[str, Any] = json.loads(ours)[who]
    assert results["create"] == {"status": 302, "said": ["Lease of-horizon was successfully created."]}
    assert results["listed"] == [
        "of-horizon",
        "PENDING",
        "2040-01-01T10:00:00.000000",
        "2040-01-02T10:00:00.000000",
    ]
    assert results["detail"] == [200, True]
    assert results["update"]["status"] == results["update reservations"]["status"] == 302
    assert results["changed"] == ["2040-01-01T11:00:00.000000", "2040-01-02T12:00:00.000000", 2]
    assert results["calendar"] == 200
    assert results["left"] == []


def test_a_refusal_reaches_the_user(ours: str) -> None:
    results = json.loads(ours)["refused"]
    assert results["status"] != 302 or "Unable" in " ".join(results["said"])


def test_hosts_are_added_shown_changed_and_deleted(ours: str) -> None:
    results = json.loads(ours)["hosts"]
    assert ["1", "compute-01"] in results["listed"]
    assert results["made"][1:] == ["compute-07", "red"]
    assert results["detail"] == [200, True]
    assert results["updated"] == "blue"
    assert results["left"] == len(results["listed"])


def test_the_calendar_gets_its_hosts(ours: str) -> None:
    assert len(json.loads(ours)["calendar"]["resources"]) == len(json.loads(ours)["hosts"]["listed"])


@pytest.mark.thorough
def test_horizon_shows_the_same_through_the_library_of_4_6(ours: str, run_program: RunProgram) -> None:
    theirs = run_program(HORIZON, "horizon_pages.py", PYTHONPATH=str(old_library())).splitlines()[-1]
    assert json.loads(normalize(ours)) == json.loads(normalize(theirs))
