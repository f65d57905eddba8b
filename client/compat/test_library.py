"""Does a script that uses the library of 4.6 get the same from this one: the same requests, values and errors?"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from clientkit.recorder import RecordingCloud
from clientkit.samples import FLOATINGIP_ID, LEASE_ID, MISSING_LEASE_ID
from conftest import HERE
from environments import NEW, OLD, Environment

Told = dict[str, Any]


@pytest.fixture(scope="module")
def tell(recorder: RecordingCloud) -> dict[str, Told]:
    """What came of every call by the name of the environment, with the requests that it made."""
    told = {}
    for environment in (OLD, NEW):
        recorder.requests.clear()
        told[environment.name] = _calls(environment, recorder)
        told[environment.name]["requests"] = [[*asked.as_json(), asked.headers] for asked in recorder.requests]
    return told


def _calls(environment: Environment, recorder: RecordingCloud) -> Told:
    python = environment.ready().bin / "python"
    command = [str(python), "-W", "ignore", str(HERE / "programs" / "library_calls.py")]
    done = subprocess.run(
        [*command, LEASE_ID, MISSING_LEASE_ID, FLOATINGIP_ID],
        env={"RECORDER": recorder.endpoint},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: Told = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "what", ["requests", "with a session", "with a url and a token", "class", "versions", "errors"]
)
def test_the_same_calls_come_to_the_same(tell: dict[str, Told], what: str) -> None:
    old, new = tell[OLD.name][what], tell[NEW.name][what]
    assert old
    if isinstance(old, list):
        for expected, got in zip(old, new, strict=True):
            assert got == expected
    assert new == old


def test_every_parameter_of_4_6_is_there_and_in_its_place(tell: dict[str, Told]) -> None:
    for name, expected in tell[OLD.name]["signatures"].items():
        got = tell[NEW.name]["signatures"][name]
        assert got[: len(expected)] == expected, name
        assert all(default for _, _, default in got[len(expected) :]), f"{name}: what is new is optional"
