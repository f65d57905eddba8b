"""The ports for the surroundings besides the database and the cloud: the time, and a receiver of
notifications."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from blazar.service.ports.database import Notification


class Clock(Protocol):
    """The only reader of time, and the only one who waits for it to pass."""

    def now(self) -> datetime:
        """Return the current moment, aware, in UTC."""
        ...

    def pause(self, seconds: float) -> None:
        """Let this much time pass."""
        ...


class Nudge(Protocol):
    """The engine, as far as a request wakes it."""

    def __call__(self, due: datetime | None = None) -> None:
        """Take notice of events that were committed just now: the first of them is due at ``due``, or at
        once."""
        ...


class Announcements(Protocol):
    """What the cloud announces of its own accord: that some of its resources have changed."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Have ``heard`` called at each announcement from now on, from another thread. Called from time to
        time. Raises CloudUnavailable where nothing can be heard yet."""
        ...

    def stop(self) -> None:
        """Hear no more."""
        ...


class Notifier(Protocol):
    def send(self, notification: Notification) -> None:
        """Deliver, or raise CloudUnavailable so that the relay tries again later."""
        ...
