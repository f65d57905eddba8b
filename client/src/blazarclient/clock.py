"""The clock: the only module that reads the time and sleeps."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 (this is the Clock)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
