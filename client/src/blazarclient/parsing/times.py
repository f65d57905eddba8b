"""The parser of times.

Given the current time and a zone, it accepts:

* ``now``, which the service understands too;
* a date and time: ``2030-01-31 09:00``, ISO 8601 with or without an offset, a date alone (its first minute);
* a day and a time in either order, or one of them: ``tomorrow 9:00``, ``today at 5pm``, ``friday noon``,
  ``next monday``, ``tonight``, ``next week``, ``14:30``;
* an offset from now: ``in 2 hours``, ``in an hour``, ``+90m``, ``2 days from now``, ``in 3 days at 9:00``.

A weekday alone means the next one that is not over; a time alone means its next occurrence. ``tonight`` is at
20:00, unless a time is given; ``next week``, ``next month`` and ``next year`` are their first minute, and
weeks begin on Monday. The last word may be a time zone, or an abbreviation such as ``CET``, which must be the
one that is in force then. The start of daylight saving skips local times, and its end repeats some. The
parser rejects both with a suggestion, because they name no time or two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.time_zones import is_abbreviation, parse_time_zone, zone_of_abbreviation

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CLOCK = re.compile(r"^(\d{1,2})(?::(\d{2}))?\s*(am|pm)?$")
_LOOSE_DATE = re.compile(r"^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ t](\d{1,2}):(\d{1,2}))?$")
_OFFSET = re.compile(r"^(?:in\s+|\+\s*)(.+?)(?:\s+at\s+(.+))?$")
_FROM_NOW = re.compile(r"^(.+)\s+from\s+now$")
_EVENING = time(20)
_NAMED_TIMES = {"noon": time(12), "midday": time(12), "midnight": time(0)}
EXAMPLES = (
    "'2030-01-31 09:00', '2030-01-31T09:00+01:00', 'tomorrow 9:00', 'friday 14:30', 'in 2 hours' or 'now'"
)


@dataclass(frozen=True)
class TimeParser:
    """Parses times relative to `now`, in `zone`."""

    now: datetime
    zone: tzinfo = UTC

    def parse(self, text: str) -> datetime:
        """Return an aware time in UTC, in whole minutes. Raises InvalidInput."""
        words = " ".join(text.split())
        zone, lowered = self.zone, words.lower()
        head, _, tail = words.rpartition(" ")
        if head and ("/" in tail or tail.upper() in ("UTC", "Z", "GMT") or tail.lower() == "local"):
            zone, lowered = parse_time_zone(tail), head.lower()
        elif head and is_abbreviation(tail):
            zone, lowered = zone_of_abbreviation(tail), head.lower()
        parsed = TimeParser(self.now, zone)._parse_words(lowered)
        if parsed is None:
            guess = _meant_offset(words.lower())
            hint = f"did you mean '{guess}'? Else write" if guess else "write"
            raise InvalidInput(f"'{text}' is not a time that I understand: {hint} for example {EXAMPLES}")
        if head and is_abbreviation(tail):
            _require_in_force(tail, parsed.astimezone(zone))
        if parsed.second or parsed.microsecond:
            raise InvalidInput(f"'{text}' has seconds: leases begin and end on whole minutes")
        return parsed

    def _parse_words(self, text: str) -> datetime | None:
        if text == "now":
            return _to_minute(self.now)
        from_now = _FROM_NOW.match(text)
        if from_now is not None:
            return self._offset(from_now[1], None)
        offset = _OFFSET.match(text)
        if offset is not None:
            return self._offset(offset[1], offset[2])
        return self._calendar_date(text) or self._iso(text) or self._day_and_time(text)

    def _offset(self, amount: str, at: str | None) -> datetime | None:
        parsed = _to_minute(self.now + parse_duration(amount))
        if at is None:
            return parsed
        clock = _time_of_day(at)
        return None if clock is None else self._local(parsed.astimezone(self.zone).date(), clock)

    def _calendar_date(self, text: str) -> datetime | None:
        match = _LOOSE_DATE.match(text)
        if match is None:
            return None
        try:
            day = date(int(match[1]), int(match[2]), int(match[3]))
            clock = time(int(match[4] or 0), int(match[5] or 0))
        except ValueError as error:
            raise InvalidInput(f"'{text}' does not exist: {error}") from error
        return self._local(day, clock)

    def _iso(self, text: str) -> datetime | None:
        try:
            parsed = datetime.fromisoformat(text.upper())
        except ValueError:
            return None
        if parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
        return self._local(parsed.date(), parsed.time())

    def _day_and_time(self, text: str) -> datetime | None:
        words = [word for word in text.split() if word not in ("at", "on")]
        for split in range(len(words), -1, -1):
            before, after = words[:split], words[split:]
            for day_words, time_words in ((before, after), (after, before)):
                day = self._day(" ".join(day_words)) if day_words else None
                clock = _time_of_day(" ".join(time_words)) if time_words else None
                if (day_words and day is None) or (time_words and clock is None):
                    continue
                if day is None and clock is None:
                    continue
                return self._next(day, clock)
        return None

    def _next(self, day: _Day | None, clock: time | None) -> datetime:
        """Return the time on that day; where the words are ambiguous, the next such time."""
        today = self.now.astimezone(self.zone).date()
        if day is None:
            parsed = self._local(today, clock or time())
            later = self._local(today + timedelta(days=1), clock or time())
            return parsed if parsed >= _to_minute(self.now) else later
        parsed = self._local(day.date, clock or day.time)
        if day.repeats_weekly and parsed < _to_minute(self.now):
            return self._local(day.date + timedelta(days=7), clock or time())
        return parsed

    def _day(self, text: str) -> _Day | None:
        today = self.now.astimezone(self.zone).date()
        if text in ("today", "tomorrow"):
            return _Day(today + timedelta(days=text == "tomorrow"))
        if text in ("tonight", "this evening"):
            return _Day(today, time=_EVENING)
        if text in ("next week", "next month", "next year"):
            return _Day(_first_of_next(text.removeprefix("next "), today))
        following = text.startswith("next ")
        name = text.removeprefix("next ").removeprefix("this ")
        matches = [
            number for number, weekday in enumerate(_WEEKDAYS) if len(name) >= 3 and weekday.startswith(name)
        ]
        if len(matches) != 1:
            loose = _LOOSE_DATE.match(text)
            return _Day(date(int(loose[1]), int(loose[2]), int(loose[3]))) if loose and not loose[4] else None
        ahead = (matches[0] - today.weekday()) % 7
        if following and ahead == 0:
            ahead = 7
        return _Day(today + timedelta(days=ahead), repeats_weekly=True)

    def _local(self, day: date, clock: time) -> datetime:
        """Return a local time of the zone in UTC. Raises InvalidInput if it exists never or twice."""
        first = datetime.combine(day, clock, self.zone)
        second = first.replace(fold=1)
        if first.utcoffset() == second.utcoffset():
            return first.astimezone(UTC)
        back = first.astimezone(UTC).astimezone(self.zone)
        wall = f"{first:%Y-%m-%d %H:%M}"
        if back.replace(tzinfo=None) != first.replace(tzinfo=None):
            raise InvalidInput(
                f"{wall} does not exist in {self.zone}: the clocks go forward then, write {back:%H:%M}"
            )
        raise InvalidInput(
            f"{wall} happens twice in {self.zone}, when the clocks go back: "
            f"write {first.isoformat(timespec='minutes')} or {second.isoformat(timespec='minutes')}"
        )


@dataclass(frozen=True)
class _Day:
    date: date
    repeats_weekly: bool = False
    time: time = time()
    """The time that is meant without another one."""


def _first_of_next(unit: str, today: date) -> date:
    if unit == "week":
        return today + timedelta(days=7 - today.weekday())
    is_last = unit == "year" or today.month == 12
    return date(today.year + 1, 1, 1) if is_last else date(today.year, today.month + 1, 1)


def _meant_offset(text: str) -> str | None:
    """Return the offset from now that is meant by a duration alone."""
    try:
        parse_duration(text)
    except InvalidInput:
        return None
    return f"in {text}"


def _require_in_force(abbreviation: str, when: datetime) -> None:
    """Raise InvalidInput where the zone has another time then: summer time, or its standard time."""
    if when.tzname() != abbreviation.upper():
        raise InvalidInput(
            f"{when.tzinfo} has no {abbreviation} then, but {when.tzname()}: "
            f"write that, {when.tzinfo}, or {when.isoformat(timespec='minutes')}"
        )


def _to_minute(when: datetime) -> datetime:
    return when.astimezone(UTC).replace(second=0, microsecond=0)


def _time_of_day(text: str) -> time | None:
    """Return a time of day: ``9:00``, ``9am``, ``21:30``, ``noon``. A bare number could be a day: None."""
    if text in _NAMED_TIMES:
        return _NAMED_TIMES[text]
    match = _CLOCK.match(text)
    if match is None or (match[2] is None and match[3] is None):
        return None
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[3] == "pm" else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None
