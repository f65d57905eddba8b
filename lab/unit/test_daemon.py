"""Supervisor.wait on programs that end at their start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from blazar_lab.console import LabError
from blazar_lab.daemon import Daemon, Supervisor

STARTED = "started.txt"


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    found = Supervisor(run=tmp_path, log=tmp_path)
    yield found
    found.stop(found.names())


def ends(times: int) -> Daemon:
    """Return a daemon that ends that many times before it stays."""
    count = f"echo once >> {STARTED}; test $(wc -l < {STARTED}) -gt {times}"
    program = f"{count} || {{ sleep 0.3; exit 1; }}; touch ready; sleep 600"
    return Daemon("worker", ("sh", "-c", program))


def test_what_ends_at_its_start_is_started_again(supervisor: Supervisor, tmp_path: Path) -> None:
    daemon = ends(times=1)
    supervisor.start(daemon)
    supervisor.wait(["worker"], lambda _: (tmp_path / "ready").exists(), seconds=60, daemon=lambda _: daemon)
    assert supervisor.running("worker")


def test_it_is_started_again_only_once(supervisor: Supervisor, tmp_path: Path) -> None:
    daemon = ends(times=5)
    supervisor.start(daemon)
    with pytest.raises(LabError, match="worker ended at its start"):
        supervisor.wait(["worker"], lambda _: False, seconds=60, daemon=lambda _: daemon)
    assert (tmp_path / STARTED).read_text().count("once") == 2
