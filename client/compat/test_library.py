"""Tests that the calls of the library have the requests, values and errors of 4.6."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from clientkit.recorder import RecordingCloud
from clientkit.samples import FLOATINGIP_ID, LEASE_ID, MISSING_LEASE_ID
from conftest import HERE
from environments import NEW, OLD, Environment
from lists import as_of_1_0

Results = dict[str, Any]


@pytest.fixture(scope="module")
def results(recorder: RecordingCloud) -> dict[str, Results]:
    """Return the results and the requests of all calls, by the name of the environment."""
    results = {}
    for environment in (OLD, NEW):
        recorder.requests.clear()
        results[environment.name] = _calls(environment, recorder)
        results[environment.name]["requests"] = [
            [*request.as_json(), request.headers] for request in recorder.requests
        ]
    return results


def _calls(environment: Environment, recorder: RecordingCloud) -> Results:
    python = environment.ready().bin / "python"
    command = [str(python), "-W", "ignore", str(HERE / "programs" / "library_calls.py")]
    done = subprocess.run(
        [*command, LEASE_ID, MISSING_LEASE_ID, FLOATINGIP_ID],
        env={"RECORDER": recorder.endpoint},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: Results = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "what", ["requests", "with a session", "with a url and a token", "class", "versions", "errors"]
)
def test_the_same_calls_come_to_the_same(results: dict[str, Results], what: str) -> None:
    old, new = results[OLD.name][what], results[NEW.name][what]
    assert old
    if what == "requests":
        new = as_of_1_0(new)
    if isinstance(old, list):
        for expected, got in zip(old, new, strict=True):
            assert got == expected
    assert new == old


def test_every_parameter_of_4_6_is_there_and_in_its_place(results: dict[str, Results]) -> None:
    for name, expected in results[OLD.name]["signatures"].items():
        got = results[NEW.name]["signatures"][name]
        assert got[: len(expected)] == expected, name
        assert all(default for _, _, default in got[len(expected) :]), f"{name}: what is new is optional"
