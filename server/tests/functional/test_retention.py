"""Does a manager remove old leases where its operator says so, and only there?"""

from __future__ import annotations

from pathlib import Path

import pytest

from blazar.adapters.clock import SystemClock
from blazar.adapters.memory import MemoryDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.notifications import LogNotifier
from blazar.bootstrap.manager import Manager
from blazar.plugins import load_plugins

from .conftest import configured


@pytest.mark.parametrize(("days", "threads"), [(0, 0), (30, 1)])
def test_leases_are_kept_for_ever_unless_the_operator_says_for_how_long(
    tmp_path: Path, days: int, threads: int
) -> None:
    conf = configured(tmp_path, f"[database]\nretention_days = {days}\n")
    manager = Manager(
        conf, MemoryDatabase(), MemoryCloud(["host1"]), load_plugins(conf), SystemClock(), LogNotifier()
    )
    manager.start()
    try:
        health = manager.use_cases.health.read()
        assert [thread.name for thread in health.threads].count("purge") == threads
        assert health.works
    finally:
        manager.stop()
