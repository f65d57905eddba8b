"""The ports for the surroundings besides the database and the cloud: the time, and a receiver of
notifications."""

from __future__ import annotations

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


class Notifier(Protocol):
    def send(self, notification: Notification) -> None:
        """Deliver, or raise CloudUnavailable so that the relay tries again later."""
        ...
