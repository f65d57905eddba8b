"""A blazar-manager or blazar-api whose clock a test can set while it runs.

The file HA_CLOCK contains how many seconds the clock is ahead. Only SystemClock reads the time in the
service, so this sets the clock of the whole program."""

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
