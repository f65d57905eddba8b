"""The source of time."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of time; tests pass one that they set."""

    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        return datetime.fromtimestamp(time.time(), UTC)
