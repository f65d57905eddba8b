"""Tests that this client has all commands and options of 4.6, and installs without the server."""

from __future__ import annotations

import re
import subprocess

import pytest
from clientkit.recorder import RecordingCloud
from conftest import Program
from environments import NEW, Environment

PLUGIN = "openstack"
_COMMANDS = {
    PLUGIN: re.compile(r"^  (reservation [a-z ]+?)$", re.MULTILINE),
    "blazar": re.compile(r"^  ([a-z]+-[a-z-]+) +\S", re.MULTILINE),
}
_OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
# What the frameworks of both bring along, in versions of their own.
_HELP = {PLUGIN: ["openstack", "help", "reservation"], "blazar": ["blazar", "help"]}


def commands(program: Program, name: str, variables: dict[str, str]) -> set[str]:
    return set(_COMMANDS[name].findall(program(_HELP[name], variables).out))


@pytest.mark.parametrize("name", [PLUGIN, "blazar"])
def test_every_command_and_option_of_4_6_is_there(
    name: str, old: Program, new: Program, recorder_variables: dict[str, str]
) -> None:
    expected = commands(old, name, recorder_variables)
    assert len(expected) >= 19
    assert expected - commands(new, name, recorder_variables) == set()
    missing = {}
    # Help is wrapped at the hyphens of options, and what stands before them comes in another order each time.
    wide = {**recorder_variables, "COLUMNS": "1000"}
    for command in ["", *sorted(expected)]:
        words = [name, "help", *command.split()]
        lost = options(old(words, wide).out) - options(new(words, wide).out)
        if lost:
            missing[command] = lost
    assert missing == {}


def options(help_text: str) -> set[str]:
    return set(_OPTION.findall(help_text))


def test_nothing_is_complained_of(
    new: Program, recorder: RecordingCloud, recorder_variables: dict[str, str]
) -> None:
    for words in (
        "openstack reservation lease list",
        "openstack --version",
        "blazar lease-list",
        "openstack help host",
    ):
        ran = new(words.split(), recorder_variables)
        assert (ran.code, ran.err) == (0, ""), words


def test_it_comes_without_the_service() -> None:
    """The environment has the `openstack` command, this client and their dependencies."""
    installed = inside(
        NEW, "from importlib.metadata import distributions as d; print(*(x.name for x in d()))"
    ).split()
    assert "python-blazarclient" in installed
    assert {"blazar", "blazarnova", "blazar-sandbox", "falcon", "sqlalchemy"}.isdisjoint(
        map(str.lower, installed)
    )
    everything = "blazarclient.shell, blazarclient.sdk, blazarclient.osc.plugin, blazarclient.client"
    assert "True" in inside(NEW, f"import sys, {everything}; print('blazar' not in sys.modules)")


def inside(environment: Environment, code: str) -> str:
    python = str(environment.ready().bin / "python")
    return subprocess.run(
        [python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    ).stdout
