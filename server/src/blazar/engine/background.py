"""What a manager does beside its events, each in a thread of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth


class Background(ABC):
    """Does one round of its work after another, from the start of the manager to its stop.

    ``start`` and ``stop`` are called once each."""

    patience: ClassVar[float] = 5.0
    """Seconds that ``stop`` waits for the round under way: not for ever, for what it asks may hang."""

    def __init__(self, name: str, first_wait: float = 0.0) -> None:
        """The thread has the name, and begins after so many seconds: a manager that starts has better things
        to do first."""
        self._thread = LongLivedThread(name, self.round, first_wait=first_wait)

    @abstractmethod
    def round(self) -> float:
        """Do one round of the work. Return the seconds to wait until the next one."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(self.patience)

    def pause(self, seconds: float) -> None:
        """Rest between two steps of a round, with a sign of life."""
        self._thread.sign()
        self._thread.rest(seconds)

    def health(self) -> ThreadHealth:
        return self._thread.health()
