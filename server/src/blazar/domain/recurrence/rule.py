"""The rule of a recurrence, and how its text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from blazar.domain.errors import InvalidRecurrence

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
LONGEST_RULE = 500
"""Characters of the longest rule."""
LARGEST_COUNT = 10_000
LARGEST_INTERVAL = 1_000
ZONE = re.compile(r"UTC|[A-Z][A-Za-z_]{1,40}(/[A-Z][A-Za-z0-9_+-]{1,40}){1,2}", re.ASCII)
"""The names of zones that IANA keeps. They are names of files as well, so no other text may look for one."""
NUMBER = re.compile(r"[+-]?[0-9]{1,5}", re.ASCII)
WEEKDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
UNTIL = re.compile(r"([0-9]{8})(?:T([0-9]{6})Z)?", re.ASCII)


class Frequency(StrEnum):
    """How long a period of a rule is."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    YEARLY = "YEARLY"


@dataclass(frozen=True, slots=True)
class Weekday:
    """A day of the week: all of the period, or the n-th of the month or year; from its end where it is
    negative."""

    number: int
    """0 is Monday."""
    nth: int | None = None


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """A rule of RFC 5545, section 3.3.10: the parts of it that name days. What is empty restricts nothing."""

    frequency: Frequency
    interval: int = 1
    """Every so many periods."""
    count: int | None = None
    """How many days it names, those that are left out later included."""
    until: date | datetime | None = None
    """The last day, or the last start."""
    weekdays: tuple[Weekday, ...] = ()
    month_days: tuple[int, ...] = ()
    """Days of the month; from its end where they are negative."""
    months: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    """Which of the days that the rest names in a period; from their end where they are negative."""
    week_start: int = 0
    """The first day of the week; 0 is Monday."""


def parse_rule(text: str) -> RecurrenceRule:
    """Return the rule that the text is, such as ``FREQ=WEEKLY;BYDAY=MO,FR;COUNT=10``.

    Raises InvalidRecurrence where it is none, where it names times of the day, and where it has no end."""
    if len(text) > LONGEST_RULE:
        raise InvalidRecurrence(f"a rule has at most {LONGEST_RULE} characters.")
    parts = _parts(text)
    if (frequency := parts.pop("FREQ", None)) is None:
        raise InvalidRecurrence("the rule has no FREQ, such as FREQ=WEEKLY.")
    if frequency not in Frequency.__members__:
        raise InvalidRecurrence(
            f"FREQ={_shown(frequency)} is none of {', '.join(Frequency)}: a rule names days, and start_date "
            "their time."
        )
    read = {name: _READERS[name](name, parts.pop(name)) for name in tuple(parts) if name in _READERS}
    if parts:
        raise InvalidRecurrence(
            f"{_shown(min(parts))} is not supported. A rule may have FREQ, {', '.join(sorted(_READERS))}."
        )
    rule = RecurrenceRule(Frequency(frequency), **{_FIELDS[name]: value for name, value in read.items()})
    _check(rule)
    return rule


def zone_of(name: str) -> ZoneInfo:
    """Return the zone with this name, such as Europe/Berlin. Raises InvalidRecurrence where there is none."""
    try:
        if ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder of zones
        pass
    raise InvalidRecurrence(f"there is no time zone {_shown(name)}. Give one such as Europe/Berlin or UTC.")


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in text.upper().removeprefix("RRULE:").split(";"):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise InvalidRecurrence(f"{_shown(part)} is not a part of a rule, such as COUNT=10.")
        if name in parts:
            raise InvalidRecurrence(f"the rule has {_shown(name)} twice.")
        parts[name] = value
    return parts


def _shown(text: str) -> str:
    return ascii(text[:40])[1:-1] or "''"


def _number(low: int, high: int, is_signed: bool = False) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        number = int(text) if NUMBER.fullmatch(text) else 0
        if not low <= (abs(number) if is_signed else number) <= high:
            signs = " or the same from the end, with a minus," if is_signed else ""
            raise InvalidRecurrence(
                f"{name}={_shown(text)}: a number from {low} to {high}{signs} is expected."
            )
        return number

    return read


def _numbers(high: int, is_signed: bool = True) -> Callable[[str, str], tuple[int, ...]]:
    one = _number(1, high, is_signed)
    return lambda name, text: tuple(sorted({one(name, each) for each in text.split(",")}))


def _weekdays(name: str, text: str) -> tuple[Weekday, ...]:
    found = [WEEKDAY.fullmatch(each) for each in text.split(",")]
    days = [Weekday(WEEKDAYS.index(each[2]), int(each[1]) if each[1] else None) for each in found if each]
    if len(days) < len(found) or any(day.nth is not None and not 1 <= abs(day.nth) <= 53 for day in days):
        raise InvalidRecurrence(f"{name}={_shown(text)}: days such as MO, or 1MO and -1FR, are expected.")
    return tuple(dict.fromkeys(days))


def _week_start(name: str, text: str) -> int:
    if text not in WEEKDAYS:
        raise InvalidRecurrence(f"{name}={_shown(text)}: one of {', '.join(WEEKDAYS)} is expected.")
    return WEEKDAYS.index(text)


def _until(name: str, text: str) -> date | datetime:
    try:
        if found := UNTIL.fullmatch(text):
            if found[2] is None:
                return datetime.strptime(found[1], "%Y%m%d").replace(tzinfo=UTC).date()
            return datetime.strptime(found[1] + found[2], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        pass
    raise InvalidRecurrence(
        f"{name}={_shown(text)}: a day such as 20301224, or 20301224T120000Z, is expected."
    )


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "BYDAY": _weekdays,
    "BYMONTH": _numbers(12, is_signed=False),
    "BYMONTHDAY": _numbers(31),
    "BYSETPOS": _numbers(366),
    "COUNT": _number(1, LARGEST_COUNT),
    "INTERVAL": _number(1, LARGEST_INTERVAL),
    "UNTIL": _until,
    "WKST": _week_start,
}
_FIELDS: Mapping[str, str] = {
    "BYDAY": "weekdays",
    "BYMONTH": "months",
    "BYMONTHDAY": "month_days",
    "BYSETPOS": "positions",
    "COUNT": "count",
    "INTERVAL": "interval",
    "UNTIL": "until",
    "WKST": "week_start",
}


def _check(rule: RecurrenceRule) -> None:
    """Raise InvalidRecurrence where parts of the rule do not fit together."""
    if rule.count is not None and rule.until is not None:
        raise InvalidRecurrence("a rule has COUNT or UNTIL, and not both.")
    if rule.count is None and rule.until is None:
        raise InvalidRecurrence("the rule has no end: give it COUNT or UNTIL.")
    if rule.frequency in (Frequency.DAILY, Frequency.WEEKLY) and any(day.nth for day in rule.weekdays):
        raise InvalidRecurrence(f"BYDAY has no numbers where FREQ is {rule.frequency}.")
    if rule.frequency is Frequency.WEEKLY and rule.month_days:
        raise InvalidRecurrence("BYMONTHDAY cannot be given where FREQ is WEEKLY.")
    if rule.positions and not (rule.weekdays or rule.month_days or rule.months):
        raise InvalidRecurrence("BYSETPOS chooses among the days of another part, such as BYDAY.")
