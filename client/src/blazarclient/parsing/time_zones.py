"""The time zone of the times that a user types and sees.

The default is UTC, so that a script means the same time on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from blazarclient.parsing.errors import InvalidInput, nearest

ENVIRONMENT_VARIABLE = "BLAZAR_TIME_ZONE"
LOCAL = "local"
ABBREVIATIONS = {
    abbreviation: zone
    for zone, both in {
        "Europe/Lisbon": "WET WEST",
        "Europe/Brussels": "CET CEST",
        "Europe/Athens": "EET EEST",
        "Europe/Moscow": "MSK",
        "America/New_York": "EST EDT",
        "America/Chicago": "CDT",
        "America/Denver": "MST MDT",
        "America/Los_Angeles": "PST PDT",
        "Pacific/Honolulu": "HST",
        "Asia/Tokyo": "JST",
        "Asia/Seoul": "KST",
        "Australia/Sydney": "AEST AEDT",
        "Pacific/Auckland": "NZST NZDT",
    }.items()
    for abbreviation in both.split()
}
"""The zone of each abbreviation, of its standard and of its summer time."""
AMBIGUOUS = {
    "CST": "America/Chicago or Asia/Shanghai",
    "IST": "Asia/Kolkata, Asia/Jerusalem or Europe/Dublin",
    "BST": "Europe/London or Asia/Dhaka",
    "AST": "America/Halifax or Asia/Riyadh",
}
"""The zones that have the same abbreviation."""
_LOCALTIME = Path("/etc/localtime")


def parse_time_zone(text: str) -> tzinfo:
    """Return the zone of a name like ``Europe/Berlin``, of ``local`` or of ``UTC``. Raises InvalidInput."""
    if text.upper() in ("UTC", "Z", "GMT"):
        return UTC
    if text.lower() == LOCAL:
        return local_time_zone()
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        names = {name.lower(): name for name in available_timezones()}
        cities = {name.rpartition("/")[2]: full for name, full in names.items()}
        guess = nearest(text, names) or nearest(text, cities)
        known = ABBREVIATIONS.get(text.upper()) or AMBIGUOUS.get(text.upper())
        full = known or names.get(guess or "") or cities.get(guess or "")
        hint = f"did you mean {full}? " if full else ""
        raise InvalidInput(
            f"unknown time zone '{text}': {hint}Write UTC, local, or a name like Europe/Berlin"
        ) from error


def is_abbreviation(word: str) -> bool:
    """Return whether the word is the abbreviation of a zone, or of several."""
    return word.upper() in ABBREVIATIONS or word.upper() in AMBIGUOUS


def zone_of_abbreviation(word: str) -> tzinfo:
    """Return the zone that has the abbreviation. Raises InvalidInput where several have it."""
    if word.upper() in AMBIGUOUS:
        raise InvalidInput(f"several zones are called {word}: write {AMBIGUOUS[word.upper()]}")
    return ZoneInfo(ABBREVIATIONS[word.upper()])


def local_time_zone(environment: Mapping[str, str] = os.environ) -> tzinfo:
    """Return the zone of this machine, with its rules, so that daylight saving is right on every date."""
    name = environment.get("TZ", "").lstrip(":")
    if name:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # a POSIX rule such as CET-1CEST: the C library knows it, see below
    elif _LOCALTIME.is_file():
        with _LOCALTIME.open("rb") as rules:
            return ZoneInfo.from_file(rules, key=LOCAL)
    fixed = datetime.fromtimestamp(0, UTC).astimezone().tzinfo
    return fixed or UTC


def time_zone_name(zone: tzinfo, localtime: Path = _LOCALTIME) -> str:
    """Return the name by which others know the zone. Raises InvalidInput for one that has none.

    The zone of this machine has one where `localtime` is a link to it."""
    if zone is UTC:
        return "UTC"
    name = getattr(zone, "key", LOCAL)
    if name == LOCAL and localtime.is_symlink():
        name = str(localtime.resolve()).partition("/zoneinfo/")[2] or LOCAL
    if name not in available_timezones():
        raise InvalidInput(
            "the name of this machine's time zone is not known: give --time-zone a name like Europe/Berlin"
        )
    return name


def selected_time_zone(option: str | None, environment: Mapping[str, str] = os.environ) -> tzinfo | None:
    """Return the zone of the option or the environment variable.

    None means UTC, and that output keeps the times as the service sends them.
    """
    text = option or environment.get(ENVIRONMENT_VARIABLE)
    return parse_time_zone(text) if text else None
