"""When is it, and has something become true yet?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

MINUTE = 60
INTERVAL = 0.3

T = TypeVar("T")


def until(what: str, seconds: float, condition: Callable[[], T | None]) -> T:
    """Ask again and again until the answer is true; return it. The failure tells the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last answer: {answer!r}")
        time.sleep(INTERVAL)


def boundary(at_least: float) -> int:
    """The first full minute that is at least so many seconds away, in seconds since the epoch."""
    return int((time.time() + at_least) // MINUTE + 1) * MINUTE


def text(moment: int) -> str:
    """A moment as API 1.0 takes it."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))


def wait_for(moment: float) -> None:
    """Let time pass up to a moment that the story needs, when there is nothing to ask anybody."""
    time.sleep(max(0.0, moment - time.time()))
