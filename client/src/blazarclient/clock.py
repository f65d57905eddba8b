"""What time is it for this program, and how does it wait?"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The only reader of time; everything else is handed a moment."""

    def now(self) -> datetime:
        """The present, aware, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let this many seconds pass."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 (this is the Clock)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
