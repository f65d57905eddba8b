"""Tests of cells, progress, completion and output formats."""

from __future__ import annotations

import io
import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar, FakeClock, Terminal

from blazarclient.formatting.cells import format_cell, in_zone
from blazarclient.formatting.progress import open_progress, progress_line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (5, 5),
        (True, True),
        ("text", "text"),
        ("5", "5"),
        ("None", ""),
        ("null", "null"),
        ("[]", ""),
        ([], ""),
        ("{}", "{}"),
        ([1, 2], "1\n2"),
        ("[1, 2]", "1\n2"),
        (" [1]", "1"),
        ("['a', 'b']", "a\nb"),
        ('{"a": 1}', '{\n    "a": 1\n}'),
        ("{'a': 1}", '{\n    "a": 1\n}'),
        ('{"a": true}', '{"a": true}'),
        ("{1, 2}", "{1, 2}"),
        ("(1, 2)", "(1, 2)"),
        ("[bad", "[bad"),
        ([{"a": 1}, {"b": [1]}], '{\n    "a": 1\n}\n{\n    "b": [\n        1\n    ]\n}'),
        ([[1], [2]], "[1]\n[2]"),
        ("Nonesense", "Nonesense"),
        ("[" * 10_000, "[" * 10_000),
    ],
)
def test_cells_are_those_of_4_6(value: Any, shown: Any) -> None:
    assert format_cell(value) == shown


def test_every_moment_at_any_depth_is_put_in_the_zone_and_nothing_else() -> None:
    shown = in_zone(samples.lease(name="2050-01-01T10:00:00.000000"), ZoneInfo("Asia/Tokyo"))
    assert shown["start_date"] == "2050-01-01T19:00+09:00"
    assert shown["events"][0]["time"] == "2050-01-01T19:00+09:00"
    assert shown["name"] == "2050-01-01T10:00:00.000000"
    assert shown["updated_at"] is None
    assert in_zone(samples.lease(), None) == samples.lease()
    assert in_zone({"time": "whenever"}, UTC) == {"time": "whenever"}


def test_progress_in_a_log_is_one_line_per_change(clock: FakeClock) -> None:
    stream = io.StringIO()
    with open_progress(stream, clock) as progress:
        for status in ("PENDING", "PENDING", "STARTING", "ACTIVE"):
            progress.show(samples.lease(status=status), "ACTIVE")
    assert [line.split(",")[0] for line in stream.getvalue().splitlines()] == [
        "Lease a is PENDING",
        "Lease a is STARTING",
        "Lease a is ACTIVE",
    ]


def test_progress_tells_why_a_lease_waits(clock: FakeClock) -> None:
    stream = io.StringIO()
    waiting = samples.lease(status="STARTING", status_reason="Nova does not answer")
    with open_progress(stream, clock) as progress:
        for lease in (samples.lease(status="STARTING"), waiting, waiting, samples.lease(status="ACTIVE")):
            progress.show(lease, "ACTIVE")
    assert [line.endswith(" (Nova does not answer)") for line in stream.getvalue().splitlines()] == [
        False,
        True,
        False,
    ]


def test_progress_on_a_terminal_is_one_line_that_goes_away(clock: FakeClock) -> None:
    stream = Terminal()
    with open_progress(stream, clock) as progress:
        progress.show(samples.lease(name="[red]"), "ACTIVE")
    assert "Lease [red] is PENDING, waiting for ACTIVE: starts in" in stream.getvalue()
    assert "\x1b[2K" in stream.getvalue()


def test_progress_says_what_is_awaited_and_when() -> None:
    lease = samples.lease()
    before = FakeClock(datetime(2050, 1, 1, 9, 58, tzinfo=UTC))
    assert progress_line(lease, "ACTIVE", before) == "Lease a is PENDING, waiting for ACTIVE: starts in 2m"
    assert (
        progress_line(lease, "TERMINATED", before)
        == "Lease a is PENDING, waiting for TERMINATED: ends in 1h 2m"
    )
    after = FakeClock(datetime(2050, 1, 1, 10, 0, 5, tzinfo=UTC))
    assert progress_line(lease, "ACTIVE", after).endswith("its time to start has come")


COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_blazar
printf '%s\\n' "${COMPREPLY[@]}"
"""


COMPLETE_IN_ZSH = """
compdef() { registered="$*" }
compadd() { shift; print -l -- ${(M)@:#$words[CURRENT]*} }
_files() { }
source "$1"
shift
words=("$@")
CURRENT=$#words
[[ $registered == "_blazar blazar" ]] && _blazar
"""
COMPLETE_IN_FISH = "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])"
TYPED: list[tuple[list[str], set[str]]] = [
    (["lease-c"], {"lease-create"}),
    (["lease-e"], {"lease-extend"}),
    (["cal"], {"calendar-show"}),
    (["lease-create", "--dur"], {"--duration"}),
    (["lease-create", "--wait"], {"--wait", "--wait-timeout"}),
    (["host-property-set", "--p"], {"--private", "--public"}),
]


@pytest.mark.parametrize(("typed", "offered"), TYPED)
@pytest.mark.parametrize(
    ("shell", "line"),
    [
        pytest.param(
            shell, line, marks=pytest.mark.skipif(which(shell) is None, reason=f"{shell} is not installed")
        )
        for shell, line in {
            "zsh": ["zsh", "-f", "-c", COMPLETE_IN_ZSH, "zsh"],
            "fish": ["fish", "-c", COMPLETE_IN_FISH],
        }.items()
    ],
)
def test_completion_works_in_other_shells(
    blazar: Blazar, tmp_path: Path, shell: str, line: list[str], typed: list[str], offered: set[str]
) -> None:
    script = tmp_path / "script"
    script.write_text(blazar(f"complete --name blazar --shell {shell}").out)
    done = subprocess.run([*line, str(script), "blazar", *typed], capture_output=True, text=True)
    assert set(done.stdout.split()) == offered, done.stderr


@pytest.mark.parametrize(
    ("shell", "entry"),
    [
        ("zsh", "    '{before}' '{words}'\n"),
        ("fish", "        case '{before}'\n            string split ' ' -- '{words}'\n"),
    ],
)
def test_every_shell_offers_the_same_words(blazar: Blazar, shell: str, entry: str) -> None:
    """Also where the shell is not installed."""
    script = blazar(f"complete --name blazar --shell {shell}").out
    data = blazar("complete --name blazar --shell none").out
    commands, *options = re.findall(r"^  cmds_?(.*?)='(.*)'$", data, re.MULTILINE)
    assert entry.format(before=".", words=commands[1]) in script
    assert len(options) > 20
    for command, words in options:
        typed = next(name for name in commands[1].split() if name.replace("-", "_") == command)
        assert entry.format(before=f"._{typed}", words=words) in script


@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_completion_works_in_a_bare_bash(
    blazar: Blazar, tmp_path: Path, typed: list[str], offered: set[str]
) -> None:
    script = tmp_path / "blazar.bash"
    script.write_text(blazar("complete --name blazar").out)
    done = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE, "bash", str(script), "blazar", *typed],
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) == offered, done.stderr


def test_output_formats(blazar: Blazar, cloud: RecordingCloud) -> None:
    name = 'quo"ted, and\nbroken é'
    cloud.answer("GET", "/leases", 200, {"leases": [samples.lease(name=name)]})
    assert json.loads(blazar("lease-list -f json").out)[0]["name"] == name
    assert '"quo""ted, and\nbroken é"' in blazar("lease-list -f csv").out
