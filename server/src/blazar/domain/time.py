"""Half-open intervals of aware UTC datetimes, and rounding to minutes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from blazar.domain.errors import InvalidInput

MINUTE = timedelta(minutes=1)
HORIZON = timedelta(days=36525)
"""How far ahead of now a date may lie: a hundred years."""
FOREVER = datetime(9000, 1, 1, tzinfo=UTC)
"""The end of what does not end, such as a host that is gone: behind every lease."""


def floor_minute(moment: datetime) -> datetime:
    """Round an aware datetime down to its minute, in UTC. The only place that rounds."""
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def epoch(moment: datetime) -> int:
    """Return the seconds since 1970-01-01 UTC of an aware datetime; fractions are cut."""
    return int(moment.timestamp())


def from_epoch(seconds: int) -> datetime:
    """Return the aware UTC datetime of ``seconds`` since 1970-01-01 UTC."""
    return datetime.fromtimestamp(int(seconds), UTC)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """``[start, end)``: the start belongs to it, the end does not, so neighbours never overlap.

    Both ends are aware UTC datetimes. Raises InvalidInput where the end does not follow the start.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise InvalidInput("End date must be later than start date.")

    def overlaps(self, other: Interval) -> bool:
        return self.start < other.end and other.start < self.end

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def widened(self, margin: timedelta) -> Interval:
        """Return the interval with ``margin`` kept free before and after it (the cleaning time)."""
        return Interval(self.start - margin, self.end + margin) if margin else self

    def without(self, others: Iterable[Interval]) -> list[Interval]:
        """Return the parts of the interval that lie in none of the others, in order."""
        parts, start = [], self.start
        for other in sorted(each for each in others if each.overlaps(self)):
            if start < other.start:
                parts.append(Interval(start, other.start))
            start = max(start, other.end)
        return [*parts, Interval(start, self.end)] if start < self.end else parts

    @property
    def duration(self) -> timedelta:
        return self.end - self.start
