"""Quotas: what the leases of a project may use of each quantity, at once and over time.

A limit is a whole number; UNLIMITED stands for none. A change of a lease is refused where it takes more than
the lease had, and more than a limit allows. So what takes nothing more is never refused, whatever the limits
have become meanwhile."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from blazar.domain.errors import QuotaExceeded
from blazar.domain.time import Interval, epoch

UNLIMITED = -1
LEASES = "leases"
"""How many leases that are not over a project may have."""
LONGEST = "longest_lease_hours"
"""How many hours a lease may last."""
AHEAD = "hours_ahead"
"""How many hours ahead of now a lease may start."""
OF_LEASES = (LEASES, LONGEST, AHEAD)
"""The limits that count no quantity."""
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def hours_of(quantity: str) -> str:
    """Return the name of the limit of hours: of the quantity times the length of leases."""
    return f"{quantity}_hours"


def names_of(quantities: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all limits, in the order in which they are shown."""
    kinds = sorted(set(quantities))
    return (*OF_LEASES, *kinds, *map(hours_of, kinds))


@dataclass(frozen=True, slots=True)
class Use:
    """What a lease uses in its interval: amounts by quantity."""

    lease_id: str
    interval: Interval
    quantities: Mapping[str, int]

    def amount(self, quantity: str) -> int:
        return self.quantities.get(quantity, 0)


@dataclass(frozen=True, slots=True)
class Growth:
    """A change of what a lease uses: ``old`` is None for a new lease."""

    old: Use | None
    new: Use

    @property
    def is_more(self) -> bool:
        """Return whether the lease takes anything more than it had."""
        if self.old is None:
            return True
        inside, outside = self.new.interval, self.old.interval
        is_longer = inside.start < outside.start or outside.end < inside.end
        return is_longer or any(
            amount > self.old.amount(quantity) for quantity, amount in self.new.quantities.items()
        )

    def pieces(self, quantity: str) -> Iterator[Interval]:
        """Return the parts of the new interval in which more of the quantity is used than before."""
        amount, new, old = self.new.amount(quantity), self.new.interval, self.old
        if amount <= 0:
            return
        if old is None or amount > old.amount(quantity):
            yield new
            return
        for start, end in (
            (new.start, min(new.end, old.interval.start)),
            (max(new.start, old.interval.end), new.end),
        ):
            if start < end:
                yield Interval(start, end)


def peak(uses: Iterable[Use], quantity: str, window: Interval) -> int:
    """Return the most that is used of the quantity at any instant of the window."""
    steps = []
    for use in uses:
        amount = use.amount(quantity)
        if amount and use.interval.overlaps(window):
            steps += [(max(use.interval.start, window.start), amount), (use.interval.end, -amount)]
    most = level = 0
    for _, step in sorted(steps):  # what ends at an instant goes before what starts at it
        level += step
        most = max(most, level)
    return most


class UsedTime:
    """How much of a quantity is used over time, summed up, so that any window is looked up quickly.

    All times are whole seconds since 1970-01-01, and what is used is amounts times seconds."""

    def __init__(self, uses: Iterable[Use], quantity: str) -> None:
        steps: dict[int, int] = {}
        for use in uses:
            amount = use.amount(quantity)
            if amount:
                start, end = epoch(use.interval.start), epoch(use.interval.end)
                steps[start] = steps.get(start, 0) + amount
                steps[end] = steps.get(end, 0) - amount
        self.moments = sorted(steps)
        self._levels: list[int] = []
        self._sums: list[int] = []
        level = total = last = 0
        for moment in self.moments:
            total += level * (moment - last)
            level, last = level + steps[moment], moment
            self._sums.append(total)
            self._levels.append(level)

    def within(self, start: int, end: int) -> int:
        return self._until(end) - self._until(start)

    def _until(self, moment: int) -> int:
        last = bisect_right(self.moments, moment) - 1
        return self._sums[last] + self._levels[last] * (moment - self.moments[last]) if last >= 0 else 0


def windows(moments: Iterable[int], length: timedelta) -> Iterator[tuple[int, int]]:
    """Return start and end of the windows of this length among which the one with the most use is found: use
    changes its pace at the ``moments``, and a window with the most use begins or ends at one."""
    seconds = length // SECOND
    for moment in moments:
        yield moment, moment + seconds
        yield moment - seconds, moment


def check(
    limits: Mapping[str, int], growth: Growth, others: Sequence[Use], now: datetime, length: timedelta
) -> None:
    """Compare the change with all limits but LEASES. ``others`` are what the project's other leases use;
    ``length`` is that of the sliding window of hours. Raises QuotaExceeded."""
    _check_dates(limits, growth, now)
    for quantity in sorted(growth.new.quantities):
        most = limits.get(quantity, UNLIMITED)
        if most != UNLIMITED:
            _check_at_once(quantity, most, growth, others, now)
        most = limits.get(hours_of(quantity), UNLIMITED)
        if most != UNLIMITED:
            _check_hours(quantity, most, growth, others, length)


def _check_dates(limits: Mapping[str, int], growth: Growth, now: datetime) -> None:
    new, old = growth.new.interval, growth.old.interval if growth.old else None
    asked = {LONGEST: new.duration, AHEAD: new.start - now}
    had = {LONGEST: old.duration, AHEAD: old.start - now} if old else {}
    for name, time in asked.items():
        most = limits.get(name, UNLIMITED)
        is_more = name not in had or time > had[name]
        if most != UNLIMITED and is_more and time > most * HOUR:
            raise QuotaExceeded(name, most, 0, -(-time // HOUR))


def _check_at_once(quantity: str, most: int, growth: Growth, others: Sequence[Use], now: datetime) -> None:
    for piece in growth.pieces(quantity):
        if piece.end <= now:
            continue
        used = peak(others, quantity, Interval(max(piece.start, now), piece.end))
        if used + growth.new.amount(quantity) > most:
            raise QuotaExceeded(quantity, most, used, growth.new.amount(quantity))


def _check_hours(quantity: str, most: int, growth: Growth, others: Sequence[Use], length: timedelta) -> None:
    used = UsedTime(others, quantity)
    had = UsedTime([growth.old] if growth.old else [], quantity)
    asked = UsedTime([growth.new], quantity)
    # Where others have too much already, the fullest window may just have lost sight of this lease.
    own = {moment + shift for moment in (*had.moments, *asked.moments) for shift in (-1, 0, 1)}
    for start, end in windows((*used.moments, *own), length):
        wanted = asked.within(start, end)
        if wanted > had.within(start, end) and used.within(start, end) + wanted > most * 3600:
            raise QuotaExceeded(hours_of(quantity), most, in_hours(used.within(start, end)), in_hours(wanted))


def in_hours(seconds: int) -> int:
    """Return the hours, a begun one as a whole one."""
    return -(-seconds // 3600)
