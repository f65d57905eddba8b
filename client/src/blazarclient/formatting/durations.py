"""The format of durations in output."""

from __future__ import annotations

from datetime import timedelta

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def format_duration(duration: timedelta) -> str:
    """Return a duration in at most two units: ``2d 4h``, ``1h 30m``, ``45s``."""
    remaining = max(0, int(duration.total_seconds()))
    parts = []
    for unit, seconds in _UNITS.items():
        number, remaining = divmod(remaining, seconds)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts[:2]) or "0s"
