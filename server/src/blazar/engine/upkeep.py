"""How a manager finishes what requests about resources have left half-done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blazar.engine.background import Background

LOOK = 60.0
"""Seconds between two looks. Several managers may look at once."""


class Upkeep(Background):
    """Carries out each of ``tasks`` from time to time. One that fails keeps no other from its turn."""

    def __init__(self, tasks: Sequence[Callable[[], None]]) -> None:
        super().__init__("upkeep", first_wait=LOOK)
        self._tasks = tasks

    def round(self) -> float:
        """Carry out all tasks. Return the seconds to wait until the next round."""
        for task in self._tasks:
            self._thread.sign()
            self._thread.attempt(task)
        return LOOK
