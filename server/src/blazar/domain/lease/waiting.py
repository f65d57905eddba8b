"""The waiting of a lease that did not fit: how long it waits, its turn, and the starts that would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from blazar.domain.time import HORIZON, MINUTE, Interval, floor_minute

PENALTY = timedelta(hours=1)
"""By how much a lease stands later in line for each lease of its project that waits already. So one project
cannot fill the front of the line."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a waiting lease keeps to be planned again.

    ``until`` is when it gives up. With a fixed start, neither ``starts_now`` nor ``is_flexible`` is true."""

    since: datetime
    until: datetime
    turn: datetime
    """Its place in line: earlier ones come first."""
    starts_now: bool = False
    """It starts when it is promoted: at its fixed end it is over, or after its ``duration``."""
    is_flexible: bool = False
    """It starts as soon as there is enough in its window, which may be later than its promotion."""
    duration: timedelta | None = None
    latest_end: datetime | None = None
    before_end: datetime | None = None
    """When its user wants to be warned of the end; None for the default."""
    expected: datetime | None = None
    """The start that would have been possible when it began to wait, by what was reserved then."""

    @property
    def place(self) -> tuple[datetime, datetime]:
        """Return what sorts the line; two leases of the same moment are sorted by id."""
        return self.turn, self.since


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts that would do: that of ``interval``, and later ones up to ``latest``."""

    interval: Interval
    latest: datetime

    @property
    def window(self) -> Interval:
        """Return the time in which the lease may have something."""
        return Interval(self.interval.start, self.latest + self.interval.duration)


def turn_of(now: datetime, waiting: int) -> datetime:
    """Return the turn of a lease that begins to wait, where so many of its project do already."""
    return now + waiting * PENALTY


def gives_up(
    wait_until: datetime,
    interval: Interval,
    starts_now: bool,
    duration: timedelta | None,
    latest: datetime | None,
) -> datetime:
    """Return when a lease stops waiting: when its user said, but not later than it could start.

    ``interval`` is the one that was asked for, ``latest`` the latest start of a flexible lease."""
    if latest is not None:
        return min(wait_until, latest)
    if starts_now:
        return wait_until if duration is not None else min(wait_until, interval.end)
    return min(wait_until, interval.start)


def starts(waiting: Waiting, interval: Interval, now: datetime) -> Starts | None:
    """Return the starts that would do at this moment; None where it is too late for any."""
    minute = floor_minute(now)
    if now >= waiting.until:
        return None
    if waiting.is_flexible:
        duration = waiting.duration or interval.duration
        latest = latest_start(waiting.latest_end, duration, minute)
        return None if latest < minute else Starts(Interval(minute, minute + duration), latest)
    if waiting.starts_now:
        end = interval.end if waiting.duration is None else minute + waiting.duration
        return Starts(Interval(minute, end), minute)
    return Starts(interval, interval.start)


def latest_start(latest_end: datetime | None, duration: timedelta, minute: datetime) -> datetime:
    """Return the latest start of a flexible lease."""
    horizon = minute + HORIZON - duration
    return horizon if latest_end is None else min(horizon, floor_minute(latest_end) - duration)


def in_line(places: Iterable[tuple[str, Waiting]]) -> list[str]:
    """Return the ids of the waiting leases, the next one first."""
    return [id_ for id_, waiting in sorted(places, key=lambda each: (*each[1].place, each[0]))]


def shortest_wait(now: datetime) -> datetime:
    """Return the earliest moment until which a lease may wait: an earlier one is over at once."""
    return floor_minute(now) + MINUTE
