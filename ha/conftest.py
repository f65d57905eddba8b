"""What all of these tests share: how long they last, and where their figures go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .databases import PACKAGES, stop_all
from .programs import new_folder

FIGURES: list[tuple[str, list[tuple[str, object]]]] = []
Show = Callable[[str, list[tuple[str, object]]], None]


@pytest.fixture(scope="session")
def seconds() -> float:
    """How long the storm lasts on each database: HA_SECONDS."""
    return float(os.environ.get("HA_SECONDS", "30"))


@pytest.fixture(params=list(PACKAGES))
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


def pytest_sessionfinish() -> None:
    stop_all()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for title, rows in FIGURES:
        terminalreporter.write_line("")
        terminalreporter.write_line(title)
        for words, figure in rows:
            terminalreporter.write_line(f"  {words:<58} {figure}")
