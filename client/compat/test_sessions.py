"""Tests of the sessions in the documentation with client 4.6, each session in one shell."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from clientkit.output import normalize, relevant_lines
from clientkit.service import running_service
from environments import OLD, ROOT

KINDS = "docs/user/kinds"
PAGES = [
    "README.md",
    f"{KINDS}/floatingip.md",
    *(pytest.param(f"{KINDS}/{kind}.md", marks=pytest.mark.thorough) for kind in ("instance", "flavor")),
]
MARK = "--- end of command ---"


@dataclass(frozen=True)
class Step:
    """A command and its documented output."""

    command: str
    output: str


def session(page: str) -> list[Step]:
    text = (ROOT / page).read_text().split("## A session")[1].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    assert blocks, f"{page} has no session"
    parts = re.split(r"^\$ ", "".join(blocks), flags=re.MULTILINE)[1:]
    return [Step(*part.partition("\n")[::2]) for part in parts]


def run(steps: list[Step], folder: Path) -> list[str]:
    """Return the output of each command."""
    script = "\n".join(f"{step.command}\necho '{MARK}'" for step in steps)
    env = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    env["PATH"] = f"{OLD.ready().bin}:{env['PATH']}"
    done = subprocess.run(
        ["bash"],
        input=script,
        env=env,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.split(f"{MARK}\n")


def same(text: str) -> list[str]:
    return [line.rstrip() for line in relevant_lines(normalize(text))]


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("page", PAGES)
def test_the_session_is_what_happens(tmp_path: Path, page: str) -> None:
    steps = session(page)
    with running_service(tmp_path / "var"):
        outputs = run(steps, tmp_path)
    for step, output in zip(steps, outputs, strict=False):
        assert same(output) == same(step.output), step.command
    assert len(outputs) == len(steps) + 1
