"""The clock of the machine, in UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """The Clock port. Nothing else in the service reads the time."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
