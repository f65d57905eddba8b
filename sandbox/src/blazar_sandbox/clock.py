"""What time is it in the sandbox?"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of time; tests give one that they move by hand."""

    def now(self) -> datetime:
        """Give the present instant, aware and in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Give the present instant, aware and in UTC."""
        return datetime.fromtimestamp(time.time(), UTC)
