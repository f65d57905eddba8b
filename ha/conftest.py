"""What all of these tests share: how long they last, and where their figures go."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .site import SERVERS

LOGS = Path(os.environ.get("HA_LOGS", Path(__file__).parent.parent / "var" / "ha"))
FIGURES: list[tuple[str, list[tuple[str, object]]]] = []
Show = Callable[[str, list[tuple[str, object]]], None]


@pytest.fixture(scope="session")
def seconds() -> float:
    """How long the storm lasts on each database: HA_SECONDS."""
    return float(os.environ.get("HA_SECONDS", "30"))


@pytest.fixture(params=list(SERVERS))
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def show() -> Show:
    """Figures for the end of the run."""
    return lambda title, rows: FIGURES.append((title, rows))


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    """Where the site's configuration and logs are; they stay until the next run."""
    return new_folder(request.node.name)


def new_folder(name: str) -> Path:
    folder = LOGS / re.sub(r"[^a-z]+", "-", name).strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for title, rows in FIGURES:
        terminalreporter.write_line("")
        terminalreporter.write_line(title)
        for words, figure in rows:
            terminalreporter.write_line(f"  {words:<58} {figure}")
