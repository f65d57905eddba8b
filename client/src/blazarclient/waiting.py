"""Polling of a lease until it has a status, fails or the time is over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar

from blazarclient.clock import Clock

T = TypeVar("T")


class WaitResult(StrEnum):
    """The reason why the polling ended."""

    REACHED = "reached"
    FAILED = "failed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The result, and the lease as the last poll returned it."""

    result: WaitResult
    lease: T


@dataclass(frozen=True)
class Goal:
    """The statuses that end the polling: the wanted ones, and those that exclude them."""

    statuses: Collection[str]
    failures: Collection[str] = ("ERROR", "TERMINATED")


def wait_for(
    poll: Callable[[], T],
    status_of: Callable[[T], str],
    goal: Goal,
    *,
    clock: Clock,
    deadline: datetime | None,
    interval: Callable[[T], float],
    on_poll: Callable[[T], None] | None = None,
) -> Outcome[T]:
    """Poll until the lease reaches or misses the goal, or the deadline is past. None is no deadline.

    `interval` returns the seconds until the next poll; the last poll is at the deadline.
    """
    while True:
        lease = poll()
        if on_poll is not None:
            on_poll(lease)
        status = status_of(lease)
        if status in goal.statuses:
            return Outcome(WaitResult.REACHED, lease)
        if status in goal.failures:
            return Outcome(WaitResult.FAILED, lease)
        pause = interval(lease)
        if deadline is not None:
            remaining = (deadline - clock.now()).total_seconds()
            if remaining <= 0:
                return Outcome(WaitResult.TIMED_OUT, lease)
            pause = min(pause, remaining)
        clock.sleep(pause)


def status_reason(lease: Mapping[str, Any]) -> str:
    """Return the service's reasons for the status of the lease in parentheses, or an empty text."""
    lines = [lease, *lease.get("reservations", [])]
    reasons = dict.fromkeys(str(line["status_reason"]) for line in lines if line.get("status_reason"))
    return f" ({'; '.join(reasons)})" if reasons else ""


def time_until(when: datetime, clock: Clock) -> timedelta:
    """Return the time until `when`, or zero if it is past."""
    return max(timedelta(), when - clock.now())
