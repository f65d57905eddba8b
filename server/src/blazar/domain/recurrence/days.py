"""The days that a rule names.

They are found by going through the periods of the rule (days, weeks, months or years) up to a last day. So a
rule costs at most one look at each day up to there, also one that never names any. Libraries that expand
rules look for the next day up to the year 9999, and nothing stops them.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import count, takewhile
from typing import assert_never

from blazar.domain.recurrence.rule import Frequency, RecurrenceRule, Weekday

DAY = timedelta(days=1)


def named_days(rule: RecurrenceRule, first: date, last: date) -> Iterator[date]:
    """Return the days that the rule names from the first day to the last one, without its end."""
    rule = _with_day_of_first(rule, first)
    for period in takewhile(lambda period: period[0] <= last, _periods(rule, first)):
        named = [day for day in period if _names(rule, day)]
        for day in _at_positions(named, rule.positions):
            if first <= day <= last:
                yield day


def _with_day_of_first(rule: RecurrenceRule, first: date) -> RecurrenceRule:
    """Return the rule with what its first day says where it does not name days itself."""
    if rule.weekdays or rule.month_days:
        return rule
    match rule.frequency:
        case Frequency.DAILY:
            return rule
        case Frequency.WEEKLY:
            return replace(rule, weekdays=(Weekday(first.weekday()),))
        case Frequency.MONTHLY:
            return replace(rule, month_days=(first.day,))
        case Frequency.YEARLY:
            return replace(rule, months=rule.months or (first.month,), month_days=(first.day,))
        case _:
            assert_never(rule.frequency)


def _periods(rule: RecurrenceRule, first: date) -> Iterator[Sequence[date]]:
    """Return the days of each period of the rule, from the one of the first day on."""
    for number in count(0, rule.interval):
        match rule.frequency:
            case Frequency.DAILY:
                yield (first + number * DAY,)
            case Frequency.WEEKLY:
                begin = first - (first.weekday() - rule.week_start) % 7 * DAY + 7 * number * DAY
                yield tuple(begin + offset * DAY for offset in range(7))
            case Frequency.MONTHLY:
                year, month = divmod(first.year * 12 + first.month - 1 + number, 12)
                yield _days_of_month(year, month + 1)
            case Frequency.YEARLY:
                year = first.year + number
                yield tuple(day for month in range(1, 13) for day in _days_of_month(year, month))
            case _:
                assert_never(rule.frequency)


def _days_of_month(year: int, month: int) -> tuple[date, ...]:
    return tuple(date(year, month, day) for day in range(1, calendar.monthrange(year, month)[1] + 1))


def _names(rule: RecurrenceRule, day: date) -> bool:
    """Return whether the rule names the day, of all days of its period."""
    if rule.months and day.month not in rule.months:
        return False
    if rule.month_days:
        length = calendar.monthrange(day.year, day.month)[1]
        if day.day not in rule.month_days and day.day - length - 1 not in rule.month_days:
            return False
    return not rule.weekdays or any(_is_weekday(day, weekday, rule) for weekday in rule.weekdays)


def _is_weekday(day: date, weekday: Weekday, rule: RecurrenceRule) -> bool:
    if day.weekday() != weekday.number:
        return False
    if weekday.nth is None:
        return True
    if rule.frequency is Frequency.YEARLY and not rule.months:
        index, length = day.timetuple().tm_yday, 366 if calendar.isleap(day.year) else 365
    else:
        index, length = day.day, calendar.monthrange(day.year, day.month)[1]
    return weekday.nth in ((index - 1) // 7 + 1, -((length - index) // 7 + 1))


def _at_positions(days: Sequence[date], positions: Sequence[int]) -> Sequence[date]:
    if not positions:
        return days
    return [day for index, day in enumerate(days) if index + 1 in positions or index - len(days) in positions]
