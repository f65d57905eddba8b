"""Full minutes, and waiting for a moment or a condition."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

MINUTE = 60
INTERVAL = 0.3
SOON = 180
"""Seconds for what happens at once on a machine of one's own, and later where much runs beside it."""
ACTIVE_SECONDS = END_SECONDS = SOON

T = TypeVar("T")


def until(what: str, seconds: float, condition: Callable[[], T | None]) -> T:
    """Repeat ``condition`` until it returns a true value, and return that value.

    Fail after ``seconds``; the message contains the last value."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last answer: {answer!r}")
        time.sleep(INTERVAL)


def boundary(at_least: float) -> int:
    """Return the first full minute more than ``at_least`` seconds ahead, in seconds since the epoch."""
    return int((time.time() + at_least) // MINUTE + 1) * MINUTE


def text(moment: int) -> str:
    """Format a moment as API 1.0 takes it."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))


def wait_for(moment: float) -> None:
    """Sleep until a moment, where no condition could be polled instead."""
    time.sleep(max(0.0, moment - time.time()))
