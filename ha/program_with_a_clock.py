"""blazar-manager or blazar-api with a clock that a file sets while it runs: HA_CLOCK is the file, and in it stands by how
many seconds the clock is ahead. Nothing else in the service reads the time, so this is the whole of the program's clock."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from blazar.adapters.clock import SystemClock
from blazar.cmd import api, manager

FILE = Path(os.environ["HA_CLOCK"])
_now = SystemClock.now


def now(self: SystemClock) -> datetime:
    return _now(self) + timedelta(seconds=float(FILE.read_text()) if FILE.exists() else 0)


if __name__ == "__main__":
    SystemClock.now = now  # type: ignore[method-assign]
    {"blazar-manager": manager.main, "blazar-api": api.main}[sys.argv.pop(1)]()
