"""The helpers: threads that take steps off the workers of a manager."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from blazar.service import log_context
from blazar.service.ports.steps import Step


class Helpers:
    """Runs the steps of verbs side by side. Any thread may use it.

    A worker goes through its steps itself, and ``number`` threads help all workers. A helper does one step of
    a verb, then one of the verb that has waited longest. So a verb of thousands of steps leaves the others
    their share, and while a service hangs, each worker gets on as it would alone."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._pool = ThreadPoolExecutor(max(number, 1), thread_name_prefix="helper")

    def run(self, steps: Sequence[Step]) -> None:
        """Run the steps, as ``RunSteps`` says."""
        batch = _Batch(steps)
        for _ in range(min(self._number, len(steps) - 1)):
            self._ask_for_help(batch)
        while batch.do_next():
            pass
        batch.finish()

    def _ask_for_help(self, batch: _Batch) -> None:
        with contextlib.suppress(RuntimeError):  # the program ends, and its workers finish alone
            self._pool.submit(log_context.carried(partial(self._help, batch)))

    def _help(self, batch: _Batch) -> None:
        if batch.do_next():
            self._ask_for_help(batch)  # behind all who wait


class _Batch:
    """The steps of one verb, which a worker and helpers go through together."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._left = deque(steps)
        self._running = 0
        self._failure: Exception | None = None
        self._change = threading.Condition()

    def do_next(self) -> bool:
        """Do the next step. Return false where none is left to begin."""
        with self._change:
            if not self._left:
                return False
            step = self._left.popleft()
            self._running += 1
        try:
            step()
        except Exception as failure:  # noqa: BLE001 - the edge of a helper; its worker raises the failure
            self._fail(failure)
        finally:
            with self._change:
                self._running -= 1
                self._change.notify_all()
        return True

    def finish(self) -> None:
        """Wait until no step runs any more. Raises the first failure."""
        with self._change:
            self._change.wait_for(lambda: not self._running)
        if self._failure is not None:
            raise self._failure

    def _fail(self, failure: Exception) -> None:
        with self._change:
            self._left.clear()
            self._failure = self._failure or failure
