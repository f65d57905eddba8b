"""Fixtures of the reliability suite: its duration, its databases, and the report at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .databases import PACKAGES, stop_all
from .programs import new_folder

REPORT = "report"
Show = Callable[[str, list[tuple[str, object]]], None]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "storm: everything breaks under load, for as long as one wants")
    config.addinivalue_line("markers", "fairness: its times count, so nothing else may run beside it")


@pytest.fixture(scope="session")
def seconds() -> float:
    """Return how long the storm lasts on each database: HA_SECONDS."""
    return float(os.environ.get("HA_SECONDS", "30"))


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.by_turns(2)) for name in PACKAGES])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def show(record_property: Callable[[str, object], None]) -> Show:
    """Return a function that adds a table to the report at the end of the run."""

    def add(title: str, rows: list[tuple[str, object]]) -> None:
        # as text, for it travels from pytest-xdist's workers to the process that prints the report
        record_property(REPORT, [title, [[words, str(number)] for words, number in rows]])

    return add


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the site's configuration and logs, which stay until the next run."""
    return new_folder(request.node.name)


def pytest_sessionfinish() -> None:
    stop_all()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [each for found in terminalreporter.stats.values() for each in found]
    properties = [each for report in reports for each in getattr(report, "user_properties", ())]
    for _, (title, rows) in dict.fromkeys((name, _frozen(table)) for name, table in properties):
        terminalreporter.write_line("")
        terminalreporter.write_line(title)
        for words, number in rows:
            terminalreporter.write_line(f"  {words:<58} {number}")


def _frozen(table: list[Any]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a table as a value that can be compared, since several phases of a test report it."""
    title, rows = table
    return title, tuple((words, number) for words, number in rows)
