"""The lab uses each configuration line that the documentation shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from blazar_lab.settings import Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operator" / "lab.md"
BLOCK = re.compile(r"```ini\n# (?P<file>\S+)\n(?P<text>.*?)```", re.DOTALL)

Lines = set[tuple[str, str]]


def options(text: str) -> Lines:
    """Return each line together with the name of its group."""
    found: Lines = set()
    group = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            group = line
        else:
            found.add((group, line))
    return found


def written(settings: Settings, name: str) -> Path:
    if name == "blazar.conf":
        return settings.blazar_conf
    return settings.folder("etc", name.removesuffix(".conf"), name)


@pytest.mark.parametrize("block", list(BLOCK.finditer(PAGE.read_text())), ids=lambda block: block["file"])
def test_each_line_shown_is_one_that_the_lab_uses(block: re.Match[str]) -> None:
    shown = options(block["text"])
    assert shown
    assert shown <= options(written(Settings.load(), block["file"]).read_text())
