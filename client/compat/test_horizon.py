"""Do the pages of Horizon's reservation plugin work with this library, as they work with that of 4.6?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from clientkit.normal import normal
from conftest import RunProgram
from environments import HORIZON, old_library


@pytest.fixture(scope="module")
def ours(run_program: RunProgram) -> str:
    return run_program(HORIZON, "horizon_pages.py").splitlines()[-1]


@pytest.mark.parametrize("who", ["leases of a member", "leases of an administrator"])
def test_leases_are_created_shown_changed_and_deleted(ours: str, who: str) -> None:
    told: dict[str, Any] = json.loads(ours)[who]
    assert told["create"] == {"status": 302, "said": ["Lease of-horizon was successfully created."]}
    assert told["listed"] == [
        "of-horizon",
        "PENDING",
        "2040-01-01T10:00:00.000000",
        "2040-01-02T10:00:00.000000",
    ]
    assert told["detail"] == [200, True]
    assert told["update"]["status"] == told["update reservations"]["status"] == 302
    assert told["changed"] == ["2040-01-01T11:00:00.000000", "2040-01-02T12:00:00.000000", 2]
    assert told["calendar"] == 200
    assert told["left"] == []


def test_a_refusal_reaches_the_user(ours: str) -> None:
    told = json.loads(ours)["refused"]
    assert told["status"] != 302 or "Unable" in " ".join(told["said"])


def test_hosts_are_added_shown_changed_and_deleted(ours: str) -> None:
    told = json.loads(ours)["hosts"]
    assert ["1", "compute-01"] in told["listed"]
    assert told["made"][1:] == ["compute-07", "red"]
    assert told["detail"] == [200, True]
    assert told["updated"] == "blue"
    assert told["left"] == len(told["listed"])


def test_the_calendar_gets_its_hosts(ours: str) -> None:
    assert len(json.loads(ours)["calendar"]["resources"]) == len(json.loads(ours)["hosts"]["listed"])


def test_horizon_shows_the_same_through_the_library_of_4_6(ours: str, run_program: RunProgram) -> None:
    theirs = run_program(HORIZON, "horizon_pages.py", PYTHONPATH=str(old_library())).splitlines()[-1]
    assert json.loads(normal(ours)) == json.loads(normal(theirs))
