"""How a manager finishes what requests about resources have left half-done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth

LOOK = 60.0
"""Seconds between two looks. Several managers may look at once."""


class Upkeep:
    """Carries out each of ``tasks`` from time to time. One that fails keeps no other from its turn."""

    def __init__(self, tasks: Sequence[Callable[[], None]]) -> None:
        self._tasks = tasks
        self._thread = LongLivedThread("upkeep", self.round, first_wait=LOOK)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(5)

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Carry out all tasks. Return the seconds to wait until the next round."""
        for task in self._tasks:
            self._thread.sign()
            self._thread.attempt(task)
        return LOOK
