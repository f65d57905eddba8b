"""A blazar-manager that kills itself with SIGKILL at a numbered step; test_crash_points runs it.

Steps are the begin and the end of each transaction and of each change in the cloud. HA_STEP is the number of
the step; steps are counted while the file HA_ARMED exists."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from pathlib import Path
from typing import Any

from blazar.adapters.db import SqlDatabase
from blazar.adapters.openstack.session import ServiceApi
from blazar.cmd.manager import main

STEP, ARMED = int(os.environ["HA_STEP"]), Path(os.environ["HA_ARMED"])
_numbers, _lock = itertools.count(1), threading.Lock()


def step() -> None:
    if not ARMED.exists():
        return
    with _lock:
        if next(_numbers) == STEP:
            os.killpg(0, signal.SIGKILL)


_transact, _call = SqlDatabase.transact, ServiceApi._call


def transact(self: SqlDatabase, work: Any) -> Any:
    step()
    result = _transact(self, work)
    step()
    return result


def call(self: ServiceApi, method: str, *words: Any, **more: Any) -> Any:
    if method == "GET":
        return _call(self, method, *words, **more)
    step()
    result = _call(self, method, *words, **more)
    step()
    return result


if __name__ == "__main__":
    SqlDatabase.transact = transact  # type: ignore[method-assign]
    ServiceApi._call = call  # type: ignore[method-assign]
    main()
