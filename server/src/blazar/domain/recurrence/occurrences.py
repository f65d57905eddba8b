"""The occurrences of a recurrence: from when to when each of them is.

A rule says on which days something takes place; the start and the end of the first one say at what time. Both
are local times of one zone, so they stay the same where clocks change: a night from 22:00 to 6:00 is an
hour shorter or longer then. Where clocks skip a local time, the offset before the change counts, and where it
comes twice, the first one does, as section 3.3.5 of RFC 5545 says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from blazar.domain.errors import InvalidRecurrence
from blazar.domain.recurrence.days import DAY, named_days
from blazar.domain.recurrence.rule import RecurrenceRule
from blazar.domain.time import MINUTE, Interval


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When something recurs: a rule, the zone of its days, and the days that are left out."""

    rule: RecurrenceRule
    zone: ZoneInfo
    exceptions: frozenset[date] = frozenset()


@dataclass(frozen=True, slots=True)
class FirstOccurrence:
    """When the first occurrence would start if its day were one of the rule, and how long each is: up to a
    local time, or for a duration."""

    start: datetime
    length: datetime | timedelta
    """The end of the first one, or the duration of all."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a recurrence may be at most."""

    most: int = 100
    """Occurrences."""
    horizon: timedelta = timedelta(days=366)
    """How far after the first start the last one may be."""
    apart: timedelta = timedelta(0)
    """How much is free between two of them, at least."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One of the times at which something recurs."""

    day: date
    """The local day of its start."""
    interval: Interval


def expand(recurrence: Recurrence, first: FirstOccurrence, bounds: Bounds) -> tuple[Occurrence, ...]:
    """Return the occurrences in order: the first of them is on the first day of the rule that is not before
    the first start.

    Raises InvalidRecurrence where there are none or too many, where they go too far, lie too close to each
    other, where a day that is left out is none of the rule's, and where clocks skip all of one."""
    start = first.start.astimezone(recurrence.zone)
    days = _days_of(recurrence, start, bounds)
    unknown = recurrence.exceptions - set(days)
    if unknown:
        raise InvalidRecurrence(f"the rule has no {min(unknown)}, which is to be left out.")
    left = [day for day in days if day not in recurrence.exceptions]
    if not left:
        raise InvalidRecurrence("the rule names no day that is not left out.")
    if len(left) > bounds.most:
        raise InvalidRecurrence(f"the rule names more than {bounds.most} days.")
    occurrences = tuple(Occurrence(day, _interval(day, start, first, recurrence.zone)) for day in left)
    for one, following in pairwise(occurrences):
        if one.interval.end + bounds.apart > following.interval.start:
            raise InvalidRecurrence(_too_close(one, following, bounds.apart))
    return occurrences


def _too_close(one: Occurrence, following: Occurrence, apart: timedelta) -> str:
    minutes = apart // MINUTE
    space = f"{minutes} minutes, in which resources are cleaned, must lie between them" if minutes else ""
    return f"{one.day} and {following.day} {'are too close: ' + space if space else 'overlap'}."


def _days_of(recurrence: Recurrence, start: datetime, bounds: Bounds) -> list[date]:
    """Return the days of the rule, also those that are left out, as far as the bounds allow."""
    rule, zone, days = recurrence.rule, recurrence.zone, list[date]()
    most, last = bounds.most + len(recurrence.exceptions), start.date() + bounds.horizon
    for day in named_days(rule, start.date(), last):
        if _is_after(rule.until, datetime.combine(day, start.time(), zone)):
            return days
        days.append(day)
        if len(days) == rule.count:
            return days
        if len(days) > most:
            raise InvalidRecurrence(f"the rule names more than {bounds.most} days.")
    if _is_after(rule.until, datetime.combine(last, time(), zone)):
        return days
    raise InvalidRecurrence(
        f"the rule goes beyond {bounds.horizon // DAY} days after its start: its last day is to be "
        f"{last} or earlier."
    )


def _is_after(until: date | datetime | None, start: datetime) -> bool:
    """Return whether such a start is after the last one of the rule."""
    if isinstance(until, datetime):
        return until < start
    return until is not None and until < start.date()


def _interval(day: date, start: datetime, first: FirstOccurrence, zone: ZoneInfo) -> Interval:
    begins = _instant(datetime.combine(day, start.time()), zone)
    if isinstance(first.length, timedelta):
        return Interval(begins, begins + first.length)
    end = first.length.astimezone(zone)
    ends = _instant(datetime.combine(day + (end.date() - start.date()), end.time()), zone)
    if ends <= begins:
        raise InvalidRecurrence(f"on {day} nothing is left: clocks change then. Leave it out.")
    return Interval(begins, ends)


def _instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment of a local time. The first fold has the offset before clocks change, which section
    3.3.5 of RFC 5545 wants of a time that is skipped, too."""
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)
