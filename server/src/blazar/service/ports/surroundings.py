"""What the use cases need besides the database and the cloud: the time, and somebody to tell what happened."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from blazar.service.ports.database import Notice


class Clock(Protocol):
    """The only reader of time, and the only one who waits for it to pass."""

    def now(self) -> datetime:
        """The current moment, aware, in UTC."""
        ...

    def pause(self, seconds: float) -> None:
        """Let this much time pass."""
        ...


class Notifier(Protocol):
    def send(self, notice: Notice) -> None:
        """Deliver, or raise CloudUnavailable so that the relay tries again later."""
        ...
