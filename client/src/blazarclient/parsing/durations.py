"""The parser of durations.

It accepts numbers with units in any combination (``90m``, ``1h30m``, ``2 days``, ``an hour``, ``1w``) and
ISO 8601 (``PT4H``, ``P1DT12H``). A year has 365 days. It rejects months, because their length varies.
"""

from __future__ import annotations

import re
from datetime import timedelta

from blazarclient.parsing.errors import InvalidInput

_SECONDS = {
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
    "w": 604800, "week": 604800, "weeks": 604800,
    "y": 31536000, "year": 31536000, "years": 31536000,
}  # fmt: skip
_PART = re.compile(r"(\d+(?:\.\d+)?|half an?(?=\s)|an?(?=\s))\s*([a-z]+)[\s,]*(?:and\s+)?")
_WORDS = {"a": 1.0, "an": 1.0, "half a": 0.5, "half an": 0.5}
_MONTHS = re.compile(r"(?:\d|\ban?)\s*(?:mo|mon|month|months)\b")
_ISO = re.compile(
    r"^p(?:(?P<w>\d+)w)?(?:(?P<d>\d+)d)?(?:t(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+)s)?)?$"
)
LONGEST = timedelta(days=36525)


def parse_duration(text: str) -> timedelta:
    """Return a positive duration. Raises InvalidInput."""
    words = " ".join(text.lower().split())
    seconds = _seconds(words)
    if seconds is None and _MONTHS.search(words):
        raise InvalidInput(f"'{text}' is no certain time, for months differ: write for example 30d or 4w")
    if seconds is None or seconds <= 0:
        raise InvalidInput(f"'{text}' is not a duration: write for example 90m, 4h, 1h30m, 2d, 1w or PT4H")
    if seconds > LONGEST.total_seconds():
        raise InvalidInput(f"'{text}' is longer than 100 years")
    return timedelta(seconds=seconds)


def _seconds(text: str) -> float | None:
    iso = _ISO.match(text)
    if iso is not None:
        return sum(int(number) * _SECONDS[unit] for unit, number in iso.groupdict().items() if number)
    total, position = 0.0, 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or part[2] not in _SECONDS:
            return None
        total += (_WORDS.get(part[1]) or float(part[1])) * _SECONDS[part[2]]
        position = part.end()
    return total
