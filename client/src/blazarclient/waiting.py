"""Has the lease got the status that somebody waits for, or will it never?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar

from blazarclient.clock import Clock

T = TypeVar("T")


class Verdict(StrEnum):
    """How the waiting ended."""

    REACHED = "reached"
    FAILED = "failed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The verdict, and the lease as it was at the last look."""

    verdict: Verdict
    lease: T


@dataclass(frozen=True)
class Goal:
    """Which statuses end the waiting: those hoped for, and those from which none of them can be reached."""

    statuses: Collection[str]
    failures: Collection[str] = ("ERROR", "TERMINATED")


def wait_for(
    look: Callable[[], T],
    status_of: Callable[[T], str],
    goal: Goal,
    *,
    clock: Clock,
    deadline: datetime | None,
    interval: Callable[[T], float],
    on_look: Callable[[T], None] | None = None,
) -> Outcome[T]:
    """Look, again and again, until the goal is reached or missed or the deadline is past; with None, for ever.

    `interval` says after how many seconds the next look is due; the last look is at the deadline.
    """
    while True:
        lease = look()
        if on_look is not None:
            on_look(lease)
        status = status_of(lease)
        if status in goal.statuses:
            return Outcome(Verdict.REACHED, lease)
        if status in goal.failures:
            return Outcome(Verdict.FAILED, lease)
        pause = interval(lease)
        if deadline is not None:
            left = (deadline - clock.now()).total_seconds()
            if left <= 0:
                return Outcome(Verdict.TIMED_OUT, lease)
            pause = min(pause, left)
        clock.sleep(pause)


def reason(lease: Mapping[str, Any]) -> str:
    """Why the service says that the lease stands where it does, in brackets; nothing where it says nothing."""
    lines = [lease, *lease.get("reservations", [])]
    said = dict.fromkeys(str(line["status_reason"]) for line in lines if line.get("status_reason"))
    return f" ({'; '.join(said)})" if said else ""


def until(moment: datetime, clock: Clock) -> timedelta:
    """How long it is until then; nothing when it is past."""
    return max(timedelta(), moment - clock.now())
