"""Tests of Heat's OS::Blazar resources with this library and with that of 4.6."""

from __future__ import annotations

import json

import pytest
from clientkit.output import normalize
from conftest import RunProgram
from environments import HEAT, old_library


@pytest.fixture(scope="module")
def ours(run_program: RunProgram) -> str:
    return run_program(HEAT, "heat_stacks.py")


def test_heat_creates_reads_and_deletes_leases_and_hosts(ours: str) -> None:
    results = json.loads(ours)
    for name in ("lease", "lease with before_end", "lease of instances", "host"):
        assert results[name]["created"] == ["CREATE", "COMPLETE"], results[name]
        assert results[name]["deleted"] == ["DELETE", "COMPLETE"], results[name]
    lease = results["lease"]["attributes"]
    assert (lease["name"], lease["status"]) == ("of-heat", "PENDING")
    assert lease["reservations"][0]["resource_type"] == "physical:host"
    instances = results["lease of instances"]["attributes"]["reservations"][0]
    assert (instances["resource_type"], instances["amount"], instances["affinity"]) == (
        "virtual:instance",
        2,
        False,
    )
    assert results["host"]["attributes"]["hypervisor_hostname"] == "compute-07"


def test_heat_passes_the_services_explanation_on(ours: str) -> None:
    results = json.loads(ours)
    for name, words in (("refused lease", "Not enough hosts available"), ("unknown host", "not found")):
        assert results[name]["created"] == ["CREATE", "FAILED"]
        assert words in results[name]["reason"]
        assert results[name]["deleted"] == ["DELETE", "COMPLETE"]


def test_heat_sees_the_same_through_the_library_of_4_6(ours: str, run_program: RunProgram) -> None:
    theirs = json.loads(normalize(run_program(HEAT, "heat_stacks.py", PYTHONPATH=str(old_library()))))
    got = json.loads(normalize(ours))
    # Heat names the date in a way that the library of 4.6 does not know; ours does.
    assert "unexpected keyword argument 'before_end_date'" in theirs.pop("lease with before_end")["reason"]
    del got["lease with before_end"]
    assert got == theirs
